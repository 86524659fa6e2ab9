"""The linear-quadratic regulator of a system whose commands act late.

A command that acts d steps late acts on the state at that time, not on the present one. So the regulator is computed as
if there were no delay, from each step's measurements and the command that acts in it, and is applied to what the model
predicts for the time when the command acts, from the measurements and the pending commands (a Smith predictor):

    a_t = MARGIN (K E[s_{t+d} | s_t, pending commands] + k).

Where the law goes, the prediction is nearly linear in the state: a linear function is fitted to it there, so that the
law is one linear leaf. Whatever the delay, only a regulator without delay is learned. Laws whose gains of the pending
commands are free, searched by rollouts in the model, adapt to the errors of the model and to chance in its noise.
(Pendulum of 6 kg, commands two steps late, ten seeds that settings were chosen on: searched laws lost 10% to the best
law on average, these 3%.)
"""

from __future__ import annotations

import numpy as np

from policyforest._support.arguments import Floats
from policyforest.data.transitions import Transitions
from policyforest.learning.dynamics.dynamics_model import DynamicsModel
from policyforest.learning.dynamics.structure import late_but_measured
from policyforest.learning.improvement.linear_quadratic import linear_quadratic_policy
from policyforest.learning.improvement.rollouts import ModelRollouts
from policyforest.learning.improvement.simple_policies import make_policy, middle_action, one_leaf
from policyforest.policy.policy import Policy

# Gains are larger than the regulator's by this factor: the regulator ignores both the uncertainty of its model and
# falls, and gains that are too low cost more than gains that are too high. (The same pendulum, twelve seeds that
# settings were chosen on, mean return and worst: -718 and -1185 with a factor of 1.125, -695 and -875 with 1.16, -705
# and -874 with 1.2; the best possible is -653.) The search for a factor in the ensemble of models is no better than
# this one: its members share the errors that matter.
MARGIN = 1.16
# With a history of measurements, larger gains would also amplify errors that the regulator ignores.
HIDDEN_MARGIN = 1.0
# The regulator is the mean of those of so many replicates of the episodes, drawn with replacement: near gains that let
# a system fall, the mean of several is safer than one. (Angle alone measured, nine seeds that settings were chosen on:
# mean return -870 and worst -1266 without replicates, -830 and -1004 with them.)
REPLICATES = 20
# The prediction is fitted this many times where the law goes, from this many starts in these members, with noise on the
# actions of this part of the action box.
ROUNDS, STARTS, MEMBERS, ACTION_NOISE = 2, 100, (0, 2), 0.03


def late_regulator(rollouts: ModelRollouts, starts: Floats, n_steps: int, seed: int) -> Policy | None:
    """The law as a policy of one linear leaf per action; None if there is no regulator for the samples."""
    model = rollouts.model
    data = model.transitions
    now, acting = _columns(data)
    regulator = _gains(_as_if_not_late(data, now, acting), rollouts.discount, seed)
    if regulator is None:
        return None
    gains = (MARGIN if late_but_measured(data) else HIDDEN_MARGIN) * regulator
    first = np.random.default_rng([seed, 43]).integers(len(starts), size=STARTS)
    there, policy = data.states, None
    for _ in range(1 + ROUNDS):
        law = gains[:, :-1] @ _fitted(there, _predicted(model, there))
        law[:, -1] += gains[:, -1]
        policy = make_policy(data, [one_leaf(data.state_box(), row) for row in law], "late-regulator")
        passed = [
            rollouts.visited(
                policy, starts[first], n_steps=n_steps, seed=seed + 37, member=b, action_noise=ACTION_NOISE
            )
            for b in MEMBERS
        ]
        there = np.concatenate([*passed, starts])
    return policy


def _gains(data: Transitions, discount: float, seed: int) -> Floats | None:
    """The gains (K, k) of the regulator, a row per action: the mean over replicates of the episodes."""
    rows = np.split(np.arange(len(data)), np.flatnonzero(np.diff(data.episodes)) + 1)
    rng, number = np.random.default_rng([seed, 47]), len(rows)
    found = []
    for _ in range(REPLICATES):
        drawn = rng.integers(number, size=number)
        policy = linear_quadratic_policy(data[np.concatenate([rows[e] for e in drawn])], discount)
        if policy is not None:
            found.append(np.stack([forest.arrays["coefficients"][0] for forest in policy.forests]))
    return np.mean(found, axis=0) if found else None


def _columns(data: Transitions) -> tuple[list[int], list[int]]:
    """The columns of a state that are not pending commands, and those of the command that acts next."""
    signals, m = data.plant.signals, data.actions.shape[1]
    assert signals is not None  # late commands are part of the state
    first = signals.history * len(signals.channel_names)
    last = first + data.plant.delay * m
    return [*range(first), *range(last, data.states.shape[1])], list(range(last - m, last))


def _as_if_not_late(data: Transitions, now: list[int], acting: list[int]) -> Transitions:
    """The same steps, each with the command that acted in it."""
    return Transitions(
        data.states[:, now], data.states[:, acting], data.rewards, data.next_states[:, now], data.terminals,
        data.episodes, action_space=data.action_space, outside="keep",
    )  # fmt: skip


def _predicted(model: DynamicsModel, states: Floats) -> Floats:
    """The columns that are not pending commands, at the time when a command that is given now acts: predicted by the
    model, or, if part of the state is hidden, by the linear dynamics of the regulator. In that case residuals depend on
    each other, and most of what the model finds beyond linear dynamics comes from that."""
    data = model.transitions
    now, acting = _columns(data)
    if late_but_measured(data):
        here = np.ascontiguousarray(states)
        idle = np.tile(middle_action(data), (len(here), 1))
        for _ in range(data.plant.delay):
            here = model.native.step(here, idle, None, True)[0]
        return here[:, now]
    living, m = ~data.terminals, len(acting)
    dynamics = _fitted(data.states[living][:, now + acting], data.next_states[living][:, now])
    here = states[:, now]
    for late in range(data.plant.delay):  # the oldest pending command acts first
        command = states[:, [d - late * m for d in acting]]
        here = np.concatenate([here, command], axis=1) @ dynamics[:, :-1].T + dynamics[:, -1]
    return here


def _fitted(inputs: Floats, outputs: Floats) -> Floats:
    """The linear function (slopes, offset) from rows of inputs to rows of outputs by least squares: a row per
    output."""
    centre, scale = inputs.mean(axis=0), inputs.std(axis=0)
    scale = np.where(scale > 1e-9 * (1.0 + np.abs(centre)), scale, np.inf)
    slopes = np.linalg.lstsq((inputs - centre) / scale, outputs - outputs.mean(axis=0), rcond=1e-9)[0].T / scale
    found: Floats = np.column_stack([slopes, outputs.mean(axis=0) - slopes @ centre])
    return found

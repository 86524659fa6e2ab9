"""Agents on real systems: states with a history, and an existing controller that keeps them safe.

A guard is told about what is measured. Where the states of an agent hold more (rows of history, pending commands), it
acts on the newest row of them. It is part of the settings of a run: a run that began with one is resumed only with the
same one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.spaces import Box

from policyforest._support.arguments import Floats
from policyforest._support.formulas import Expression
from policyforest._support.signals import Signals
from policyforest._support.spaces import require_observations
from policyforest.data.signal_options import SignalOptions
from policyforest.environments.signal_task import SignalTask
from policyforest.exploration.problem import Explorable, Problem
from policyforest.policy.baseline import BaselinePolicy, NoisyBaseline, as_baseline
from policyforest.policy.controller import PolicyController


def stacked_system(system: Explorable, options: SignalOptions, guard: NoisyBaseline | None) -> Explorable:
    """The environment with the states that the options ask for. A delay is looked for under the guard. The guard's
    controller acts while histories fill, if the measurements are enough for it."""
    _require_guard(guard)
    if not options:
        if isinstance(system, SignalTask) and system.filling is None:
            system.filling = measured_law(guard, system)
        return system
    if not isinstance(system, gym.Env):
        asked = ", ".join(options)
        raise TypeError(
            f"{asked}: the system is {type(system).__name__}, must be an environment to have these options; for a "
            "robot without one, record its episodes and learn from the recording with them"
        )
    task = SignalTask(system, probe=guard, **options)
    task.filling = measured_law(guard, task)
    return task


def measured_law(guard: NoisyBaseline | None, task: SignalTask) -> BaselinePolicy | None:
    """The controller of a guard as a function of one measurement; None where it needs derived signals or past rows."""
    if guard is None or task.plant.signals is None:
        return None
    law, signals = guard.baseline, task.plant.signals
    space, actions = require_observations("env.observation_space", task.env.observation_space), law.action_space
    if law.observation_space.shape == space.shape and law.observation_space != task.observation_space:
        return law
    if not law.formula:
        return None
    try:
        read = as_baseline(law.formula, space, actions, signals.measured, signals.actions)
    except ValueError:  # it names columns that are not measured
        return None
    used = {name for part in law.formula.split(";") for name in Expression(part.partition("=")[2]).names}
    same_numbers = signals.channel_names[: len(signals.measured)] == signals.measured
    return read if same_numbers or used <= set(signals.measured) else None  # s0 is the first of another list otherwise


def fitted_guard(guard: NoisyBaseline | None, problem: Problem) -> NoisyBaseline | None:
    """The guard for the states of a problem: the guard itself, or one that acts on the measurements in these states."""
    _require_guard(guard)
    if guard is None or guard.baseline.observation_space == problem.observation_space:
        return guard
    signals = problem.plant.signals
    n_seen = guard.baseline.observation_space.shape[0]
    measures = signals is not None and len(signals.measured) == n_seen
    if not measures and n_seen == problem.observation_space.shape[0]:
        return guard
    if signals is None or not measures:
        has, wanted = problem.observation_space.shape[0], n_seen
        raise ValueError(
            f"guard: its controller observes {wanted} numbers, must observe the {has} numbers of the state"
        )
    hidden = [name for name in signals.measured if name not in signals.channel_names]
    if hidden:
        raise ValueError(
            f"guard: its controller observes {', '.join(hidden)}, which must be among the channels of the state"
        )
    columns = [signals.channel_names.index(name) for name in signals.measured]
    inner = guard.baseline
    law = BaselinePolicy(
        lambda states: inner.act_batch(np.ascontiguousarray(states[:, columns])),
        problem.observation_space, problem.action_space, inner.text, inner.formula, inner.names,
    )  # fmt: skip
    return NoisyBaseline(law, guard.noise, _widened(guard, columns, problem), guard.seed)


@dataclass(frozen=True)
class StackedGuard:
    """A guard that acts on states with a history, as a policy that keeps the history itself."""

    guard: NoisyBaseline
    signals: Signals

    @property
    def action_space(self) -> Box:
        """The box of the actions."""
        return self.guard.baseline.action_space

    def act(self, state: Floats) -> Floats:
        """The action for a whole state."""
        return self.guard.act(state)

    def controller(self) -> PolicyController:
        """The controller that acts on measurements, one by one."""
        return PolicyController(self, self.signals)


class GuardedPolicy:
    """A learned policy as a system under a guard may play it: within the band, and not outside of the safe box."""

    def __init__(self, policy: Any, guard: NoisyBaseline) -> None:
        self.policy, self.guard = policy, guard
        self.observation_space, self.action_space = policy.observation_space, policy.action_space
        self.n_steps = self.n_changed = 0
        """Actions that were taken, and those of them that the guard changed"""

    def act(self, state: Floats) -> Floats:
        """The policy's action as far as the guard allows it; the existing controller's outside of the safe box."""
        wanted = np.asarray(self.policy.act(state), dtype=np.float64)
        taken = self.guard.bounded(state, wanted)
        self.n_steps += 1
        self.n_changed += not np.array_equal(taken, wanted)
        return taken


def _require_guard(guard: object) -> None:
    if guard is not None and not isinstance(guard, NoisyBaseline):
        raise TypeError(f"guard: is {guard!r}, must be a NoisyBaseline or None")


def _widened(guard: NoisyBaseline, columns: list[int], problem: Problem) -> Floats | None:
    if guard.safe_box is None:
        return None
    box = np.tile([-np.inf, np.inf], (problem.observation_space.shape[0], 1))
    box[columns] = guard.safe_box
    return box


def guard_settings(guard: NoisyBaseline | None) -> dict[str, Any]:
    """The entry of a run's settings that describes its guard; empty without a guard."""
    if guard is None:
        return {}
    box = None if guard.safe_box is None else [[repr(float(x)) for x in row] for row in np.asarray(guard.safe_box)]
    told = {"law": guard.baseline.formula or guard.baseline.text, "formula": bool(guard.baseline.formula)}
    return {"guard": told | {"noise": list(guard.noise), "safe_box": box}}


def stored_guard(settings: Mapping[str, Any], problem: Problem, given: NoisyBaseline | None) -> NoisyBaseline | None:
    """The guard of a resumed run: rebuilt from its formula, or the one that must be given again. A run with a guard is
    never resumed without it."""
    kept = settings.get("guard")
    if kept is None:
        if given is not None:
            raise ValueError("guard: was given, but the run was begun without it")
        return None
    if given is not None:
        fitted = fitted_guard(given, problem)
        if guard_settings(fitted) != {"guard": kept}:
            told = guard_settings(fitted)["guard"]
            raise ValueError(f"guard: is {told}, but the run was begun with {kept}")
        return given
    if not kept["formula"]:
        raise ValueError(f"guard: must be given again: the run was begun with {kept['law']}, which is not a formula")
    plant = problem.plant.named(problem.observation_space.shape[0], problem.action_space.shape[0])
    spaces = (problem.observation_space, problem.action_space)
    law = as_baseline(kept["law"], *spaces, plant.state_names, plant.action_names)
    box = None if kept["safe_box"] is None else np.array([[float(x) for x in row] for row in kept["safe_box"]])
    return NoisyBaseline(law, tuple(kept["noise"]), box)

"""A learned model of the transitions, which `DynamicsForest` returns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

import policyforest._core as _core
from policyforest._support.arguments import Floats, seed_number, whole_number
from policyforest._support.spaces import bounds
from policyforest.data.known_functions import Known, known_ends, known_rewards
from policyforest.data.transitions import Transitions
from policyforest.forest.growth_rules import period_rows
from policyforest.learning.dynamics.choice import Choice, HeldOut
from policyforest.learning.dynamics.edge import Edge, find_edge
from policyforest.learning.dynamics.ends import EndModel
from policyforest.learning.dynamics.model_parts import Resampling, RewardModel
from policyforest.learning.dynamics.open_loop import open_loop_scores
from policyforest.learning.dynamics.regression import FittedOutput, ModelInputs, OutputKind, fit_output
from policyforest.learning.dynamics.structure import ExogenousEvidence, Structure
from policyforest.learning.dynamics.typical_errors import QUIET, hardly_noisy, typical
from policyforest.learning.nearby_states import NearbyStates, clip

# Beyond this number of samples, none are drawn from the model. (Pendulum-v1, 10,000 samples: -177 with resampling on
# two seeds that gave -206 and -630 without.)
ENOUGH_SAMPLES = 20_000
# The number of observed and drawn samples together, and the fewest drawn ones. (Pendulum of 6 kg, 559 samples: -123 and
# -128 with 15,000 drawn on two seeds that gave -132 and -140 with 5,000.)
DRAWN_SAMPLES, FEWEST_DRAWN = 15_000, 5_000
# The model is good enough when it explains this share of the variance of held-out changes of state and rewards.
GOOD_SCORE = 0.8
# Errors below this share come from rounding, or from the ridge of the regression.
ROUNDING = 1e-6
MEMBER_TREES = 8
# From this many episodes on, a member of the ensemble is fitted on episodes drawn with replacement; else on steps.
ENOUGH_EPISODES = 8


@dataclass(frozen=True)
class DynamicsModel:
    """A model of the transitions: changes of state, reward and ends, with the noise that was observed."""

    transitions: Transitions = field(repr=False)
    structure: Structure
    inputs: ModelInputs = field(repr=False)
    targets: Floats = field(repr=False)
    """One column per output of the dynamics"""
    choices: tuple[Choice, ...] = field(repr=False)
    reward: RewardModel = field(repr=False)
    end: EndModel = field(repr=False)
    residuals: Floats = field(repr=False)
    """The errors on held-out steps, one row per sample; those of the dynamics divided by their local spread, then that
    of the reward"""
    spread: FittedOutput | None = field(repr=False)
    exogenous: tuple[int, ...]
    """State dimensions that the system does not influence: drawn from the data, not predicted"""
    seed: int
    n_estimators: int = 25
    n_jobs: int | None = 1
    known_reward: Known | None = field(default=None, repr=False)
    known_terminal: Known | None = field(default=None, repr=False)
    exogenous_evidence: tuple[ExogenousEvidence, ...] = ()
    """One row per badly predicted state dimension, if exogenous ones were looked for and not declared"""

    @property
    def state_scores(self) -> tuple[float, ...]:
        """R² of each state dimension on held-out samples; 1 for those that are computed from others."""
        scores = [1.0] * self.transitions.states.shape[1]
        for d, choice in zip(self.structure.plain, self.choices, strict=False):
            scores[d] = choice.score
        for (i, j, _), choice in zip(self.structure.circles, self.choices[len(self.structure.plain) :], strict=True):
            scores[i] = scores[j] = choice.score
        return tuple(scores)

    @property
    def reward_score(self) -> float:
        """R² of the reward on held-out samples; 1 if it is known."""
        return 1.0 if self.known_reward is not None else self.reward.choice.score

    @property
    def has_kernels(self) -> bool:
        """Whether some output is a Gaussian process: its steps take about ten times as long."""
        return any(choice.kind.base == "kernel" for choice in (*self.choices, self.reward.choice))

    def resampling(self, n_drawn: int) -> Resampling:
        """The report that goes with `n_drawn` samples."""
        end_error = 0.0 if self.known_terminal is not None else self.end.error
        return Resampling(n_drawn, self.state_scores, self.reward_score, end_error)

    def multi_step_scores(self, n_steps: int = 10) -> tuple[float, ...]:
        """R² of the change of each state dimension over `n_steps` of held-out episodes.

        Predictions are open loop: the logged actions, no noise. The kinds of outputs are those chosen on all samples.
        They are refitted without the fold of an episode, with as many trees as members of the ensemble have. Drawn
        dimensions (`exogenous`) are predicted to stay, and terminal steps are left out.

        Args:
            n_steps: Steps from the known state to the predicted one.
        """
        number = whole_number("n_steps", n_steps, at_least=1)
        fold = HeldOut.of(self.transitions.episodes, self.seed).fold
        how: dict[str, Any] = {"other_kinds": False, "seed": self.seed, "n_trees": MEMBER_TREES}
        return open_loop_scores(self.transitions, fold, number, lambda rows: self._compiled(rows, **how))

    def recommended_samples(self) -> int:
        """How many samples to draw: none if there are enough or the model is poor."""
        return max(DRAWN_SAMPLES - len(self.transitions), FEWEST_DRAWN) if self.is_useful else 0

    @property
    def is_useful(self) -> bool:
        """Whether it predicts held-out samples well, and the samples are so few that more of them help."""
        return self.is_good and len(self.transitions) < ENOUGH_SAMPLES

    @property
    def is_good(self) -> bool:
        """Whether it predicts the reward and all dimensions that are not exogenous well on held-out samples. A model
        that predicts no dimension is not good."""
        return self.explains(GOOD_SCORE)

    @property
    def is_quiet(self) -> bool:
        """Whether its errors hardly matter: they are less than `QUIET` of the variance on held-out samples."""
        return self.explains(1.0 - QUIET)

    @property
    def is_mostly_quiet(self) -> bool:
        """Whether its errors on most samples hardly matter; a few samples may break a law, at a stop for example."""
        outputs = [*self.structure.plain, *(i for i, _, _ in self.structure.circles)]
        learned = zip(outputs, self.choices, self.targets.T, strict=True)
        pairs = [(typical(choice.residuals), y) for d, choice, y in learned if d not in self.exogenous]
        if self.known_reward is None:
            pairs.append((typical(self.reward.choice.residuals), self.reward.targets))
        return self.is_quiet or hardly_noisy(pairs)

    @property
    def is_linear_quadratic(self) -> bool:
        """Whether it is linear with a quadratic reward."""
        linear, drawn = OutputKind("linear"), self.known_terminal is not None or bool(self.exogenous)
        plain = all(_nearly(choice, linear) for choice in self.choices) and not self.structure.circles
        return plain and not drawn and self._has_quadratic_reward

    @property
    def _has_quadratic_reward(self) -> bool:
        """Whether the reward of steps that do not end is quadratic; a known reward, up to rounding."""
        quadratic, choice = OutputKind("quadratic"), self.reward.choice
        if self.reward.shapes:
            return False
        if self.known_reward is None:
            return _nearly(choice, quadratic)
        if not choice.errors.get(quadratic, 1.0) < ROUNDING:
            return False
        data = self.transitions[self.reward.rows]
        known = known_rewards(self.known_reward, data.states, data.actions, data.next_states)
        return bool(np.allclose(known, data.rewards, rtol=1e-9, atol=1e-12))

    def explains(self, share: float) -> bool:
        """Whether it explains this share of the variance of the reward and of all dimensions that are not exogenous."""
        predicted = [score for d, score in enumerate(self.state_scores) if d not in self.exogenous]
        return len(predicted) > 0 and min(self.reward_score, *predicted) >= share

    @cached_property
    def nearby(self) -> NearbyStates:
        """Draws states near observed ones."""
        return NearbyStates(self.transitions)

    @cached_property
    def native(self) -> _core.LearnedModel:
        """The model of all samples, compiled."""
        return self._compiled(
            np.arange(len(self.transitions)), other_kinds=False, seed=self.seed, n_trees=self.n_estimators
        )

    def member(self, number: int) -> _core.LearnedModel:
        """Member `number` of the ensemble, fitted on episodes drawn with replacement; odd ones are of other kinds where
        those predict nearly as well."""
        rng = np.random.default_rng([self.seed, 7, number])
        names, episode = np.unique(self.transitions.episodes, return_inverse=True)
        if len(names) >= ENOUGH_EPISODES:
            count = np.bincount(rng.integers(len(names), size=len(names)), minlength=len(names))
            rows = np.repeat(np.arange(len(episode)), count[episode])
        else:
            rows = np.sort(rng.integers(len(episode), size=len(episode)))
        seed = (self.seed + 1_000 * (number + 1)) % 2**64
        return self._compiled(rows, other_kinds=number % 2 == 1, seed=seed, n_trees=MEMBER_TREES)

    def _compiled(self, rows: NDArray[np.intp], *, other_kinds: bool, seed: int, n_trees: int) -> _core.LearnedModel:
        data = self.transitions
        how: dict[str, Any] = {"n_estimators": n_trees, "seed": seed, "n_jobs": self.n_jobs}
        group = self.inputs.group()
        for j, choice in enumerate(self.choices):
            kind = choice.alternative if other_kinds else choice.kind
            fit_output(kind, self.inputs, self.targets[:, j], rows, **how).add_to(group)
        n_states = data.states.shape[1]
        model = _core.LearnedModel(n_states, data.actions.shape[1], period_rows(data.periodic, n_states))
        sources = self.structure.sources(n_states, data.actions.shape[1])
        model.set_dynamics(sources, group, list(self.structure.plain), list(self.structure.circles))
        for relation in self.structure.relations:
            formula = relation.inputs.group()
            formula.add(np.ascontiguousarray(relation.coefficients), None)
            model.add_relation(relation.dimension, list(relation.sources), formula)
        self._add_signals(model)
        self._add_reward(model, rows, other_kinds, how)
        self.end.compile_into(model, self.inputs)
        spread = None
        if self.spread is not None:
            spread = self.inputs.group()
            self.spread.add_to(spread)
        model.set_noise(self.residuals, spread)
        self.set_edge(model, 0.0)
        model.check()
        return model

    def _add_signals(self, model: _core.LearnedModel) -> None:
        """Adds the parts that are known exactly: the history and the actuators."""
        signals = self.transitions.plant.signals
        if signals is None:
            model.set_signals(np.empty((0, 8)), [], list(self.structure.copies))
            return
        box = bounds(self.transitions.action_space)
        rows = np.empty((0, 8)) if signals.actuators.idle else signals.actuators.table(box)
        first = signals.history * len(signals.channel_names)
        before = [first + j for j in range(len(rows))] if signals.actuators.max_rate else [0] * len(rows)
        model.set_signals(np.ascontiguousarray(rows), before, list(self.structure.copies))

    def applied(self, states: Floats, actions: Floats) -> Floats:
        """The actions that known actuators apply for rows of commands in rows of states."""
        signals = self.transitions.plant.signals
        if signals is None or signals.actuators.idle:
            return actions
        first = signals.history * len(signals.channel_names)
        last = states[:, first : first + actions.shape[1]] if signals.history_actions else np.zeros_like(actions)
        taken: Floats = signals.actuators.applied(actions, last, bounds(self.transitions.action_space))
        return taken

    def _add_reward(
        self, model: _core.LearnedModel, rows: NDArray[np.intp], other_kinds: bool, how: dict[str, Any]
    ) -> None:
        reward = self.reward
        place = np.full(len(self.transitions), -1)
        place[reward.rows] = np.arange(len(reward.rows))
        chosen = place[rows][place[rows] >= 0]
        if len(chosen) == 0:  # resampled episodes may hold nothing but terminal steps
            chosen = np.arange(len(reward.rows))
        kind = reward.choice.alternative if other_kinds else reward.choice.kind
        group = reward.inputs.group()
        fit_output(kind, reward.inputs, reward.targets, chosen, **how).add_to(group)
        # A quadratic cost continues beyond the data; the rewards of forests and Gaussian processes are limited to the
        # extremes that were seen. (Cart-pole, rewards of at most 1: plans promised 42, although 35 is the maximum.)
        low, high = -np.inf, np.inf
        if (kind.leaf is not None or kind.base == "kernel") and len(reward.targets):
            low, high = float(reward.targets.min()), float(reward.targets.max())
        model.set_reward(list(reward.sources), list(reward.shapes), group, low, high)

    def set_edge(self, model: _core.LearnedModel, discount: float) -> None:
        """Sets where the data ends in a compiled model, and what it costs to leave the data under a discount."""
        model.set_edge(*self.edge(discount))

    def edge(self, discount: float) -> Edge:
        """Where the data ends, and what it costs to leave it under a discount."""
        return find_edge(self.transitions, discount)

    def sample(
        self,
        n: int,
        random_state: int | np.random.Generator | None = 0,
        control_law: Callable[[Floats], Floats] | None = None,
    ) -> Transitions:
        """`n` transitions of the model: states near observed ones, uniform actions, observed residuals as noise. With a
        control law (rows of states → actions) half of the actions are its own."""
        n = whole_number("n", n, at_least=1)
        data = self.transitions
        rng = np.random.default_rng([seed_number("random_state", random_state), 1])
        states = self.nearby.draw(n, rng)
        box = bounds(data.action_space)
        actions = clip(box[:, 0] + rng.random((n, len(box))) * (box[:, 1] - box[:, 0]), box)
        if control_law is not None and n > 1:
            actions[: n // 2] = clip(control_law(states[: n // 2]), box)
        rows = rng.integers(len(self.residuals), size=n).astype(np.uint32)
        next_states, rewards, chances, paid = self.native.step(states, actions, rows, False)
        actions = self.applied(states, actions)  # the core does this itself
        terminals = rng.random(n) < chances
        if self.known_terminal is not None:
            terminals = known_ends(self.known_terminal, states, actions, next_states)
        if self.end.kind != "never":
            rewards[terminals] = paid[terminals]
        next_states[~terminals] = clip(next_states[~terminals], data.state_box())
        if self.known_reward is not None:
            rewards = known_rewards(self.known_reward, states, actions, next_states)
        return Transitions(
            states, actions, rewards, next_states, terminals, np.arange(n), action_space=data.action_space,
            observation_space=data.observation_space, state_limits=data.state_limits, periodic=data.periodic,
            plant=data.plant, outside="keep",
        )  # fmt: skip


def _nearly(choice: Choice, kind: OutputKind) -> bool:
    """Whether an output is of a kind, or is predicted by it up to rounding."""
    return choice.kind == kind or choice.errors.get(kind, 1.0) < ROUNDING

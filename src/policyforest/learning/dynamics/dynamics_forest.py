"""Learning a model of the transitions: dynamics, reward, ends and noise, each by cross-validation over episodes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from policyforest._support.angles import difference
from policyforest._support.arguments import Floats, seed_number, whole_number
from policyforest._support.blas import one_blas_thread
from policyforest.data.known_functions import LARGEST, Known, known_ends, known_rewards
from policyforest.data.plant import KnownFunction
from policyforest.data.transitions import Transitions
from policyforest.learning.dynamics.choice import Choice, HeldOut, choose, chosen_again, nearly_odd
from policyforest.learning.dynamics.dynamics_model import GOOD_SCORE, DynamicsModel
from policyforest.learning.dynamics.ends import fit_end
from policyforest.learning.dynamics.noise import observed_noise
from policyforest.learning.dynamics.regression import ModelInputs, OutputKind
from policyforest.learning.dynamics.reward_learning import learn_reward
from policyforest.learning.dynamics.structure import (
    ExogenousEvidence,
    Structure,
    find_structure,
    late_but_measured,
    may_be_odd,
    without_pending,
)


@dataclass(frozen=True)
class DynamicsForest:
    """Learns a model from samples; `fit` returns a `DynamicsModel`.

    Each output is zero, a polynomial (angles enter as sine and cosine), or the sum of a polynomial and a forest with
    linear leaves for its residuals. Cross-validation selects one of them, and prefers the simpler one.

    Args:
        reward: A formula over named columns of (s, a, s'), or a function of rows (states, actions, next_states), that
            is used instead of a learned reward; None: the reward that the `plant` of the samples knows, if any.
        terminal: The same for terminal steps.
        exogenous: State dimensions that the system does not influence (set points, disturbances); None: those that the
            `plant` of the samples names, or else those that are found from the samples.
        n_estimators: Trees of the forests of the whole model; members of the ensemble have fewer.
        random_state: The seed.
        n_jobs: Threads; the result does not depend on them.
        kernels: Also compare Gaussian processes if samples are few. They need the fewest samples, but a step of the
            model then takes ten times as long.
    """

    reward: KnownFunction | None = None
    terminal: KnownFunction | None = None
    exogenous: tuple[int, ...] | None = None
    n_estimators: int = 25
    random_state: int | np.random.Generator | None = 0
    n_jobs: int | None = 1
    kernels: bool = False

    @one_blas_thread
    def fit(self, transitions: Transitions, like: DynamicsModel | None = None) -> DynamicsModel:
        """Learns the change of state, the reward and the end of a step. The kinds of outputs are those of `like`, a
        model of fewer samples of the same system, or without it those that are best on held-out episodes."""
        data, seed = transitions, seed_number("random_state", self.random_state)
        known = self._known(data)
        self._check(data, *known)
        declared = self._declared(data)
        structure = find_structure(data, seed, declared or ())
        held_out = HeldOut.of(data.episodes, seed)
        targets = _targets(data, structure)
        if like is not None and not _alike(structure, like.structure, data):
            like = None
        structure, inputs, choices = self._dynamics(data, structure, targets, held_out, seed, like)
        exogenous, evidence = declared, tuple[ExogenousEvidence, ...]()
        if exogenous is None:
            evidence = self._exogenous(data, structure, choices, held_out, seed)
            exogenous = tuple(tried.dimension for tried in evidence if tried.found)
        for j, d in enumerate(structure.plain):
            if d in exogenous:
                none = OutputKind("none")
                choices[j] = Choice(none, none, targets[:, j], choices[j].score, choices[j].errors)
        if like is None and may_be_odd(data, structure) and not self.kernels:
            choices = nearly_odd(choices, inputs, targets, held_out, seed, self.n_jobs)
        needed = known[0] is None or not self.kernels  # Gaussian processes are not compared for a known reward
        reward = learn_reward(
            data, structure, held_out, seed + 1, self.n_jobs, like=None if like is None else like.reward,
            needed=needed, kernels=self.kernels,
        )  # fmt: skip
        spread, residuals = observed_noise(inputs, targets, choices, reward.choice, reward.rows, seed, self.n_jobs)
        end = fit_end(data, inputs, held_out, seed, self.n_jobs, self.kernels)
        return DynamicsModel(
            data, structure, inputs, targets, tuple(choices), reward, end, residuals, spread, exogenous, seed,
            self.n_estimators, self.n_jobs, *known, exogenous_evidence=evidence,
        )  # fmt: skip

    def _dynamics(
        self, data: Transitions, structure: Structure, targets: Floats, held_out: HeldOut, seed: int,
        like: DynamicsModel | None,
    ) -> tuple[Structure, ModelInputs, list[Choice]]:  # fmt: skip
        """The kinds of the outputs. If commands act late, newer commands are inputs only if held-out steps show that
        they matter: a delay may lie between two control steps."""
        tried, late = [], without_pending(structure, data)
        for each in [late] if late is structure else [late, structure]:
            inputs = _inputs(data, each)
            how: dict[str, Any] = {"kernels": self.kernels, "shrunk": late_but_measured(data)}
            choices = [
                (
                    None
                    if like is None
                    else chosen_again(like.choices[j], inputs, y, held_out, seed + 2 + j, self.n_jobs)
                )
                or choose(inputs, y, held_out, seed + 2 + j, self.n_jobs, **how)
                for j, y in enumerate(targets.T)
            ]
            tried.append((each, inputs, choices))
        first, whole = tried[0], tried[-1]
        return whole if _clearly_better(whole[2], first[2], targets, held_out.episode) else first

    def _known(self, data: Transitions) -> tuple[Known | None, Known | None]:
        """The reward and the end that are known, by this learner or by the plant."""
        if not isinstance(data, Transitions):
            raise TypeError(f"transitions: is {data!r}, must be Transitions")
        reward, terminal = self.reward or data.plant.reward, self.terminal or data.plant.terminal
        plant = replace(data.plant, reward=reward, terminal=terminal)
        return plant.function("reward"), plant.function("terminal")

    def _declared(self, data: Transitions) -> tuple[int, ...] | None:
        """The dimensions that are declared exogenous, by this learner or by the plant."""
        if self.exogenous is not None or data.plant.exogenous is None:
            return self.exogenous
        return tuple(data.plant.state_names.index(name) for name in data.plant.exogenous)

    def _check(self, data: Transitions, reward: Known | None, terminal: Known | None) -> None:
        whole_number("n_estimators", self.n_estimators, at_least=1)
        for d in self.exogenous or ():
            whole_number("exogenous", d, at_least=0, at_most=data.states.shape[1] - 1)
        for name in ("states", "next_states", "rewards"):
            largest = float(np.abs(getattr(data, name)).max())
            if largest > LARGEST:
                raise ValueError(f"{name}: holds a number of size {largest:g}, at most {LARGEST:g} is allowed")
        steps = (data.states, data.actions, data.next_states)
        if reward is not None:
            known_rewards(reward, *steps)
        if terminal is not None:
            known_ends(terminal, *steps)

    def _exogenous(
        self, data: Transitions, structure: Structure, choices: list[Choice], held_out: HeldOut, seed: int
    ) -> tuple[ExogenousEvidence, ...]:
        """Finds exogenous dimensions among those that are predicted badly: all inputs predict them no better than their
        own value alone."""
        found = []
        for d, choice in zip(structure.plain, choices, strict=False):
            if choice.score >= GOOD_SCORE:
                continue
            change = _change(data, d)
            own = choose(ModelInputs(data.states[:, [d]], {}), change, held_out, seed, self.n_jobs)
            by_itself = own.score >= choice.score - 0.05
            found.append(ExogenousEvidence(d, data.plant.state_names[d], choice.score, own.score, by_itself))
        return tuple(found)


def _alike(structure: Structure, earlier: Structure, data: Transitions) -> bool:
    """Whether the outputs of two structures mean the same, and late commands leave nothing to be determined."""
    pairs = [[circle[:2] for circle in each.circles] for each in (structure, earlier)]
    relations = [[(r.dimension, r.sources) for r in each.relations] for each in (structure, earlier)]
    plain = [(each.inputs, each.plain, each.copies, each.commands_act) for each in (structure, earlier)]
    same = all(a == b for a, b in (pairs, relations, plain))
    return same and without_pending(structure, data) is structure


def _clearly_better(choices: list[Choice], than: list[Choice], targets: Floats, episode: NDArray[np.int64]) -> bool:
    """Whether the errors of outputs on held-out steps are smaller, by more than two standard errors over episodes."""
    if choices is than:
        return False
    apart = np.zeros(len(targets))
    for mine, theirs, y in zip(choices, than, targets.T, strict=True):
        apart += (theirs.residuals**2 - mine.residuals**2) / max(float(y.var()), 1e-300)
    gains = np.bincount(episode, apart)
    return bool(gains.mean() > 2.0 * gains.std() / np.sqrt(len(gains)))


def _inputs(data: Transitions, structure: Structure) -> ModelInputs:
    used = structure.sources(data.states.shape[1], data.actions.shape[1])
    rows = np.concatenate([data.states, data.actions], axis=1)[:, used]
    periodic = {used.index(d): turn for d, turn in data.periodic.items()}
    return ModelInputs(np.ascontiguousarray(rows), periodic)


def _targets(data: Transitions, structure: Structure) -> Floats:
    """Changes of plain dimensions, then the turns of sine-cosine pairs."""
    columns = [_change(data, d) for d in structure.plain]
    for i, j, _ in structure.circles:
        ahead, here = data.next_states[:, [i, j]], data.states[:, [i, j]]
        sine = ahead[:, 0] * here[:, 1] - ahead[:, 1] * here[:, 0]
        cosine = ahead[:, 1] * here[:, 1] + ahead[:, 0] * here[:, 0]
        columns.append(np.arctan2(sine, cosine))
    return np.ascontiguousarray(np.stack(columns, axis=1))


def _change(data: Transitions, d: int) -> NDArray[np.float64]:
    return difference(data.next_states[:, d], data.states[:, d], data.periodic, d)

"""The methods by their names: from samples to a policy in one call, as the command line and the demo do it.

| name | what it is |
|---|---|
| ``fpf-pwl`` | Fitted Policy Forest with linear leaves |
| ``fpf-pwc`` | Fitted Policy Forest with constant leaves |
| ``fqi`` | Fitted Q Iteration, the action found by an arg max at every step |
| ``bas`` | Binary Action Search on least-squares policy iteration |
| ``fqi-discrete`` | Fitted Q Iteration over a few evenly spaced actions |
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

from gymnasium.spaces import Box
from numpy.typing import ArrayLike

from policyforest.arguments import Floats, one_of
from policyforest.fitted_policy import FittedPolicyForest
from policyforest.fitted_q import FittedQIteration, QIteration
from policyforest.policy import PolicyInfo
from policyforest.presets import named_problem, paper
from policyforest.q_function import QFunction
from policyforest.q_progress import QProgress
from policyforest.transitions import Transitions

METHODS = ("fpf-pwl", "fpf-pwc", "fqi", "bas", "fqi-discrete")
BASELINES = ("bas", "fqi-discrete")
LEAF_MODELS: dict[str, Literal["constant", "linear"]] = {"fpf-pwl": "linear", "fpf-pwc": "constant"}


class LearnedPolicy(Protocol):
    """What every policy of this library can do."""

    @property
    def observation_space(self) -> Box: ...
    @property
    def action_space(self) -> Box: ...
    @property
    def info(self) -> PolicyInfo: ...
    def act(self, state: Floats, /) -> Floats: ...
    def act_batch(self, states: ArrayLike) -> Floats: ...
    def save(self, path: Any) -> None: ...


@dataclass(frozen=True)
class Learned:
    """A policy, the Q function behind it where there is one, and the time that each took."""

    policy: LearnedPolicy
    q: QFunction | None
    q_seconds: float
    policy_seconds: float


@dataclass(frozen=True)
class Learner:
    """How to learn: a method, and what it needs to know besides the samples.

    Parameters
    ----------
    method: one of `METHODS`.
    problem: a short name or an id; it names the policy, and sets the discount where none is given.
    preset: "paper" for the settings of the paper, None for the defaults.
    seed, n_jobs: the random numbers of the forests, and threads; the result does not depend on the threads.
    callback, progress, checkpoint_dir: of Fitted Q Iteration.
    """

    method: str = "fpf-pwl"
    problem: str = ""
    discount: float | None = None
    preset: str | None = None
    seed: int = 0
    n_jobs: int | None = 1
    callback: Callable[[QIteration], None] | None = None
    progress: Callable[[QProgress], None] | None = None
    checkpoint_dir: str | os.PathLike[str] | None = None

    def __post_init__(self) -> None:
        one_of("method", self.method, METHODS)
        if self.preset is not None:
            one_of("preset", self.preset, ("paper",))
            if self.method in BASELINES:
                raise ValueError(f"preset: is {self.preset!r}, must be left out with the method {self.method!r}")
        if self.checkpoint_dir is not None and self.method in BASELINES:
            raise ValueError(f"checkpoint_dir: goes with Fitted Q Iteration, must be left out with {self.method!r}")

    def fit(self, data: Transitions, q: QFunction | None = None) -> Learned:
        """Learns from samples; a Q function that the same settings gave before is not learned again."""
        learned = self._fit_baseline(data) if self.method in BASELINES else self._fit_forest(data, q)
        return replace(learned, policy=with_problem(learned.policy, named_problem(self.problem).id))

    def learners(self) -> tuple[FittedQIteration, FittedPolicyForest]:
        """The two steps of Fitted Policy Forest with the settings asked for."""
        leaf_model = LEAF_MODELS.get(self.method, "linear")
        if self.preset == "paper":
            q_learner, policy_learner = paper(self.problem, leaf_model, random_state=self.seed, n_jobs=self.n_jobs)
        else:
            q_learner = FittedQIteration(random_state=self.seed, n_jobs=self.n_jobs)
            policy_learner = FittedPolicyForest(leaf_model, random_state=self.seed, n_jobs=self.n_jobs)
        # What the paper's preset says of the discount is the problem's own.
        told = replace(q_learner, callback=self.callback, progress=self.progress, checkpoint_dir=self.checkpoint_dir)
        return replace(told, discount=self._discount()), policy_learner

    def _fit_forest(self, data: Transitions, q: QFunction | None) -> Learned:
        q_learner, policy_learner = self.learners()
        started = time.perf_counter()
        q = q_learner.fit(data) if q is None else q
        middle = time.perf_counter()
        policy = q.policy() if self.method == "fqi" else policy_learner.fit(q)
        return Learned(policy, q, middle - started, time.perf_counter() - middle)

    def _fit_baseline(self, data: Transitions) -> Learned:
        from policyforest.baselines import DiscreteFQI, binary_action_search_for

        started = time.perf_counter()
        if self.method == "bas":
            learner = binary_action_search_for(
                self.problem, self._discount(), random_state=self.seed, n_jobs=self.n_jobs
            )
            policy: LearnedPolicy = learner.fit(data)
        else:
            policy = DiscreteFQI(discount=self._discount(), random_state=self.seed, n_jobs=self.n_jobs).fit(data)
        return Learned(policy, None, 0.0, time.perf_counter() - started)

    def _discount(self) -> float:
        return named_problem(self.problem).discount if self.discount is None else self.discount


def with_problem(policy: Any, problem: str, **settings: Any) -> Any:
    """The same policy, its info with the environment's id and with more settings."""
    info = replace(policy.info, problem=problem, settings={**policy.info.settings, **settings})
    return replace(policy, info=info)

"""The methods by their names: from samples to a policy in one call, as the command line and the demo do it.

| name | what it is |
|---|---|
| ``plan`` | planning with a learned model (`PlannedLearning`) |
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
from functools import cached_property
from typing import Any, Literal, Protocol

from gymnasium.spaces import Box
from numpy.typing import ArrayLike

from policyforest._support.arguments import Floats, one_of
from policyforest._support.signals import Signals
from policyforest.data.plant import KnownFunction
from policyforest.data.transitions import Transitions
from policyforest.environments.named_problems import named_problem
from policyforest.learning.contest import PlannedPolicy
from policyforest.learning.fitted_policy import FittedPolicyForest
from policyforest.learning.fitted_q import FittedQIteration
from policyforest.learning.planned_learning import PlannedLearning
from policyforest.learning.presets import paper
from policyforest.learning.q_function import QFunction
from policyforest.learning.q_history import QIteration
from policyforest.learning.q_progress import QProgress
from policyforest.policy.policy_info import PolicyInfo

METHODS = ("plan", "fpf-pwl", "fpf-pwc", "fqi", "bas", "fqi-discrete")
LEAF_MODELS: dict[str, Literal["constant", "linear"]] = {"fpf-pwl": "linear", "fpf-pwc": "constant"}
BASELINES = ("bas", "fqi-discrete")
"""The methods of the package `baselines`, which registers how they learn"""
WITHOUT_Q = ("plan", *BASELINES)
"""The methods that report no Q iterations, take no preset and keep no checkpoints"""
WITH_Q = tuple(method for method in METHODS if method not in WITHOUT_Q)


class LearnedPolicy(Protocol):
    """The interface of every policy of this library."""

    @property
    def observation_space(self) -> Box: ...
    @property
    def action_space(self) -> Box: ...
    @property
    def info(self) -> PolicyInfo: ...
    @property
    def signals(self) -> Signals | None: ...
    def with_signals(self, signals: Signals | None) -> Any: ...
    def act(self, state: Floats, /) -> Floats: ...
    def act_batch(self, states: ArrayLike) -> Floats: ...
    def save(self, path: Any) -> None: ...


@dataclass(frozen=True)
class Learned:
    """A policy, the Q function behind it if there is one, and the time that each took."""

    policy: LearnedPolicy
    q: QFunction | None
    q_seconds: float
    policy_seconds: float
    planned: PlannedPolicy | None = None
    """How ``plan`` chose the policy"""


@dataclass(frozen=True)
class Learner:
    """How to learn: a method, and its settings apart from the samples.

    Args:
        method: One of `METHODS`.
        reward: A known reward, as in `PlannedLearning`; None: that of the plant of the samples, if any.
        terminal: The same for terminal steps.
        problem: A short name or an id; it names the policy, and sets the discount if none is given.
        preset: "paper" for the settings of the paper, None for the defaults.
        seed: The seed of the forests.
        n_jobs: The number of threads; the result does not depend on it.
        callback: As in `FittedQIteration`.
        progress: As in `FittedQIteration`.
        checkpoint_dir: As in `FittedQIteration`.
        baseline: As in `PlannedLearning`, for the method ``plan``.
        stage: As `callback` in `PlannedLearning`.
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
    baseline: Any = None
    stage: Callable[[str], None] | None = None
    reward: KnownFunction | None = None
    terminal: KnownFunction | None = None

    def __post_init__(self) -> None:
        one_of("method", self.method, METHODS)
        if self.preset is not None:
            one_of("preset", self.preset, ("paper",))
            if self.method in WITHOUT_Q:
                raise ValueError(f"preset: is {self.preset!r}, must be left out with the method {self.method!r}")
        if self.checkpoint_dir is not None and self.method in WITHOUT_Q:
            raise ValueError(f"checkpoint_dir: needs Fitted Q Iteration, must be left out with {self.method!r}")
        if self.baseline is not None and self.method != "plan":
            raise ValueError(f"baseline: needs the method 'plan', must be left out with {self.method!r}")

    def fit(self, data: Transitions, q: QFunction | None = None) -> Learned:
        """Learns from samples. A Q function `q` that the same settings gave before is not learned again."""
        data = data.with_known(self.reward, self.terminal)
        if self.method == "plan":
            learned = self._fit_planned(data)
        else:
            learned = self._fit_baseline(data) if self.method in BASELINES else self._fit_forest(data, q)
        if learned.policy.signals is None:
            learned = replace(learned, policy=learned.policy.with_signals(data.plant.signals))
        return replace(learned, policy=with_problem(learned.policy, named_problem(self.problem).id))

    @cached_property
    def learners(self) -> tuple[FittedQIteration, FittedPolicyForest]:
        """The two steps of Fitted Policy Forest with the requested settings, made once."""
        leaf_model = LEAF_MODELS.get(self.method, "linear")
        same: dict[str, Any] = {"random_state": self.seed, "n_jobs": self.n_jobs}
        observers: dict[str, Any] = {
            "callback": self.callback,
            "progress": self.progress,
            "checkpoint_dir": self.checkpoint_dir,
        }
        if self.preset == "paper":
            # The discount of the paper's preset is the problem's own.
            return paper(self.problem, leaf_model, discount=self.gamma, **same, **observers)
        q_learner = FittedQIteration(self.gamma, **same, **observers)
        return q_learner, FittedPolicyForest(leaf_model, q_learner=q_learner, **same)

    def _fit_forest(self, data: Transitions, q: QFunction | None) -> Learned:
        q_learner, policy_learner = self.learners
        started = time.perf_counter()
        q = q_learner.fit(data) if q is None else q
        middle = time.perf_counter()
        policy = q.policy() if self.method == "fqi" else policy_learner.fit(q)
        return Learned(policy, q, middle - started, time.perf_counter() - middle)

    def _fit_planned(self, data: Transitions) -> Learned:
        started = time.perf_counter()
        how = PlannedLearning(
            self.gamma, self.baseline, random_state=self.seed, n_jobs=self.n_jobs, callback=self.stage
        )
        planned = how.fit(data)
        return Learned(planned.policy, None, 0.0, time.perf_counter() - started, planned)

    def _fit_baseline(self, data: Transitions) -> Learned:
        started = time.perf_counter()
        policy = _BASELINE_LEARNERS[self.method](self).fit(data)
        return Learned(policy, None, 0.0, time.perf_counter() - started)

    @property
    def gamma(self) -> float:
        """The discount that was given, or the problem's own."""
        return named_problem(self.problem).discount if self.discount is None else self.discount


BaselineLearner = Callable[[Learner], Any]
_BASELINE_LEARNERS: dict[str, BaselineLearner] = {}


def register_baseline(method: str, learner: BaselineLearner) -> None:
    """Makes a baseline known under its name: a function from a `Learner` to an object with `fit(transitions)`."""
    _BASELINE_LEARNERS[one_of("method", method, BASELINES)] = learner


def with_problem(policy: Any, problem: str, **settings: Any) -> Any:
    """The same policy, its info with the environment's id and with more settings."""
    info = replace(policy.info, problem=problem, settings={**policy.info.settings, **settings})
    return policy.with_info(info)

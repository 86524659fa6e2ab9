"""From samples to the best policy that this library can learn from them with a learned model: `pf.learn`.

The model is learned, and candidates are made: the best constant action, the linear-quadratic regulator, dynamic
programming on a grid of states, a Fitted Policy Forest, the greedy policy of the Q forest, an existing controller, and
the mean of candidates that the model cannot distinguish. The best candidate is improved in the model by trajectories,
by the gains of a linear law, or by rollouts. All are compared on members of the model's ensemble that none of them was
made with. If the result does not beat the constant action or the existing controller, this is reported.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from policyforest._support.arguments import real_number, seed_number
from policyforest._support.blas import one_blas_thread
from policyforest._support.callers import user_stacklevel
from policyforest._support.progress import stages_shown
from policyforest._support.settings import HOW
from policyforest.data.plant import KnownFunction
from policyforest.data.readers.datasets import as_transitions
from policyforest.data.transitions import Transitions
from policyforest.learning.contest import Contest, PlannedPolicy
from policyforest.learning.dynamics.dynamics_forest import DynamicsForest
from policyforest.learning.dynamics.dynamics_model import GOOD_SCORE, DynamicsModel
from policyforest.learning.fitted_policy import FittedPolicyForest
from policyforest.learning.fitted_q import FittedQIteration
from policyforest.policy.baseline import as_baseline
from policyforest.policy.policy import Policy

# Near a controller that works, most of the variance is noise: good models explained 0.71 to 0.80 of the speeds of a
# pendulum that three laws balanced. The result is compared with the baseline, so the model may explain less.
SCORE_WITH_BASELINE = 0.5


class PlanningWarning(UserWarning):
    """Planning was not used, or found nothing better than a constant action or than the given controller."""


@dataclass(frozen=True)
class PlannedLearning:
    """Learns a policy from samples by planning with a learned model; `fit` returns a `PlannedPolicy`.

    Args:
        discount: gamma, in [0, 1).
        baseline: An existing controller: a policy, a function of one state, or a formula such as
            ``"u = -12*theta - 3*omega"``. In the model, the result is not worse than this controller.
        reward: A known reward instead of a learned one: a formula over named columns of (s, a, s'), or a function of
            rows (states, actions, next_states).
        terminal: The same for terminal steps.
        random_state: The seed.
        n_jobs: Threads; the result does not depend on them.
        callback: Called with a line of text at each stage.
    """

    discount: float = 0.98
    baseline: Any = None
    reward: KnownFunction | None = None
    terminal: KnownFunction | None = None
    random_state: int | np.random.Generator | None = 0
    n_jobs: int | None = 1
    callback: Callable[[str], None] | None = field(default=None, repr=False, metadata=HOW)

    def __post_init__(self) -> None:
        real_number("discount", self.discount, at_least=0.0, below=1.0)
        known = self.baseline is None or isinstance(self.baseline, str) or callable(self.baseline)
        if not known and not callable(getattr(self.baseline, "act_batch", None)):
            raise TypeError(f"baseline: is {self.baseline!r}, must be a policy, a function, a formula or None")

    @one_blas_thread
    def fit(self, data: Transitions | Any) -> PlannedPolicy:
        """Learns from Transitions, or from a dataset that `as_transitions` knows."""
        samples = as_transitions(data).with_known(self.reward, self.terminal)
        seed = seed_number("random_state", self.random_state)
        baseline = self._baseline(samples)
        self._tell("learning the model")
        model = DynamicsForest(random_state=seed, n_jobs=self.n_jobs).fit(samples)
        if not model.explains(GOOD_SCORE if self.baseline is None else SCORE_WITH_BASELINE):
            return self._without_model(samples, model, seed)
        contest = Contest(
            model,
            discount=self.discount,
            baseline=baseline,
            seed=seed,
            n_jobs=self.n_jobs,
            tell=self._tell,
        )
        planned = contest.run()
        if planned.note:
            warnings.warn(planned.note, PlanningWarning, stacklevel=user_stacklevel())
        return planned

    def _baseline(self, samples: Transitions) -> Any:
        """The existing controller with checks; a policy of this library is returned unchanged. It must have an action
        for the state of each sample, even if no plan will use it."""
        if self.baseline is None or isinstance(self.baseline, Policy):
            return self.baseline
        plant, spaces = samples.plant, (samples.observation_space, samples.action_space)
        baseline = as_baseline(self.baseline, *spaces, plant.state_names, plant.action_names)
        baseline.act_batch(samples.states)
        return baseline

    def _without_model(self, samples: Transitions, model: DynamicsModel, seed: int) -> PlannedPolicy:
        explained = max(0.0, min(*model.state_scores, model.reward_score))
        note = (
            f"planning was not used: the model explains only {100 * explained:.0f}% of the variance of an output on "
            "held-out samples; the policy comes from Fitted Q Iteration on the samples"
        )
        if self.baseline is not None:
            note += " and was not compared with the controller that was given (see compare_offline)"
        warnings.warn(note, PlanningWarning, stacklevel=user_stacklevel())
        self._tell("Fitted Q Iteration")
        q = FittedQIteration(self.discount, resample=None, random_state=seed, n_jobs=self.n_jobs).fit(samples)
        policy = FittedPolicyForest(random_state=seed, n_jobs=self.n_jobs).fit(q)
        return PlannedPolicy(policy, "fpf-pwl", (), model, policy, None, note)

    def _tell(self, stage: str) -> None:
        if self.callback is not None:
            self.callback(stage)


def learn(
    data: Transitions | Any,
    *,
    discount: float = 0.98,
    baseline: Any = None,
    reward: KnownFunction | None = None,
    terminal: KnownFunction | None = None,
    random_state: int | np.random.Generator | None = 0,
    n_jobs: int | None = 1,
    progress: bool = False,
) -> Any:
    """Learns the best policy that the samples allow, without tuning. It plans with a learned model.

    Args:
        data: Transitions, or a dataset that `as_transitions` knows.
        discount: gamma, in [0, 1).
        baseline: An existing controller: a policy, a function of one state or a formula such as
            ``"u = -12*theta - 3*omega"``. In the model, the result is not worse than this controller (see
            `compare_offline`).
        reward: A known reward instead of a learned one: a formula such as ``"-(theta**2) - 0.1*u**2"`` over named
            columns of (s, a, s'), or a function of rows (states, actions, next_states).
        terminal: The same for terminal steps.
        random_state: The seed.
        n_jobs: Threads; the result does not depend on them.
        progress: Whether to show a bar with the time left on standard error, if learning takes more than 2 s.
    """
    with stages_shown() if progress else nullcontext() as callback:
        learner = PlannedLearning(discount, baseline, reward, terminal, random_state, n_jobs, callback)
        return learner.fit(data).policy

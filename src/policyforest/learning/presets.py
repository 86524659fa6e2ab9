"""The paper's settings for its batch problems.

The paper gives the policy's parameters (its Tables 1 and 2); those of the Q forest come from the authors'
configurations. For Car on the Hill it gives none; these settings reproduce its figure.

| problem | Q forest: k, n_min, M, V_min | H | discount | policy: k, n_min constant / linear, M, V_min |
|---|---|---|---|---|
| inverted-pendulum | 3, 1, 25, 1e-4 | 10 | 0.95 | 2, 17 / 125, 25, 1e-4 |
| double-integrator | 3, 1, 25, 1e-4 | 10 | 0.98 | 2, 100 / 1500, 25, 1e-4 |
| car-on-the-hill | 3, 1, 25, 0 | 30 | 0.95 | 2, 5 / 5, 25, 0 |

All of them learn the policy on 10,000 uniform states, from the samples alone (no resampling) and with splits that are
scored on y itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from policyforest._support.arguments import one_of
from policyforest.environments.named_problems import PROBLEMS, environment_id
from policyforest.forest.best_actions import SearchMode
from policyforest.forest.growth_rules import LeafModel
from policyforest.learning.fitted_policy import FittedPolicyForest
from policyforest.learning.fitted_q import FittedQIteration


@dataclass(frozen=True)
class PaperSettings:
    """The settings of the paper (or its authors' code) for a problem; min_samples_leaf of the policy by leaf model."""

    horizon: int
    discount: float
    max_leaves: int
    min_variance: float
    policy_min_samples_leaf: dict[LeafModel, int]


PAPER = {
    "inverted-pendulum": PaperSettings(10, 0.95, 50, 1e-4, {"constant": 17, "linear": 125}),
    "double-integrator": PaperSettings(10, 0.98, 40, 1e-4, {"constant": 100, "linear": 1500}),
    "car-on-the-hill": PaperSettings(30, 0.95, 50, 0.0, {"constant": 5, "linear": 5}),
}


def paper(
    problem: str,
    leaf_model: LeafModel = "linear",
    *,
    action_search: SearchMode = "exact",
    discount: float | None = None,
    random_state: int = 0,
    n_jobs: int | None = 1,
    **observers: Any,
) -> tuple[FittedQIteration, FittedPolicyForest]:
    """The paper's learners for one of its three batch problems.

    The arg max is exact, whereas the paper searches a pruned merged tree: the exact search is faster and never finds a
    smaller Q. `action_search="merged"` uses the paper's search, with its number of leaves. `discount` replaces the
    paper's; `observers` (callback, progress, checkpoint_dir, executor) go to Fitted Q Iteration.

    Examples:
        >>> q_learner, policy_learner = paper("double-integrator", "constant")
        >>> q_learner.horizon, policy_learner.min_samples_leaf
        (10, 100)
    """
    settings = PAPER[_paper_problem(problem)]
    one_of("leaf_model", leaf_model, ("constant", "linear"))
    same: dict[str, Any] = {
        "n_estimators": 25,
        "min_variance": settings.min_variance,
        "random_state": random_state,
        "n_jobs": n_jobs,
    }
    gamma = settings.discount if discount is None else discount
    q_learner = FittedQIteration(
        gamma, settings.horizon, max_features=3, min_samples_leaf=1, score=None, action_search=action_search,
        max_leaves=settings.max_leaves, resample=None, **same, **observers,
    )  # fmt: skip
    policy_learner = FittedPolicyForest(
        leaf_model, n_states=10_000, states="uniform", max_features=2, q_learner=q_learner,
        min_samples_leaf=settings.policy_min_samples_leaf[leaf_model], **same,
    )  # fmt: skip
    return q_learner, policy_learner


def _paper_problem(problem: str) -> str:
    """The paper's name of a problem; it has one name for both pendulums."""
    id = environment_id(problem)
    for name in PAPER:
        if id in (PROBLEMS[name].id, PROBLEMS[name].id.replace("-v0", "6kg-v0")):
            return name
    raise ValueError(f"problem: is {problem!r}, must be one of {', '.join(PAPER)}, for which the paper has settings")

"""Tables 1 and 2: the paper's parameters, read from the presets that its studies run with."""

from __future__ import annotations

from policyforest.exploration.agents import paper_planner
from policyforest.learning.fitted_policy import FittedPolicyForest
from policyforest.learning.fitted_q import FittedQIteration
from policyforest.learning.presets import PAPER, paper
from policyforest.paper.finished_cells import Cells

MAX_LEAVES = "max leaves (of merged trees; an exact arg max has none)"
COLUMNS = ("setting", "H", "γ", "Q: k / n_min / M / V_min", MAX_LEAVES, "states", "policy: k / n_min / M / V_min")


def rows(cells: Cells) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """A row for each problem and leaf model of the batch studies, and one for online learning."""
    made: list[tuple[str, ...]] = []
    for problem in PAPER:
        made.append(_row(f"{problem}, FPF:PWC", *paper(problem, "constant")))
        made.append(_row(f"{problem}, FPF:PWL", *paper(problem, "linear")))
    for name, discount, horizon in (("pendulum", 0.95, 15), ("swing-up", 0.98, 20)):
        planner = paper_planner(discount, horizon)
        made.append(_row(f"{name}, online", planner.q_learner, planner.policy_learner))
    return COLUMNS, made


def _row(setting: str, q: FittedQIteration, policy: FittedPolicyForest) -> tuple[str, ...]:
    states = "visited" if policy.states == "visited" else f"{policy.n_states:,} {policy.states}"
    return (setting, str(q.horizon), f"{q.discount:g}", _forest(q), str(q.max_leaves), states, _forest(policy))


def _forest(learner: FittedQIteration | FittedPolicyForest) -> str:
    k = "all" if learner.max_features is None else learner.max_features
    return f"{k} / {learner.min_samples_leaf} / {learner.n_estimators} / {learner.min_variance:g}"

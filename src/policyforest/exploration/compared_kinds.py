"""When the kinds of a model's outputs are compared again in a run.

The comparison takes as long as a plan, and hardly changes any more once there are many samples: from `REUSED_FROM` on,
kinds are compared each time the number of samples has doubled, and reused in between. Which plans compared them follows
from their numbers of samples alone, so a resumed run does the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from policyforest.exploration.plan_files import StoredPlan
from policyforest.learning.dynamics.dynamics_model import DynamicsModel

REUSED_FROM = 1_000

Learn = Callable[[StoredPlan, DynamicsModel | None], DynamicsModel]
"""Learns the model of a plan, with the kinds of outputs of another model or with kinds of its own"""


def reused(compared: DynamicsModel | None, n_samples: int) -> DynamicsModel | None:
    """The last model whose kinds were compared, if a model of so many samples uses them again."""
    if compared is None or not _reuses(len(compared.transitions), n_samples):
        return None
    return compared


def learned_again(plans: Sequence[StoredPlan], learn: Learn) -> tuple[DynamicsModel, DynamicsModel]:
    """The model of the last plan, and the last model whose kinds were compared."""
    first = plans[0]
    for plan in plans[1:]:
        if not _reuses(first.n_samples, plan.n_samples):
            first = plan
    compared = learn(first, None)
    return compared if first is plans[-1] else learn(plans[-1], compared), compared


def _reuses(n_compared: int, n_samples: int) -> bool:
    return REUSED_FROM <= n_samples < 2 * n_compared

"""Whether a plan has found anything that pays, and how much novelty is worth as long as it has not."""

from __future__ import annotations

import numpy as np

from policyforest.data.transitions import Transitions
from policyforest.exploration.ensemble_judge import EnsembleJudge
from policyforest.policy.policy import Policy

# Gains over a constant action that are below this share of the rewards' spread count as nothing.
NEGLIGIBLE = 0.02
# After n plans that sought novelty, its bonus is divided by 1 + n times this.
FADING = 0.2
# Values differ if they do so by more than this share of their size.
ROUNDING = 1e-9


def negligible(samples: Transitions, discount: float) -> float:
    """Smaller gains count as nothing: a small share of the spread of rewards, over the horizon."""
    return NEGLIGIBLE * float(samples.rewards.std()) * _horizon(samples, discount)


def novelty_bonus(samples: Transitions, discount: float, explored: int) -> float:
    """The bonus for novelty after a number of plans that sought it: the range of the rewards over the horizon, smaller
    from plan to plan."""
    rewards = samples.rewards
    spread = max(float(rewards.max() - rewards.min()), 1e-6 * (1.0 + float(np.abs(rewards).max())))
    return spread * _horizon(samples, discount) / (1.0 + FADING * explored)


def nothing_paid(judge: EnsembleJudge, best: Policy, constant: Policy) -> bool:
    """Whether all steps earned the same and none was terminal, and the best candidate promises nothing else than the
    constant action does. If reward and ends are learned, candidates then differ only in how far they leave the data; if
    one of them is known, the model may reach what no step has reached."""
    model, data = judge.model, judge.model.transitions
    if data.terminals.any() or float(np.ptp(data.rewards)) > 0.0:
        return False
    if model.known_reward is None and model.known_terminal is None:
        return True
    free = EnsembleJudge(judge.discount, judge.n_steps, model, judge.seed, leaving=0.0)
    values, idle = free.values(best), free.values(constant)
    return bool((np.abs(values - idle) <= ROUNDING * (1.0 + np.abs(idle))).all())


def _horizon(samples: Transitions, discount: float) -> float:
    """For how many steps a reward matters: 1 / (1 - gamma), or one step if every step so far ended its episode."""
    return 1.0 if samples.terminals.all() else 1.0 / (1.0 - discount)

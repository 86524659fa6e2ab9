"""Chooses the policy of a run to rely on, without further episodes. The returns that policies had in the system count
too.

The members of an ensemble share errors, so a policy that was never played may be worth far less than all of them
predict. The value of a policy that was played is their prediction plus what its episodes earned beyond it, from the
same first states (`believed`). A policy that was not played replaces it only if it is certainly better, and by a good
part of what the other gains over doing nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from policyforest._support.arguments import Floats
from policyforest.data.transitions import Transitions
from policyforest.exploration.ensemble_judge import FIRST_JUDGE, EnsembleJudge
from policyforest.exploration.plan_files import StoredPlan
from policyforest.learning.improvement.policy_search import certainly_better
from policyforest.policy.policy import Policy

# The number of last plans whose policies may be chosen in the end.
REMEMBERED = 8
# A policy that was not played must promise this part more than one that was, of what that gains over doing nothing.
# (Cart-pole, two runs of sixteen: policies that promised up to a tenth more did not balance.)
PROMISED = 0.2


@dataclass(frozen=True)
class ShownPolicy:
    """A policy, and the episodes that it was played in."""

    policy: Policy = field(repr=False)
    starts: Floats = field(repr=False)
    """A row for each episode; none for a policy that was not played"""
    lengths: tuple[int, ...] = ()
    returns: tuple[float, ...] = ()
    """Discounted"""


def shown_policies(final: Policy, plans: Sequence[StoredPlan], data: Transitions, discount: float) -> list[ShownPolicy]:
    """The final policy, those of the last plans that were to earn something, and the one that earned most, each with
    its episodes."""
    groups: list[tuple[Policy, list[int]]] = [(final, [])]
    for plan, later in itertools.zip_longest(plans, plans[1:]):
        if plan.explores:
            continue
        same = next((group for group in groups if same_policy(group[0], plan.policy)), None)
        if same is None:
            same = (plan.policy, [])
            groups.append(same)
        last = int(data.episodes[-1]) if later is None else later.episode
        same[1].extend(range(plan.episode + 1, last + 1))
    shown = [shown_policy(policy, data, episodes, discount) for policy, episodes in groups]
    first, older, recent = shown[:1], shown[1:-REMEMBERED], shown[1:][-REMEMBERED:]
    best = earned_most([*older, *recent])
    return [*first, *(each for each in older if each.policy is best), *recent]


def earned_most(shown: Sequence[ShownPolicy]) -> Policy | None:
    """The policy whose episodes earned most on average; None if none was played."""
    played = [each for each in shown if each.returns]
    best = max(played, key=lambda each: float(np.mean(each.returns)), default=None)
    return None if best is None else best.policy


def newest_and_best(shown: Sequence[ShownPolicy], number: int) -> tuple[Policy, ...]:
    """Up to `number` of the newest policies, newest first, and the one whose episodes earned most."""
    best = earned_most(shown)
    recent = [each.policy for each in reversed(shown)][:number]
    if best is not None and not any(best is policy for policy in recent):
        recent.append(best)
    return tuple(recent)


def shown_policy(policy: Policy, data: Transitions, episodes: Sequence[int], discount: float) -> ShownPolicy:
    """A policy with its complete episodes: those that ended, or that are as long as any. Others were cut by a budget,
    and show little."""
    sizes = np.bincount(data.episodes)
    rows = {e: np.flatnonzero(data.episodes == e) for e in episodes}
    whole = {e: r for e, r in rows.items() if len(r) and (len(r) == sizes.max() or data.terminals[r[-1]])}
    starts = np.array([data.states[r[0]] for r in whole.values()]).reshape(-1, data.states.shape[1])
    returns = [float(data.rewards[r] @ discount ** np.arange(len(r))) for r in whole.values()]
    return ShownPolicy(policy, starts, tuple(len(r) for r in whole.values()), tuple(returns))


def same_policy(a: Policy, b: Policy) -> bool:
    """Whether two policies have the same forests, also if one of them was read from a file."""
    if len(a.forests) != len(b.forests):
        return False
    pairs = [(f.arrays, g.arrays) for f, g in zip(a.forests, b.forests, strict=True)]
    return all(np.array_equal(x[name], y[name]) for x, y in pairs for name in x)


def surprise(shown: ShownPolicy, judge: EnsembleJudge) -> float:
    """How much more the episodes of a policy earned than the members predict from the same first states."""
    promised = [
        float(judge.returns(shown.policy, start[None], length, FIRST_JUDGE).mean())
        for start, length in zip(shown.starts, shown.lengths, strict=True)
    ]
    return float(np.mean(np.array(shown.returns) - np.array(promised)))


def believed(surprise: float, n_episodes: int) -> float:
    """The part of a surprise that counts among policies that were played: all of a bad one, and n / (n + 1) of a good
    one after n episodes, because a few episodes may have begun where any policy does well. (InvertedPendulum-v5, 2 runs
    of 35: a policy that had fallen after 139 or 263 steps replaced one that balanced for as long as it was played.)"""
    return surprise if surprise < 0.0 else surprise * n_episodes / (n_episodes + 1)


def best_of_run(shown: Sequence[ShownPolicy], judge: EnsembleJudge, number: int) -> list[Policy]:
    """Up to `number` policies of a run: first the one whose episodes earned most, because the last model may be wrong
    about it, then those with the highest values in the ensemble."""
    if number < 1:
        return []
    first = earned_most(shown)
    others = [each.policy for each in shown if each.policy is not first]
    values = np.array([judge.values(policy, FIRST_JUDGE).mean() for policy in others])
    valuable = [others[i] for i in np.argsort(-values, kind="stable")]
    return [*([] if first is None else [first]), *valuable][:number]


def reliable(candidates: Sequence[ShownPolicy], idle: Policy, judge: EnsembleJudge) -> Policy:
    """The candidate to rely on; `idle` does nothing."""
    values = [judge.values(each.policy, FIRST_JUDGE) for each in candidates]
    played = [i for i, each in enumerate(candidates) if each.returns]
    promised = [float(value.mean()) for value in values]
    best = int(np.argmax(promised))
    if not played:
        return candidates[best].policy
    beyond = {i: surprise(candidates[i], judge) for i in played}
    kept = max(played, key=lambda i: promised[i] + believed(beyond[i], len(candidates[i].returns)))
    worth = promised[kept] + beyond[kept]
    much = PROMISED * (worth - float(judge.values(idle, FIRST_JUDGE).mean()))
    certain = best not in played and certainly_better(values[best] - values[kept])
    if certain and promised[best] - worth > much:
        return candidates[best].policy
    return candidates[kept].policy

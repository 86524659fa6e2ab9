"""The plans of a run on disk: the policy of each, with what the next plan starts from.

`plan-000042.pforest`, in the folder of the episodes, is the plan that was made after episode 42; it holds all that a
resumed run needs of it. Plans of episodes that are played again are made again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from policyforest._support.arguments import Floats
from policyforest.exploration.model_planner import EARLIER
from policyforest.exploration.run_directory import PLAN_FILE
from policyforest.policy.policy import Policy
from policyforest.policy.policy_files import SUFFIX, load

# Where the info of a policy's file keeps the rest of its plan.
KEPT = "plan"


@dataclass(frozen=True)
class StoredPlan:
    """The stored parts of a plan."""

    episode: int
    """The number of the episode after which the plan was made"""
    n_samples: int
    policy: Policy = field(repr=False)
    winner: str
    """The candidate that the policy comes from"""
    explores: bool
    """Whether the plan seeks unknown states, because nothing known is better than a constant action"""
    sequence: Floats | None = field(repr=False)
    """The actions of its best trajectory"""
    values: Mapping[str, float]
    """The value of each candidate in the model"""
    number: int | None = None
    """How many plans of the run came before it; None in files of earlier versions"""


def plans_in_vain(plans: Sequence[StoredPlan]) -> int:
    """How many of the last plans in a row kept an earlier policy; plans on a grid are quick, and end the count."""
    kept = [plan.winner.startswith(EARLIER) and "grid" not in plan.values for plan in reversed(plans)]
    return kept.index(False) if False in kept else len(kept)


def may_lack_plan(stored: Mapping[int, StoredPlan], episode: int, n_before: int) -> bool:
    """Whether the plan after an episode may have been lost, if `n_before` plans come before it: the next plan in
    `stored` has a higher number, or there is none. Files of earlier versions have no numbers."""
    following = min((later for later in stored if later > episode), default=None)
    return following is None or (stored[following].number or 0) > n_before


class PlanFiles:
    """The files of plans in a run directory."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def write(self, plan: StoredPlan) -> None:
        """Stores a plan; the file is written under another name and renamed."""
        kept = {
            "episode": plan.episode,
            "n_samples": plan.n_samples,
            "winner": plan.winner,
            "explores": plan.explores,
            "sequence": None if plan.sequence is None else plan.sequence.tolist(),
            "values": dict(plan.values),
            "number": plan.number,
        }
        info = replace(plan.policy.info, settings={**plan.policy.info.settings, KEPT: kept})
        plan.policy.with_info(info).save(self._file(plan.episode))

    def read(self, n_episodes: int) -> Iterator[StoredPlan]:
        """The plans of stored episodes; files that are damaged or of later episodes are dropped."""
        for path in sorted(self._folder.iterdir()):
            name = PLAN_FILE.fullmatch(path.name)
            if name is None:
                continue
            number = int(name[1])
            plan = None if number >= n_episodes else _read(path, number)
            if plan is None:
                path.unlink()
            else:
                yield plan

    def _file(self, episode: int) -> Path:
        return self._folder / f"plan-{episode:06}{SUFFIX}"


def _read(path: Path, number: int) -> StoredPlan | None:
    try:
        policy: Any = load(path)
        settings = dict(policy.info.settings)
        kept = settings.pop(KEPT)
        if kept["episode"] != number:
            return None
        sequence = kept["sequence"]
        return StoredPlan(
            number,
            int(kept["n_samples"]),
            policy.with_info(replace(policy.info, settings=settings)),
            str(kept["winner"]),
            bool(kept["explores"]),
            None if sequence is None else np.array(sequence, dtype=np.float64),
            {str(name): float(value) for name, value in kept["values"].items()},
            None if kept.get("number") is None else int(kept["number"]),
        )
    except (ValueError, KeyError, TypeError, OSError):
        return None

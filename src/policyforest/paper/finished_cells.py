"""The input of the exhibits: the finished cells of one folder at one scale."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from policyforest._support.arguments import Floats
from policyforest.paper import STUDIES
from policyforest.paper.cell_checks import CellResult


@dataclass(frozen=True)
class Cells:
    """The finished cells in a folder."""

    out: Path
    scale: str = "paper"
    _read: dict[str, dict[int, CellResult]] = field(default_factory=dict, init=False, repr=False, compare=False)

    def by_seed(self, study: str) -> dict[int, CellResult]:
        """The results of a study by seed, which are read once.

        If a study needs an extra and has no cells at the scale "quick", its cells at the scale "paper" are shown."""
        if study not in self._read:
            found = STUDIES[study].by_seed(self.out, self.scale)
            if not found and STUDIES[study].extra is not None:
                found = STUDIES[study].by_seed(self.out, "paper")
            self._read[study] = found
        return self._read[study]

    def results(self, study: str) -> list[CellResult]:
        return list(self.by_seed(study).values())

    def rows(self, study: str, method: str) -> dict[int, Any]:
        """The results of one method of a study, by seed.

        In online studies, the methods are "mean", "worst" and "chosen" of n policies."""
        found = {}
        for seed, result in self.by_seed(study).items():
            for key, row in result.items():
                if key == method or key.startswith(f"{method} of "):
                    found[seed] = row
        return found

    def values(self, study: str, method: str, key: str = "return") -> Floats:
        """One number of each cell, such as its return, its steps or its seconds."""
        return np.array([row[key] for row in self.rows(study, method).values()], dtype=np.float64)

    def paired(self, one: tuple[str, str], other: tuple[str, str], key: str = "return") -> tuple[Floats, Floats]:
        """The numbers of two methods that learned from the same samples, for the seeds that both (study, method)
        have."""
        a, b = self.rows(*one), self.rows(*other)
        seeds = sorted(set(a) & set(b))
        return np.array([a[s][key] for s in seeds]), np.array([b[s][key] for s in seeds])

    def policy_returns(self, study: str) -> Floats:
        """The returns of all policies of all trials of an online study."""
        trials = [row["returns"] for row in self.rows(study, "mean").values()]
        return np.concatenate([np.array(trial) for trial in trials]) if trials else np.empty(0)

    def limit(self, problem: str, key: str = "return") -> float | None:
        """The return that dynamic programming reaches; None if it is not computed yet."""
        found = [result[key] for result in self.results("limits") if result["problem"] == problem]
        return float(found[0]) if found else None

    def portrait(self, problem: str, how: str = "batch") -> CellResult | None:
        found = [r for r in self.results("portraits") if (r["problem"], r["how"]) == (problem, how)]
        return found[0] if found else None

    def complete(self, studies: Iterable[str]) -> bool:
        return not any(STUDIES[name].missing(self.out, self.scale) for name in studies)

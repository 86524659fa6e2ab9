"""The candidates that a planned policy was chosen from, as a table: `PlannedLearning` stores them in the policy's info.

Settings come from files, so content that does not have the form of a comparison is ignored.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

COLUMNS = ("candidate", "value", "gain over the constant action", "standard error")
CAPTION = (
    "Mean discounted return from the states where episodes begin, in models of the ensemble that no candidate was made "
    "with. These values are only estimates of the model; evaluate the policy on the system."
)
COMPARISON = ("winner", "candidates", "note")
"""The names of the settings that hold the comparison"""
WORDS = {
    "improved": "improved in the learned model",
    "fpf-pwl": "Fitted Policy Forest",
    "fpf-pwc": "Fitted Policy Forest with constant leaves",
    "fqi": "greedy policy of a Q forest",
    "q-greedy": "greedy policy of a Q forest",
    "linear-quadratic": "linear-quadratic regulator",
    "late-regulator": "regulator of the predicted state",
    "grid": "dynamic programming on a grid of states",
    "mean": "mean of candidates without a clear difference",
    "rollout-improvement": "improved by rollouts",
    "trajectory-improvement": "improved by trajectories",
    "gain-improvement": "improved gains",
    "baseline": "the given baseline",
    "constant": "best constant action",
}
"""Display names of candidates and methods on pages and pictures; others are shown by their own names"""


@dataclass(frozen=True)
class Comparison:
    """The compared candidates, best first, the winner, and a note for the user."""

    winner: str
    candidates: tuple[Mapping[str, Any], ...]
    note: str

    def rows(self) -> list[tuple[str, ...]]:
        """A row of `COLUMNS` per candidate; the winner is marked."""
        return [self._row(candidate) for candidate in self.candidates]

    def _row(self, candidate: Mapping[str, Any]) -> tuple[str, ...]:
        name = candidate["name"]
        shown = WORDS.get(name, name) + (" (chosen)" if name == self.winner else "")
        if name == "constant":
            return (shown, f"{candidate['value']:.4g}", "", "")
        return (shown, f"{candidate['value']:.4g}", f"{candidate['gain']:.4g}", f"{candidate['error']:.2g}")

    def summary(self) -> str:
        """The winner in one line, with its gain."""
        text = WORDS.get(self.winner, self.winner)
        for candidate in self.candidates:
            if candidate["name"] == self.winner != "constant":
                gain, error = f"{candidate['gain']:.4g}", f"{candidate['error']:.2g}"
                text += f", {gain} ± {error} more than the best constant action in the learned model"
        return text


def comparison_of(settings: Mapping[str, Any]) -> Comparison | None:
    """The comparison that the settings of a policy contain; None if they contain none."""
    winner, candidates, note = settings.get("winner"), settings.get("candidates"), settings.get("note", "")
    if not isinstance(winner, str) or not isinstance(candidates, list) or not isinstance(note, str):
        return None
    if not candidates or not all(_is_candidate(candidate) for candidate in candidates):
        return None
    return Comparison(winner, tuple(candidates), note)


def _is_candidate(value: Any) -> bool:
    return (
        isinstance(value, Mapping)
        and isinstance(value.get("name"), str)
        and all(type(value.get(key)) in (int, float) for key in ("value", "gain", "error"))
    )

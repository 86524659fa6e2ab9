"""How late commands act: the delay whose actions predict held-out steps best.

For each candidate d, the change of the measurements is predicted from the present measurements and the command of d
steps before, by ridge regression on quadratic features, with whole episodes held out. The right command predicts best.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from policyforest._support.angles import difference
from policyforest._support.arguments import Floats, whole_number
from policyforest._support.linear_systems import solved
from policyforest._support.signals import Signals
from policyforest.data.signal_options import LONGEST_DELAY
from policyforest.data.stacking import Before, rows_before, stacked_rows
from policyforest.data.transitions import Transitions

FOLDS = 5
FEWEST_ROWS = 30
PERFECT = 1e-4
"""Errors far below this fraction of the variance count as equal, because they are only rounding."""


@dataclass(frozen=True)
class DelayEvidence:
    """The evidence for one candidate delay."""

    delay: int
    error: float
    """Mean squared error of held-out changes, as a fraction of their variance"""
    excess: float
    """Mean over episodes of the natural logarithm of the ratio of this error to that of the best candidate"""
    excess_error: float
    """Standard error of the excess over episodes"""

    @property
    def tied(self) -> bool:
        """Whether the data cannot distinguish it from the best candidate: the excess is within two standard errors."""
        return self.excess <= 2.0 * self.excess_error


@dataclass(frozen=True)
class DelaySearch:
    """The delay that was found, and the evidence for it."""

    delay: int
    table: tuple[DelayEvidence, ...]
    n_rows: int
    n_episodes: int
    history: int = 1

    @property
    def certain(self) -> bool:
        """Whether all other candidates are worse by more than two standard errors. With a history, delays that are
        shorter by less than its number of rows also include the right command, and are not counted."""
        alike = range(self.delay - self.history + 1, self.delay + 1)
        return not any(row.tied for row in self.table if row.delay not in alike)

    def __str__(self) -> str:
        lines = [f"commands act {_steps(self.delay)} late ({'certain' if self.certain else 'not certain'})"]
        for row in self.table:
            apart = f"{row.excess:.2f} ± {row.excess_error:.2f} above the best in natural logarithms"
            lines.append(f"  {_steps(row.delay)}: held-out error {row.error:.4g}, {apart}")
        return "\n".join(lines)


def find_delay(
    data: Transitions, *, longest: int = LONGEST_DELAY, history: int = 1, before: Before = "unknown"
) -> DelaySearch:
    """Finds by how many control steps commands act late.

    Args:
        data: Samples whose states are measurements.
        longest: The longest delay that is tried.
        history: Rows of measurements that predictions use: 2 or more if speeds are not measured.
        before: "idle" if the idle action was commanded before each episode.
    """
    longest = whole_number("longest", longest, at_least=0)
    signals = Signals(
        data.plant.state_names, data.plant.action_names, history=history, history_actions=longest + history - 1
    )
    most, needed = int(np.unique(data.episodes, return_counts=True)[1].max()), rows_before(signals, before)
    if most <= needed:
        raise ValueError(
            f"delay: episodes must have more than {needed} rows to find a delay of up to {longest} steps; the longest "
            f"has {most}"
        )
    rows, _ = stacked_rows(data, signals, before)
    n = len(rows["rewards"])
    if n < FEWEST_ROWS:
        raise ValueError(f"delay: only {n} rows have {longest} past actions, must be at least {FEWEST_ROWS}")
    errors = np.stack([_errors(data, rows, history, d) for d in range(longest + 1)])
    table = _evidence(errors, rows["episodes"])
    return DelaySearch(_newest_command(table, history), table, n, len(np.unique(rows["episodes"])), history)


def _evidence(errors: Floats, episodes: NDArray[np.int64]) -> tuple[DelayEvidence, ...]:
    """Compares the candidates episode by episode. Ratios prevent an episode that no candidate predicts from hiding the
    others."""
    which = np.unique(episodes, return_inverse=True)[1]
    size = np.bincount(which)
    logs = np.stack([np.log(np.bincount(which, error) / size + PERFECT) for error in errors])
    apart = logs - logs[np.argmin(logs.mean(axis=1))]
    spread = apart.std(axis=1, ddof=1) / np.sqrt(len(size)) if len(size) > 1 else np.zeros(len(apart))
    return tuple(
        DelayEvidence(d, float(errors[d].mean()), float(apart[d].mean()), float(spread[d])) for d in range(len(errors))
    )


def _newest_command(table: tuple[DelayEvidence, ...], history: int) -> int:
    """The delay of the newest command that matters.

    Candidate d includes the commands given d to d + history - 1 steps before. If speeds are measured, one of them acts,
    and up to `history` candidates include it: the longest of those is the delay.
    """
    tied = [row.delay for row in table if row.tied]
    if len(tied) == len(table):  # the data show no effect of the commands
        return 0
    found = tied[0]
    while found + 1 in tied and found + 1 < tied[0] + history:
        found += 1
    return found


def _steps(n: int) -> str:
    return f"{n} step" if n == 1 else f"{n} steps"


def _errors(data: Transitions, rows: dict[str, Floats], history: int, delay: int) -> Floats:
    """The squared error of each held-out row: the sum over dimensions, each divided by its variance."""
    width, m = data.states.shape[1], data.actions.shape[1]
    states, actions = rows["states"], rows["actions"]
    past = np.concatenate([actions, states[:, history * width :]], axis=1)  # the command now, then older ones
    inputs = [_on_circles(states[:, i * width : (i + 1) * width], data) for i in range(history)]
    inputs += [past[:, delay * m : (delay + history) * m]]
    features = _quadratic(np.concatenate(inputs, axis=1))
    targets = np.stack(
        [difference(rows["next_states"][:, d], states[:, d], data.periodic, d) for d in range(width)], axis=1
    )
    targets = targets / np.where(targets.std(axis=0) > 0, targets.std(axis=0), 1.0)
    fold = np.unique(rows["episodes"], return_inverse=True)[1] % FOLDS
    missed = np.zeros(len(targets))
    for k in np.unique(fold):
        train = fold != k
        if not train.any():  # a single episode: its second half is predicted by its first
            train = np.arange(len(fold)) < len(fold) // 2
        x, y = features[train], targets[train]
        weights = solved(x.T @ x + 1e-6 * len(x) * np.eye(x.shape[1]), x.T @ y)
        missed[fold == k] = ((targets[fold == k] - features[fold == k] @ weights) ** 2).mean(axis=1)
    return missed


def _on_circles(rows: Floats, data: Transitions) -> Floats:
    columns = []
    for d, column in enumerate(rows.T):
        if d in data.periodic:
            low, high = data.periodic[d]
            angle = 2 * np.pi * (column - low) / (high - low)
            columns += [np.cos(angle), np.sin(angle)]
        else:
            columns.append(column)
    return np.stack(columns, axis=1)


def _quadratic(rows: Floats) -> NDArray[np.float64]:
    spread = rows.std(axis=0)
    z = (rows - rows.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    i, j = np.triu_indices(z.shape[1])
    return np.concatenate([np.ones((len(z), 1)), z, z[:, i] * z[:, j]], axis=1)

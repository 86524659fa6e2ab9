"""How late commands act: the delay whose actions predict held-out steps best.

For each candidate d the change of the measurements is predicted from what is measured now and the command of d steps
before, by ridge regression on quadratic features, with whole episodes held out. The right command predicts best.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from policyforest._support.angles import difference
from policyforest._support.arguments import Floats, whole_number
from policyforest._support.signals import Signals
from policyforest.data.signal_options import LONGEST_DELAY
from policyforest.data.stacking import Before, rows_before, stacked_rows
from policyforest.data.transitions import Transitions

FOLDS = 5
FEWEST_ROWS = 30


@dataclass(frozen=True)
class DelayEvidence:
    """One candidate."""

    delay: int
    error: float
    """Mean squared error of held-out changes, as a part of their variance"""
    excess: float
    """How much larger it is than that of the best candidate, per episode"""
    excess_error: float
    """Standard error of the excess over episodes"""


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
        """Whether other candidates are worse by more than two standard errors; with a history, a delay that is longer
        by less than its rows has nearly the same commands and does not count."""
        alike = range(self.delay, self.delay + self.history)
        return all(row.excess > 2.0 * row.excess_error for row in self.table if row.delay not in alike)

    def __str__(self) -> str:
        lines = [f"commands act {self.delay} steps late ({'certain' if self.certain else 'not certain'})"]
        for row in self.table:
            apart = f"{row.excess:+.3g} ± {row.excess_error:.2g} against the best"
            lines.append(f"  {row.delay} steps: held-out error {row.error:.4g}, {apart}")
        return "\n".join(lines)


def find_delay(
    data: Transitions, *, longest: int = LONGEST_DELAY, history: int = 1, before: Before = "unknown"
) -> DelaySearch:
    """Finds by how many control steps commands act late.

    Args:
        data: Samples whose states are what was measured.
        longest: The longest delay that is tried.
        history: Rows of measurements that predictions use: 2 or more where speeds are not measured.
        before: "idle" where the idle action was commanded before each episode.
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
    episodes, which = np.unique(rows["episodes"], return_inverse=True)
    best = int(np.argmin(errors.mean(axis=1)))
    size = np.bincount(which)
    table = []
    for d, error in enumerate(errors):
        apart = np.bincount(which, error - errors[best]) / size
        spread = float(apart.std(ddof=1) / np.sqrt(len(apart))) if len(apart) > 1 else 0.0
        table.append(DelayEvidence(d, float(error.mean()), float(apart.mean()), spread))
    # With a history, longer delays may predict as well: the shortest of those keeps the commands that are pending.
    found = next(row.delay for row in table if row.excess <= 2.0 * row.excess_error)
    return DelaySearch(found, tuple(table), n, len(episodes), history)


def _errors(data: Transitions, rows: dict[str, Floats], history: int, delay: int) -> Floats:
    """The squared error of each held-out row, summed over dimensions as parts of their variance."""
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
        weights = np.linalg.solve(x.T @ x + 1e-6 * len(x) * np.eye(x.shape[1]), x.T @ y)
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

"""The common faults of logs, each with a remedy."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from policyforest._support.formulas import Expression
from policyforest.data.excursions import looks_like_time_limit
from policyforest.data.readers.log_contents import LogContents

ANGLE_NAMES = re.compile(
    r"(^|_)(theta|angle|phi|psi|alpha|beta|yaw|pitch|roll|heading|azimuth|joint|q)\d*($|_)|angle|_deg"
)
JITTER_SHARE = 0.2
CONTROLLER_FIT = 0.999
DISCRETE = 5


@dataclass(frozen=True)
class Advice:
    """A warning, and what to do about it."""

    code: str
    text: str
    what_to_do: str

    def __str__(self) -> str:
        return f"{self.text}: {self.what_to_do}"


def advice(log: LogContents) -> tuple[Advice, ...]:
    checks = (_malformed, _rows_as_they_are, _times, _constants, _controller, _bounds, _ends, _angles, _rewards)
    return tuple(warning for check in checks for warning in check(log))


def _malformed(log: LogContents) -> Iterator[Advice]:
    if log.problems.count:
        yield Advice(
            "malformed",
            log.problems.text(),
            "such rows were left out, and episodes were cut in two there; correct the log",
        )
    repeated = log.total("n_duplicates")
    if repeated:
        yield Advice(
            "duplicates",
            f"{repeated:,} rows repeat the row before them",
            "they were left out; check whether the logger writes rows twice",
        )


def _rows_as_they_are(log: LogContents) -> Iterator[Advice]:
    if any(part.rows.interleaved for part in log.parts):
        yield Advice(
            "interleaved",
            "rows of different episodes alternate, so each episode was cut into pieces",
            "sort the rows by episode and time",
        )
    whole_file = (
        log.columns.episode is None and all(part.rows.time is None for part in log.parts) and not log.columns.next_state
    )
    if whole_file and len(log.lengths) == len(log.parts) and log.columns.truncated is None:
        yield Advice(
            "one-episode",
            "there is neither an episode nor a time column, so each file is one episode",
            "name a column (--episode, --time) if rows were recorded in several runs",
        )


def _times(log: LogContents) -> Iterator[Advice]:
    if not len(log.intervals):
        return
    period = float(np.median(log.intervals))
    jitter = float(np.percentile(np.abs(log.intervals - period), 95))
    if period > 5:
        yield Advice(
            "time-unit",
            f"rows are {period:g} s apart, which is slow for a controller",
            "use --time-unit 0.001 if times are in milliseconds (1e-6, 1e-9: micro- and nanoseconds)",
        )
    if jitter > JITTER_SHARE * period and log.settings.period is None:
        yield Advice(
            "jitter",
            f"the time between rows varies by {jitter:.3g} s around {period:.3g} s",
            f"resample the rows to one control period, --period {float(f'{period:.2g}'):g}",
        )


def _constants(log: LogContents) -> Iterator[Advice]:
    for d, column in enumerate(log.columns.action):
        values = np.unique(log.actions[:, d])
        if len(values) == 1:
            yield Advice(
                "constant-action",
                f"action {column.name} is {values[0]:g} in every row, so nothing can be learned about it",
                "leave it out, or record with actions that vary",
            )
        elif len(values) <= DISCRETE < len(log.actions):
            yield Advice(
                "discrete-action",
                f"action {column.name} takes only {len(values)} values",
                "the effect of actions between them is unknown; record others, or use --method fqi-discrete",
            )
    for d, column in enumerate(log.columns.state):
        if np.ptp(log.states[:, d]) == 0:
            yield Advice(
                "constant-state",
                f"state {column.name} is {log.states[0, d]:g} in every row",
                "leave it out, or check that the sensor was recorded",
            )


def _controller(log: LogContents) -> Iterator[Advice]:
    """Warns if an action is a linear function of the state, because a controller always acted in the same way."""
    n, dims = log.states.shape
    if n < 10 * (dims + 2):
        return
    inputs = np.column_stack([log.states, np.ones(n)])
    for d, column in enumerate(log.columns.action):
        values = log.actions[:, d]
        spread = np.var(values)
        if spread == 0:
            continue
        fit = inputs @ np.linalg.lstsq(inputs, values, rcond=None)[0]
        if 1 - np.mean((values - fit) ** 2) / spread > CONTROLLER_FIT:
            yield Advice(
                "no-exploration",
                f"action {column.name} is a linear function of the state, as if one controller had always acted",
                "the log does not show the effect of other actions; add noise to the actions when recording",
            )


def _bounds(log: LogContents) -> Iterator[Advice]:
    if log.bounds_from_log:
        ranges = ", ".join(
            f"{column.name} [{log.actions[:, d].min():.4g}, {log.actions[:, d].max():.4g}]"
            for d, column in enumerate(log.columns.action)
        )
        yield Advice(
            "action-bounds",
            f"the limits of the actions were read off the log: {ranges}",
            "give the limits of the actuator if they differ, --bounds name=low:high",
        )


def _ends(log: LogContents) -> Iterator[Advice]:
    limit = looks_like_time_limit(log.lengths, log.ended)
    if limit is not None:
        yield Advice(
            "time-limit",
            f"all {int(log.ended.sum())} terminal episodes end after {limit} steps, which looks like a time limit",
            "a time limit is not a terminal state: give the column as --truncated instead of --terminal",
        )
    elif "terminal" in log.columns.guessed and str(getattr(log.columns.terminal, "source", "")).lower() in (
        "done",
        "dones",
    ):
        yield Advice(
            "done",
            "the column 'done' was taken for terminal states; it often marks time limits too",
            "name the columns with --terminal and --truncated",
        )
    if log.columns.terminal is None and log.columns.truncated is None:
        yield Advice(
            "no-terminal",
            "no column marks the states that end the task",
            "fine for a task without an end; otherwise name a column, or write a formula: --terminal 'abs(x) > 1'",
        )
    elif log.columns.terminal is not None and not log.terminals.any():
        yield Advice("never-terminal", "no sample is terminal", "if some samples should be, check what the flag means")
    elif log.columns.terminal_marks == "step" and not isinstance(log.columns.terminal, Expression):
        at_ends = log.actions[log.terminals]
        if len(at_ends) >= 3 and not at_ends.any() and np.count_nonzero(~log.actions.any(axis=1)) == len(at_ends):
            yield Advice(
                "terminal-state",
                "the actions are 0 in all terminal rows, and in no other rows",
                "if the flag is in the row of the final state, not of the last step, use --terminal-marks state",
            )


def _angles(log: LogContents) -> Iterator[Advice]:
    for d, column in enumerate(log.columns.state):
        values = log.states[:, d]
        if column.name in log.settings.degrees:
            continue
        low, high = float(values.min()), float(values.max())
        jump = np.abs(log.next_states[:, d] - values)[~log.terminals]
        large = max(abs(low), abs(high)) > 3 * np.pi and low >= -361 and high <= 361
        if large and (ANGLE_NAMES.search(column.name.lower()) or np.any(np.abs(jump - 360) < 45)):
            yield Advice(
                "degrees",
                f"state {column.name} goes from {low:.4g} to {high:.4g}, which looks like degrees",
                f"use --degrees {column.name} to convert it to radians",
            )
        elif column.name not in log.settings.angles and high - low > np.pi and np.any(np.abs(jump - 2 * np.pi) < 0.8):
            yield Advice(
                "angle",
                f"state {column.name} jumps by a whole turn between rows",
                f"use --angle {column.name}, which makes both ends of its range the same angle",
            )


def _rewards(log: LogContents) -> Iterator[Advice]:
    if log.rewards is None:
        yield Advice(
            "no-reward", "there is no reward", "name a column or write a formula: --reward '-(x**2) - 0.1*u**2'"
        )
    elif np.ptp(log.rewards) == 0:
        yield Advice(
            "constant-reward",
            f"the reward is {log.rewards[0]:g} in every sample",
            "no action can be better than another; check the column or the formula",
        )

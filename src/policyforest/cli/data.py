"""``policyforest data``: what is in a log, and what is wrong with it, before anything is learned."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from policyforest.cli.log_options import LogOptions
from policyforest.cli.option_groups import with_option_groups
from policyforest.cli.output import Json, note, number_of, print_json, print_pairs
from policyforest.cli.output_files import require_output
from policyforest.cli.signal_options import SignalCommandOptions
from policyforest.data.readers import Description, read_log


@with_option_groups
def data(
    paths: Annotated[list[str], typer.Argument(metavar="PATH...", help="Files, folders or patterns; 'minari:ID'.")],
    describe: Annotated[bool, typer.Option("--describe", help="Describe the log; this is the default.")] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Save the samples, .npz or .parquet, for learn --data.")
    ] = None,
    *,
    log_options: LogOptions,
    signals: SignalCommandOptions,
    json: Json = False,
) -> None:
    """Describe a log: a dry run that learns nothing.

    Shows episodes, samples, ranges and the sampling period, and warns of common faults."""
    if output is not None:
        require_output("--output", output, ".npz", ".parquet")
    log = read_log(paths, **log_options.arguments(), **signals.of_log())
    if output is not None:
        log.transitions.save(output)
    if json:
        print_json(log.description.plain() | {"saved": None if output is None else str(output)})
        return
    print_pairs(", ".join(paths), _lines(log.description) | ({} if output is None else {"saved": str(output)}))
    for warning in log.description.warnings:
        note(str(warning))


def _lines(found: Description) -> dict[str, str]:
    shortest, middle, longest = found.episode_lengths
    files, episodes = number_of(len(found.files), "file"), number_of(found.n_episodes, "episode")
    lines = {
        "format": f"{', '.join(found.formats)}, {files}, {number_of(found.n_rows, 'row')}",
        "samples": f"{found.n_samples:,} in {episodes} of {shortest:,} to {longest:,} steps "
        f"(median {middle:,}); {found.n_last_rows:,} rows are used only as next states",
        "terminal": f"{found.n_terminal:,} samples; {100 * found.terminal_share:.1f}% of the episodes "
        f"({found.terminal or 'no column'})",
        "reward": "none" if found.reward_range is None else f"{found.reward} in {_range(*found.reward_range)}",
    }
    for column in found.columns:
        constant = ", constant" if column.constant else ""
        lines[f"{column.role} {column.name}"] = f"{_range(column.low, column.high)}, mean {column.mean:.4g}{constant}"
    if found.period is not None:
        brought = f", resampled to {found.resampled_to:g} s" if found.resampled_to is not None else ""
        lines["period"] = f"{found.period:.4g} s, jitter {found.jitter:.2g} s{brought}"
    lines["gaps"] = f"{found.n_gaps:,}; {found.n_duplicates:,} repeated rows; {found.n_malformed:,} malformed rows"
    if found.n_lost:
        lines["history"] = f"{found.n_lost:,} samples lost, because their history is not known"
    if found.delay is not None:
        lines["delay"] = found.delay
    return lines


def _range(low: float, high: float) -> str:
    return f"[{low:.4g}, {high:.4g}]"

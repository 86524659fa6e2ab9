"""The record of a running run: reports in memory and, with a run directory, every episode on disk."""

from __future__ import annotations

from policyforest.exploration.episode_report import EpisodeReport
from policyforest.exploration.run_directory import Record, RunDirectory


class Journal:
    """Observes an agent: it hears of every finished episode first, and of its report after the next plan."""

    def __init__(self, run: RunDirectory | None = None) -> None:
        self.run = run
        self.log: list[EpisodeReport] = []

    def keep(self, number: int, record: Record) -> None:
        """Writes an episode; returns when it is on the disk."""
        if self.run is not None:
            self.run.add(number, record)

    def note(self, report: EpisodeReport) -> None:
        """Adds a report to the log, in memory and on disk."""
        self.log.append(report)
        if self.run is not None:
            self.run.note(report)

    def resume(self, run: RunDirectory) -> None:
        """Continues with a run directory whose episodes are already in the log."""
        run.rewrite_log(self.log)
        self.run = run

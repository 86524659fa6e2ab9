"""A run on disk: each finished episode is stored durably before the next one begins.

| file | what it holds |
|---|---|
| ``settings.json`` | the problem, the explorer, the planner and the seed: all that the run depends on |
| ``episode-000042.safetensors`` | states, actions, rewards and end of an episode; what the plan after it began with |
| ``log.jsonl`` | one line per episode for people: return, steps, coverage, time |
| ``lock`` | held by the process that explores |

Files are written under another name, flushed to the disk and renamed, and the directory is flushed too. Random numbers
come from streams that are numbered by episode, knownness follows from the points in their order, and plans from samples
and seed: so settings and episodes are the whole state. A last file that is damaged is set aside, and its episode played
again.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from policyforest._support.arguments import Array, Floats
from policyforest._support.files import FolderLock, array_digest, flush, locked, replacing
from policyforest._support.tensor_files import read_arrays, read_header, write_tensors
from policyforest.environments.episodes import Episode
from policyforest.exploration.episode_report import EpisodeReport
from policyforest.exploration.explorers import EpisodeKind

FORMAT = "policyforest run"
VERSION = 1
SETTINGS, LOG = "settings.json", "log.jsonl"
# The files of a run. A copy of one, such as "episode-000001 (copy).safetensors", has another name and is ignored.
EPISODE_FILE = re.compile(r"episode-(\d{6,})\.safetensors")
PLAN_FILE = re.compile(r"plan-(\d{6,})\.pforest")
# What `_support.files.replacing` leaves behind when its process is killed while it writes one of them.
LEFTOVER = re.compile(rf"\.({EPISODE_FILE.pattern}|{PLAN_FILE.pattern}|settings\.json|log\.jsonl)\.[0-9a-f]{{8}}")


@dataclass(frozen=True, eq=False)
class Record:
    """A finished episode, the kind of plan that was made after it, and the values with which that plan began."""

    episode: Episode
    next_kind: EpisodeKind
    start: Floats | None


def plans_needed(records: Sequence[Record], warm_start: bool) -> set[int]:
    """The records whose plans must be made again to continue: the last one, by which the next episode acts, and, if
    plans begin with the values of the previous plan, the last one without optimism."""
    needed = {len(records) - 1}
    if warm_start:
        needed |= set([i for i, record in enumerate(records) if record.next_kind == "plain"][-1:])
    return needed


def holds_run(path: str | os.PathLike[str]) -> bool:
    """Whether a folder holds a run; one that holds episodes or plans without their settings is an error."""
    folder = _folder(path)
    if (folder / SETTINGS).is_file():
        return True
    if folder.is_dir():
        for name in sorted(os.listdir(folder)):
            if EPISODE_FILE.fullmatch(name) or PLAN_FILE.fullmatch(name):
                raise ValueError(f"run_dir: {folder / SETTINGS} is missing, but {folder} holds {name} of a run")
    return False


class RunDirectory:
    """One run, held by one process."""

    def __init__(self, path: Path, lock: FolderLock) -> None:
        self.path = path
        self._lock = lock

    @classmethod
    def create(cls, path: str | os.PathLike[str], settings: Mapping[str, Any]) -> RunDirectory:
        """A new run; a directory that holds one already is refused."""
        folder = _made_folder(path)
        run = cls(folder, _locked(folder))
        try:
            if holds_run(folder):
                raise ValueError(f"run_dir: {folder} already holds a run, must be empty (pf.resume continues a run)")
            text = _settings_text(settings)
            with replacing(folder / SETTINGS) as beside:
                beside.write_text(text, encoding="utf-8")
            flush(folder)
        except BaseException:
            run.close()
            raise
        return run

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> tuple[RunDirectory, dict[str, Any]]:
        """Opens an existing run; also returns its settings."""
        folder = _folder(path)
        if not holds_run(folder):
            raise FileNotFoundError(f"run_dir: {folder} holds no run ({SETTINGS} is missing)")
        lock = _locked(folder)
        try:
            content = json.loads((folder / SETTINGS).read_text(encoding="utf-8"))
            if content["format"] != FORMAT or content["version"] != VERSION:
                raise ValueError(f"it is {content['format']!r}, version {content['version']!r}")
        except (KeyError, TypeError, ValueError) as error:
            lock.close()
            raise ValueError(f"run_dir: {folder / SETTINGS} is not the settings of a run ({error})") from error
        except BaseException:
            lock.close()
            raise
        return cls(folder, lock), {k: v for k, v in content.items() if k not in ("format", "version")}

    def add(self, number: int, record: Record) -> None:
        """Keeps episode `number`; returns when it is on the disk."""
        episode = record.episode
        arrays: dict[str, Array] = {"states": episode.states, "actions": episode.actions, "rewards": episode.rewards}
        if record.start is not None:
            arrays["start"] = record.start
        content = {
            "format": FORMAT,
            "version": VERSION,
            "episode": number,
            "terminal": episode.terminal,
            "next": record.next_kind,
            "digest": array_digest(arrays),
        }
        write_tensors(self._file(number), arrays, content)
        flush(self.path)

    def note(self, report: EpisodeReport) -> None:
        """Adds a line to the log."""
        with (self.path / LOG).open("a", encoding="utf-8") as file:
            file.write(_line(report) + "\n")

    def records(self) -> Iterator[Record]:
        """The finished episodes. A damaged last one is set aside; any other damage is an error."""
        self._delete_leftovers()
        numbers = sorted(int(name[1]) for name in map(EPISODE_FILE.fullmatch, os.listdir(self.path)) if name)
        for i, number in enumerate(numbers):
            if number != i:
                raise ValueError(f"run_dir: {self._file(i)} is missing, but there are episodes after it")
            try:
                yield _read(self._file(number), number)
            except (ValueError, KeyError, OSError) as error:
                if number != numbers[-1]:
                    raise ValueError(f"run_dir: {self._file(number)} is damaged ({error})") from error
                os.replace(self._file(number), self._file(number).with_suffix(".damaged"))
                flush(self.path)

    def rewrite_log(self, reports: Sequence[EpisodeReport]) -> None:
        """Gives the log one line per finished episode: drops those of episodes that are to be played again, and adds
        those that a killed process did not write."""
        log = self.path / LOG
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines() if log.is_file() else []
        kept = {}
        for line in lines:
            try:
                kept[int(json.loads(line)["episode"])] = line
            except (ValueError, KeyError, TypeError):
                continue  # half a line: the process was killed while it wrote
        with replacing(log) as beside:
            beside.write_text("".join(f"{kept.get(r.episode) or _line(r)}\n" for r in reports), encoding="utf-8")

    def close(self) -> None:
        """Releases the run for other processes."""
        self._lock.close()

    def _delete_leftovers(self) -> None:
        """Deletes what a process left behind that was killed while it wrote; other hidden files are the user's."""
        for file in self.path.iterdir():
            if LEFTOVER.fullmatch(file.name) and file.is_file() and not file.is_symlink():
                file.unlink()

    def _file(self, number: int) -> Path:
        return self.path / f"episode-{number:06}.safetensors"


def _read(path: Path, number: int) -> Record:
    with path.open("rb") as file:
        content, entries = read_header(file)
        arrays = read_arrays(file, entries)
    if content.get("format") != FORMAT or content.get("version") != VERSION or content.get("episode") != number:
        raise ValueError("it is not this episode of a run")
    if content["digest"] != array_digest(arrays):
        raise ValueError("its numbers have changed")
    episode = Episode(arrays["states"], arrays["actions"], arrays["rewards"], bool(content["terminal"]))
    return Record(episode, content["next"], arrays.get("start"))


def _line(report: EpisodeReport) -> str:
    return json.dumps(asdict(report))


def _settings_text(settings: Mapping[str, Any]) -> str:
    try:
        return json.dumps({"format": FORMAT, "version": VERSION, **settings}, indent=1, allow_nan=False) + "\n"
    except (TypeError, ValueError) as error:
        plain = "numbers, texts and lists of them"
        raise type(error)(f"run_dir: the settings of the agent must be {plain} to be kept there ({error})") from error


def _folder(path: str | os.PathLike[str]) -> Path:
    if path == "":  # pathlib would take it for the current folder
        raise ValueError("run_dir: is '', must be the name of a folder")
    try:
        return Path(path)
    except TypeError:
        raise TypeError(f"run_dir: is {path!r}, must be the name of a folder") from None


def _made_folder(path: str | os.PathLike[str]) -> Path:
    folder = _folder(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        what = "is a file" if folder.is_file() else f"cannot be created ({error.strerror})"
        raise type(error)(f"run_dir: {folder} {what}, must be a folder that can be written to") from error
    return folder


def _locked(folder: Path) -> FolderLock:
    try:
        return locked(folder, "run_dir")
    except BlockingIOError:
        raise
    except OSError as error:
        raise type(error)(f"run_dir: {folder} cannot be written to ({error.strerror or error})") from error

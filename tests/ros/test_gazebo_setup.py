"""Setting Gazebo up, stage by stage: what is done is not done again, and nothing else is ever touched."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from typer.testing import CliRunner

from policyforest.cli import main
from policyforest.ros.gazebo import server, setup
from policyforest.ros.gazebo.chroot import Chroot, CommandError, mounts_below, run_logged
from policyforest.ros.gazebo.server import Running, Server
from policyforest.ros.gazebo.setup import Installation, Stage


class Rehearsal(Installation):
    """The same bookkeeping with stages that only write down that they ran."""

    def __init__(self, folder: Path, broken: str = "") -> None:
        super().__init__(folder)
        self.broken, self.ran = broken, []
        self.keys = {"base": "1", "gazebo": "1", "plugin": "1"}

    def stages(self) -> list[Stage]:
        return [Stage(name, name, key, self._runner(name)) for name, key in self.keys.items()]

    def _runner(self, name):
        def run(tell):
            if name == self.broken:
                raise OSError("the mirror is gone")
            self.ran.append(name)

        return run


@pytest.fixture(autouse=True)
def as_root(monkeypatch):
    monkeypatch.setattr(setup, "require_root", lambda: None)
    monkeypatch.setattr(server, "require_root", lambda: None)


def test_a_broken_set_up_goes_on_where_it_was(tmp_path):
    folder = tmp_path / "gazebo"
    broken = Rehearsal(folder, broken="gazebo")
    with pytest.raises(OSError, match="the mirror is gone"):
        broken.set_up(print, print)
    assert not broken.ready
    again = Rehearsal(folder)
    again.set_up(print, print)
    assert (broken.ran, again.ran) == (["base"], ["gazebo", "plugin"])
    assert again.ready


def test_a_plugin_that_has_changed_is_built_again(tmp_path):
    Rehearsal(tmp_path / "gazebo").set_up(print, print)
    changed = Rehearsal(tmp_path / "gazebo")
    changed.keys["plugin"] = "2"
    assert not changed.ready
    changed.set_up(print, print)
    assert changed.ran == ["plugin"]


def test_a_folder_with_other_files_is_left_alone(tmp_path):
    (tmp_path / "thesis.txt").touch()
    with pytest.raises(ValueError, match="holds other files"):
        Rehearsal(tmp_path).set_up(print, print)
    with pytest.raises(ValueError, match="nothing was removed"):
        Rehearsal(tmp_path).remove()
    assert (tmp_path / "thesis.txt").exists()


@pytest.mark.parametrize("name", ["gazebo", "my gazebo", "gazébo", "gaz\\ebo"])
def test_removing_takes_the_mounts_away_and_not_what_was_mounted(tmp_path, name):
    installation, treasure = Rehearsal(tmp_path / name), tmp_path / "treasure"
    installation.set_up(print, print)
    treasure.mkdir()
    (treasure / "gold").touch()
    point = installation.folder / "chroot" / "dev"
    point.mkdir(parents=True)
    if os.geteuid() or subprocess.run(["mount", "--bind", treasure, point], capture_output=True).returncode:
        pytest.skip("nothing can be mounted here")
    try:
        assert mounts_below(installation.folder) == [str(point)]
        installation.remove()
    finally:
        subprocess.run(["umount", "--lazy", point], capture_output=True)
    assert not installation.folder.exists()
    assert (treasure / "gold").exists()


def test_commands_run_inside_with_an_environment_of_their_own():
    command = Chroot(Path("/somewhere/else")).command(["gzserver", "--version"], {"A": "b"})
    assert command[:2] == ["unshare", "--mount"]
    assert command[-2:] == ["gzserver", "--version"]
    assert command[command.index("env") + 1] == "-i"
    assert "A=b" in command


def test_a_command_that_fails_tells_its_last_lines(tmp_path):
    seen: list[str] = []
    run_logged(["echo", "fine"], tmp_path / "log", seen.append)
    with pytest.raises(CommandError, match="ended with 3: no such suite"):
        run_logged(["sh", "-c", "echo no such suite; exit 3"], tmp_path / "log", seen.append)
    assert seen == ["fine", "no such suite"]
    assert (tmp_path / "log").read_text() == "fine\nno such suite\n"


def test_only_the_process_that_was_started_is_stopped():
    with subprocess.Popen(["sleep", "60"]) as process:
        mine, another = Running.of(process.pid), Running(process.pid, "12345")
        another.stop()
        assert process.poll() is None
        mine.stop()
        assert process.wait(5) != 0
        assert not mine.alive


@pytest.mark.parametrize(
    "content",
    [
        "garbage",
        "[]",
        '{"processes": 5}',
        '{"processes": {"gzserver": [1]}}',
        '{"processes": {"gzserver": 3}}',
        '{"processes": {"gzserver": ["1", "2"]}}',
        '{"processes": {"gzserver": [-1, "1"]}}',
    ],
)
def test_nothing_runs_where_the_notes_are_nonsense(tmp_path, content):
    notes = tmp_path / "servers" / "main" / "running.json"
    notes.parent.mkdir(parents=True)
    notes.write_text(content)
    known = Server(Rehearsal(tmp_path))
    assert known.running() == {}
    assert known.master_uri is None
    assert known.stop() == []


def test_a_file_in_place_of_the_folder_is_named(tmp_path):
    (tmp_path / "file").touch()
    folder = Rehearsal(tmp_path / "file")
    with pytest.raises(ValueError, match="which is a file; must be a folder"):
        folder.set_up(print, print)
    with pytest.raises(ValueError, match="nothing was removed"):
        folder.remove()
    with pytest.raises(FileNotFoundError, match="is not set up"):
        Server(folder).start()


def test_removing_stops_all_servers_and_only_what_is_ours_is_looked_at(tmp_path):
    ours, foreign = Rehearsal(tmp_path / "gazebo"), Rehearsal(tmp_path / "foreign")
    ours.set_up(print, print)
    with subprocess.Popen(["sleep", "60"]) as process:
        for installation in (foreign, ours):
            other = Server(installation, "test")
            other._folder.mkdir(parents=True)
            other._save("http://127.0.0.1:1", {"gzserver": Running.of(process.pid)})
        shown = CliRunner().invoke(main, ["gazebo", "remove", "--yes", "--dir", str(foreign.folder)])
        assert shown.exit_code == 2
        assert process.poll() is None
        shown = CliRunner().invoke(main, ["gazebo", "stop", "--json", "--dir", str(ours.folder)])
        assert json.loads(shown.stdout) == {"stopped": []}  # it has no server of the name "main"
        shown = CliRunner().invoke(main, ["gazebo", "remove", "--yes", "--json", "--dir", str(ours.folder)])
        assert shown.exit_code == 0, shown.output
        assert json.loads(shown.stdout) == {"removed": str(ours.folder)}
        assert process.wait(5) != 0
    assert not ours.folder.exists()


class Stranger(BaseHTTPRequestHandler):
    """Somebody on a master's port who is none."""

    def do_POST(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"<html>welcome")

    def log_message(self, *_: object) -> None:
        pass


def answer_within(seconds: float, port: int) -> list[bool]:
    answers: list[bool] = []
    ask = threading.Thread(
        target=lambda: answers.append(server.master_answers(f"http://127.0.0.1:{port}")), daemon=True
    )
    ask.start()
    ask.join(seconds)
    return answers


def test_who_is_not_a_master_is_told_apart_within_seconds():
    with HTTPServer(("127.0.0.1", 0), Stranger) as stranger, socket.create_server(("127.0.0.1", 0)) as silent:
        thread = threading.Thread(target=stranger.serve_forever)
        thread.start()
        try:
            assert answer_within(8.0, stranger.server_port) == [False]
            assert answer_within(8.0, silent.getsockname()[1]) == [False]
        finally:
            stranger.shutdown()
            thread.join()


def test_what_is_not_set_up_cannot_be_started(tmp_path):
    with pytest.raises(FileNotFoundError, match="policyforest gazebo setup"):
        Server(Rehearsal(tmp_path / "gazebo")).start()
    assert Server(Rehearsal(tmp_path / "gazebo")).stop() == []


def test_a_start_that_fails_leaves_nothing_running(tmp_path, monkeypatch):
    installation = Rehearsal(tmp_path / "gazebo")
    installation.set_up(print, print)
    failing = Server(installation)
    monkeypatch.setattr(server, "master_answers", lambda uri: True)
    monkeypatch.setattr(failing, "_gzserver", lambda *more: ["sh", "-c", "echo no display; exit 1"])
    with pytest.raises(ChildProcessError, match="has ended unexpectedly: no display"):
        failing.start()
    assert failing.running() == {}


def test_nothing_is_set_up_unasked(tmp_path):
    shown = CliRunner().invoke(main, ["gazebo", "setup", "--dir", str(tmp_path / "gazebo")])
    assert shown.exit_code == 2
    assert "--yes: is missing" in shown.output
    assert not (tmp_path / "gazebo").exists()


def test_status_says_what_is_missing(tmp_path):
    shown = CliRunner().invoke(main, ["gazebo", "status", "--dir", str(tmp_path / "gazebo")])
    assert "missing: base, gazebo, tools, plugin" in shown.output

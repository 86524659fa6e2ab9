"""Gazebo as a process: a ROS master on the host, gzserver in a separate Debian; started and stopped by process id."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xmlrpc.client import ServerProxy

from policyforest._support.files import replacing
from policyforest.environments.problems.swing_up_dart import MODEL
from policyforest.ros.gazebo.setup import PLUGIN_FOLDER, Installation, require_root
from policyforest.ros.rospy_transport import ImpatientTransport

ENGINES = ("dart", "ode")
RESET_SERVICE = "/pendulum/reset"
LOCAL = "127.0.0.1"
PATIENCE = 60.0


@dataclass(frozen=True)
class Running:
    """A process that was started here; its start time distinguishes it from a later process with the same pid."""

    pid: int
    started: str

    @classmethod
    def of(cls, pid: int) -> Running:
        return cls(pid, _start_of(pid))

    @property
    def alive(self) -> bool:
        return self.started != "" and _start_of(self.pid) == self.started

    def stop(self, patience: float = 15.0) -> None:
        """Asks the process to end, and kills it if it does not end."""
        for number in (signal.SIGINT, signal.SIGKILL):
            if not self.alive:
                return
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)
            end = time.monotonic() + patience
            while self.alive and time.monotonic() < end:
                time.sleep(0.05)


class Server:
    """The processes of an installation; servers of different names do not see each other, and need different ports."""

    def __init__(self, installation: Installation, name: str = "main") -> None:
        self._installation = installation
        self._folder = installation.folder / "servers" / name
        self._file = self._folder / "running.json"

    def running(self) -> dict[str, Running]:
        """The processes that are alive, by name."""
        found = self._known().get("processes")
        entries = found.items() if isinstance(found, dict) else ()
        return {name: r for name, entry in entries if (r := _process(entry)) is not None and r.alive}

    @property
    def master_uri(self) -> str | None:
        """Where the ROS master of the running simulator is."""
        return self._known().get("master_uri") if "gzserver" in self.running() else None

    def start(self, engine: str = "dart", ros_port: int = 11311, gazebo_port: int = 11345) -> str:
        """Starts a master (unless there is one on that port) and the simulator; returns the address of the master."""
        require_root()
        if "gzserver" in self.running():
            raise ValueError(f"gazebo: is already running in {self._installation.folder}; stop it first")
        if not self._installation.ready:
            folder = self._installation.folder
            raise FileNotFoundError(
                f"gazebo: is not set up in {folder}; run `policyforest gazebo setup --dir {folder}`"
            )
        self._folder.mkdir(parents=True, exist_ok=True)
        uri = f"http://{LOCAL}:{ros_port}"
        ros = {"ROS_MASTER_URI": uri, "ROS_IP": LOCAL}
        processes: dict[str, Running] = {}
        try:
            if not master_answers(uri):
                processes["roscore"] = self._launch(_roscore(ros_port), "roscore", ros)
                self._save(uri, processes)
                self._wait(lambda: master_answers(uri), processes["roscore"], "roscore")
            processes["gzserver"] = self._launch(self._gzserver(engine, ros, gazebo_port), "gzserver", {})
            self._save(uri, processes)
            self._wait(lambda: serves(uri, RESET_SERVICE), processes["gzserver"], "gzserver")
        except BaseException:
            self.stop()
            raise
        return uri

    def log(self, name: str) -> Path:
        """The file that a process writes to."""
        return self._folder / f"{name}.log"

    def stop(self) -> list[str]:
        """Stops the processes that were started here, the simulator first; returns their names."""
        running = self.running()
        for name in sorted(running):  # gzserver before roscore
            running[name].stop()
        self._file.unlink(missing_ok=True)
        return sorted(running)

    def _gzserver(self, engine: str, ros: Mapping[str, str], port: int) -> list[str]:
        world = f"{PLUGIN_FOLDER}/swing_up.sdf"
        (self._installation.chroot.root / world).write_text(MODEL.read_text())
        env = {
            "GAZEBO_IP": LOCAL,
            "GAZEBO_MASTER_URI": f"http://{LOCAL}:{port}",
            "GAZEBO_MODEL_DATABASE_URI": "",
            "GAZEBO_RESOURCE_PATH": "/usr/share/gazebo-11",
            "GAZEBO_PLUGIN_PATH": f"/{PLUGIN_FOLDER}/build",
        }
        command = ["gzserver", "-u", "-e", engine, f"/{world}"]
        return self._installation.chroot.command(command, env | dict(ros))

    def _launch(self, command: list[str], name: str, env: Mapping[str, str]) -> Running:
        with self.log(name).open("w") as log:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=os.environ | env,
                start_new_session=True,
            )
        return Running.of(process.pid)

    def _wait(self, ready: Any, process: Running, name: str) -> None:
        end = time.monotonic() + PATIENCE
        while not ready():
            log = self.log(name)
            if not process.alive:
                raise ChildProcessError(f"{name}: has ended unexpectedly: {_last_line(log)} (all of it: {log})")
            if time.monotonic() > end:
                raise TimeoutError(f"{name}: is not ready after {PATIENCE:g} s (see {log})")
            time.sleep(0.1)

    def _save(self, uri: str, processes: Mapping[str, Running]) -> None:
        content = {"master_uri": uri, "processes": {n: [p.pid, p.started] for n, p in processes.items()}}
        with replacing(self._file) as beside:
            beside.write_text(json.dumps(content))

    def _known(self) -> dict[str, Any]:
        try:
            content = json.loads(self._file.read_text())
        except (OSError, ValueError):
            return {}
        return content if isinstance(content, dict) else {}


def stop_all(installation: Installation) -> list[str]:
    """Stops the servers of an installation, whatever their names."""
    folders = sorted((installation.folder / "servers").glob("*/"))
    return [name for folder in folders for name in Server(installation, folder.name).stop()]


def master_answers(uri: str) -> bool:
    """Whether there is a ROS master; another program on its port may not answer, or use another protocol."""
    try:
        return bool(_master(uri).getPid("/policyforest")[0] == 1)
    except Exception:
        return False


def serves(uri: str, service: str) -> bool:
    """Whether a master knows a service."""
    try:
        return bool(_master(uri).lookupService("/policyforest", service)[0] == 1)
    except Exception:
        return False


def _master(uri: str) -> Any:
    return ServerProxy(uri, transport=ImpatientTransport())


def _process(entry: Any) -> Running | None:
    """A process from the record of `Server`; None for anything else."""
    match entry:
        case [int(pid), str(started)]:
            return Running(pid, started)
    return None


def _roscore(port: int) -> list[str]:
    if shutil.which("roscore") is None:
        raise FileNotFoundError("roscore: is not installed; run `apt-get install python3-roslaunch python3-rospy`")
    return ["roscore", "-p", str(port)]


def _start_of(pid: int) -> str:
    """When a process was started, in the system's ticks; empty if there is none, or only a zombie."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] == "Z" else fields[19]


def _last_line(log: Path) -> str:
    lines = log.read_text(errors="replace").strip().splitlines()
    return lines[-1] if lines else "it wrote nothing"

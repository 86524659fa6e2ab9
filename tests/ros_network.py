"""A network of its own for each test, on the loopback interface: a ROS master on a free port, or a domain of ROS 2.

Everything that is started is stopped by its process id, whatever a test does.
"""

from __future__ import annotations

import contextlib
import importlib.util
import itertools
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

# Seconds, for machines that have much else to do; nothing here waits that long when it works.
PATIENCE = 90.0
ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"<!-- tutorial -->\n```sh\n(.*?)```", re.DOTALL)
PARTS = (Path(__file__).parent / "ros1", Path(__file__).parent / "ros2")
HAS_ROS = shutil.which("roscore") is not None and Path("/usr/lib/python3/dist-packages/std_srvs").is_dir()
LACKS = {
    "ros1": None if HAS_ROS else "ROS 1 is not installed (tests/ros1/install_tools.sh)",
    "ros2": None if importlib.util.find_spec("rclpy") else "rclpy is not found (source the setup.bash of a ROS 2)",
    "dds": None if importlib.util.find_spec("cyclonedds") else "cyclonedds is not installed",
}
"""Why a transport cannot be tested here"""
# Domains of ROS 2 that a test may use, and the loopback port that shows that one of them is taken.
DOMAINS, FIRST_PORT = range(10, 100), 28_000


def require_transport(*names: str) -> None:
    """Skips a test, and says why, where a transport is not there."""
    for name in names:
        if LACKS[name] is not None:
            pytest.skip(f"{name}: {LACKS[name]}")


class Network:
    """The processes of one test, and a master for those that need one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self._domain, domain = _free_domain()
        self.env = os.environ | {
            "ROS_MASTER_URI": f"http://127.0.0.1:{self.port}",
            "ROS_IP": "127.0.0.1",
            "ROS_HOME": str(folder / "ros"),
            "ROS_LOG_DIR": str(folder / "ros"),
            "ROS_DOMAIN_ID": str(domain),
            "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST",
            "PYTHONUNBUFFERED": "1",
        }
        self._processes: list[subprocess.Popen[str]] = []
        self.master: subprocess.Popen[str] | None = None

    def start_master(self) -> None:
        # A sourced ROS 2 has packages of the same names, which ROS 1 must not find.
        prefixes = tuple(filter(None, self.env.pop("AMENT_PREFIX_PATH", "").split(os.pathsep)))
        folders = [
            f for f in self.env.get("PYTHONPATH", "").split(os.pathsep) if not prefixes or not f.startswith(prefixes)
        ]
        self.env["PYTHONPATH"] = os.pathsep.join(folders)
        self.master = self._start(["roscore", "-p", str(self.port)], "roscore")
        wait_until(lambda: _listens(self.port), "roscore to listen")

    def stop_master(self) -> None:
        assert self.master is not None
        stop(self.master)
        wait_until(lambda: not _listens(self.port), "roscore to end")

    def python(self, script: str, *arguments: str) -> subprocess.Popen[str]:
        """A script of the tests, in a process of its own. It reads what is written to its input."""
        path = next(part / script for part in PARTS if (part / script).is_file())
        return self._start([sys.executable, str(path), *arguments], script)

    def policyforest(self, *arguments: str) -> subprocess.Popen[str]:
        """The command line, in a process of its own."""
        return self._start([sys.executable, "-m", "policyforest", *arguments], arguments[1])

    def log(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text()

    def close(self) -> None:
        for process in reversed(self._processes):
            stop(process)
        self._domain.close()

    def _start(self, command: list[str], name: str) -> subprocess.Popen[str]:
        log = (self.folder / f"{name}.log").open("a")
        process = subprocess.Popen(
            command, env=self.env, cwd=self.folder, stdin=subprocess.PIPE, stdout=log, stderr=log, text=True
        )
        log.close()
        self._processes.append(process)
        return process


def stop(process: subprocess.Popen[str], with_signal: int = signal.SIGINT) -> int:
    """Ends a process that was started here, if it has not ended."""
    if process.stdin is not None and not process.stdin.closed:
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
    if process.poll() is None:
        process.send_signal(with_signal)
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
    return process.wait(PATIENCE)


def wait_until(true: Callable[[], object], what: str, timeout: float = PATIENCE) -> None:
    end = time.monotonic() + timeout
    while not true():
        assert time.monotonic() < end, f"waited {timeout:g} s for {what}"
        time.sleep(0.02)


def run_tutorial(
    page: str, shorter: dict[str, str], folder: Path, env: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    """Runs the blocks of a page that are marked, with texts replaced by shorter ones."""
    (folder / "docs").symlink_to(ROOT / "docs")
    script = "".join(BLOCK.findall((ROOT / "docs" / page).read_text()))
    for text, replacement in shorter.items():
        assert text in script, text
        script = script.replace(text, replacement, 1)
    # What runs in the background is stopped by its process id, whatever happens.
    script = f"trap 'kill -INT $(jobs -p); wait' EXIT\n{script}"
    whole = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"} | env
    command = ["bash", "-euc", script]
    return subprocess.run(command, cwd=folder, env=whole, capture_output=True, text=True, timeout=240)


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _free_domain() -> tuple[socket.socket, int]:
    """A domain that no other test on this machine uses while the socket is open."""
    for domain in itertools.islice(itertools.cycle(DOMAINS), os.getpid() % 90, os.getpid() % 90 + 90):
        held = socket.socket()
        try:
            held.bind(("127.0.0.1", FIRST_PORT + domain))
        except OSError:
            held.close()
        else:
            return held, domain
    raise RuntimeError(f"all {len(DOMAINS)} domains of ROS 2 are taken")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])

"""A Debian in a folder, whose programs run with separate mounts.

`unshare --mount` gives every command a separate mount namespace: /proc and /dev are mounted only in it, and disappear
when the command ends in any way. Nothing stays mounted in the host, so nothing can be deleted through a mount.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

# Each program replaces the one before it, so that the process started here is the one that runs in the end.
ENTER = 'mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && exec chroot "$0" "$@"'
# The form of blanks and backslashes in the kernel's table of mounts; all other characters are unchanged.
_OCTAL = re.compile(r"\\([0-7]{3})")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True)
class Chroot:
    """A Debian in the folder `root`."""

    root: Path

    def command(self, command: Sequence[str], env: Mapping[str, str] | None = None) -> list[str]:
        """The command of the host that runs a command inside, with a clean environment."""
        settings = {"PATH": PATH, "HOME": "/root", "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}
        settings |= env or {}
        pairs = [f"{name}={value}" for name, value in settings.items()]
        enter = ["unshare", "--mount", "--propagation", "private", "sh", "-c", ENTER, str(self.root)]
        return [*enter, "env", "-i", *pairs, *command]


class CommandError(ChildProcessError):
    """A command of the set-up has failed; the message holds the last lines that it wrote."""


def run_logged(command: Sequence[str], log: Path, tell: Callable[[str], None] = lambda line: None) -> None:
    """Runs a command, appends what it writes to `log`, and reports each line."""
    last: list[str] = []
    with (
        log.open("a") as file,
        subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        ) as process,
    ):
        assert process.stdout is not None
        try:
            for line in process.stdout:
                file.write(line)
                last = [*last[-4:], line.strip()]
                tell(line.strip())
            code = process.wait()
        except BaseException:
            _end_session(process)
            raise
    if code:
        raise CommandError(f"{' '.join(command[-6:])}: ended with {code}: {' / '.join(last)} (all of it: {log})")


def _end_session(process: subprocess.Popen[str]) -> None:
    """Ends a command and what it has started; apt and dpkg finish the package at hand first."""
    os.killpg(process.pid, 15)
    try:
        process.wait(30)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)


def mounts_below(folder: Path) -> list[str]:
    """What is mounted in a folder, innermost first."""
    below = str(folder.resolve()) + "/"
    table = Path("/proc/self/mountinfo").read_text().splitlines()
    points = [_OCTAL.sub(lambda found: chr(int(found[1], 8)), line.split()[4]) for line in table]
    return sorted((point for point in points if point.startswith(below)), key=len, reverse=True)

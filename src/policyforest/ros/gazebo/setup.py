"""Setting Gazebo up, stage by stage; a finished stage is not repeated, and an interrupted one is resumed.

| stage | what | about |
|---|---|---|
| base | a small Debian 11 ("bullseye"), by debootstrap | 2 min |
| gazebo | its Gazebo 11 | 236 MB |
| tools | compiler, Gazebo's headers, ROS 1's C++ libraries | 227 MB |
| plugin | our plugin, compiled there again whenever its source has changed | 1 min |

Debian 12 has no Gazebo, and the Gazebo of Debian 11 cannot be installed in it. Gazebo therefore runs in a separate
Debian in a folder.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import as_file, files
from pathlib import Path

from policyforest.ros.gazebo.chroot import Chroot, mounts_below, run_logged

SUITE = "bullseye"
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
GAZEBO = ("gazebo", "gazebo-plugin-base")
TOOLS = (
    *("libgazebo-dev", "g++", "cmake", "make", "pkg-config"),
    *("libroscpp-dev", "libsensor-msgs-dev", "libstd-msgs-dev", "libstd-srvs-dev"),
)
NEEDED_BYTES = 4 * 10**9
PLUGIN_SOURCES = files("policyforest.ros.gazebo") / "plugin"
PLUGIN_FOLDER = "opt/policyforest"
MARK = "policyforest-gazebo"

ShowLine = Callable[[str], None]


def default_folder() -> Path:
    """The default folder of Gazebo: POLICYFOREST_GAZEBO, or the user's cache."""
    given = os.environ.get("POLICYFOREST_GAZEBO")
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(given) if given else Path(cache) / "policyforest" / "gazebo"


@dataclass(frozen=True)
class Stage:
    """A part of the set-up; `key` changes when it has to be done again."""

    name: str
    text: str
    key: str
    run: Callable[[ShowLine], None]


class Installation:
    """A folder with a Debian, the marks of finished stages, logs and the pids of what runs."""

    def __init__(self, folder: Path, mirror: str | None = None) -> None:
        self.folder = folder.resolve()
        self.chroot = Chroot(self.folder / "chroot")
        self.log = self.folder / "setup.log"
        self._mirror = mirror

    @property
    def ready(self) -> bool:
        """Whether all stages are done, with the plugin of this version."""
        return all(self.done(stage) for stage in self.stages())

    def stages(self) -> list[Stage]:
        return [
            Stage("base", f"a Debian 11 ({SUITE})", SUITE, self._base),
            Stage("gazebo", "Gazebo 11, 236 MB", " ".join(GAZEBO), lambda tell: self._install(GAZEBO, tell)),
            Stage("tools", "compiler and ROS libraries, 227 MB", " ".join(TOOLS), lambda t: self._install(TOOLS, t)),
            Stage("plugin", "our plugin", _source_key(), self._plugin),
        ]

    def done(self, stage: Stage) -> bool:
        mark = self.folder / "done" / stage.name
        return mark.is_file() and mark.read_text() == stage.key

    def set_up(self, say: ShowLine, tell: ShowLine) -> None:
        """Runs the missing stages; `say` gets one line per stage, `tell` every line of the commands."""
        require_root()
        if self.folder.exists() and not self.folder.is_dir():
            raise ValueError(f"--dir: is '{self.folder}', which is a file; must be a folder")
        if self.folder.exists() and any(self.folder.iterdir()) and not (self.folder / MARK).is_file():
            raise ValueError(f"--dir: {self.folder} holds other files, must be empty or hold a set-up of Gazebo")
        (self.folder / "done").mkdir(parents=True, exist_ok=True)
        (self.folder / MARK).touch()
        stages = self.stages()
        for number, stage in enumerate(stages, start=1):
            head = f"[{number}/{len(stages)}] {stage.text}"
            if self.done(stage):
                say(f"{head}: already done")
                continue
            say(f"{head} …")
            started = time.monotonic()
            stage.run(tell)
            (self.folder / "done" / stage.name).write_text(stage.key)
            say(f"{head}: done in {time.monotonic() - started:.0f} s")

    def require_removable(self) -> None:
        """Refuses to remove a folder that is not ours."""
        require_root()
        if not (self.folder / MARK).is_file():
            raise ValueError(f"--dir: {self.folder} holds no set-up of Gazebo, nothing was removed")

    def remove(self) -> None:
        """Removes everything, including mounts that a user may have made below the folder."""
        self.require_removable()
        for point in mounts_below(self.folder):
            subprocess.run(["umount", "--lazy", point], check=True)
        if left := mounts_below(self.folder):
            raise OSError(f"{self.folder}: {', '.join(left)} cannot be unmounted, nothing was removed")
        shutil.rmtree(self.folder)

    def _base(self, tell: ShowLine) -> None:
        free = shutil.disk_usage(self.folder).free
        if free < NEEDED_BYTES:
            raise OSError(f"--dir: {self.folder} has {free / 1e9:.1f} GB left, {NEEDED_BYTES / 1e9:.0f} are needed")
        if shutil.which("debootstrap") is None:
            run_logged(["apt-get", "install", "-y", "--no-install-recommends", "debootstrap"], self.log, tell)
        # An incomplete Debian cannot be repaired; only the downloaded packages are kept.
        half, packages = self.folder / "chroot.half", self.folder / "packages"
        shutil.rmtree(half, ignore_errors=True)
        packages.mkdir(exist_ok=True)
        options = ["--variant=minbase", f"--keyring={KEYRING}", f"--cache-dir={packages}"]
        bootstrap = ["debootstrap", *options, SUITE, str(half), self._mirror or debian_mirror()]
        run_logged(["unshare", "--mount", "--propagation", "private", *bootstrap], self.log, tell)
        # No services, no manuals, and no flush to the disk after each file, because an interrupted stage is repeated.
        (half / "usr/sbin/policy-rc.d").write_text("#!/bin/sh\nexit 101\n")
        (half / "usr/sbin/policy-rc.d").chmod(0o755)
        lean = ["force-unsafe-io", *(f"path-exclude=/usr/share/{name}/*" for name in ("doc", "man", "locale"))]
        (half / "etc/dpkg/dpkg.cfg.d/policyforest").write_text("\n".join(lean) + "\n")
        if self.chroot.root.exists():
            shutil.rmtree(self.chroot.root)
        half.rename(self.chroot.root)
        shutil.rmtree(packages)

    def _install(self, packages: tuple[str, ...], tell: ShowLine) -> None:
        for command in (
            ["dpkg", "--configure", "-a"],
            ["apt-get", "update", "-q"],
            ["apt-get", "install", "-q", "-y", "--fix-broken", "--no-install-recommends", *packages],
            ["apt-get", "clean"],
        ):
            run_logged(self.chroot.command(command), self.log, tell)

    def _plugin(self, tell: ShowLine) -> None:
        target = self.chroot.root / PLUGIN_FOLDER
        shutil.rmtree(target, ignore_errors=True)
        with as_file(PLUGIN_SOURCES) as sources:
            shutil.copytree(sources, target)
        inside = f"/{PLUGIN_FOLDER}"
        run_logged(self.chroot.command(["cmake", "-S", inside, "-B", f"{inside}/build"]), self.log, tell)
        run_logged(self.chroot.command(["cmake", "--build", f"{inside}/build"]), self.log, tell)


def debian_mirror() -> str:
    """The mirror of this system's own packages, from apt's configuration."""
    targets = ["apt-get", "indextargets", "--format", "$(ORIGIN) $(CODENAME) $(REPO_URI)", "Created-By: Packages"]
    found = subprocess.run(targets, capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in found.splitlines()]
    mirrors = [row[2] for row in rows if len(row) == 3 and row[0] == "Debian" and "-" not in row[1]]
    if not mirrors:
        raise ValueError("--mirror: is missing, must be given because apt knows no mirror of Debian")
    return mirrors[0]


def require_root() -> None:
    """Refuses systems on which a Debian in a folder cannot be entered."""
    if not sys.platform.startswith("linux") or os.geteuid() != 0:
        raise PermissionError("gazebo: needs Linux and root, to enter a system in a folder (chroot, mount)")
    if shutil.which("apt-get") is None or not KEYRING.is_file():
        raise OSError("gazebo: needs a Debian with apt-get and its archive's keyring to build from")


def _source_key() -> str:
    digest = sha256()
    for name, content in sorted(_sources()):
        digest.update(name.encode() + b"\0" + content)
    return digest.hexdigest()


def _sources() -> Iterator[tuple[str, bytes]]:
    return ((file.name, file.read_bytes()) for file in PLUGIN_SOURCES.iterdir())

"""Tests a built wheel as a user gets it: ``python tools/test_wheel.py dist/policyforest-….whl``.

Installs the wheel into an empty virtual environment, with no compiler on the path. Then runs the commands and the
Python of the README, and the tests that need no extras. With ``--installed`` it runs those tests alone, in the
interpreter that runs this file.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Installing and trying the README must be quick, and the base installation small.
MOST_SECONDS, MOST_MEGABYTES = 60.0, 150.0
TESTS = (
    "tests/policy/test_policy.py",
    "tests/policy/test_greedy_policy.py",
    "tests/policy/test_simplified_policy.py",
    "tests/policy/test_refused_states.py",
    "tests/forest/test_knownness.py",
)
# Folders of a machine that builds wheels; the libraries that the module needs at run time are elsewhere.
BUILD_PATH = re.compile(
    rb"(?<![\w:/.])(?:/(?:tmp|root|home|work|Users|private|project|github)/|[A-Za-z]:[\\/](?!/))[\x21-\x7e]{3,}"
)
SCRIPTS = "Scripts" if os.name == "nt" else "bin"


def run(command: list[str], folder: Path, environment: dict[str, str]) -> None:
    """Runs a command and shows it; a failure ends the test."""
    print("$", shlex.join(command), flush=True)
    subprocess.run(command, cwd=folder, env=environment, check=True)


def test_installed(python: str, folder: Path, environment: dict[str, str]) -> None:
    """The tests that the base installation can run, on the installed package instead of the sources."""
    where = "import policyforest, pathlib; print(pathlib.Path(policyforest.__file__).parent)"
    found = subprocess.check_output([python, "-c", where], cwd=folder, env=environment, text=True).strip()
    if (ROOT / "src") in Path(found).parents:
        raise SystemExit(f"policyforest is imported from {found}, must be the installed one")
    tests = [str(ROOT / test) for test in TESTS]
    run(
        [python, "-m", "pytest", "-c", str(ROOT / "pyproject.toml"), "--rootdir", str(ROOT / "tests"), *tests],
        folder,
        environment,
    )


def readme_commands() -> list[list[str]]:
    """The commands of the README, without their comments."""
    blocks = re.findall(
        r"^```sh\n(.*?)^```", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    lines = [line for block in blocks for line in block.splitlines()]
    return [shlex.split(line, comments=True) for line in lines if line.startswith("policyforest ")]


def readme_python() -> str:
    blocks = re.findall(
        r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    return "\n".join(blocks)


def test_wheel(wheel: Path, home: Path) -> None:
    """Installs the wheel in `home` and uses it as the README does."""
    if paths := build_paths(wheel):
        raise SystemExit(f"the module contains paths of the machine that built it: {', '.join(paths[:5])}")
    venv.create(home / "venv", with_pip=True)
    scripts = home / "venv" / SCRIPTS
    python = str(scripts / "python")
    # Nothing but the environment's own programs: a package that has to be compiled cannot be.
    environment = {**os.environ, "PATH": str(scripts), "PYTHONPATH": ""}
    before = size(home / "venv")
    started = time.perf_counter()
    run([python, "-m", "pip", "install", "-q", "--only-binary", ":all:", str(wheel.resolve())], home, environment)
    installed = time.perf_counter() - started
    megabytes = size(home / "venv") - before
    for command in readme_commands():
        run([str(scripts / command[0]), *command[1:]], home, environment)
    run([python, "-c", readme_python()], home, environment)
    seconds = time.perf_counter() - started
    run([python, "-m", "pip", "install", "-q", "pytest", "hypothesis"], home, environment)
    test_installed(python, home, environment)
    print(f"installed in {installed:.0f} s, {megabytes:.0f} MB with dependencies; {seconds:.0f} s with the README")
    if megabytes > MOST_MEGABYTES:
        raise SystemExit(f"the installation has {megabytes:.0f} MB, must have at most {MOST_MEGABYTES:.0f}")
    if seconds > MOST_SECONDS and "--no-limit" not in sys.argv:
        raise SystemExit(
            f"installing and trying took {seconds:.0f} s, must take at most {MOST_SECONDS:.0f} (or --no-limit)"
        )


def build_paths(wheel: Path) -> list[str]:
    """Absolute paths of the machine that built the wheel, in its compiled modules."""
    with zipfile.ZipFile(wheel) as parts:
        modules = [parts.read(name) for name in parts.namelist() if name.endswith((".so", ".pyd"))]
    if not modules:
        raise SystemExit(f"{wheel} contains no compiled module")
    return sorted({path.decode() for module in modules for path in BUILD_PATH.findall(module)})


def size(folder: Path) -> float:
    """Megabytes of the files in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink()) / 1e6


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        if "--installed" in sys.argv:
            test_installed(sys.executable, Path(made), dict(os.environ))
        else:
            test_wheel(Path(sys.argv[1]), Path(made))

"""``policyforest doctor``: what is installed, and whether it works."""

from __future__ import annotations

import os
import platform
import re
import sys
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, packages_distributions, requires, version
from importlib.util import find_spec

import typer

from policyforest.cli.output import Json, print_json, print_pairs, print_table, progress
from policyforest.cli.self_check import self_check

# What each extra is for. Its packages are those that the package's metadata lists.
EXTRAS = {
    "sklearn": "ForestRegressor, forests of scikit-learn",
    "plot": "pictures, the report",
    "report": "interactive pages",
    "paper": "the statistics of the paper's results",
    "parquet": "Parquet files of transitions",
    "minari": "datasets of Minari",
    "tensorboard": "training curves",
    "render": "drawing the problems",
    "mujoco": "the swing-up and the cart-pole in MuJoCo, Gymnasium's MuJoCo environments",
    "dart": "the swing-up in DART",
    "onnx": "export to ONNX",
    "rosbags": "recordings of robots",
    "ros": "the configuration of robots",
    "dds": "robots over DDS",
    "ray": "learning on a Ray cluster",
    "compare": "comparisons with other libraries",
}
# For those who work on PolicyForest itself.
DEVELOPMENT_EXTRAS = ("docs", "test", "bench")
# Packages that no extra installs, by the names of their modules.
SEPARATE = {"lightgbm": "forests of LightGBM", "xgboost": "forests of XGBoost"}


def doctor(json: Json = False) -> None:
    """Check this installation.

    Prints versions, the SIMD path in use and the extras present, and compares the core with plain Python in a few
    seconds. The exit code is 1 if a check fails."""
    requirements = _requirements()
    versions = {
        name: installed(name) for name in ("policyforest", *(name for name, extra in requirements if not extra))
    }
    optional = _optional(requirements)
    extras = {name: installed_module(name) if name in SEPARATE else installed(name) for name in optional}
    machine = _machine()
    with progress(quiet=json) as shown:
        shown.stage("checking")
        checks = list(self_check())
    healthy = all(check.passed for check in checks)
    if json:
        found = {"healthy": healthy, "machine": machine, "versions": versions, "extras": extras}
        print_json(found | {"checks": [asdict(check) for check in checks]})
    else:
        print_pairs("This machine", machine)
        print()
        print_pairs("Installed", {name: found or "missing" for name, found in versions.items()})
        print()
        print_pairs("Extras", {name: found or optional[name] for name, found in extras.items()})
        rows = [(c.name, "passed" if c.passed else "FAILED", f"{c.seconds:.2f}", c.detail) for c in checks]
        print()
        print_table("Self-check", ("check", "result", "seconds", "what was seen"), rows, figures=("seconds",))
    if not healthy:
        raise typer.Exit(1)


def installed(package: str) -> str | None:
    """The version of a package, without importing it; None where it is missing."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def installed_module(module: str) -> str | None:
    """The version of the package that has a module. It can have another name, such as xgboost-cpu."""
    found = installed(module)
    if found is None and find_spec(module) is not None:
        # This reads the file lists of all packages, which takes a second, so it runs only if the name alone is not
        # found.
        found = next(map(installed, packages_distributions().get(module, ())), "installed")
    return found


def _machine() -> dict[str, str]:
    from policyforest._core import simd_path

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "cores": str(cores),
        "Python": sys.version.split()[0],
        "SIMD path": simd_path(),
    }


def _requirements() -> list[tuple[str, str]]:
    """The packages that this one requires, each with the extra that installs it ("" if it is always required)."""
    try:
        lines = [line for line in requires("policyforest") or [] if _for_this_python(line)]
    except PackageNotFoundError:
        return []
    names = [re.match(r"[\w.-]+", line) for line in lines]
    extras = [re.search(r"extra\s*==\s*['\"]([\w.-]+)", line) for line in lines]
    found = zip(names, extras, strict=True)
    return [(name[0], "" if extra is None else extra[1]) for name, extra in found if name is not None]


def _for_this_python(requirement: str) -> bool:
    """Whether a requirement applies to this version of Python: some extras require another package for newer
    versions."""
    found = re.search(r"python_version\s*(<|>=)\s*['\"]3\.(\d+)", requirement)
    return found is None or (sys.version_info.minor < int(found[2])) == (found[1] == "<")


def _optional(requirements: list[tuple[str, str]]) -> dict[str, str]:
    """The optional packages, each with a text for the case that it is missing: its purpose and how to install it."""
    brought = {
        name: f"missing (for {EXTRAS[extra]}): pip install 'policyforest[{extra}]'"
        for name, extra in requirements
        if extra in EXTRAS and name != "policyforest"
    }
    return brought | {name: f"missing (for {use}): pip install {name}" for name, use in SEPARATE.items()}

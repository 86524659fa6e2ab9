"""``policyforest doctor``: what is installed, and whether it works."""

from __future__ import annotations

import os
import platform
import sys
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version

import typer

from policyforest.cli.output import Json, print_json, print_pairs, print_table, progress
from policyforest.cli.self_check import self_check

REQUIRED = ("policyforest", "numpy", "gymnasium", "safetensors", "typer", "rich")
# What is needed for what, and the extra that brings it ("": an installation of its own).
EXTRAS = {
    "scikit-learn": ("ForestRegressor, forests of scikit-learn", "sklearn"),
    "matplotlib": ("pictures, the report", "plot"),
    "polars": ("Parquet files of transitions", "parquet"),
    "tensorboardX": ("training curves", "tensorboard"),
    "lightgbm": ("forests of LightGBM", ""),
    "xgboost": ("forests of XGBoost", ""),
    "pygame": ("drawing the problems", "render"),
    "mujoco": ("the swing-up in MuJoCo, Gymnasium's MuJoCo environments", "mujoco"),
    "onnx": ("export to ONNX", "onnx"),
    "rosbags": ("recordings of robots", "ros"),
    "cyclonedds": ("robots over DDS", "dds"),
    "dartpy": ("the swing-up in DART", "dart"),
}


def doctor(json: Json = False) -> None:
    """Check this installation.

    Prints versions, the SIMD path in use and the extras present, and compares the core with plain Python in a few
    seconds. The exit code is 1 if a check fails."""
    versions = {name: installed(name) for name in REQUIRED}
    extras = {name: installed(name) for name in EXTRAS}
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
        print_pairs("Extras", {name: found or _advice(name) for name, found in extras.items()})
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


def _machine() -> dict[str, str]:
    from policyforest._core import simd_path

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "cores": str(cores),
        "Python": sys.version.split()[0],
        "SIMD path": simd_path(),
    }


def _advice(name: str) -> str:
    purpose, extra = EXTRAS[name]
    package = f"'policyforest[{extra}]'" if extra else name
    return f"missing (for {purpose}): pip install {package}"

"""``policyforest bench``: how long an action of a saved policy takes, and the bound on it."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from policyforest._support.arguments import Floats, one_of
from policyforest.cli.output import Json, Seed, note, print_json, print_pairs
from policyforest.cli.policy_argument import read_policy
from policyforest.environments.collection import collect
from policyforest.export.comparisons import comparisons
from policyforest.export.emulators import CORTEX_M4F
from policyforest.export.probing import random_states
from policyforest.export.program import PRECISIONS, STYLES
from policyforest.export.timing import (
    ActionTimes,
    InstructionCount,
    c_times,
    cortex_m4f_instructions,
    python_times,
)
from policyforest.policy.policy import Policy

STATES = 1_000


def bench(
    policy: Annotated[Path, typer.Option(help="A .pforest file.")],
    precision: Annotated[str, typer.Option(help="Precision of the C code: float64, float32 or int16.")] = "float32",
    style: Annotated[str, typer.Option(help="Style of the C code: table or branches.")] = "table",
    compiler: Annotated[str, typer.Option(help="The C compiler of this machine.")] = "cc",
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Time one action of a policy from Python and from C.

    Measures the time for random states, for states along a trajectory (an episode of the policy's problem, if it names
    one), and for random states with the policy flushed from all caches. Compares the number of comparisons with its
    bound. Counts instructions on an emulated Cortex-M4F if its tools are installed."""
    learned = read_policy(policy, "--policy")
    if not isinstance(learned, Policy):
        raise ValueError(f"--policy: {policy} is of the kind {learned.kind!r}, must be a policy of forests")
    one_of("--precision", precision, PRECISIONS)
    one_of("--style", style, STYLES)
    learned = learned.with_outside("nearest")
    random = random_states(learned, STATES, np.random.default_rng(seed))
    trajectory, origin = _trajectory(learned, seed)
    seen = comparisons(learned, np.concatenate([random, trajectory]))
    report: dict[str, Any] = {
        "policy": str(policy),
        "trajectory": origin,
        "worst_case_comparisons": learned.worst_case_comparisons,
        "most_comparisons_seen": int(seen.max()),
        "python": asdict(python_times(learned, random, trajectory)),
        "c": asdict(c_times(learned, random, trajectory, precision, style, compiler)),  # type: ignore[arg-type]
        "precision": precision,
        "style": style,
        "cortex_m4f": None,
    }
    if missing := CORTEX_M4F.missing():
        note(f"instructions were not counted; to count them: apt-get install {' '.join(missing)}")
    else:
        report["cortex_m4f"] = asdict(cortex_m4f_instructions(learned, precision, style, seed))  # type: ignore[arg-type]
    _show(report, json)


def _show(report: dict[str, Any], json: bool) -> None:
    if json:
        print_json(report)
    else:
        print_pairs(f"One action of {report['policy']}", _lines(report))


def _trajectory(policy: Policy, seed: int) -> tuple[Floats, str]:
    """States of episodes, or a smooth path through the state box if the policy's problem is not known."""
    if policy.info.problem:
        return collect(policy.info.problem, policy, steps=STATES, seed=seed).states, policy.info.problem
    corners = random_states(policy, STATES // 100 + 1, np.random.default_rng(seed))
    at = np.linspace(0, len(corners) - 1, STATES)
    columns = [np.interp(at, np.arange(len(corners)), corners[:, d]) for d in range(corners.shape[1])]
    return np.column_stack(columns), "a path through the state box"


def _lines(report: dict[str, Any]) -> dict[str, str]:
    lines = {"bound": f"at most {report['worst_case_comparisons']} comparisons; {report['most_comparisons_seen']} seen"}
    for place, label in (("python", "from Python"), ("c", f"from C, {report['precision']} {report['style']}")):
        times = ActionTimes(**report[place])
        lines[label] = (
            f"{_nanoseconds(times.random)} random, {_nanoseconds(times.trajectory)} along a trajectory, "
            f"{_nanoseconds(times.cold)} with cold caches"
        )
    lines["trajectory"] = report["trajectory"]
    if report["cortex_m4f"]:
        count = InstructionCount(**report["cortex_m4f"])
        lines["on a Cortex-M4F"] = (
            f"{count.mean:.0f} instructions on average, {count.largest:.0f} at most in {count.n_states} calls; bound "
            f"{count.bound:.0f} ({count.outside:.0f} + {count.each:.1f} per comparison)"
        )
    return lines


def _nanoseconds(seconds: float) -> str:
    return f"{seconds * 1e9:.0f} ns" if seconds < 1e-6 else f"{seconds * 1e6:.2f} µs"

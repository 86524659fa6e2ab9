"""How long one action takes: from Python and from C, on random states, along a trajectory, and with cold caches."""

from __future__ import annotations

import statistics
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from policyforest._support.arguments import Floats
from policyforest.export.c import export_c
from policyforest.export.comparisons import comparisons
from policyforest.export.emulators import CORTEX_M4F, build, exported, run
from policyforest.export.host import HostDriver, HostPolicy
from policyforest.export.probing import random_states
from policyforest.export.program import Precision, Style
from policyforest.policy.action_time import action_time
from policyforest.policy.policy import Policy

ROUNDS = 7
COLD_CALLS, COLD_CALLS_PYTHON = 300, 40
# Larger than the last-level cache of common machines, so that reading it evicts everything else.
EVICTING_BYTES = 1 << 26
EMULATED_STATES = 1_000


@dataclass(frozen=True)
class ActionTimes:
    """Median seconds per action."""

    random: float
    trajectory: float
    cold: float


@dataclass(frozen=True)
class InstructionCount:
    """Instructions of a call on a Cortex-M4F, and a bound for the worst-case number of comparisons."""

    mean: float
    largest: float
    bound: float
    """`outside` + `each` times the worst-case number of comparisons"""
    each: float
    """Instructions per comparison: the slope of a straight line through all calls"""
    outside: float
    """The rest of a call, chosen so that no counted call lies above the line"""
    n_states: int


def python_times(policy: Policy, random: Floats, trajectory: Floats) -> ActionTimes:
    """Times of ``policy.act(state)``."""
    evicting = np.zeros(EVICTING_BYTES // 8)
    cold = []
    clock = time.perf_counter
    for state in random[:COLD_CALLS_PYTHON]:
        evicting += 1.0
        clock()
        started = clock()
        policy.act(state)
        cold.append(clock() - started)
    return ActionTimes(action_time(policy, random), action_time(policy, trajectory), statistics.median(cold))


def c_times(
    policy: Policy, random: Floats, trajectory: Floats, precision: Precision, style: Style, compiler: str = "cc"
) -> ActionTimes:
    """Times of the exported C, compiled with -O2."""
    with tempfile.TemporaryDirectory() as folder:
        where = Path(folder) / "policy"
        export_c(policy, where, precision, style)
        compiled = HostPolicy(where, compiler=compiler, driver=HostDriver(Path(folder), compiler))
        return host_times(compiled, random, trajectory)


def host_times(compiled: HostPolicy, random: Floats, trajectory: Floats) -> ActionTimes:
    """Times of a compiled policy."""

    def warm(states: Floats) -> float:
        many = np.tile(states, (max(1, 20_000 // len(states)), 1))
        compiled.time_many(many)
        return statistics.median(compiled.time_many(many) for _ in range(ROUNDS))

    calls = random[np.arange(COLD_CALLS) % len(random)]
    cold, _ = compiled.time_cold(calls)
    return ActionTimes(warm(random), warm(trajectory), float(np.median(cold)))


def cortex_m4f_instructions(
    policy: Policy, precision: Precision, style: Style, seed: int = 0, optimise: str = "-O2"
) -> InstructionCount:
    """Instructions of calls on uniform states, counted in QEMU."""
    rng = np.random.default_rng(seed)
    states = random_states(policy, EMULATED_STATES, rng).astype(np.float32).astype(np.float64)
    with tempfile.TemporaryDirectory() as folder:
        where = Path(folder) / "policy"
        export_c(policy, where, precision, style)
        contender = exported(where)
        trial = run(CORTEX_M4F, build(CORTEX_M4F, contender, states, Path(folder) / "build", optimise), contender)
    made = comparisons(policy, states)
    each = float(np.polyfit(made, trial.counts, 1)[0]) if made.min() < made.max() else 0.0
    outside = float((trial.counts - each * made).max())
    return InstructionCount(
        mean=float(trial.counts.mean()),
        largest=float(trial.counts.max()),
        bound=outside + each * policy.worst_case_comparisons,
        each=each,
        outside=outside,
        n_states=len(states),
    )

"""What exporters of trees cost on a Cortex-M4F and on this machine, and what ours must reach."""

from __future__ import annotations

import contextlib
import ctypes
import io
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import policyforest as pf
from export_peers import Shared, empty, ours, peers, shared_forest
from measure import Row, in_turns
from policyforest.export.comparisons import comparisons
from policyforest.export.emulators import (
    ATMEGA328P,
    CORTEX_M4F,
    Contender,
    build,
    exported,
    flash_bytes,
    ram_bytes,
    run,
)
from policyforest.export.host import HostDriver, run_tool
from policyforest.learning.methods import Learner

PENDULUM = "policyforest/InvertedPendulum6kg-v0"
EMULATED, COLD_ROUNDS, COLD_CALLS = 300, 15, 100
CALLS = 200


@dataclass(frozen=True)
class Figures:
    """A line of the big table."""

    forest: str
    contender: str
    flash: int
    """Bytes on a Cortex-M4F, -Os, net of an empty policy"""
    bytes_a_leaf: float
    instructions: float
    """Of a call on a Cortex-M4F, -O2, mean"""
    most_instructions: float
    cold: float
    """Seconds on this machine, -O2"""
    warm: float
    error: float
    """The largest distance from the forest in double precision"""


class Bench:
    """Measures forests; `cache` keeps what peers generated and compiled."""

    def __init__(self, work: Path, cache: Path, quick: bool) -> None:
        self.work, self.cache, self.quick = work, cache, quick
        self.figures: list[Figures] = []
        self._driver = HostDriver(work)

    def rows(self) -> Iterator[Row]:
        """All that is required."""
        for leaves in (8,) if self.quick else (260, 48):
            shared = shared_forest(leaves, 500 if self.quick else 20_000)
            yield from self._forest_rows(shared)
        pendulum = self._pendulum()
        yield from self._pendulum_rows(pendulum)

    def _forest_rows(self, shared: Shared) -> Iterator[Row]:
        label = f"25 trees of {shared.leaves_a_tree} leaves"
        folder = self.work / str(shared.leaves_a_tree)
        folder.mkdir(parents=True, exist_ok=True)
        contenders = ours(shared, folder) | peers(shared, self.cache)
        for name, flash, counts, cold, warm, error in self._measure(contenders, shared, folder):
            share = flash / shared.policy.n_leaves
            self.figures.append(
                Figures(label, name, flash, share, float(counts.mean()), float(counts.max()), cold, warm, error)
            )
        mine = {f.contender: f for f in self.figures if f.forest == label}
        small = mine["policyforest int16 table"]
        emlearn = min((f for f in mine.values() if f.contender.startswith("emlearn")), key=lambda f: f.flash)
        yield Row(f"{label}: flash per leaf", "", None, None, small.bytes_a_leaf, 7.0, False, "bytes")
        share = 100 * small.flash / emlearn.flash
        yield Row(f"{label}: flash", emlearn.contender, None, None, share, 60.0, False, "%")
        fast = mine["policyforest float32 branches"]
        for peer in ("m2cgen", "emlearn inline float"):
            ratio = fast.instructions / mine[peer].instructions
            yield Row(f"{label}: instructions", peer, None, None, 100 * ratio, 100.0, False, "%")
        yield from self._cold_rows(label, mine)
        yield self._python_row(label, shared)

    def _cold_rows(self, label: str, mine: dict[str, Figures]) -> Iterator[Row]:
        theirs = [f for f in mine.values() if not f.contender.startswith("policyforest")]
        for precision in ("int16", "float32"):
            table = mine[f"policyforest {precision} table"]
            # Like with like: ours in 16 bits has to beat everybody, ours in floats those in floats.
            for peer in (f for f in theirs if precision == "int16" or "int16" not in f.contender):
                what = f"{label}: cold action in C, {precision} table"
                yield Row(what, peer.contender, table.cold, peer.cold, peer.cold / table.cold, 1.0, True, "×")

    def _python_row(self, label: str, shared: Shared) -> Row:
        timing = in_turns(*self._python_and_onnxruntime(shared.policy, shared.states), rounds=3 if self.quick else 25)
        what, peer = f"{label}: action from Python", "onnxruntime"
        return Row(what, peer, timing.ours / CALLS, timing.theirs / CALLS, timing.ratio, 8.0, True, "×")

    def _measure(
        self, contenders: dict[str, Contender], shared: Shared, folder: Path
    ) -> list[tuple[str, int, np.ndarray, float, float, float]]:
        states = shared.states[: 20 if self.quick else EMULATED].astype(np.float32)
        expected = shared.policy.act_batch(states.astype(np.float64))
        nothing = flash_bytes(CORTEX_M4F, self._built(empty(folder), states, folder / "empty", "-Os"))
        functions = {name: self._on_host(name, c, folder) for name, c in contenders.items()}
        times = self._times(functions, shared)
        result = []
        for name, contender in contenders.items():
            where = folder / name.replace(" ", "-") if name.startswith("policyforest") else contender.sources[-1].parent
            flash = flash_bytes(CORTEX_M4F, self._built(contender, states, where / "Os", "-Os")) - nothing
            trial = run(CORTEX_M4F, self._built(contender, states, where / "O2", "-O2"), contender)
            error = float(np.abs(trial.actions - expected).max())
            result.append((name, flash, trial.counts, *times[name], error))
        return result

    def _built(self, contender: Contender, states: np.ndarray, folder: Path, optimise: str) -> Path:
        """A program for the Cortex-M4F; a peer's is kept, some take minutes to compile."""
        program = folder / "trial-cortex-m4f"
        if contender.strict or not program.exists() or self.quick:
            build(CORTEX_M4F, contender, states, folder, optimise)
        return program

    def _on_host(self, name: str, contender: Contender, folder: Path) -> Any:
        keep = not contender.strict
        library = (contender.sources[-1].parent if keep else folder) / f"host-{name.replace(' ', '-')}.so"
        if not (keep and library.exists()):
            includes = [f"-I{path}" for path in contender.includes]
            run_tool(["gcc", "-O2", "-w", "-shared", "-fPIC", *includes, *contender.sources, "-lm", "-o", library])
        return ctypes.CDLL(str(library.absolute()))[contender.function]

    def _times(self, functions: dict[str, Any], shared: Shared) -> dict[str, tuple[float, float]]:
        """Cold and warm seconds of each, taken in turns: medians over the rounds."""
        states = np.ascontiguousarray(shared.states, dtype=np.float32)
        cold: dict[str, list[float]] = {name: [] for name in functions}
        warm: dict[str, list[float]] = {name: [] for name in functions}
        for k in range(2 if self.quick else COLD_ROUNDS):
            some = states[np.arange(k * COLD_CALLS, (k + 1) * COLD_CALLS) % len(states)]
            for name, function in functions.items():
                cold[name].append(float(np.median(self._driver.time_cold(function, some, 1)[0])))
                warm[name].append(self._driver.time_many(function, states, 1))
        return {name: (statistics.median(cold[name]), statistics.median(warm[name])) for name in functions}

    def _python_and_onnxruntime(self, policy: pf.Policy, states: np.ndarray) -> tuple[Any, Any]:
        """Two functions that take the same actions one by one, CALLS of them."""
        import onnxruntime

        path = self.work / "policy.onnx"
        policy.export_onnx(path)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        rows = [np.ascontiguousarray(row) for row in states[:CALLS]]
        singles = [row[np.newaxis].astype(np.float32) for row in states[:CALLS]]

        def ours_() -> None:
            for row in rows:
                policy.act(row)

        def theirs() -> None:
            for single in singles:
                session.run(["action"], {"state": single})

        return ours_, theirs

    def _pendulum(self) -> pf.Policy:
        with contextlib.redirect_stdout(io.StringIO()):
            data = pf.collect(PENDULUM, episodes=20 if self.quick else 100, seed=0)
            policy = Learner("fpf-pwl", PENDULUM, seed=0, n_jobs=1).fit(data).policy
        assert isinstance(policy, pf.Policy)
        return policy

    def _pendulum_rows(self, policy: pf.Policy) -> Iterator[Row]:
        visited = pf.collect(PENDULUM, policy, steps=2_000, seed=3).states
        timing = in_turns(*self._python_and_onnxruntime(policy, visited), rounds=3 if self.quick else 25)
        what = "pendulum FPF:PWL: action from Python"
        yield Row(what, "onnxruntime", timing.ours / CALLS, timing.theirs / CALLS, timing.ratio, 8.0, True, "×")
        tree = policy.simplify(100 if self.quick else 1_000)
        yield self._tree_time(tree, visited)
        folder = self.work / "pendulum"
        self._pendulum_figures(policy, tree, visited, folder)
        yield from self._avr_rows(tree, visited, folder / "avr")
        episodes = 5 if self.quick else 200
        whole, simple = (pf.evaluate(p, PENDULUM, episodes=episodes, seed=1).mean for p in (policy, tree))
        loss = 100 * abs(simple - whole) / abs(whole)
        note = f"{simple:.1f} and {whole:.1f}"
        yield Row(
            "pendulum, one tree: change of the mean return", "the forest", None, None, loss, 5.0, False, "%", note
        )

    def _tree_time(self, tree: pf.Policy, states: np.ndarray) -> Row:
        rows = [np.ascontiguousarray(row) for row in states[:CALLS]]
        act = tree.act
        blocks = []
        for _ in range(5 if self.quick else 2_000):
            begin = time.process_time()
            for row in rows:
                act(row)
            blocks.append((time.process_time() - begin) / CALLS)
        median = statistics.median(blocks)
        return Row("pendulum, one tree: action from Python", "", median, None, median * 1e6, 0.2, False, "µs")

    def _pendulum_figures(self, policy: pf.Policy, tree: pf.Policy, states: np.ndarray, folder: Path) -> None:
        """Peers have no linear leaves: ours alone."""
        nothing = flash_bytes(CORTEX_M4F, self._built(empty(self.work), states[:EMULATED], folder / "empty", "-Os"))
        for label, chosen in (("pendulum FPF:PWL", policy), ("pendulum, one tree", tree)):
            for precision in ("int16", "float32"):
                for style in ("table", "branches"):
                    where = folder / label.replace(" ", "-") / f"{precision}-{style}"
                    where.parent.mkdir(parents=True, exist_ok=True)
                    chosen.export_c(where, precision, style)
                    contender = exported(where)
                    some = states[:EMULATED].astype(np.float32)
                    flash = flash_bytes(CORTEX_M4F, build(CORTEX_M4F, contender, some, where / "Os", "-Os")) - nothing
                    trial = run(CORTEX_M4F, build(CORTEX_M4F, contender, some, where / "O2", "-O2"), contender)
                    function = {"": self._on_host(f"{precision}-{style}", contender, where)}
                    cold, warm = self._times(function, Shared(0, None, chosen, states))[""]
                    error = float(np.abs(trial.actions - chosen.act_batch(some.astype(np.float64))).max())
                    name = f"policyforest {precision} {style}"
                    share = flash / chosen.n_leaves
                    most = float(trial.counts.max())
                    self.figures.append(
                        Figures(label, name, flash, share, float(trial.counts.mean()), most, cold, warm, error)
                    )
                    assert comparisons(chosen, some).max() <= chosen.worst_case_comparisons

    def _avr_rows(self, tree: pf.Policy, states: np.ndarray, folder: Path) -> Iterator[Row]:
        folder.parent.mkdir(parents=True, exist_ok=True)
        tree.export_c(folder, "float32")
        contender = exported(folder)
        some = states[:150].astype(np.float32)
        program = build(ATMEGA328P, contender, some, folder / "build")
        trial = run(ATMEGA328P, program, contender)
        assert trial.actions.tobytes() == tree.astype("float32").act_batch(some).tobytes()
        what = "pendulum, one tree on an ATmega328P"
        yield Row(f"{what}: flash", "", None, None, flash_bytes(ATMEGA328P, program) / 1024, 32.0, False, "KB")
        yield Row(f"{what}: RAM", "", None, None, ram_bytes(ATMEGA328P, program) / 1024, 2.0, False, "KB")
        yield Row(f"{what}: longest action", "", None, None, float(trial.counts.max()) / 16_000, 1.0, False, "ms")

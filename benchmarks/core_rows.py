"""The rows of the core's table: growing, predicting, and a whole Q iteration, each compared with another library.

scikit-learn's side is ExtraTreesRegressor. One thread on both sides. Every function makes its data, measures
and returns its rows.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import onnxruntime
from skl2onnx import to_onnx
from sklearn.ensemble import ExtraTreesRegressor

import policyforest as pf
from growth_of_cost import N_INPUTS, smooth_samples
from measure import Row, Timing, in_turns, times_faster

N_TREES = 25
CALLS = 1_000


def rows(quick: bool) -> Iterator[Row]:
    """All rows, as they are finished; `quick` is for trying whether they run."""
    small, large, huge = (500, 1_000, 4_000) if quick else (10_000, 100_000, 1_000_000)
    yield grow_row(small, rounds=2 if quick else 7)
    yield grow_row(large, rounds=2 if quick else 3)
    yield from one_row_rows(rounds=3 if quick else 201)
    yield many_rows_row(small, rounds=2 if quick else 15)
    yield q_iteration_row(small, rounds=2 if quick else 7)
    yield from growth_of_cost_rows(small, huge)


def grow_row(n: int, rounds: int) -> Row:
    X, y = smooth_samples(n)

    def ours() -> object:
        return pf.grow_forest(X, y, n_estimators=N_TREES, max_features=2, min_samples_leaf=5, n_jobs=1)

    peer = ExtraTreesRegressor(N_TREES, max_features=2, min_samples_leaf=5, n_jobs=1, random_state=0)
    timing = in_turns(ours, lambda: peer.fit(X, y), rounds)
    return times_faster(f"grow {N_TREES} trees, N = {n:,}", "sklearn fit", timing, 5.0, "aim 10×")


def medium_forest() -> tuple[ExtraTreesRegressor, pf.Forest]:
    """25 trees of about 260 leaves, the size of a policy."""
    X, y = smooth_samples(2_350)
    model = ExtraTreesRegressor(N_TREES, max_features=2, min_samples_leaf=5, n_jobs=1, random_state=0).fit(X, y)
    return model, pf.Forest.from_sklearn(model)


def one_row_rows(rounds: int) -> list[Row]:
    """One row per call, every call another row; a round is 1,000 calls.

    `run` is how onnxruntime is called; `run_with_iobinding`, with buffers made before, is its fastest way.
    """
    model, forest = medium_forest()
    points, _ = smooth_samples(CALLS)
    session = onnx_session(model)
    ours = calls(forest.predict_one, list(points))
    plain = in_turns(ours, onnx_run(session, points), rounds)
    bound = in_turns(ours, onnx_bound(session, points), rounds)
    leaves = f"{forest.n_leaves / len(forest):.0f} leaves a tree"
    median = plain.ours / CALLS * 1e6
    return [
        one_call_row("onnxruntime run", plain, leaves),
        one_call_row("onnxruntime io_binding", bound, leaves),
        Row(
            "one row from Python, median",
            "",
            plain.ours / CALLS,
            None,
            median,
            1.0,
            False,
            "µs",
            "aim 0.5 µs",
        ),
    ]


def one_call_row(peer: str, timing: Timing, note: str) -> Row:
    ours, theirs = timing.ours / CALLS, timing.theirs / CALLS
    return Row("one row from Python", peer, ours, theirs, timing.ratio, 8.0, True, "×", note)


def onnx_session(model: ExtraTreesRegressor) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    onnx_model = to_onnx(model, np.zeros((1, N_INPUTS), dtype=np.float32))
    return onnxruntime.InferenceSession(onnx_model.SerializeToString(), options, ["CPUExecutionProvider"])


def onnx_run(session: onnxruntime.InferenceSession, points: np.ndarray) -> Callable[[], None]:
    """The feeds are made beforehand, which spares the peer a conversion that our call does not need."""
    name = session.get_inputs()[0].name
    feeds = [{name: row[np.newaxis]} for row in points.astype(np.float32)]
    return calls(lambda feed: session.run(None, feed), feeds)


def onnx_bound(session: onnxruntime.InferenceSession, points: np.ndarray) -> Callable[[], None]:
    x = onnxruntime.OrtValue.ortvalue_from_numpy(np.zeros((1, N_INPUTS), dtype=np.float32))
    y = onnxruntime.OrtValue.ortvalue_from_numpy(np.zeros((1, 1), dtype=np.float32))
    binding = session.io_binding()
    binding.bind_ortvalue_input(session.get_inputs()[0].name, x)
    binding.bind_ortvalue_output(session.get_outputs()[0].name, y)

    def predict(row: np.ndarray) -> object:
        x.update_inplace(row)
        session.run_with_iobinding(binding)
        return y.numpy()

    return calls(predict, [row[np.newaxis] for row in points.astype(np.float32)])


def calls(function: Callable[..., object], arguments: Sequence[object]) -> Callable[[], None]:
    def run() -> None:
        for argument in arguments:
            function(argument)

    return run


def many_rows_row(n: int, rounds: int) -> Row:
    model, forest = medium_forest()
    X, _ = smooth_samples(n)
    timing = in_turns(lambda: forest.predict(X, n_jobs=1), lambda: model.predict(X), rounds)
    return times_faster(f"predict {n:,} rows", "sklearn predict", timing, 4.0)


def q_iteration_row(n: int, rounds: int) -> Row:
    """Targets r + gamma max_a Q(s', a) and the next forest, against the peer's fit of such a forest alone."""
    states_actions, rewards, next_states = double_integrator(n)
    box = np.array([[-1.0, 1.0]] * N_INPUTS)

    def grow(targets: np.ndarray) -> pf.Forest:
        return pf.grow_forest(
            states_actions,
            targets,
            n_estimators=N_TREES,
            max_features=3,
            min_samples_leaf=1,
            grid={2: 1024},
            box=box,
            n_jobs=1,
        )

    q = grow(rewards)

    def iteration() -> pf.Forest:
        return grow(rewards + 0.98 * q.best_action(next_states).value)

    targets = rewards + 0.98 * q.best_action(next_states).value
    peer = ExtraTreesRegressor(N_TREES, max_features=3, min_samples_leaf=1, n_jobs=1, random_state=0)
    timing = in_turns(iteration, lambda: peer.fit(states_actions, targets), rounds)
    return times_faster(f"one Q iteration, N = {n:,}", "sklearn fit alone", timing, 1.0)


def double_integrator(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Uniform (p, v, a), the reward -(p² + a²), and the state half a second later, kept in the box."""
    rng = np.random.default_rng(0)
    samples = rng.uniform(-1, 1, (n, N_INPUTS))
    p, v, a = samples.T
    next_states = np.column_stack([p + 0.5 * v + 0.125 * a, v + 0.5 * a])
    return samples, -(p**2 + a**2), np.clip(next_states, -1, 1)


def growth_of_cost_rows(n_small: int, n_large: int) -> list[Row]:
    """Time against N log N, and the memory that growing adds for each number of X."""
    small, large = grown_apart(n_small, repeats=5), grown_apart(n_large, repeats=1)
    expected = small["seconds"] * (n_large * math.log(n_large)) / (n_small * math.log(n_small))
    what = f"grow, N = {n_small:,} → {n_large:,}"
    cost = Row(f"{what}, time", "N log N", large["seconds"], expected, large["seconds"] / expected, 1.5, False, "×")
    each = large["bytes"] / (n_large * N_INPUTS)
    memory = Row(f"{what}, peak memory a number of X", "", None, None, each, 100.0, False, "B")
    return [cost, memory]


def grown_apart(n: int, repeats: int) -> dict[str, float]:
    script = Path(__file__).with_name("growth_of_cost.py")
    command = [sys.executable, str(script), str(n), str(N_TREES), str(repeats)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    result: dict[str, float] = json.loads(done.stdout)
    return result

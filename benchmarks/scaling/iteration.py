"""One measurement, in a process of its own: Q iterations on N samples, their time, the peak of memory, what was moved.

    python benchmarks/scaling/iteration.py --samples 1000000 --executor threads --workers 2

Prints JSON. Double integrator (3 inputs), 25 trees, the parameter-free settings (n_min = ln N, k = 3, V_min = 0).
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import time
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

import policyforest as pf
from policyforest.forest.executors import Executor, Processes, Ray, Threads
from policyforest.learning.q_progress import QProgress


def measure(samples: int, executor: str, workers: int, iterations: int, store: int | None) -> dict[str, Any]:
    """The last of `iterations` Q iterations: workers have started by then, and the forest before it is in memory."""
    started = time.perf_counter()
    data = pf.sample_uniform("policyforest/DoubleIntegrator-v0", samples, seed=0)
    made = time.perf_counter()
    times, stages = [_processor_seconds()], {"trees": 0.0, "values": 0.0}
    with _executor(executor, workers, store) as runner:
        moved = [getattr(runner, "bytes_shared", 0)]

        def watch(progress: QProgress) -> None:
            stages[progress.stage] = time.perf_counter()
            _tell(
                f"{progress.iteration} {progress.stage} {progress.done:.0%}, {progress.seconds_left:.0f} s left", "\r"
            )

        def note(done: pf.QIteration) -> None:
            times.append(_processor_seconds())
            moved.append(getattr(runner, "bytes_shared", 0))
            _tell(f"iteration {done.iteration}: {done.seconds:.1f} s, peak {_peak() / 1e9:.2f} GB")

        learner = pf.FittedQIteration(
            horizon=iterations,
            n_estimators=25,
            min_samples_leaf=None,
            resample=None,
            executor=runner,
            callback=note,
            progress=watch,
        )
        q = learner.fit(data)
    last = q.history[-1]
    return {
        "samples": samples,
        "executor": executor,
        "workers": workers,
        "iterations": iterations,
        "seconds": last.seconds,
        "growth_seconds": last.seconds - (stages["values"] - stages["trees"]),
        "cpu_seconds": times[-1] - times[-2],
        "first_seconds": q.history[0].seconds,
        "data_seconds": made - started,
        "fit_seconds": time.perf_counter() - made,
        "peak_bytes": _peak(),
        "bytes_shared": moved[-1] - moved[-2],
        "forest_bytes": 16 * int(q.forest.arrays["node_offsets"][-1]),
        "leaves": last.n_leaves,
        "digest": sha256(b"".join(np.ascontiguousarray(a).tobytes() for a in q.forest.arrays.values())).hexdigest(),
    }


def _executor(name: str, workers: int, store: int | None) -> Executor:
    if name == "ray":
        return Ray(num_cpus=workers, object_store_memory=store, _node_ip_address="127.0.0.1")
    return Threads(workers) if name == "threads" else Processes(workers)


def _processor_seconds() -> float:
    """Of this process; children that have not ended are not counted."""
    return time.process_time()


def _peak() -> int:
    """Of this process, in bytes."""
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    kilobytes = next((int(line.split()[1]) for line in lines if line.startswith("VmHWM")), None)
    return 1024 * (kilobytes or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


def _tell(text: str, end: str = "\n") -> None:
    if sys.stderr.isatty():
        print(f"{text:<60}", end=end, file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, required=True)
    parser.add_argument("--executor", choices=("threads", "processes", "ray"), default="threads")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--iterations", type=int, default=2)
    parser.add_argument("--store", type=int, help="bytes of Ray's object store")
    parser.add_argument("--repeats", type=int, default=1, help="the measurement with the median time is printed")
    arguments = vars(parser.parse_args())
    repeats = arguments.pop("repeats")
    results = sorted((measure(**arguments) for _ in range(repeats)), key=lambda result: result["seconds"])
    print(json.dumps(results[repeats // 2] | {"repeats": repeats}))


if __name__ == "__main__":
    main()

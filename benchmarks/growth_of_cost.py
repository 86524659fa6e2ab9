"""Grows one forest in a process of its own and prints its CPU time and its memory as JSON.

The memory is the peak of the process less what it held when X and y were there and the growing began.

    python benchmarks/growth_of_cost.py N_SAMPLES N_TREES REPEATS
"""

from __future__ import annotations

import json
import resource
import statistics
import sys
import time
from pathlib import Path

import numpy as np

import policyforest as pf

N_INPUTS = 3


def main() -> None:
    n_samples, n_trees, repeats = map(int, sys.argv[1:])
    X, y = smooth_samples(n_samples)
    pf.grow_forest(X[:100], y[:100], n_estimators=1)  # what is loaded at the first call is not the growing's
    before = resident_bytes()
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        pf.grow_forest(X, y, n_estimators=n_trees, max_features=2, min_samples_leaf=5, n_jobs=1)
        seconds.append(time.process_time() - start)
    added = peak_bytes() - before
    print(json.dumps({"seconds": statistics.median(seconds), "bytes": added}))


def smooth_samples(n_samples: int) -> tuple[np.ndarray, np.ndarray]:
    """A noisy smooth function of three inputs, made column by column so that making it is not the peak."""
    rng = np.random.default_rng(0)
    X = np.empty((n_samples, N_INPUTS))
    for d in range(N_INPUTS):
        X[:, d] = rng.uniform(-1, 1, n_samples)
    y = rng.normal(0, 0.1, n_samples)
    y += np.sin(3 * X[:, 0])
    y += X[:, 1] * X[:, 2]
    return X, y


def resident_bytes() -> int:
    return _status("VmRSS") or _maxrss()


def peak_bytes() -> int:
    """Linux counts the parent's memory into ru_maxrss of a started process, but not into VmHWM."""
    return _status("VmHWM") or _maxrss()


def _status(field: str) -> int:
    path = Path("/proc/self/status")
    lines = path.read_text().splitlines() if path.exists() else []
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(field)), 0)


def _maxrss() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


if __name__ == "__main__":
    main()

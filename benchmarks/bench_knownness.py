"""What knownness costs on one thread: `python benchmarks/bench_knownness.py`.

Required: 100,000 insertions into 25 trees in under 5 s, a query in under 5 µs.
"""

from __future__ import annotations

import time

import numpy as np

import policyforest as pf

N_POINTS, N_TREES = 100_000, 25


def main() -> None:
    rng = np.random.default_rng(0)
    points, queries = rng.random((N_POINTS, 3)), rng.random((N_POINTS, 3))
    for form in ("density", "original"):
        forest = pf.KnownnessForest([[0.0, 1.0]] * 3, form=form, n_estimators=N_TREES)
        started = time.process_time()
        forest.insert(points)
        inserted = time.process_time() - started
        asked = []
        for _ in range(5):
            started = time.process_time()
            forest.knownness(queries)
            asked.append((time.process_time() - started) / N_POINTS)
        print(
            f"{form:>8}: {N_POINTS:,} insertions into {N_TREES} trees {inserted:.2f} s, "
            f"a query {1e6 * np.median(asked):.2f} µs ({forest.n_leaves:,} leaves)"
        )


if __name__ == "__main__":
    main()

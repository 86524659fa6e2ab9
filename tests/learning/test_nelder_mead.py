"""The search of Nelder and Mead takes the same steps as SciPy's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from policyforest.learning.improvement.nelder_mead import minimise


def banana(x: np.ndarray) -> float:
    return float(np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2))


def waves(x: np.ndarray) -> float:
    return float(np.sin(np.arange(3, 3 + len(x)) * x).sum() + x @ x)


@pytest.mark.parametrize("function", [banana, waves])
@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("most_calls", [2, 3, 17, 60, 200])
def test_it_visits_the_points_that_scipy_visits(function, n: int, most_calls: int) -> None:
    ours, theirs = [], []
    simplex = np.concatenate([np.zeros((1, n)), np.eye(n)])
    best = minimise(lambda x: ours.append(x.copy()) or function(x), simplex, most_calls=most_calls, tolerance=1e-3)
    options = {"initial_simplex": simplex, "maxfev": most_calls, "xatol": 1e-3, "fatol": 0.0}
    found = minimize(
        lambda x: theirs.append(x.copy()) or function(x), np.zeros(n), method="Nelder-Mead", options=options
    )
    assert np.array(ours).tobytes() == np.array(theirs).tobytes()
    assert best.tobytes() == found.x.tobytes()


def test_it_ends_where_nothing_differs() -> None:
    calls = []
    best = minimise(lambda x: calls.append(x) or 1.0, np.array([[0.0], [1.0]]), most_calls=1_000, tolerance=0.1)
    assert len(calls) < 30
    assert best.tolist() == [0.0]

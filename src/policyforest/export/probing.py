"""States on which an export is compared with its policy: ordinary ones, and those that reveal mistakes."""

from __future__ import annotations

import numpy as np

from policyforest._support.arguments import Floats
from policyforest.policy.policy import Policy, uniform_states

# How far beyond the thresholds an unbounded box ends here.
FAR = 1e3
SUBNORMAL = (5e-324, -5e-324, 1e-310, 1e-45, -1e-45, 1e-40, -1e-40)


def finite_box(policy: Policy) -> Floats:
    """The state box; infinite sides are moved to 1,000 beyond the outermost thresholds."""
    box = policy.state_box.copy()
    for d in range(len(box)):
        known = np.concatenate([thresholds(policy, d), [0.0]])
        if not np.isfinite(box[d, 0]):
            box[d, 0] = min(known.min(), box[d, 1]) - FAR
        if not np.isfinite(box[d, 1]):
            box[d, 1] = max(known.max(), box[d, 0]) + FAR
    return box


def thresholds(policy: Policy, d: int) -> Floats:
    """All thresholds of a dimension."""
    return np.concatenate([f.arrays["split"][f.arrays["feature"] == d] for f in policy.forests])


def random_states(policy: Policy, n: int, rng: np.random.Generator) -> Floats:
    """n states drawn uniformly from `finite_box`."""
    return uniform_states(finite_box(policy), n, rng)


def threshold_states(policy: Policy, n: int, rng: np.random.Generator) -> Floats:
    """n states with a coordinate, often several, exactly on a threshold or next to one."""
    states = random_states(policy, n, rng)
    for d in range(states.shape[1]):
        values = thresholds(policy, d)
        if len(values) == 0:
            continue
        chosen = np.flatnonzero(rng.random(n) < 0.7)
        on = rng.choice(values, len(chosen))
        beside = np.where(rng.random(len(chosen)) < 0.5, -np.inf, np.inf)
        kind = rng.integers(4, size=len(chosen))
        with np.errstate(under="ignore"):
            rounded = on.astype(np.float32)
            single = np.nextafter(rounded, beside.astype(np.float32)).astype(np.float64)
            options = (on, np.nextafter(on, beside), rounded.astype(np.float64), single)
        states[chosen, d] = np.choose(kind, options)
    return states


def awkward_states(policy: Policy, n: int, rng: np.random.Generator) -> Floats:
    """n states outside the box, on its sides, at ±0 and at subnormal numbers."""
    states = random_states(policy, n, rng)
    box = finite_box(policy)
    for d, (lo, hi) in enumerate(box):
        width = max(hi - lo, 1.0)
        far = np.where(rng.random(n) < 0.5, lo, hi) + rng.uniform(-30, 30, n) * width
        tiny = rng.choice([0.0, -0.0, *SUBNORMAL], n)
        side = rng.choice([lo, hi], n)
        states[:, d] = np.choose(rng.integers(4, size=n), (states[:, d], far, tiny, side))
    return states


def probing_states(policy: Policy, n: int, seed: int = 0) -> Floats:
    """n states: a half uniform, a quarter at thresholds, a quarter awkward, shuffled."""
    rng = np.random.default_rng(seed)
    parts = (
        random_states(policy, n - n // 2, rng),
        threshold_states(policy, n // 4, rng),
        awkward_states(policy, n // 2 - n // 4, rng),
    )
    states: Floats = rng.permutation(np.concatenate(parts))
    return states

"""Where a regression should aim if the best action is at a limit of the action box: beyond the limit.

A forest averages. Near a switch from one limit of the box to the other, and wherever trees disagree, the mean of
actions within the box is not at its limit, although the best action is: the policy acts a few percent too weakly. A
swing-up that needs full force all the way then fails, and takes one swing more. Actions are clipped to the box when
they are used, so a target beyond the limit means the same action as the limit, and keeps the mean there.

The target is where Q would be largest without the limit, according to a quadratic function fitted to Q over the actions
that were tried; so targets do not jump where the best action reaches the limit. They are at most `BEYOND` of the box's
width outside the box.
"""

from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np

from policyforest._support.arguments import Floats

# The most by which a target lies beyond the box, as a share of the box's width. (The last plan of Pendulum-v1 after
# 2,000 steps, forests with the smallest leaves, 16 seeds: worst return -156.0 with targets in the box, -153.7 with an
# eighth and -157.1 with a quarter. Rod swing-up, eight seeds: -23.0, -22.4 and -22.5 in the mean.)
BEYOND = 0.125
# An action this close to a limit, as a share of the box's width, is at the limit.
AT_LIMIT = 1e-9


def beyond_limits(actions: Floats, tried: Floats, q: Floats, box: Floats) -> Floats:
    """Targets for rows of best actions.

    Args:
        actions: The best action of each state, within the box.
        tried: The actions that were tried, a row for each.
        q: The values of the tried actions, a row for each state.
        box: The limits (low, high) of each action dimension.
    """
    low, high = box.T
    middle, half = (low + high) / 2.0, (high - low) / 2.0
    unit = np.where(half > 0.0, half, 1.0)  # an action that cannot vary is left as it is
    slopes, curvatures = _quadratic((tried - middle) / unit, q, (actions - middle) / unit)
    with np.errstate(divide="ignore", invalid="ignore"):
        # From the limit to the maximum of a concave function; any other function rises further and further.
        ahead = np.where(curvatures < 0.0, np.abs(slopes) / -curvatures, np.inf)
    further = np.minimum(ahead, 2.0 * BEYOND) * half
    near = AT_LIMIT * 2.0 * half
    up = (actions >= high - near) & (slopes > 0.0)
    down = (actions <= low + near) & (slopes < 0.0)
    targets: Floats = actions + np.where(up, further, 0.0) - np.where(down, further, 0.0)
    return targets


def _quadratic(tried: Floats, q: Floats, at: Floats) -> tuple[Floats, Floats]:
    """The slope and the curvature along each dimension, at one point per row, of the quadratic function of least
    squares."""
    m = tried.shape[1]
    pairs = list(combinations_with_replacement(range(m), 2))
    columns = [np.ones(len(tried)), *tried.T, *(tried[:, i] * tried[:, j] for i, j in pairs)]
    coefficients = np.linalg.lstsq(np.stack(columns, axis=1), q.T, rcond=None)[0]
    slopes, curvatures = coefficients[1 : m + 1].T.copy(), np.zeros_like(at)
    for (i, j), products in zip(pairs, coefficients[m + 1 :], strict=True):
        if i == j:
            curvatures[:, i] = 2.0 * products
            slopes[:, i] += 2.0 * products * at[:, i]
        else:
            slopes[:, i] += products * at[:, j]
            slopes[:, j] += products * at[:, i]
    return slopes, curvatures

"""Linear systems whose matrix may be singular."""

from __future__ import annotations

import numpy as np

from policyforest._support.arguments import Floats


def solved(matrix: Floats, right: Floats) -> Floats:
    """The solution x of matrix @ x = right; if the matrix is singular, the least-squares solution of least norm.

    Normal equations become singular although they have a ridge if products of features differ by more than the digits
    of a float: the fifth power of a single outlier of 30 standard deviations does this.
    """
    try:
        return np.asarray(np.linalg.solve(matrix, right))
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.lstsq(matrix, right, rcond=None)[0])

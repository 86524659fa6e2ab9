"""Studies whose cells take no time."""

from functools import partial

from policyforest.paper import Study


def square(seed, base):
    return {"samples": 1, "fqi": {"return": float(base + seed**2), "steps": 1.0}}


def small(name="squares", number=3, base=0):
    return Study(name, "Squares", partial(square, base=base), {"quick": number, "paper": 2 * number}, 1.0)

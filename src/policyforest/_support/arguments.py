"""Checks of arguments: every error names the argument, its value, and what it must be."""

from __future__ import annotations

import difflib
import operator
import os
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Array = NDArray[Any]

# Sums of squares of larger numbers could overflow while a forest grows.
LARGEST = 1e150

# Seeds of commands and agents: numbers are added to them, and the sums must stay below 2^64.
LARGEST_SEED = 2**62

# An error lists at most this many allowed words.
MOST_SHOWN = 12


def real_array(name: str, value: ArrayLike, kinds: str = "fiub") -> Array:
    """`value` as an array of real numbers, of the kinds that NumPy denotes by these letters; booleans are 0 and 1."""
    # np.asarray drops the mask of a masked array, and would use missing entries as numbers.
    if any(_is_masked(part) for part in (value if isinstance(value, list | tuple) else (value,))):
        raise ValueError(f"{name}: is a masked array with masked entries, must have all of its numbers")
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise ValueError(f"{name}: not an array of numbers ({error})") from error
    if array.dtype.kind not in kinds:
        raise TypeError(f"{name}: holds {array.dtype}, must hold real numbers")
    return array


def _is_masked(value: Any) -> bool:
    # Most arrays are not of a subclass. For them numpy.ma is not needed, which `import numpy` does not load.
    return isinstance(value, np.ndarray) and type(value) is not np.ndarray and bool(np.ma.is_masked(value))


def finite_array(name: str, value: ArrayLike, ndim: int, *, allow_empty: bool = False) -> Floats:
    """`value` as a contiguous float64 array of `ndim` dimensions, all of it finite."""
    array = real_array(name, value)
    if array.ndim != ndim:
        raise ValueError(f"{name}: has {array.ndim} dimensions (shape {array.shape}), must have {ndim}")
    if array.size == 0 and not allow_empty:
        raise ValueError(f"{name}: is empty (shape {array.shape})")
    result: Floats = np.ascontiguousarray(array, dtype=np.float64)
    if not np.isfinite(result).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(result))[0])
        raise ValueError(f"{name}: holds {result[where]} at {where}, all numbers must be finite")
    return result


def moderate(name: str, array: Floats) -> Floats:
    """Refuses numbers whose squares could overflow."""
    largest = float(np.abs(array).max(initial=0.0))
    if largest > LARGEST:
        raise ValueError(f"{name}: holds a number of size {largest:g}, at most {LARGEST:g} is allowed")
    return array


def box_array(name: str, value: ArrayLike, dims: int | None = None) -> Floats:
    """`value` as an array of rows (lo, hi), lo <= hi; infinite sides are allowed, NaN is not."""
    box = np.array(real_array(name, value, "fiu"), dtype=np.float64, order="C")
    if box.ndim != 2 or box.shape[1] != 2 or box.shape[0] == 0 or (dims is not None and len(box) != dims):
        expected = "(dimensions, 2)" if dims is None else f"({dims}, 2)"
        raise ValueError(f"{name}: has shape {box.shape}, must have shape {expected} with rows (lo, hi)")
    for d, (lo, hi) in enumerate(box):
        if not lo <= hi or lo == np.inf or hi == -np.inf:
            raise ValueError(f"{name}: dimension {d} has lo {lo} and hi {hi}, lo must not exceed hi")
    return box


def whole_number(name: str, value: Any, *, at_least: int, at_most: int | None = None) -> int:
    """`value` as an int within bounds."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name}: is {value!r}, must be a whole number") from None
    if number < at_least or (at_most is not None and number > at_most):
        allowed = f"at least {at_least}" if at_most is None else f"between {at_least} and {at_most}"
        raise ValueError(f"{name}: is {number}, must be {allowed}")
    return number


def real_number(
    name: str, value: Any, *, at_least: float = -np.inf, below: float = np.inf, allow_infinite: bool = False
) -> float:
    """`value` as a float in [at_least, below)."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name}: is {value!r}, must be a real number") from None
    if np.isnan(number) or (np.isinf(number) and not allow_infinite) or not at_least <= number or number >= below:
        upper = "" if below == np.inf else f" and below {below:g}"
        finite = "" if allow_infinite else "finite"
        lower = finite if at_least == -np.inf else f"{finite}{' and ' if finite else ''}at least {at_least:g}"
        raise ValueError(f"{name}: is {number}, must be {lower}{upper}")
    return number


def one_of(name: str, value: Any, allowed: tuple[str, ...], listed_by: str = "") -> str:
    """`value`, which must be one of a few words, or one of many words that a command lists."""
    if value not in allowed:
        near = suggestion(value, allowed)
        raise ValueError(f"{name}: is {value!r}{near}, must be one of {_shown(value, allowed, listed_by)}")
    return str(value)


def _shown(value: Any, allowed: tuple[str, ...], listed_by: str) -> str:
    """The allowed words; of many, their number and the nearest few."""
    if len(allowed) <= MOST_SHOWN:
        return ", ".join(map(repr, allowed))
    nearest = _nearest(value, allowed, 3, 0.0)
    where = f" (listed by {listed_by})" if listed_by else ""
    return f"{len(allowed)} names{where} such as {', '.join(map(repr, nearest))}"


def suggestion(value: Any, allowed: Iterable[str]) -> str:
    """The hint after a wrong word in an error: the nearest allowed word, if any is near."""
    near = _nearest(value, allowed, 1, 0.6)
    return f" (did you mean {near[0]!r}?)" if near else ""


def _nearest(value: Any, allowed: Iterable[str], most: int, least_likeness: float) -> list[str]:
    """The allowed words that are the most like a wrong one, in capital or small letters."""
    words = {word.lower(): word for word in allowed}
    return [words[near] for near in difflib.get_close_matches(str(value).lower(), list(words), most, least_likeness)]


def threads(n_jobs: int | None, name: str = "n_jobs") -> int:
    """Number of threads: None is 1, -1 all cores, -2 all but one, and so on, as in scikit-learn."""
    if n_jobs is None:
        return 1
    number = whole_number(name, n_jobs, at_least=-(2**31), at_most=2**16)
    if number == 0:
        raise ValueError(f"{name}: is 0, must be a positive number, -1 for all cores, -2 for all but one, and so on")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return number if number > 0 else max(1, cores + 1 + number)


def seed_number(name: str, value: int | np.random.Generator | None) -> int:
    """A seed below 2^64: a whole number, or one drawn from a generator (None: from the system)."""
    if value is None:
        value = np.random.default_rng()
    if isinstance(value, np.random.Generator):
        return int(value.integers(2**63))
    return whole_number(name, value, at_least=0, at_most=2**64 - 1)

"""Checks of stored cells: only content that a study could have written is read, because any program may have written
the files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from policyforest.environments.named_problems import PROBLEMS

CellResult = Mapping[str, Any]

LARGEST = 1e100
"""Larger numbers would overflow in sums and squares"""
# For each kind of cell, the entries that each of its methods must have. `KEYS` holds the other entries of a cell.
METHOD_KEYS = {
    "returns": ("return", "steps"),
    "times": ("action_us", "q_seconds", "policy_seconds"),
    "plans": ("return", "steps"),
    "runs": ("return", "steps", "balanced", "cpu_seconds", "plans"),
}
NUMBER = (int, float)
KEYS: dict[str, dict[str, type | tuple[type, ...]]] = {
    "limits": {"problem": str, "return": NUMBER, "steps": NUMBER},
    "portraits": {"problem": str, "how": str, "samples": int, "maps": dict, "episode": dict},
    "comparisons": {"curve": list, "action_us": NUMBER, "bytes": int},
    "certificates": {
        "share": NUMBER,
        "cells": int,
        "search_seconds": NUMBER,
        "wall_seconds": NUMBER,
        "peak_mb": NUMBER,
        "check_seconds": NUMBER,
        "statement": str,
    },
}
LISTS = ("returns", "training_returns")
"""The entries of an exploring trial for its policies and for its episodes"""
HEADING: dict[str, type | tuple[type, ...]] = {"version": str, "machine": str, "date": str, "cpu_seconds": NUMBER}
"""The entries of a cell about its computation; the oldest cells lack some of them"""
LIMITED = (*PROBLEMS, "Pendulum-v1")
"""Problems that have a limit"""
REWARDED = ("car-on-the-hill", "cart-pole-swing-up")
"""Problems whose returns are not costs, so that they can be 0 or above"""
CURVE_KEYS = ("steps", "return", "train_seconds")
PLAN_KEYS = ("cpu_seconds", "peak_mb")
"""The entries of the row "planned" of a plan besides its return"""


def cell_seed(content: Any, study: str) -> int:
    """The seed of a stored cell; a `ValueError` explains why the cell does not belong to this study."""
    _require(isinstance(content, dict), "it is no object")
    _require(content.get("study") == study, f"it is of the study {content.get('study')!r}")
    seed = content.get("seed")
    _require(type(seed) is int and seed >= 0, f"it is of the seed {seed!r}")
    return int(seed)


def check_cell(content: Mapping[str, Any], kind: str, methods: tuple[str, ...]) -> None:
    """Raises a `ValueError` if a stored cell lacks anything that a study of this kind, with these methods, would have
    written."""
    for name, type_ in HEADING.items():
        _require(name not in content or _is(content[name], type_), f"its {name!r} is of another type")
    result = content.get("result")
    if not isinstance(result, dict):
        raise ValueError("it has no result")
    _require_moderate(content)
    _require_keys(result, kind, methods)


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ValueError(otherwise)


def _require_moderate(value: Any) -> None:
    """Refuses numbers that are not finite or are enormous, at any depth.

    The comparison with `LARGEST` also works for NaN and for integers of any size."""
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            _require_moderate(item)
    elif isinstance(value, int | float):
        text = str(value)
        _require(abs(value) <= LARGEST, f"it holds the number {text if len(text) < 30 else text[:20] + '…'}")


def _require_keys(result: dict[str, Any], kind: str, methods: tuple[str, ...]) -> None:
    for name, type_ in KEYS.get(kind, {}).items():
        _require(_is(result.get(name), type_), f"its {name!r} is missing or of another type")
    if kind == "limits":
        _require_limit(result["problem"], result["return"])
    if kind == "comparisons":
        _require_numbers(result["curve"], CURVE_KEYS, "curve")
        _require_numbers([result], methods, "numbers")
    if kind in METHOD_KEYS:
        for method in methods:
            rows = [row for key, row in result.items() if key == method or key.startswith(f"{method} of ")]
            _require(len(rows) == 1 and isinstance(rows[0], dict), f"it has no method {method!r}")
            for name in LISTS if method == "mean" else ():
                _require(_numbers(rows[0].get(name)), f"its {method!r} has no list {name!r}")
        rows = [row for key, row in result.items() if key != "samples"]
        _require_numbers(rows, () if "plan" in result else METHOD_KEYS[kind], "methods")
    if kind == "plans":
        _require_numbers([result["planned"]], PLAN_KEYS, "plans")
        _require(isinstance(result["planned"].get("kept"), bool), "its plan has no 'kept' that is true or false")


def _require_limit(problem: str, mean_return: float) -> None:
    """Refuses a limit of 0 or above, because the figures draw costs on a logarithmic axis."""
    _require(problem in LIMITED, f"its 'problem' is {problem!r}, must be one of {', '.join(LIMITED)}")
    _require(mean_return < 0 or problem in REWARDED, f"its 'return' is {mean_return}, must be below 0 on {problem}")


def _is(value: Any, type_: type | tuple[type, ...]) -> bool:
    """Whether a value is of a type; true and false do not count as numbers."""
    return isinstance(value, type_) and not isinstance(value, bool)


def _numbers(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(_is(item, NUMBER) for item in value)


def _require_numbers(rows: list[Any], keys: tuple[str, ...], what: str) -> None:
    _require(bool(rows), f"its {what} are empty")
    for row in rows:
        _require(isinstance(row, dict), f"one of its {what} is no object")
        for key in keys:
            _require(_is(row.get(key), NUMBER), f"one of its {what} has no number {key!r}")

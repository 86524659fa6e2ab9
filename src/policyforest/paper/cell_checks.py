"""Checks of stored cells: whoever wrote them, only what a study would have written is read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

CellResult = Mapping[str, Any]

LARGEST = 1e100
"""Numbers beyond it would overflow in sums and squares"""
# What a cell of each kind holds for each of its methods; and what it holds besides.
METHOD_KEYS = {
    "returns": ("return", "steps"),
    "times": ("action_us", "q_seconds", "policy_seconds"),
    "plans": ("return", "steps"),
}
KEYS: dict[str, dict[str, type | tuple[type, ...]]] = {
    "limits": {"problem": str, "return": (int, float), "steps": (int, float)},
    "portraits": {"problem": str, "how": str, "samples": int, "maps": dict, "episode": dict},
    "comparisons": {"curve": list, "action_us": (int, float), "bytes": int},
}
LISTS = ("returns", "training_returns")
"""What a trial that explores keeps of its policies and of its episodes"""
CURVE_KEYS = ("steps", "return", "train_seconds")
PLAN_KEYS = ("kept", "cpu_seconds", "peak_mb")
"""What the row "planned" of a plan holds besides its return"""


def cell_seed(content: Any, study: str) -> int:
    """The seed of a stored cell; `ValueError` explains why it is not one of this study."""
    _require(isinstance(content, dict), "it is no object")
    _require(content.get("study") == study, f"it is of the study {content.get('study')!r}")
    seed = content.get("seed")
    _require(type(seed) is int and seed >= 0, f"it is of the seed {seed!r}")
    return int(seed)


def check_result(content: Mapping[str, Any], kind: str, methods: tuple[str, ...]) -> None:
    """`ValueError` names what a stored cell lacks that a study of this kind, with these methods, would have written."""
    result = content.get("result")
    if not isinstance(result, dict):
        raise ValueError("it has no result")
    _require_moderate(result)
    _require_keys(result, kind, methods)


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ValueError(otherwise)


def _require_moderate(value: Any) -> None:
    """All numbers finite and not enormous, at any depth."""
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            _require_moderate(item)
    elif isinstance(value, int | float):
        _require(math.isfinite(value) and abs(value) <= LARGEST, f"it holds the number {value}")


def _require_keys(result: dict[str, Any], kind: str, methods: tuple[str, ...]) -> None:
    for name, type_ in KEYS.get(kind, {}).items():
        _require(isinstance(result.get(name), type_), f"its {name!r} is missing or of another type")
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


def _numbers(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, int | float) for item in value)


def _require_numbers(rows: list[Any], keys: tuple[str, ...], what: str) -> None:
    _require(bool(rows), f"its {what} are empty")
    for row in rows:
        _require(isinstance(row, dict), f"one of its {what} is no object")
        for key in keys:
            _require(isinstance(row.get(key), int | float), f"one of its {what} has no number {key!r}")

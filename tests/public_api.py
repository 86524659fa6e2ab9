"""What is public in PolicyForest: modules, names, their methods and properties, and what is written about them."""

from __future__ import annotations

import ast
import inspect
import itertools
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

# Every module with `__all__`.
PUBLIC_MODULES = (
    "policyforest",
    "policyforest.baselines",
    "policyforest.executors",
    "policyforest.exploration",
    "policyforest.export",
    "policyforest.paper",
    "policyforest.presets",
    "policyforest.problems",
    "policyforest.readers",
    "policyforest.report.plots",
    "policyforest.sklearn",
    "policyforest.tensorboard",
    # What the entry points above lead to.
    "policyforest.data.readers",
    "policyforest.environments.problems",
    "policyforest.forest.estimator",
    "policyforest.forest.executors",
    "policyforest.report.tensorboard",
)


def public_names(module: ModuleType) -> list[tuple[str, Any]]:
    return [(name, getattr(module, name)) for name in sorted(module.__all__) if name != "__version__"]


def public_members(item: Any) -> list[tuple[str, Any]]:
    """The methods and properties of a class that PolicyForest has written, those of its parents included."""
    found: dict[str, Any] = {}
    for owner in inspect.getmro(item) if inspect.isclass(item) else ():
        for name, value in vars(owner).items() if owner.__module__.startswith("policyforest") else ():
            plain = getattr(value, "__func__", value)
            if not name.startswith("_") and (
                inspect.isfunction(plain) or isinstance(value, property | cached_property)
            ):
                found.setdefault(name, value)
    return sorted(found.items())


def description(item: Any, module: ModuleType, name: str) -> str:
    """The docstring that somebody wrote: not the one that `dataclass` makes; of a constant, the text under it."""
    if inspect.isclass(item) or inspect.isroutine(item):
        text = inspect.getdoc(item) or ""
        return "" if text.startswith(f"{getattr(item, '__name__', '')}(") else text
    for file in sorted(Path(str(module.__file__)).parent.glob("*.py")):
        body = ast.parse(file.read_text(encoding="utf-8")).body
        for line, below in itertools.pairwise(body):
            targets = [line.target] if isinstance(line, ast.AnnAssign) else getattr(line, "targets", [])
            if any(getattr(target, "id", None) == name for target in targets) and isinstance(below, ast.Expr):
                return inspect.cleandoc(ast.literal_eval(below.value))
    return ""

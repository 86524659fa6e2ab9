"""Every public name is documented and typed, its methods and properties too.

`test_site.py` looks for them on the API pages.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from public_api import PUBLIC_MODULES, description, public_members, public_names

ROOT = Path(__file__).parents[2]
MODULES = [importlib.import_module(name) for name in PUBLIC_MODULES]
NAMES = [(module, name) for module in MODULES for name, _ in public_names(module)]


def test_every_module_that_says_what_is_public_is_looked_at() -> None:
    package = ROOT / "src" / "policyforest"
    found = set()
    for file in package.rglob("*.py"):
        if re.search(r"^__all__", file.read_text(), re.MULTILINE):
            parts = ("policyforest", *file.relative_to(package).with_suffix("").parts)
            found.add(".".join(parts).removesuffix(".__init__"))
    assert found == set(PUBLIC_MODULES)


@pytest.mark.parametrize(("module", "name"), NAMES, ids=[f"{m.__name__}.{n}" for m, n in NAMES])
def test_a_public_name_and_its_members_are_documented_and_typed(module: ModuleType, name: str) -> None:
    item = getattr(module, name)
    assert description(item, module, name), f"{name} has no docstring"
    called = inspect.isroutine(item) or (inspect.isclass(item) and not getattr(item, "_is_protocol", False))
    missing = [*undocumented(item), *(untyped(name, item) if called else ())]
    for member, value in public_members(item):
        missing += untyped(f"{name}.{member}", function_of(value))
    assert not missing


def undocumented(item: Any) -> Iterator[str]:
    for member, _ in public_members(item):
        if not inspect.getdoc(getattr(item, member)):
            yield f"{item.__name__}.{member} has no docstring"


def function_of(value: Any) -> Any:
    """What a method or a property calls."""
    if isinstance(value, property):
        return value.fget
    return value.func if isinstance(value, cached_property) else getattr(value, "__func__", value)


def untyped(name: str, item: Any) -> Iterator[str]:
    """The parameters that have no type, or no names of their own, and a return value without one."""
    if inspect.isclass(item) and "__init__" not in vars(item):
        return  # made by `dataclass` from fields, which have types; or another class's
    function = vars(item)["__init__"] if inspect.isclass(item) else item
    signature = inspect.signature(function)
    for parameter in list(signature.parameters.values()):
        if parameter.annotation is inspect.Parameter.empty and parameter.name not in ("self", "cls"):
            yield f"{name}: {parameter.name} has no type"
        open_end = parameter.kind is inspect.Parameter.VAR_KEYWORD and parameter.annotation in ("Any", Any)
        if open_end and not re.search(rf"\b{parameter.name}\b", inspect.getdoc(item) or ""):
            yield f"{name}: neither type nor docstring describes {parameter}"
    if signature.return_annotation is inspect.Signature.empty:
        yield f"{name} has no return type"

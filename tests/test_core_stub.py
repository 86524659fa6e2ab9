"""The committed types of the C++ core are those of the compiled module."""

from __future__ import annotations

import ast
from pathlib import Path

from nanobind.stubgen import StubGen

import policyforest
from policyforest import _core


def test_the_stub_of_the_core_is_what_the_compiled_module_says() -> None:
    generator = StubGen(_core)
    generator.put(_core)
    committed = Path(policyforest.__file__).with_name("_core.pyi").read_text()
    # The layout is ruff's, so the syntax is compared.
    assert statements(committed) == statements(generator.get()), "run `make stubs`"


def statements(stub: str) -> list[str]:
    return [ast.unparse(statement) for statement in ast.parse(stub).body]


def test_each_name_of_the_core_has_a_type() -> None:
    stub = (Path(policyforest.__file__).with_name("_core.pyi")).read_text()
    names = {node.name for node in ast.parse(stub).body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    assert names == {name for name in dir(_core) if not name.startswith("_")}

"""The house: which packages there are, what they say of themselves, and what they import from the top level."""

from __future__ import annotations

import ast
import importlib
import re
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "policyforest"
ENTRY_POINTS = {"executors", "presets", "problems", "readers", "sklearn", "tensorboard"}
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
LAYERS: list[str] = next(contract["layers"] for contract in CONTRACTS if contract["type"] == "layers")
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE)


def test_the_top_level_holds_packages_and_entry_points_alone() -> None:
    assert {path.stem for path in PACKAGE.glob("*.py")} == {"__init__", "__main__"} | ENTRY_POINTS
    assert {path.parent.name for path in PACKAGE.glob("*/__init__.py")} == set(LAYERS)


@pytest.mark.parametrize("package", LAYERS)
def test_a_package_states_its_job_and_what_it_may_import(package: str) -> None:
    text = ast.get_docstring(ast.parse((PACKAGE / package / "__init__.py").read_text())) or ""
    below = LAYERS[LAYERS.index(package) + 1 :]
    stated = text.partition("May import: ")[2].replace("\n", " ").partition(".")[0]
    assert [name for name in reversed(LAYERS) if f"`{name}`" in stated] == list(reversed(below))


@pytest.mark.parametrize("entry_point", sorted(ENTRY_POINTS))
def test_an_entry_point_only_names_what_others_hold(entry_point: str) -> None:
    tree = ast.parse((PACKAGE / f"{entry_point}.py").read_text())
    assert ast.get_docstring(tree)
    assert all(isinstance(node, ast.Expr | ast.ImportFrom | ast.Assign) for node in tree.body)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_a_module_takes_only_the_core_from_the_top_level(path: Path) -> None:
    """import-linter cannot see the compiled core, so imports of the top level are checked here."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module == "policyforest":
            assert [alias.name for alias in node.names] == ["_core"]


def _functions(path: Path) -> list[ast.FunctionDef]:
    return [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)]


def test_no_function_is_longer_than_forty_lines() -> None:
    long = [
        f"{path.relative_to(PACKAGE)}: {function.name}"
        for path in PACKAGE.rglob("*.py")
        for function in _functions(path)
        if (function.end_lineno or 0) - function.lineno + 1 > 40
    ]
    assert long == []


def test_no_two_public_classes_have_one_name() -> None:
    """A class or an alias of types that two modules define is two ideas under one name."""
    where: dict[str, list[str]] = {}
    for path in PACKAGE.rglob("*.py"):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef):
                where.setdefault(node.name, []).append(str(path.relative_to(PACKAGE)))
            elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Subscript | ast.BinOp):
                names = [target.id for target in node.targets if isinstance(target, ast.Name)]
                for name in names:
                    if name[0].isupper() and not name.isupper():
                        where.setdefault(name, []).append(str(path.relative_to(PACKAGE)))
    assert {name: paths for name, paths in where.items() if len(paths) > 1} == {}


def test_no_two_modules_of_the_reproduction_have_one_name() -> None:
    names = [path.name for path in (PACKAGE / "paper").rglob("*.py") if path.name != "__init__.py"]
    assert len(names) == len(set(names))


UNIX_ONLY = {"fcntl", "grp", "pty", "pwd", "resource", "termios"}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
BASE = {re.split(r"[^\w-]", requirement)[0] for requirement in PROJECT["dependencies"]}
SOURCES = sorted(PACKAGE.rglob("*.py"))


def imported_at_once(path: Path) -> set[str]:
    """The top-level packages that a module imports when it is imported itself."""
    found: set[str] = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add((node.module or "").partition(".")[0])
    return found


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_no_module_needs_unix_or_an_extra_when_it_is_imported(path: Path) -> None:
    ours = {"policyforest", "_policyforest_command"}
    assert imported_at_once(path) - sys.stdlib_module_names - ours - BASE == set()
    assert imported_at_once(path) & UNIX_ONLY == set()


def test_the_repository_has_few_files() -> None:
    """Results are data in few files, one per study."""
    assert len(list((ROOT / "docs" / "results").rglob("*.json"))) <= 2


@pytest.mark.parametrize(
    ("module", "names"),
    [
        ("readers", "Description EpisodeRecorder Log LogWarning as_transitions read_log read_transitions"),
        ("executors", "Executor Processes Ray Threads"),
        ("problems", "CarOnTheHill DoubleIntegrator InvertedPendulum NativeProblem SwingUp"),
        ("presets", "DISCOUNT PAPER PROBLEMS NamedProblem PaperSettings environment_id named_problem paper"),
        ("sklearn", "ForestRegressor"),
        ("tensorboard", "TensorBoard"),
        ("environments.problems.swing_up", "SwingUp"),
        ("paper.finished_cells", "Cells"),
    ],
)
def test_names_can_be_imported_from_where_the_changelog_says(module: str, names: str) -> None:
    found = importlib.import_module(f"policyforest.{module}")
    assert [name for name in names.split() if not hasattr(found, name)] == []

"""Hooks of MkDocs: pages that are made when the site is built. No network is needed.

`api.md` documents every public name from its docstring and its types; `contributing.md` and `changes.md` are the files
of the root, their links turned to the site's.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import itertools
import re
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).parents[1]
# Every module that says what is public in it.
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
COPIED = {"contributing.md": "CONTRIBUTING.md", "changes.md": "CHANGELOG.md"}


def on_files(files: Any, config: Any) -> Any:
    from mkdocs.structure.files import File

    for page, source in COPIED.items():
        text = (ROOT / source).read_text(encoding="utf-8").replace("](docs/", "](")
        files.append(File.generated(config, page, content=text))
    files.append(File.generated(config, "api.md", content=api_page()))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Links to the sources lead somewhere in the repository, but not on the site."""
    return re.sub(r"\[([^\]]+)\]\(\.\./(?:src|core|tests|benchmarks|tools)/[^)]*\)", r"\1", markdown)


def api_page() -> str:
    """All public names: those of the package, then those that its rooms have besides, in the order of the alphabet."""
    parts = ["# API reference", "`import policyforest as pf`"]
    seen: list[Any] = []
    for room in PUBLIC_MODULES:
        module = importlib.import_module(room)
        short = room.removeprefix("policyforest").removeprefix(".")
        for name, item in public_names(module):
            if not any(item is other for other in seen):
                seen.append(item)
                parts.append(_entry(f"{short}.{name}" if short else name, item, module))
    return "\n\n".join(parts)


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


def _entry(name: str, item: Any, module: ModuleType) -> str:
    called = inspect.isclass(item) or inspect.isroutine(item)
    signature = f"```\n{name}{_signature(item)}\n```" if called else ""
    parts = [f"## `{name}`", signature, _shown(description(item, module, name.rpartition(".")[2]))]
    for member, value in public_members(item):
        plain = getattr(value, "__func__", value)
        shown = "" if isinstance(value, property | cached_property) else _signature(plain)
        text = _shown(inspect.getdoc(getattr(item, member)) or "")
        parts.append(f"### `{name}.{member}`\n\n```\n{member}{shown}\n```\n\n{text}")
    return "\n\n".join(part for part in parts if part)


def _signature(item: Any) -> str:
    try:
        text = str(inspect.signature(item))
    except (TypeError, ValueError):
        return ""
    return re.sub(r"<factory>|<object object at 0x[0-9a-f]+>", "…", text)


def _shown(text: str) -> str:
    """A docstring as it is written: most of them are Markdown; indented parts stay so."""
    return text if "|---" in text else f"```\n{text}\n```" if "\n    " in text or "----" in text else text

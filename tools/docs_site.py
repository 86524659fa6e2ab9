"""Hooks of MkDocs: pages that are made when the site is built. No network is needed.

`api.md` documents every public name from its docstring and its types; `contributing.md` and `changes.md` are the files of
the root, their links turned to the site's.
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
COPIED = {"contributing.md": "CONTRIBUTING.md", "changes.md": "CHANGELOG.md"}


def on_files(files: Any, config: Any) -> Any:
    from mkdocs.structure.files import File

    for page, source in COPIED.items():
        text = (ROOT / source).read_text(encoding="utf-8").replace("](docs/", "](")
        files.append(File.generated(config, page, content=text))
    files.append(File.generated(config, "api.md", content=api_page()))
    return files


def api_page() -> str:
    """All public names, in the order of the alphabet."""
    import policyforest as pf

    names = [name for name in pf.__all__ if name != "__version__"]
    return "\n\n".join(
        ["# API reference", "`import policyforest as pf`", *(_entry(name, getattr(pf, name)) for name in names)]
    )


def _entry(name: str, item: Any) -> str:
    parts = [f"## `{name}`", f"```\n{name}{_signature(item)}\n```", _docstring(item)]
    if inspect.isclass(item):
        for member, value in sorted(vars(item).items()):
            plain = getattr(value, "__func__", value)
            if member.startswith("_") or not (inspect.isfunction(plain) or isinstance(value, property)):
                continue
            shown = "" if isinstance(value, property) else _signature(plain)
            parts.append(f"### `{name}.{member}`\n\n```\n{member}{shown}\n```\n\n{_docstring(value)}")
    return "\n\n".join(part for part in parts if part)


def _signature(item: Any) -> str:
    try:
        text = str(inspect.signature(item))
    except (TypeError, ValueError):
        return ""
    return re.sub(r"<factory>|<object object at 0x[0-9a-f]+>", "…", text)


def _docstring(item: Any) -> str:
    """The docstring as it is written: most of them are Markdown; indented parts stay so."""
    text = inspect.getdoc(item) or ""
    return text if "|---" in text else f"```\n{text}\n```" if "\n    " in text or "----" in text else text

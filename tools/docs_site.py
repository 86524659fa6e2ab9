"""Hooks of MkDocs for what no plugin does. No network is needed.

`contributing.md`, `changes.md` and `security.md` are copies of files at the root, with links that work on the
site. The API pages are made by mkdocstrings from `docs/api`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
COPIED = {"contributing.md": "CONTRIBUTING.md", "changes.md": "CHANGELOG.md", "security.md": "SECURITY.md"}


def on_files(files: Any, config: Any) -> Any:
    from mkdocs.structure.files import File

    for page, source in COPIED.items():
        text = (ROOT / source).read_text(encoding="utf-8").replace("](docs/", "](")
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Links to the sources lead somewhere in the repository, but not on the site."""
    return re.sub(r"\[([^\]]+)\]\(\.\./(?:src|core|tests|benchmarks|tools)/[^)]*\)", r"\1", markdown)

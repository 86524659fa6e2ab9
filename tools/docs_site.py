"""Hooks of MkDocs for what no plugin does. No network is needed.

`contributing.md`, `changes.md` and `security.md` are copies of files at the root, with links that work on the
site. The API pages are made by mkdocstrings from `docs/api`.
"""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
COPIED = {"contributing.md": "CONTRIBUTING.md", "changes.md": "CHANGELOG.md", "security.md": "SECURITY.md"}
TAG = re.compile(r"(<[^>]*>)")
OPTION = re.compile(r"(?<![\w-])--?[A-Za-z][\w-]*")
HYPHENS = re.compile(r"\d[eE]?-\d|(?<![\w-])--[A-Za-z]")
# A word of at most this many characters fits on a line of a narrow phone.
LONGEST = 24


def on_files(files: Any, config: Any) -> Any:
    from mkdocs.structure.files import File

    for page, source in COPIED.items():
        text = (ROOT / source).read_text(encoding="utf-8").replace("](docs/", "](")
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Links to the sources lead somewhere in the repository, but not on the site."""
    return re.sub(r"\[([^\]]+)\]\(\.\./(?:src|core|tests|benchmarks|tools)/[^)]*\)", r"\1", markdown)


def on_page_content(html: str, **_: Any) -> str:
    """Options and words of code that fit on a line of a phone stay whole; longer words break at their signs."""
    parts = TAG.split(html)  # text and tags in turn
    depth = {"pre": 0, "code": 0}
    for index, part in enumerate(parts):
        if index % 2:
            name = re.sub(r"\W.*", "", part.strip("</"), flags=re.DOTALL)
            if name in depth:
                depth[name] += -1 if part.startswith("</") else 1
        else:
            # A name of an object, and code that is partly a link, are longer than the words of their parts.
            around = "".join(parts[max(index - 1, 0) : index + 2])
            if "doc-object-name" in around or (depth["code"] and re.search("</?a[ >]", around)):
                change = breakable
            else:
                change = unbroken if depth["code"] else unbroken_number
            text = re.sub(r"\S+", lambda word, change=change: change(word[0]), part)
            parts[index] = re.sub(r"[(\[{]$", r"\g<0><wbr>", text) if depth["pre"] else text
    return "".join(parts)


def unbroken(word: str) -> str:
    if len(unescape(word)) > LONGEST:
        return breakable(word)
    return f'<span class="whole">{word}</span>' if re.search(r"-|\w\W+\w", word) else word


def unbroken_number(word: str) -> str:
    """Of the words of text, only numbers such as 1e-4, dates and options could break after their hyphens."""
    return unbroken(word) if len(unescape(word)) > LONGEST or HYPHENS.search(word) else word


def breakable(word: str) -> str:
    """The word may break after a dot, a slash, an underscore, an equals sign or a parenthesis; not in a number."""
    word = OPTION.sub(r'<span class="whole">\g<0></span>', word)
    return re.sub(r"((?!(?<=\d)\.\d)(?<=[\w>])[._/=]|\()(?=\w)", r"\1<wbr>", word)

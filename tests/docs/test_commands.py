"""The command lines of the documentation can be parsed: their commands and options exist. None of them is run."""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

from policyforest.cli import UsageError, main

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
GROUP: Any = typer.main.get_command(main)
BLOCK = re.compile(r"^ *```(.*?)\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
# Blocks without a language show what a command prints, after a line with "$ ".
LANGUAGES = {"sh", ""}
COMMAND = re.compile(r"^ *(?:\$ )?(?:[A-Z_]+=\S+ )*policyforest (.*)$", re.MULTILINE)
END_OF_COMMAND = {"&", "&&", "|", ";", ">", "2>"}
# Deliberate misspellings, each of which must stay one.
MISSPELLED = ["learn double-integrator --epsiodes 100"]


def commands(text: str) -> Iterator[str]:
    """What follows `policyforest` on each line of the blocks of a page; a backslash joins lines."""
    for language, block in BLOCK.findall(text):
        if language in LANGUAGES:
            yield from COMMAND.findall(re.sub(r"\\\n *", "", block))


def parse(line: str) -> None:
    """Raises a UsageError where the command line would be refused; what the page leaves out is written as "…"."""
    words = [word for word in shlex.split(line, comments=True) if word != "…"]
    words = list(itertools.takewhile(lambda word: word not in END_OF_COMMAND, words))
    command, path = GROUP, "policyforest"
    while hasattr(command, "commands") and words and not words[0].startswith("-"):
        path += f" {words[0]}"
        command = command.commands.get(words.pop(0))
        if command is None:
            raise UsageError(f"No such command: {path}")
    if not hasattr(command, "commands"):
        with command.make_context(path, [word for word in words if word != "--help"]):
            return
    # Options of a group act while they are parsed: --install-completion would install it.
    if unknown := set(words) - {name for parameter in command.params for name in parameter.opts} - {"--help"}:
        raise UsageError(f"No such option: {unknown}")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_command_line_of_a_page_can_be_parsed(page: Path) -> None:
    for line in commands(page.read_text()):
        if line not in MISSPELLED:
            parse(line)


def test_the_pages_have_command_lines() -> None:
    lines = [line for page in PAGES for line in commands(page.read_text())]
    assert len(lines) > 40
    assert set(MISSPELLED) <= set(lines)


@pytest.mark.parametrize(
    "line",
    [
        *MISSPELLED,
        "lern double-integrator",
        "ros fly",
        "--no-such-option",
        "gazebo start --headles",
        "export x.pforest --to pdf",
        "learn --episodes many",
        "learn swing-up --no-such-option   # a comment",
        "show",
    ],
)
def test_a_command_line_that_would_be_refused_is_found(line: str) -> None:
    with pytest.raises(UsageError):
        parse(line)

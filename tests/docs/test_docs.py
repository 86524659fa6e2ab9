"""The documentation is true: its Python runs, its tables of defaults are the code's, its links lead somewhere."""

from __future__ import annotations

import inspect
import re
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import Any

import pytest

import policyforest as pf
from policyforest.environments.named_problems import PROBLEMS

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", ROOT / "SECURITY.md"]
PAGES += sorted((ROOT / "docs").glob("*.md"))
PAGES += [page for room in ("algorithms", "tutorials") for page in sorted((ROOT / "docs" / room).glob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)")


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", [page for page in PAGES if BLOCK.search(page.read_text())], ids=name)
def test_python_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = page.read_text()
    namespace: dict[str, Any] = {}
    for block in BLOCK.finditer(text):
        line = text.count("\n", 0, block.start(1))
        exec(compile("\n" * line + block[1], str(page), "exec"), namespace)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page: Path) -> None:
    for link in LINK.finditer(page.read_text()):
        target = page.parent / link[1] if link[1] else page
        assert target.exists(), link[0]
        if link[2]:
            headings = re.findall(r"^#+ (.*)$", target.read_text(), re.MULTILINE)
            assert link[2] in [re.sub(r"[^a-z0-9 -]", "", h.lower()).replace(" ", "-") for h in headings], link[0]


def default(field: Field[Any]) -> Any:
    return None if field.default is MISSING else field.default


@pytest.mark.parametrize("learner", [pf.FittedQIteration, pf.FittedPolicyForest])
def test_tables_of_parameters_are_the_code_s(learner: type) -> None:
    text = (ROOT / "docs" / "learning.md").read_text()
    section = text.split(f"### `{learner.__name__}`\n")[1].split("\n\n`")[0]
    documented = dict(re.findall(r"^\| `(\w+)` \| `([^`]*)` \|", section, re.MULTILINE))
    assert documented == {f.name: repr(default(f)) for f in fields(learner) if f.default is not MISSING}


def documented_names(heading: str) -> list[str]:
    """The names in the first column of the first table after a line of docs/logs.md."""
    after = (ROOT / "docs" / "logs.md").read_text().split(heading)[1]
    rows = [line.split("|")[1] for line in after.split("\n\n")[1].splitlines()]
    return re.findall(r"`(\w+)`", " ".join(rows))


def test_the_parameters_of_read_log_are_documented_apart_from_the_fields_of_columns() -> None:
    columns = [field.name for field in fields(pf.Columns)]
    assert documented_names("The fields of `pf.Columns`") == columns
    others = set(inspect.signature(pf.read_log).parameters) - {"path", "columns", "names"}
    assert set(documented_names("other parameters of `pf.read_log`")) == others


def test_the_example_of_a_log_prints_what_its_comments_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    block = BLOCK.findall((ROOT / "docs" / "logs.md").read_text())[0]
    exec(block, {})
    said = re.findall(r"^print\(.*\)  # (.*)$", block, re.MULTILINE)
    for comment, line in zip(said, capsys.readouterr().out.splitlines(), strict=True):
        assert re.fullmatch(re.escape(comment).replace("…", ".*"), line)


def test_named_problems_are_documented_with_their_discounts() -> None:
    text = (ROOT / "docs" / "problems.md").read_text()
    for short, problem in PROBLEMS.items():
        assert re.search(rf"^\| `{short}` \| `{problem.id}` \|.*\| {problem.discount:g} \|", text, re.MULTILINE), short


PAGES_WITH_PATHS = [ROOT / "CONTRIBUTING.md", ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PATH = re.compile(r"`((?:[\w.-]+/)*[\w.-]+\.(?:py|pyi|cpp|hpp|inl|sh|sdf|cc))\b")
# Files that a reader makes or gets, not files of the project.
MADE_BY_READERS = re.compile(r"(policy(_\w+)?|my_\w+|main|example|controller|selftest)\.\w+|build/.*|.*<.*")


@pytest.mark.parametrize("page", PAGES_WITH_PATHS, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_file_that_a_page_names_exists(page: Path) -> None:
    rooms = [ROOT, ROOT / "src" / "policyforest", ROOT / "core" / "src", page.parent]
    named = [path for path in PATH.findall(page.read_text()) if not MADE_BY_READERS.fullmatch(path)]
    missing = [path for path in named if not any((room / path).exists() for room in rooms)]
    alone = {path.name for room in ("core", "src") for path in (ROOT / room).rglob("*") if path.is_file()}
    assert [path for path in missing if "/" in path or path not in alone] == []


def test_the_paper_map_names_files() -> None:
    assert len(PATH.findall((ROOT / "docs" / "paper_map.md").read_text())) > 50

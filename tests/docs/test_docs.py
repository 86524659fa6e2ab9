"""The documentation is true: its Python runs, its tables of defaults are the code's, its links lead somewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import Any

import pytest

import policyforest as pf
from policyforest.environments.named_problems import PROBLEMS

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
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


def test_named_problems_are_documented_with_their_discounts() -> None:
    text = (ROOT / "docs" / "problems.md").read_text()
    for short, problem in PROBLEMS.items():
        assert re.search(rf"^\| `{short}` \| `{problem.id}` \|.*\| {problem.discount:g} \|", text, re.MULTILINE), short


def test_the_paper_map_names_files_that_exist() -> None:
    missing = [path for path in mapped_files() if not path.exists()]
    assert not missing


def mapped_files() -> Iterator[Path]:
    folders = {"core/": ROOT, "unit/": ROOT / "tests", "property/": ROOT / "tests", "golden/": ROOT / "tests"}
    folders |= {"cpp/": ROOT / "tests", "cli/": ROOT / "tests"}
    for line in (ROOT / "docs" / "paper_map.md").read_text().splitlines():
        before = ROOT / "core" / "src"
        for path in re.findall(r"`([\w/]+\.(?:py|cpp|hpp))", line):
            room = next((folders[key] for key in folders if path.startswith(key)), None)
            if room is None:  # a file beside the one before it, or in the package
                room = before if path.endswith("pp") else ROOT / "src" / "policyforest"
            yield room / path

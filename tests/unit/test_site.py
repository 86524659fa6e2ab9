"""The documentation as a site: it builds without warnings and without network, and leaves nothing out."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import policyforest as pf

ROOT = Path(__file__).parents[2]
PARTS = ("Formula", "Parameters", "What it logs", "When to use it", "Where it departs from the paper")


def test_the_site_builds_without_warnings_and_has_every_public_name(tmp_path: Path) -> None:
    # A proxy that is not there: whatever asks the network fails.
    nowhere = dict.fromkeys(("http_proxy", "https_proxy", "all_proxy"), "http://127.0.0.1:9")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-q", "-d", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, env=nowhere)
    assert done.returncode == 0, done.stdout + done.stderr
    reference = (tmp_path / "site" / "api.html").read_text()
    for name in pf.__all__:
        assert name in reference or name == "__version__"
    assert "How the house is laid out" in (tmp_path / "site" / "contributing.html").read_text()


@pytest.mark.parametrize("name", [name for name in pf.__all__ if name != "__version__"])
def test_every_public_name_and_its_methods_are_documented(name: str) -> None:
    item = getattr(pf, name)
    assert inspect.getdoc(item), name
    for member, value in vars(item).items() if inspect.isclass(item) else ():
        plain = getattr(value, "__func__", value)
        if inspect.isfunction(plain) and not member.startswith("_") and plain.__module__.startswith("policyforest"):
            typed = inspect.signature(plain).return_annotation
            assert typed is not inspect.Signature.empty, f"{name}.{member} has no type"


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "algorithms").glob("*.md")), ids=lambda page: page.stem)
def test_a_page_of_an_algorithm_has_all_its_parts(page: Path) -> None:
    text = page.read_text()
    assert [line[3:] for line in text.splitlines() if line.startswith("## ")] == list(PARTS)

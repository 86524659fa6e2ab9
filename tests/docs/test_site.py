"""The documentation as a site: it builds without warnings and without network, and leaves nothing out."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from site_tools import docs_site

ROOT = Path(__file__).parents[2]
PARTS = ("Formula", "Parameters", "What it logs", "When to use it", "Where it departs from the paper")


def test_the_site_builds_without_warnings_and_has_every_public_name(tmp_path: Path) -> None:
    # A proxy that is not there: whatever asks the network fails.
    nowhere = dict.fromkeys(("http_proxy", "https_proxy", "all_proxy"), "http://127.0.0.1:9")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-d", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, env=nowhere)
    assert done.returncode == 0, done.stdout + done.stderr  # not with -q, which hides warnings from --strict too
    reference = (tmp_path / "site" / "api.html").read_text()
    for heading in re.findall(r"^##+ `([\w.]+)`$", docs_site.api_page(), re.MULTILINE):
        assert f"<code>{heading}</code></h" in reference, heading
    assert "How the code is organised" in (tmp_path / "site" / "contributing.html").read_text()


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "algorithms").glob("*.md")), ids=lambda page: page.stem)
def test_a_page_of_an_algorithm_has_all_its_parts(page: Path) -> None:
    text = page.read_text()
    assert [line[3:] for line in text.splitlines() if line.startswith("## ")] == list(PARTS)

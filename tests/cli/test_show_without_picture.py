"""`show` describes policies that cannot be drawn."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import Box
from typer.testing import CliRunner

import policyforest as pf
from golden_files import FORMAT_1
from policyforest.cli import main


def show(*arguments: str | Path, code: int = 0) -> Any:
    result = CliRunner().invoke(main, ["show", *map(str, arguments)])
    assert result.exit_code == code, result.output + result.stderr
    return result


@pytest.fixture
def unbounded(tmp_path: Path) -> Path:
    """A policy whose only leaf has a box without sides."""
    leaf = pf.Forest.from_arrays(
        feature=[-1], split=[0.5], child=[0], node_offsets=[0, 1], box=[[-np.inf, np.inf], [0.0, 1.0]]
    )
    policy = pf.Policy((leaf,), Box(-np.inf, np.inf, (2,)), Box(-1.0, 1.0, (1,)))
    policy.save(tmp_path / "unbounded.pforest")
    return tmp_path / "unbounded.pforest"


def test_a_policy_without_a_finite_box_is_described_and_not_drawn(unbounded: Path) -> None:
    shown = show(unbounded)
    assert "1 trees, 1 constant leaves" in shown.stdout
    assert "state 0 in [-inf, inf]" in shown.stdout
    for missing in ("no picture", "no page"):
        assert f"{missing}: policy: its states are [[-inf, inf], [0.0, 1.0]], a picture needs a finite box" in (
            shown.stderr
        )
    assert [path.name for path in unbounded.parent.iterdir()] == ["unbounded.pforest"]
    report = json.loads(show(unbounded, "--json").stdout)
    assert report["picture"] is None
    assert report["page"] is None


@pytest.mark.parametrize(("option", "file"), [("--picture", "p.png"), ("--page", "p.html")])
def test_a_picture_or_page_that_is_asked_for_and_cannot_be_drawn_is_an_error(
    unbounded: Path, tmp_path: Path, option: str, file: str
) -> None:
    assert "a picture needs a finite box" in show(unbounded, option, tmp_path / file, code=2).stderr


def test_a_policy_of_many_forests_is_drawn_over_their_box(tmp_path: Path) -> None:
    file = tmp_path / "search.pforest"
    file.write_bytes((FORMAT_1 / "forest-binary-action-search.pforest").read_bytes())
    assert "state 0 in [-3.142, 3.142]" in show(file).stdout
    assert file.with_suffix(".png").is_file()
    assert file.with_suffix(".html").is_file()

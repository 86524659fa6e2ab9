"""Figures and tables: each has a name, its studies, and is drawn from whatever cells there are."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest

from policyforest.paper import STUDIES, batch_studies
from policyforest.paper.captions import CAPTIONS
from policyforest.paper.claims import CLAIMS
from policyforest.paper.exhibit_drawing import draw, figure, table
from policyforest.paper.exhibits import figure_style, tree_figure
from policyforest.paper.finished_cells import Cells
from policyforest.paper.registry import EXHIBITS
from stored import write_cell

RESULTS = Cells(Path(__file__).parents[2] / "docs" / "results")


@pytest.mark.parametrize("name", EXHIBITS)
def test_an_exhibit_is_drawn_from_the_stored_cells_and_from_none(name: str, tmp_path: Path) -> None:
    for cells in (RESULTS, Cells(tmp_path)):
        exhibit = EXHIBITS[name]
        if exhibit.kind == "figure":
            assert figure(exhibit, cells).axes
        else:
            columns, rows = table(exhibit, cells)
            assert all(len(row) == len(columns) for row in rows)


def test_figures_are_written_as_png_and_svg_and_tables_as_markdown(tmp_path: Path) -> None:
    written = draw(["figure-tree-merge", "table-parameters"], Cells(tmp_path))
    assert [path.name for path in written] == ["figure-tree-merge.png", "figure-tree-merge.svg", "table-parameters.md"]
    assert written[0].read_bytes().startswith(b"\x89PNG")
    assert ElementTree.parse(written[1]).getroot().tag.endswith("svg")
    assert "| double-integrator, FPF:PWL | 10 | 0.98 | 3 / 1 / 25 / 0.0001 | 40 |" in written[2].read_text()
    again = draw(["figure-tree-merge"], Cells(tmp_path / "again"))
    assert [path.read_bytes() for path in again] == [path.read_bytes() for path in written[:2]]


def test_a_curve_has_the_mean_of_its_policies_and_the_limit() -> None:
    axes = figure(EXHIBITS["figure-pendulum-6kg"], RESULTS).axes[0]
    lines = {container.get_label(): container[0] for container in axes.containers}
    mean = np.mean(RESULTS.values("pendulum-6kg-paper", "fpf-pwl"))
    assert -mean in lines["FPF:PWL"].get_ydata()
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert any(label.startswith("limit -120.5") for label in labels)
    assert "FPF:PWL in the paper" in labels


@pytest.mark.parametrize("told", [0.0, 5.0])
def test_returns_that_are_no_costs_are_refused_in_words(tmp_path: Path, told: float) -> None:
    for seed in range(3):
        write_cell(tmp_path, "pendulum-6kg", seed, {"fpf-pwl": {"return": told}})
    with pytest.raises(ValueError, match=rf"return: is {told:g}, must be below 0"):
        figure(EXHIBITS["figure-pendulum-6kg"], Cells(tmp_path))


def test_the_paper_s_mark_lies_within_the_axis(tmp_path: Path) -> None:
    for seed in range(3):
        write_cell(tmp_path, "pendulum-6kg", seed, {"fpf-pwl": {"return": -130.0 - seed}})
    axes = figure(EXHIBITS["figure-pendulum-6kg"], Cells(tmp_path)).axes[0]
    assert axes.get_ylim()[0] > 172 > axes.get_ylim()[1]
    assert len(axes.get_yticks()) > 2


@pytest.mark.parametrize("name", [name for name, e in EXHIBITS.items() if e.kind == "figure" and e.studies])
def test_a_figure_without_cells_says_so(name: str, tmp_path: Path) -> None:
    (axes,) = figure(EXHIBITS[name], Cells(tmp_path)).axes
    assert "not computed yet" in axes.texts[0].get_text()


def test_every_figure_has_a_caption_and_the_figures_with_claims_have_them() -> None:
    figures = {name for name, exhibit in EXHIBITS.items() if exhibit.kind == "figure"}
    assert set(CAPTIONS) == figures
    claimed = {name for claim in CLAIMS for name in claim.exhibits}
    assert figures - claimed == {"figure-tree-merge", "figure-sac"}


def test_every_method_has_a_look_of_its_own() -> None:
    looks = figure_style.LOOKS.values()
    assert len({look.marker for look in looks}) == len(looks)
    assert len({look.color for look in looks}) == len(looks)


def test_the_stored_points_kept_their_names() -> None:
    curve = batch_studies.CURVES["inverted-pendulum-6kg"]
    assert curve.paper_study(100) == "pendulum-6kg-paper"
    assert curve.our_study(100) == "pendulum-6kg"
    assert curve.paper_study(25) == "pendulum-6kg-paper-25"
    for problem in batch_studies.CURVES.values():
        assert len(problem.points) == 4
        assert {problem.bas_study(p) for p in problem.points} <= set(STUDIES)


def test_all_studies_of_exhibits_exist() -> None:
    for exhibit in EXHIBITS.values():
        assert set(exhibit.studies) <= set(STUDIES)


def test_the_average_of_the_example_is_placed_leaf_for_leaf() -> None:
    nodes = tree_figure.placed(tree_figure.example().average(), 0)
    assert [node.text for node in nodes if node.leaf] == ["3", "3.5", "4.5", "5", "4", "4.5", "4.5", "5", "5.5", "6"]
    assert nodes[-1].text == r"$x_0 \leq 5$"

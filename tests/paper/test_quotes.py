"""Numbers that the docs quote from cells."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from policyforest.paper import STUDIES
from policyforest.paper.quotes import with_quotes
from policyforest.paper.statistics import permutation
from stored import write_cell

RESULTS = Path(__file__).parents[2] / "docs" / "results"


def quote(words: str, number: str = "?") -> str:
    return f"It is <!-- quote: {words} -->{number}<!-- end --> there."


@pytest.fixture
def cells(tmp_path: Path) -> Path:
    for seed, returns in enumerate([[-3.0, -5.0], [-1.0, -9.0]]):
        trial = {"returns": returns, "training_returns": [0.0], "return": float(np.mean(returns))}
        write_cell(tmp_path, "swing-up-mre", seed, {"mean": trial, "chosen": {"return": max(returns)}})
    curve = [{"steps": 1, "return": r, "train_seconds": 1.0} for r in (-30.0, -20.0)]
    numbers = dict.fromkeys((*STUDIES["compare-forest-pendulum-v1"].methods, "action_us", "bytes"), 1)
    write_cell(tmp_path, "compare-forest-pendulum-v1", 0, {"curve": curve, **numbers, "tree_return": -7.0})
    write_cell(tmp_path, "swing-up-ours", 0, {"mean": {"returns": [-1.0], "training_returns": [0.0], "return": -1.0}})
    shutil.copy(RESULTS / "limits.jsonl", tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("words", "number"),
    [
        ("swing-up-mre mean .2f", "-4.50"),
        ("swing-up-mre chosen .0f", "-2"),
        ("swing-up-mre worst policy .0f", "-9"),
        ("swing-up-mre best policy .0f", "-1"),
        ("swing-up-mre worst trial .0f", "-5"),
        ("swing-up-mre best trial .0f", "-4"),
        ("swing-up-mre worst chosen .0f", "-3"),
        ("swing-up-mre cells .0f", "2"),
        ("swing-up limit .1f", "-21.0"),
        ("compare-forest-pendulum-v1 last return .0f", "-20"),
        ("compare-forest-pendulum-v1 tree_return .0f", "-7"),
        ("swing-up-mre p against swing-up-ours .2g", "0.33"),
    ],
)
def test_a_quote_is_what_the_cells_say(cells: Path, words: str, number: str) -> None:
    assert with_quotes(quote(words), cells) == quote(words, number)
    assert with_quotes(quote(words, "-123"), cells) == quote(words, number)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("swing-up-mre median .1f", "swing-up-mre has no 'median'"),
        ("swing-up-other mean .1f", "'swing-up-other' is not a study"),
        ("swing-up-greedy mean .1f", "'swing-up-greedy' is not a study with finished cells"),
        ("swing-up-mre p against other .2g", "'other' is not a study"),
        ("swing-up-mre last return .1f", "swing-up-mre has no 'last return'"),
        ("compare-forest-pendulum-v1 worst policy .1f", "has no 'worst policy'"),
        ("cart limit .1f", "the limit of 'cart'"),
        ("swing-up-mre mean 1f", "not of the form"),
        ("swing-up-mre", "not of the form"),
    ],
)
def test_a_quote_without_an_answer_is_named(cells: Path, words: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        with_quotes(quote(words), cells)


def test_a_line_that_begins_with_a_quote_is_refused(cells: Path) -> None:
    words = "swing-up-mre mean .1f"
    with pytest.raises(ValueError, match=f"begins with <!-- quote: {words} -->"):
        with_quotes(quote(words).replace("is ", "is\n  "), cells)


def test_the_permutation_test_is_exact() -> None:
    generator = np.random.default_rng(0)
    a, b = generator.normal(0.0, 1.0, 5), generator.normal(1.0, 1.0, 5)
    exact = stats.permutation_test((a, b), lambda x, y: np.mean(x) - np.mean(y), n_resamples=np.inf)
    assert permutation(a, b) == pytest.approx(exact.pvalue)
    assert permutation([1.0, 2.0], [11.0, 12.0]) == pytest.approx(2 / 6)
    with pytest.raises(ValueError, match="too many"):
        permutation(np.zeros(20), np.zeros(20))

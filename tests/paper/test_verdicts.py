"""The paper's claims: the tests that decide them, and that too few cells decide nothing."""

from __future__ import annotations

import itertools
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from policyforest.paper import STUDIES
from policyforest.paper.claims import CLAIMS, verdicts
from policyforest.paper.finished_cells import Cells
from policyforest.paper.registry import EXHIBITS
from policyforest.paper.statistics import (
    RESAMPLES,
    bootstrap,
    mean_interval,
    rank_direction,
    share_interval,
    wilcoxon,
)
from policyforest.paper.verdicts import better, judge
from stored import write_cell

RESULTS = Path(__file__).parents[2] / "docs" / "results"


@pytest.mark.parametrize("n", [1, 4, 9, 50])
def test_the_signed_rank_test_is_exact(n: int) -> None:
    differences = np.random.default_rng(n).normal(0.3, 1.0, n)
    assert wilcoxon(differences) == pytest.approx(stats.wilcoxon(differences, method="exact").pvalue, rel=1e-9)


def test_the_signed_rank_test_takes_ties_and_zeros() -> None:
    tied = np.array([1.0, 1.0, 1.0, 1.0, -1.0, 0.0])
    # Each of five equal ranks has either sign: at most one negative, on either side.
    assert wilcoxon(tied) == pytest.approx(2 * (1 + 5) / 2**5)
    assert wilcoxon(np.zeros(5)) == 1.0


def test_ranks_share_the_mean_of_ties() -> None:
    assert rank_direction([3.0, 1.0, 3.0, -2.0]) == (3.5 + 1.0 + 3.5 - 2.0) / 10.0


def test_few_tied_differences_have_the_p_value_of_all_their_signs() -> None:
    """An oracle: every way to give the ranks signs, counted."""
    d = np.array([1.0, -2.0, 2.0, 2.0, 3.0, 3.0, -1.0, 5.0])
    ranks = stats.rankdata(np.abs(d))
    sums = np.array([np.dot(signs, ranks) for signs in itertools.product((0, 1), repeat=len(d))])
    seen = ranks[d > 0].sum()
    expected = 2 * min(np.mean(sums <= seen), np.mean(sums >= seen))
    assert wilcoxon(d) == pytest.approx(expected, rel=1e-12)
    assert stats.wilcoxon(d, method="exact").pvalue != pytest.approx(expected, rel=1e-3)


def test_the_bootstrap_covers_the_mean_and_is_repeatable() -> None:
    values = np.random.default_rng(0).normal(2.0, 1.0, 400)
    low, high = bootstrap(values)
    half = stats.norm.ppf(0.975) / 20
    assert low == pytest.approx(values.mean() - half, abs=0.02)
    assert high == pytest.approx(values.mean() + half, abs=0.02)
    assert bootstrap(values) == (low, high)
    wide_low, wide_high = bootstrap(values, confidence=0.99)
    half = stats.norm.ppf(0.995) / 20
    assert (wide_low, wide_high) == pytest.approx((values.mean() - half, values.mean() + half), abs=0.03)
    assert wide_low < low < high < wide_high
    assert bootstrap([5.0]) == (5.0, 5.0)
    with pytest.raises(ValueError, match="values"):
        bootstrap([])


def test_the_bootstrap_draws_whole_rows_and_is_the_plain_one() -> None:
    """An oracle: rows drawn one by one, and the quantiles of their statistic."""
    rows = np.random.default_rng(1).exponential(1.0, (12, 3))

    def spread(some: np.ndarray) -> float:
        return float(some[:, 0].max() - some[:, 2].min())

    generator = np.random.default_rng(4)
    drawn = [spread(rows[generator.integers(0, 12, 12)]) for _ in range(RESAMPLES)]
    expected = np.quantile(drawn, [0.05, 0.95])
    assert bootstrap(rows, spread, seed=4, confidence=0.9) == pytest.approx(tuple(expected), rel=1e-12)


def test_wilcoxon_refuses_what_is_no_number() -> None:
    with pytest.raises(ValueError, match="differences"):
        wilcoxon([1.0, np.nan])


@pytest.mark.parametrize(
    ("second", "ruling", "note"),
    [
        (1.0, "confirmed", ""),
        (-1.0, "refuted", "The claim does not hold at there (worse)."),
        (0.0, "refuted", "The claim does not hold at there (equal)."),
    ],
)
def test_better_at_one_place_is_not_better_at_all(second: float, ruling: str, note: str) -> None:
    noise = np.random.default_rng(0).normal(0.0, 1.0, (2, 50))
    base = np.full(50, -100.0)
    found = better(
        [("here", base + 1.0 + 0.1 * noise[0], base), ("there", base + second + 0.1 * noise[1], base)], "a - b"
    )
    assert (found.ruling, found.note) == (ruling, note)


def test_a_difference_that_is_not_seen_is_not_an_equality() -> None:
    noise = np.random.default_rng(0).normal(0.0, 80.0, 12)
    assert better([("here", noise - noise.mean() - 99.0, np.full(12, -100.0))], "a - b").ruling == "undecided"


def test_ranks_and_means_must_point_the_same_way() -> None:
    """Most are a little worse, a few far better: the rank test speaks for the one, the mean for the other."""
    d = np.concatenate([np.full(42, -1.2), np.full(8, 1_000.0)]) + 0.01 * np.arange(50)
    assert wilcoxon(d) < 0.05
    assert rank_direction(d) < 0 < d.mean()
    assert better([("here", d, np.zeros(50))], "a - b").ruling == "undecided"


def test_the_direction_of_ranks_is_that_of_the_test() -> None:
    assert rank_direction([1.0, 2.0, 3.0]) == 1.0
    assert rank_direction([-1.0, 0.0]) == -1.0
    assert rank_direction([1.0, -1.0]) == 0.0
    assert rank_direction([0.0]) == 0.0


def test_an_interval_of_skewed_returns_ends_within_them() -> None:
    returns = np.array([-130.0] * 27 + [-650.0, -400.0, -300.0])
    low, high = mean_interval(returns)
    assert low < returns.mean() < high <= -130.0
    few = np.array([-1.0, -2.0, -3.0])
    half = stats.t.ppf(0.975, 2) * few.std(ddof=1) / np.sqrt(3)
    assert mean_interval(few) == pytest.approx((-2.0 - half, -2.0 + half))
    assert mean_interval([5.0]) == (5.0, 5.0)


@pytest.mark.parametrize(("hits", "n"), [(0, 5), (5, 5), (1, 200), (199, 200), (37, 90)])
def test_the_interval_of_a_share_is_exact(hits: int, n: int) -> None:
    expected = stats.binomtest(hits, n).proportion_ci(method="exact")
    assert share_interval(hits, n) == pytest.approx((expected.low, expected.high), abs=1e-9)


def claim(name: str):
    return next(c for c in CLAIMS if c.name == name)


def write(out: Path, study: str, results: list[dict]) -> None:
    for seed, result in enumerate(results):
        write_cell(out, study, seed, result)


def car(out: Path, linear: float, constant: float, number: int = 200) -> Cells:
    noise = np.random.default_rng(0).integers(0, 3, (number, 2))
    rows = [{"fpf-pwl": linear + a, "fpf-pwc": constant + b} for a, b in noise.tolist()]
    write(out, "car-on-the-hill", [{m: {"steps": s, "return": 1.0} for m, s in row.items()} for row in rows])
    return Cells(out)


@pytest.mark.parametrize(
    ("linear", "constant", "ruling"), [(22, 22, "confirmed"), (26, 22, "refuted"), (23, 22, "undecided")]
)
def test_an_equality_needs_an_interval_within_its_margin(tmp_path, linear, constant, ruling) -> None:
    assert judge(claim("bang-bang"), car(tmp_path, linear, constant)).finding.ruling == ruling


def test_missing_cells_decide_nothing(tmp_path) -> None:
    assert {v.finding.ruling for v in verdicts(Cells(tmp_path))} == {"undecided"}
    few = judge(claim("bang-bang"), car(tmp_path, 22, 22, number=30))
    assert few.finding.ruling == "undecided"
    assert (few.done, few.total) == (30, 200)
    assert "confirmed" in few.finding.evidence


@pytest.mark.parametrize(("linear", "ruling"), [(1.0, "confirmed"), (-1.0, "refuted"), (0.0, "refuted")])
def test_better_must_be_so_at_every_place(tmp_path, linear, ruling) -> None:
    generator = np.random.default_rng(1)
    for study, number, shift in (("pendulum-6kg-paper", 50, 1.0), ("double-integrator-paper", 100, linear)):
        results = []
        for _ in range(number):
            noise = generator.normal(0.0, 0.5, 2)
            results.append({"fpf-pwl": {"return": -5 + shift + noise[0]}, "fpf-pwc": {"return": -5 + noise[1]}})
        write(tmp_path, study, results)
    assert judge(claim("linear-beats-constant"), Cells(tmp_path)).finding.ruling == ruling


def online(out: Path, bad: int, spread: float, number: int = 80) -> Cells:
    """Trials of ten policies of -130 (the limit is -120.5); one policy of each of `bad` trials makes -1000."""
    returns = np.random.default_rng(2).normal(-130.0, spread, (number, 10))
    returns[:bad, 0] = -1000.0
    rows = [{"mean": {"returns": row.tolist(), "training_returns": [0.0], "return": row.mean()}} for row in returns]
    write(out, "pendulum-online-mre", rows)
    shutil.copy(RESULTS / "limits.jsonl", out)
    return Cells(out)


def shares(out: Path) -> np.ndarray:
    return np.array([row["returns"] for row in Cells(out).rows("pendulum-online-mre", "mean").values()])


def gap_closed(trials: np.ndarray) -> float:
    """An oracle: how much nearer to the limit the mean comes without the worst tenth."""
    pooled = sorted(trials.ravel().tolist())
    limit = Cells(RESULTS).limit("inverted-pendulum-6kg")
    return 1 - (limit - np.mean(pooled[len(pooled) // 10 :])) / (limit - np.mean(pooled))


@pytest.mark.parametrize(
    ("bad", "spread", "ruling"), [(40, 1.0, "confirmed"), (1, 1.0, "undecided"), (0, 0.1, "refuted")]
)
def test_the_worst_tenth_counts_when_enough_trials_have_one(tmp_path, bad, spread, ruling) -> None:
    found = judge(claim("drop-the-worst"), online(tmp_path, bad, spread)).finding
    assert found.ruling == ruling
    assert "98.3% bootstrap over 80 trials" in found.evidence
    low, high = bootstrap(shares(tmp_path), statistic=gap_closed, confidence=1 - 0.05 / 3)
    assert f"[{100 * low:.0f}%, {100 * high:.0f}%]" in found.evidence
    assert "the first 10: " in found.note
    assert "the first 30: " in found.note


@pytest.mark.parametrize(("batch", "ruling"), [(-130.0, "confirmed"), (-100.0, "refuted"), (-118.3, "undecided")])
def test_comparable_means_that_an_interval_of_three_looks_excludes_a_loss(tmp_path, batch, ruling) -> None:
    cells = online(tmp_path, bad=0, spread=5.0)
    policies = np.random.default_rng(3).normal(batch, 5.0, 50)
    write(tmp_path, "pendulum-6kg-paper", [{"fpf-pwl": {"return": value}} for value in policies.tolist()])
    found = judge(claim("mre-untuned"), cells).finding
    assert found.ruling == ruling
    low, high = (float(x) for x in re.search(r"\[(\S+), (\S+)\] \(98.3%", found.evidence).groups())
    error = np.hypot(cells.values("pendulum-online-mre", "mean").std() / 80**0.5, policies.std() / 50**0.5)
    assert (high - low) / 2 == pytest.approx(stats.norm.ppf(1 - 0.05 / 6) * error, rel=0.1)


def test_the_stored_results_confirm_what_they_should() -> None:
    found = {v.claim.name: v for v in verdicts(Cells(RESULTS))}
    assert found["bang-bang"].finding.ruling == "confirmed"
    assert found["linear-beats-constant"].finding.ruling == "confirmed"
    assert found["action-time"].finding.ruling == "confirmed"


def test_every_claim_belongs_to_an_exhibit_and_to_studies() -> None:
    for c in CLAIMS:
        assert set(c.exhibits) <= set(EXHIBITS)
        assert set(c.studies) <= set(STUDIES)

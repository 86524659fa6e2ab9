"""Bounds of the search and of the checker hold the exact results, whatever the formula, the forest and the cell."""

import ast
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import policyforest as pf
from certified_loops import linear_policy
from oracles.certification import covered, exact_forest
from policies import grown
from policyforest import _core
from policyforest._support.formulas import Expression
from policyforest.certification.certified_policy import acting_policy, native_policy
from policyforest.certification.checker.cover import all_covered
from policyforest.certification.checker.forms import AffineForm
from policyforest.certification.checker.functions import FormulaBounds
from policyforest.certification.checker.successors import RunningPolicy
from policyforest.certification.step_compiler import compile_equations

NUMBERS = st.floats(-3, 3).map(lambda x: round(x, 3))
LEAVES = st.one_of(st.sampled_from(["x", "y", "pi"]), NUMBERS.map(lambda v: f"({v})"))


def _larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    one = ("sin({})", "cos({})", "abs({})", "tanh({})", "exp(0.3*{})", "sqrt(1 + {}**2)", "log(2 + {}**2)", "({})**2")
    more = ("({})**3", "-({})", "wrap({})", "sign({})", "tan(0.1*{})", "1/(1.5 + ({})**2)", "not {}")
    two = ("({} + {})", "({} - {})", "({} * {})", "({} / (2 + abs({})))", "min({}, {})", "max({}, {})", "hypot({}, {})")
    pairs = ("atan2({}, {})", "({} < {})", "({} >= {})", "({} and {})", "({} or {})", "clip({}, -1, {})")
    three = ("({} if {} else {})", "clip({}, {} - 1, 1 + {})")
    return st.one_of(
        st.builds(lambda f, a: f.format(a), st.sampled_from(one + more), inner),
        st.builds(lambda f, a, b: f.format(a, b), st.sampled_from(two + pairs), inner, inner),
        st.builds(lambda f, a, b, c: f.format(a, b, c), st.sampled_from(three), inner, inner, inner),
    )


FORMULAS = st.recursive(LEAVES, _larger, max_leaves=8)
CELLS = st.tuples(NUMBERS, NUMBERS, st.floats(1e-6, 1.0), st.floats(1e-6, 1.0))
SEEDS = st.integers(0, 2**32 - 1)


def _points(lo, hi, seed, n=40):
    """Points of (lo, hi], corners among them."""
    rng = np.random.default_rng(seed)
    share = np.where(rng.random((n, len(lo))) < 0.3, rng.integers(0, 2, (n, len(lo))), rng.random((n, len(lo))))
    return np.clip(lo + share * (hi - lo), np.nextafter(lo, np.inf), hi)


@given(FORMULAS, CELLS, SEEDS)
def test_both_bounds_of_a_formula_hold_its_values(text, cell, seed) -> None:
    x, y, a, b = cell
    lo, hi = np.array([x, y]), np.array([x + a, y + b])
    points = _points(lo, hi, seed)
    expected = Expression(text)({"x": points[:, 0], "y": points[:, 1]})
    expected = expected[np.isfinite(expected)]
    slip = 1e-9 * (1 + np.abs(expected))

    system = pf.Equations({"x": text, "y": "y"}, ("u",))
    huge = np.array([[-1e9, 1e9]] * 2)
    policy = native_policy(linear_policy([0.0, 0.0], huge), "float64")
    loop = _core.ClosedLoop(policy, compile_equations(system), np.empty((0, 2)), [0.0] * 2, [0.0] * 2, huge, [], 1)
    low, _, high, _ = loop.successors(np.concatenate([lo, hi])[np.newaxis])[0]
    assert (low <= expected + slip).all()
    assert (high >= expected - slip).all()

    forms = {}
    for d, name in enumerate("xy"):
        slopes = np.zeros((2, 1))
        slopes[d] = (hi[d] - lo[d]) / 2 * (1 + 1e-15)
        forms[name] = AffineForm(np.array([(lo[d] + hi[d]) / 2]), np.zeros(1), slopes, 2)
    with np.errstate(all="ignore"):
        bound = FormulaBounds(forms, forms["x"])(ast.parse(text.strip(), mode="eval").body).range()
    assert (bound[0][0] <= expected + slip).all()
    assert (bound[1][0] >= expected - slip).all()


@given(
    SEEDS,
    st.sampled_from(["constant", "linear"]),
    st.sampled_from(["float64", "float32", "int16"]),
    st.tuples(st.floats(-0.5, 1.2), st.floats(-0.5, 1.2), st.floats(1e-5, 0.5), st.floats(1e-5, 0.5)),
    st.booleans(),
)
def test_both_bounds_of_a_policy_hold_its_actions(seed, leaf_model, precision, place, periodic) -> None:
    from gymnasium.spaces import Box

    turn = {0: (-np.pi, np.pi)} if periodic else {}
    forest = grown(seed % 1000, leaf_model=leaf_model, periodic=turn)
    box = np.array(forest.box)
    policy = pf.Policy((forest,), Box(box[:, 0], box[:, 1], dtype=np.float64), Box(-0.5, 0.5, (1,), np.float64), turn)
    width = box[:, 1] - box[:, 0]
    lo = box[:, 0] + np.array(place[:2]) * width
    hi = lo + np.array(place[2:]) * width  # may lie beyond the box, as what a sensor reads may
    if periodic:
        lo[0], hi[0] = lo[0] + 2 * np.pi, hi[0] + 2 * np.pi  # a turn further
    points = _points(lo, hi, seed)
    actions = np.asarray(acting_policy(policy, precision).act_batch(points), dtype=np.float64)[:, 0]

    still = compile_equations(pf.Equations({"x": "x", "y": "y"}, ("u",)))
    huge = np.array([[-1e9, 1e9]] * 2)
    native = native_policy(policy, precision)
    loop = _core.ClosedLoop(native, still, np.empty((0, 2)), [0.0] * 2, [0.0] * 2, huge, [], 1)
    low, high = loop.action_ranges(np.concatenate([lo, hi])[np.newaxis])[0]
    assert low <= actions.min()
    assert actions.max() <= high

    forms = []
    for d in range(2):
        slopes = np.zeros((2, 1))
        slopes[d] = (hi[d] - lo[d]) / 2 * (1 + 1e-15) + 1e-300
        forms.append(AffineForm(np.array([(lo[d] + hi[d]) / 2]), np.zeros(1), slopes, 3))
    (bound,) = RunningPolicy.of(policy, precision).bound(forms, np.nextafter(lo, np.inf)[None], hi[None], 2)
    assert bound.range()[0][0] <= actions.min()
    assert actions.max() <= bound.range()[1][0]


@given(SEEDS, st.sampled_from(["constant", "linear"]))
def test_a_cell_in_one_leaf_of_each_tree_has_the_exact_action(seed, leaf_model) -> None:
    """The bound of a tiny cell is as narrow as the leaves' slopes allow, and holds the action in rational numbers."""
    forest = grown(seed % 1000, leaf_model=leaf_model)
    rng = np.random.default_rng(seed)
    box = np.array(forest.box)
    at = box[:, 0] + rng.random(2) * (box[:, 1] - box[:, 0])
    lo, hi = at - 1e-9, at
    from policyforest.certification.checker.trees import forest_bounds

    found = forest_bounds(forest.arrays, lo[None], hi[None])
    (exact,) = exact_forest(forest.arrays, [hi])
    slopes = sum(Fraction(float(w)) * Fraction(x) for w, x in zip(found.slopes[:, 0], hi, strict=True))
    assert slopes + Fraction(float(found.low[0])) <= exact <= slopes + Fraction(float(found.high[0]))


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(1, 7), st.booleans()), max_size=12), SEEDS)
def test_cover_agrees_with_cutting_cells_out(splits, seed) -> None:
    """Cells from random cuts, some of them removed, and random boxes."""
    rng = np.random.default_rng(seed)
    cells = [(np.zeros(2), np.full(2, 8.0))]
    for d, at, _ in splits:
        k = int(rng.integers(len(cells)))
        lo, hi = cells[k]
        if lo[d] < at < hi[d]:
            left, right = hi.copy(), lo.copy()
            left[d] = right[d] = at
            cells[k : k + 1] = [(lo, left), (right, hi)]
    kept = [cell for cell in cells if rng.random() < 0.85]
    low = rng.integers(0, 17, (20, 2)) / 2
    high = low + rng.integers(0, 9, (20, 2)) / 2
    lo = np.array([c[0] for c in kept]).reshape(-1, 2)
    hi = np.array([c[1] for c in kept]).reshape(-1, 2)
    expected = [covered(a, b, kept) for a, b in zip(low, high, strict=True)]
    assert all_covered((lo, hi), (low, high)).tolist() == expected

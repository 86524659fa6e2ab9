"""Which kind of model an output gets: the simplest within one standard error of the best."""

import numpy as np
import pytest
from gymnasium.spaces import Box

import policyforest as pf
from policyforest._support.linear_systems import solved
from policyforest.learning.dynamics.choice import FOLDS, HeldOut, choose, nearly_odd
from policyforest.learning.dynamics.regression import ModelInputs, OutputKind, fit_output, predict, r_squared, ridge
from policyforest.learning.dynamics.typical_errors import typical


def inputs(n=400, dims=3, seed=0):
    return ModelInputs(np.random.default_rng(seed).uniform(-2, 2, (n, dims)), {})


def chosen(y, given=None, seed=0):
    given = inputs(len(y)) if given is None else given
    return choose(given, y, HeldOut.of(np.arange(len(y)) // 10, seed), seed, 1)


def noise(n=400, seed=1):
    return np.random.default_rng(seed).standard_normal(n)


@pytest.mark.parametrize("size", [0.0, 0.1, 1.0])
def test_a_linear_output_gets_a_linear_model(size):
    x = inputs().rows
    choice = chosen(x @ [1.0, -2.0, 0.5] + size * noise())
    assert str(choice.kind) == "linear"
    assert choice.score > 0.7


@pytest.mark.parametrize("seed", range(5))
def test_noise_gets_no_model(seed):
    choice = chosen(noise(seed=seed), seed=seed)
    assert str(choice.kind) == "none"
    assert choice.score == pytest.approx(0.0, abs=0.05)


@pytest.mark.parametrize("size", [0.0, 0.1, 1.0])
def test_a_quadratic_output_gets_a_quadratic_model(size):
    x = inputs().rows
    choice = chosen(x[:, 0] * x[:, 1] + x[:, 2] ** 2 + size * noise())
    assert str(choice.kind) == "quadratic"


def test_a_step_needs_a_forest():
    x = inputs(1000).rows
    choice = chosen(np.where(x[:, 0] > 0.3, 5.0, -1.0) + 0.1 * noise(1000), inputs(1000))
    assert choice.kind.leaf is not None
    assert choice.score > 0.9


def test_an_angle_is_linear_in_its_sine():
    rows = np.random.default_rng(0).uniform(-np.pi, np.pi, (400, 1))
    choice = chosen(3 * np.sin(rows[:, 0]), ModelInputs(rows, {0: (-np.pi, np.pi)}))
    assert str(choice.kind) == "linear"


@pytest.mark.parametrize("n", [2, 10, 400])
@pytest.mark.parametrize("value", [0.0, -1.0, 1e9])
def test_a_constant_is_predicted_however_few_the_samples(value, n):
    choice = chosen(np.full(n, value))
    assert choice.score == 1.0
    assert np.abs(choice.residuals).max() <= 1e-9 * abs(value)


def test_one_sample_says_nothing():
    choice = chosen(np.ones(1), inputs(1))
    assert (str(choice.kind), choice.score) == ("none", 0.0)
    assert chosen(np.zeros(1), inputs(1)).score == 1.0


def test_residuals_are_those_of_models_that_have_not_seen_the_fold():
    given, held_out = inputs(), HeldOut.of(np.arange(400) // 10, 0)
    y = given.rows @ [1.0, -2.0, 0.5] + noise()
    choice = choose(given, y, held_out, 0, 1)
    kind = OutputKind("linear")
    for f in range(FOLDS):
        fitted = fit_output(kind, given, y, np.flatnonzero(held_out.fold != f), n_estimators=1, seed=0, n_jobs=1)
        held = held_out.fold == f
        assert choice.residuals[held].tolist() == (y[held] - predict(fitted, given, given.rows[held])).tolist()


def test_folds_hold_whole_episodes_or_stretches_of_time():
    episodes = np.repeat(np.arange(12), 5)
    fold = HeldOut.of(episodes, 3).fold
    assert all(len(np.unique(fold[episodes == e])) == 1 for e in range(12))
    assert sorted(np.unique(fold)) == list(range(FOLDS))
    assert HeldOut.of(np.zeros(10, dtype=int), 3).fold.tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]


def test_threads_change_no_bit():
    x = inputs(600).rows
    y = np.sin(3 * x[:, 0]) + 0.1 * noise(600)
    one, two = (choose(inputs(600), y, HeldOut.of(np.arange(600) // 10, 0), 0, jobs) for jobs in (1, 2))
    assert one.kind == two.kind
    assert one.residuals.tobytes() == two.residuals.tobytes()


def test_the_ridge_leaves_the_constant_alone_and_bounds_dependent_features():
    features = np.column_stack([np.ones(20), np.arange(20.0), np.arange(20.0)])
    assert ridge(features, np.full(20, 7.0)) == pytest.approx([7.0, 0.0, 0.0], abs=1e-12)
    shared = ridge(features, 2.0 * np.arange(20.0))
    assert shared[1] == pytest.approx(shared[2])
    assert shared[1:].sum() == pytest.approx(2.0, rel=1e-5)


@pytest.mark.parametrize("n", [300, 3_000])
def test_a_single_outlier_makes_no_normal_equations_singular(n):
    """A contact force may be zero in all samples but one: its fifth power then hides every ridge."""
    rng = np.random.default_rng(0)
    states, moves = rng.normal(size=(n, 2)), rng.uniform(-1.0, 1.0, (n, 1))
    force = np.zeros((n, 1))
    force[0] = 30.0 * rng.normal()
    ahead = np.concatenate([0.9 * states + 0.1 * moves, np.roll(force, 7, axis=0)], axis=1)
    samples = pf.Transitions(
        np.concatenate([states, force], axis=1), moves, -(states**2).sum(axis=1), ahead, np.zeros(n, bool),
        np.arange(n) // 20, action_space=Box(-1.0, 1.0, (1,)),
    )  # fmt: skip
    model = pf.DynamicsForest(random_state=0).fit(samples)
    assert min(model.state_scores[:2]) > 0.99


@pytest.mark.parametrize("column", [[1.0, 1.0], [0.0, 0.0]])
def test_a_singular_system_has_its_shortest_solution(column):
    matrix = np.stack([[1.0, 1.0], column])
    found = solved(matrix, np.array([2.0, 2.0 * column[0]]))
    np.testing.assert_allclose(found, [1.0, 1.0])


def test_r_squared_of_a_constant_is_1_where_it_is_hit_and_0_else():
    assert r_squared(np.zeros(3), np.full(3, 5.0)) == 1.0
    assert r_squared(np.ones(3), np.full(3, 5.0)) == 0.0
    assert r_squared(np.array([1.0, -1.0]), np.array([2.0, -2.0])) == 0.75


def stopped(n=1500):
    """A linear law that a stop breaks for one of twelve samples."""
    x = inputs(n).rows
    free = x @ [1.0, -2.0, 0.5]
    return np.where(x[:, 0] > 1.67, -8.0, free), x, free


def test_a_law_that_most_samples_obey_is_found_exactly_and_its_exceptions_get_a_forest():
    y, x, free = stopped()
    choice = chosen(y, inputs(len(y)))
    assert str(choice.kind).startswith("robust linear + forest")
    fitted = fit_output(choice.kind, inputs(len(y)), y, np.arange(len(y)), n_estimators=25, seed=0, n_jobs=1)
    found = predict(fitted, inputs(len(y)), x)
    away = x[:, 0] < 1.2
    np.testing.assert_allclose(found[away], free[away], atol=1e-6)
    at_stop = x[:, 0] > 1.9
    np.testing.assert_allclose(found[at_stop], y[at_stop], atol=1.0)


def test_least_squares_would_miss_that_law_everywhere():
    y, x, free = stopped()
    fitted = fit_output(OutputKind("linear"), inputs(len(y)), y, np.arange(len(y)), n_estimators=1, seed=0, n_jobs=1)
    away = x[:, 0] < 1.2
    assert np.median(np.abs(predict(fitted, inputs(len(y)), x) - free)[away]) > 0.05


@pytest.mark.parametrize("heavy", [False, True])
def test_noise_is_not_taken_for_exceptions(heavy):
    x = inputs(1500).rows
    spread = np.random.default_rng(4).standard_t(3, 1500) if heavy else noise(1500)
    assert not chosen(x @ [1.0, -2.0, 0.5] + 0.3 * spread, inputs(1500)).kind.robust


def law_with_a_wall(n=900):
    """sin(3 x), of which no polynomial is the law, and a wall that throws samples far to either side."""
    rows = inputs(n, 1).rows
    hit = rows[:, 0] > 1.8
    thrown = 30.0 * np.random.default_rng(3).choice([-1.0, 1.0], size=n)
    return rows, np.where(hit, thrown, np.sin(3.0 * rows[:, 0])), hit


def test_a_law_that_a_forest_knows_is_not_given_up_for_exceptions_that_nothing_predicts():
    """The squared errors are those of the exceptions, and the same for all kinds of models."""
    rows, y, hit = law_with_a_wall()
    given = ModelInputs(rows, {})
    choice = chosen(y, given)
    fitted = fit_output(choice.kind, given, y, np.arange(len(y)), n_estimators=10, seed=0, n_jobs=1)
    missed = np.abs(y - predict(fitted, given, rows))[~hit]
    assert choice.kind.leaf is not None
    assert np.median(missed) < 0.02
    assert choice.errors[choice.kind] > 0.9 * choice.errors[OutputKind("none")]


def test_exceptions_are_not_taken_for_noise_that_hides_a_symmetry():
    rows, y, _ = law_with_a_wall()
    given, held_out = ModelInputs(rows, {}), HeldOut.of(np.arange(len(y)) // 10, 0)
    choice = choose(given, y, held_out, 0, 1)
    assert choice.errors[choice.kind] > 0.5
    assert nearly_odd([choice], given, y[:, None], held_out, 0, 1) == [choice]
    noisy = rows[:, 0] ** 3 + noise(900)
    choice = choose(given, noisy, held_out, 0, 1)
    (again,) = nearly_odd([choice], given, noisy[:, None], held_out, 0, 1)
    assert again is not choice


def test_errors_that_hardly_matter_need_no_forest():
    """A linear function with errors of a ten-thousandth is not exchanged for a forest with still smaller ones."""
    rows = inputs(900, 1).rows
    y = rows[:, 0] + 1e-4 * np.sign(np.sin(40 * rows[:, 0]))
    y[::25] = 50.0 * np.random.default_rng(3).choice([-1.0, 1.0], size=36)
    assert chosen(y, ModelInputs(rows, {})).kind.leaf is None


def test_noise_where_samples_hardly_count_hides_no_symmetry():
    """Samples far from the states that a policy visits count little in the comparison."""
    given, held_out = inputs(900, 1), HeldOut.of(np.arange(900) // 10, 0)
    x = given.rows[:, 0]
    far = np.arange(900) % 3 > 0
    y = x + x**2 + np.where(far, noise(900), 0.0)
    judged = np.where(far, 0.02, 1.0)
    choice = choose(given, y, held_out, 0, 1, judged=judged)
    assert typical(choice.residuals) > 0.2 > 0.1 > typical(choice.residuals, judged)
    assert nearly_odd([choice], given, y[:, None], held_out, 0, 1) == [choice]


def test_a_typical_error_is_the_median_in_which_samples_count_as_told():
    missed = np.array([-3.0, 1.0, 2.0, -5.0, 4.0])
    assert typical(missed) == typical(missed, np.full(5, 0.3)) == 3.0
    assert typical(missed, np.array([0.0, 0.0, 0.0, 1.0, 0.0])) == 5.0
    assert typical(missed, np.array([1.0, 9.0, 1.0, 1.0, 1.0])) == 1.0

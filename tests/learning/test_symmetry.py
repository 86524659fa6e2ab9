"""Dynamics that are nearly odd: even terms of polynomials are shrunk as far as noise hides them, and no further."""

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import policyforest as pf
from policyforest.learning.dynamics.choice import HeldOut, choose, nearly_odd
from policyforest.learning.dynamics.least_squares import ridge
from policyforest.learning.dynamics.regression import BASES, ModelInputs, OutputKind, fit_output, predict
from policyforest.learning.dynamics.symmetry import n_even_terms, towards_odd

PENDULUM = "policyforest/InvertedPendulum6kg-v0"


def polynomial(x):
    """Terms of two variables up to the third degree, even ones first; a plain oracle."""
    a, b = x.T
    one = np.ones(len(x))
    return np.stack([one, a * a, a * b, b * b], axis=1), np.stack([a, b, a**3, a * a * b, a * b * b, b**3], axis=1)


def fitted(kind, x, y):
    inputs = ModelInputs(x, {})
    return lambda rows: predict(
        fit_output(kind, inputs, y, np.arange(len(x)), n_estimators=1, seed=0, n_jobs=1), inputs, rows
    )


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 10_000), bias=st.sampled_from([0.0, 0.3, 3.0]), where=st.sampled_from([0.0, 0.4]),
    weighted=st.booleans(),
)  # fmt: skip
def test_the_shrunk_fit_is_that_of_the_formula(seed, bias, where, weighted):
    """The oracle has a basis of even and odd terms; the fit has products of inputs that are centred elsewhere."""
    rng = np.random.default_rng(seed)
    x = rng.normal(where, 1.0, (120, 2))
    even, odd = polynomial(x)
    y = odd @ rng.normal(size=6) + bias + rng.normal(size=120)
    w = rng.uniform(0.5, 2.0, 120) if weighted else np.ones(120)
    root = np.sqrt(w)[:, None]
    whole = np.concatenate([even, odd], axis=1)
    both = np.linalg.lstsq(root * whole, root[:, 0] * y, rcond=None)[0]
    alone = np.linalg.lstsq(root * odd, root[:, 0] * y, rcond=None)[0]
    missed, without = w @ (y - whole @ both) ** 2, w @ (y - odd @ alone) ** 2
    kept = max(0.0, 1.0 - (4 - 2) * missed / (w.sum() - 10) / (without - missed))
    expected = odd @ alone + kept * (whole @ both - odd @ alone)
    inputs = ModelInputs(x, {}, weights=w if weighted else None)
    how = {"n_estimators": 1, "seed": 0, "n_jobs": 1}
    found = predict(fit_output(OutputKind("cubic", odd=True), inputs, y, np.arange(120), **how), inputs, x)
    np.testing.assert_allclose(found, expected, atol=0.02)


@pytest.mark.parametrize(("base", "n"), [("linear", 1), ("quadratic", 7), ("cubic", 7), ("quartic", 22)])
def test_even_terms_are_counted(base, n):
    """Of three variables: a constant, six products of two, fifteen of four."""
    inputs = ModelInputs(np.random.default_rng(0).normal(0.3, 2.0, (200, 3)), {})
    mirrored, found = inputs.at_mirror_images(base)
    assert found == n
    assert mirrored.shape == inputs.features(base).shape
    assert n_even_terms(inputs.features(base), mirrored) == n


def test_an_angle_is_mirrored_on_its_circle():
    """Sine is odd and cosine even: of (1, sine, cosine), two are even."""
    inputs = ModelInputs(np.random.default_rng(0).uniform(-3, 3, (100, 1)), {0: (-np.pi, np.pi)})
    assert inputs.at_mirror_images("linear")[1] == 2


@pytest.mark.parametrize("bias", [0.0, 0.1, 0.3, 1.0])
def test_predictions_are_better_on_average_with_and_without_symmetry(bias):
    """The theorem of James and Stein, over 200 draws of the noise: never worse, and better where there is symmetry."""
    rng = np.random.default_rng(5)
    x = rng.normal(0.2, 1.0, (150, 2))
    inputs, rows = ModelInputs(x, {}), np.arange(150)
    true = np.sin(x[:, 0]) - 0.5 * x[:, 1] + bias + 0.5 * bias * x[:, 0] * x[:, 1]
    features, (mirrored, n_even) = inputs.features("cubic"), inputs.at_mirror_images("cubic")
    plain, shrunk = [], []
    for _ in range(200):
        y = true + rng.normal(size=150)
        coefficients = ridge(features, y)
        less = towards_odd(coefficients, features[rows], mirrored[rows], y, None, n_even)
        plain.append(np.mean((features @ coefficients - true) ** 2))
        shrunk.append(np.mean((features @ less - true) ** 2))
    assert np.mean(shrunk) < np.mean(plain)
    if bias == 0.0:
        assert np.mean(shrunk) < 0.8 * np.mean(plain)


def test_a_system_with_sides_keeps_them():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(400, 2))
    y = 2.0 + x[:, 0] + x[:, 1] ** 2 + 0.3 * rng.normal(size=400)
    middle = fitted(OutputKind("quadratic", odd=True), x, y)(np.zeros((1, 2)))
    assert middle[0] == pytest.approx(2.0, abs=0.1)


def test_few_samples_and_bases_without_enough_even_terms_change_nothing():
    x = np.random.default_rng(2).normal(size=(9, 3))
    y = x @ [1.0, 2.0, 3.0] + 1.0
    for base in BASES[1:3]:
        plain, odd = fitted(OutputKind(base), x, y), fitted(OutputKind(base, odd=True), x, y)
        np.testing.assert_allclose(plain(x), odd(x), atol=1e-4)


def test_noise_decides_whether_polynomials_are_shrunk():
    rng = np.random.default_rng(3)
    x, episodes = rng.uniform(-1, 1, (600, 2)), np.arange(600) // 20
    held_out, inputs = HeldOut.of(episodes, 0), ModelInputs(x, {})
    clean = x[:, 0] ** 3 - x[:, 1]
    noisy = clean + 0.2 * rng.uniform(-1, 1, 600) + 0.01
    before = [choose(inputs, y, held_out, 0, 1) for y in (clean, clean + 0.001 * noisy, noisy)]
    (alone,) = nearly_odd(before[:1], inputs, clean[:, None], held_out, 0, 1)
    assert alone is before[0]
    targets = np.stack([clean, clean + 0.001 * noisy, noisy], axis=1)
    exact, fine, loud = nearly_odd(before, inputs, targets, held_out, 0, 1)
    assert exact is before[0]  # nothing is missed
    assert fine.kind.odd  # one output with noise shows that there is noise in the others
    assert (loud.kind.base, loud.kind.odd) == ("cubic", True)
    assert str(loud.kind) == "nearly odd cubic"
    assert abs(loud.residuals.mean()) < 1e-12


@pytest.mark.parametrize("seed", [146, 156])
def test_a_pendulum_at_rest_stays_at_rest_in_the_model(seed):
    """Two seeds whose noise had pushed the model by 0.02 rad/s per step; the test allows half of it."""
    env = gym.make(PENDULUM)
    model = pf.DynamicsForest(random_state=seed).fit(pf.collect(env, episodes=100, seed=seed))
    assert all(choice.kind.odd for choice in model.choices)
    ahead = model.native.step(np.zeros((1, 2)), np.zeros((1, 1)), None, False)[0]
    assert abs(ahead[0, 1] + model.residuals[:, 1].mean()) < 0.01

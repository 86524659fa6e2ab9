"""Paths in a learned model, its steps around points, and the backward pass, against plain versions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import policyforest._core as _core
from oracles import tracking
from oracles.learned_model import earned, step
from random_models import Pair, random_model, random_policy, random_steps
from strategies import SEEDS

A_FEW = settings(max_examples=60)


def boxes(model: Pair, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    low, high = -rng.uniform(0.2, 2.0, model.plain.n_actions), rng.uniform(0.2, 2.0, model.plain.n_actions)
    reach = rng.uniform(3.0, 9.0, model.n_states)
    return np.stack([low, high], axis=1), np.stack([-reach, reach], axis=1)


def assert_same_paths(found, expected) -> None:
    states, actions, rewards, chances, paid = found
    for i, path in enumerate(expected):
        np.testing.assert_array_equal(states[i], path.states)
        np.testing.assert_array_equal(actions[i], np.reshape(path.actions, actions[i].shape))
        np.testing.assert_array_equal(rewards[i], [outcome.reward for outcome in path.outcomes])
        np.testing.assert_array_equal(chances[i], [outcome.end_chance for outcome in path.outcomes])
        np.testing.assert_array_equal(paid[i], [outcome.end_reward for outcome in path.outcomes])


@A_FEW
@given(SEEDS, st.integers(0, 5), st.booleans())
def test_a_tracked_sequence_is_the_plain_one(seed: int, n_steps: int, closed: bool) -> None:
    model, rng = random_model(seed), np.random.default_rng(seed)
    n, d, m = 3, model.n_states, model.plain.n_actions
    starts, _ = random_steps(seed, model, n)
    action_box, reach = boxes(model, rng)
    actions = rng.normal(size=(n, n_steps, m))
    feedback, reference = rng.normal(size=(n, n_steps, m, d)), rng.normal(size=(n, n_steps + 1, d))
    law = (feedback, reference) if closed else (None, None)
    found = _core.track(model.native, starts, actions, *law, action_box, reach)

    def act_of(i: int):
        def act(t: int, here: list[float]) -> list[float]:
            wanted = actions[i, t].tolist()
            for k in range(d if closed else 0):
                away = tracking.apart(here[k], reference[i, t, k], *model.plain.periods[k])
                wanted = [a + gain * away for a, gain in zip(wanted, feedback[i, t, :, k], strict=True)]
            return wanted

        return act

    expected = [
        tracking.walk(model.plain, starts[i].tolist(), act_of(i), None, n_steps, action_box.tolist(), reach.tolist())
        for i in range(n)
    ]
    assert_same_paths(found, expected)


@A_FEW
@given(SEEDS, st.integers(1, 5), st.booleans())
def test_a_played_policy_is_the_plain_one(seed: int, n_steps: int, noisy: bool) -> None:
    model, rng = random_model(seed), np.random.default_rng(seed)
    policy, n = random_policy(seed, model), 3
    n_residuals = len(model.plain.residuals)
    starts, _ = random_steps(seed, model, n)
    action_box, reach = boxes(model, rng)
    noise = rng.normal(size=(n_steps, n, model.plain.n_actions)) if noisy else None
    rows = rng.integers(max(n_residuals, 1), size=(n_steps, n)).astype(np.uint32)
    if n_residuals == 0:
        with pytest.raises(ValueError, match="residual_rows"):
            _core.play(model.native, policy.native, starts, rows, noise, action_box, reach)
        return
    found = _core.play(model.native, policy.native, starts, rows, noise, action_box, reach)

    def act_of(i: int):
        def act(t: int, here: list[float]) -> list[float]:
            added = np.zeros(model.plain.n_actions) if noise is None else noise[t, i]
            return [a + e for a, e in zip(policy.plain(here), added, strict=True)]

        return act

    expected = [
        tracking.walk(
            model.plain, starts[i].tolist(), act_of(i), rows[:, i].tolist(), n_steps, action_box.tolist(),
            reach.tolist(),
        )
        for i in range(n)
    ]  # fmt: skip
    assert_same_paths(found, expected)


@A_FEW
@given(SEEDS, st.integers(1, 4))
def test_without_kernels_steps_around_points_are_steps(seed: int, n_blocks: int) -> None:
    model = random_model(seed)
    states, actions = random_steps(seed, model, 3 * n_blocks)
    found = model.native.step_around(states, actions, 3)
    for i in range(len(states)):
        expected = step(model.plain, states[i].tolist(), actions[i].tolist(), None, False)
        for part, plain in zip(found, expected, strict=True):
            np.testing.assert_array_equal(part[i], plain)


@A_FEW
@given(SEEDS, st.integers(1, 4))
def test_without_kernels_steps_to_given_states_earn_what_the_plain_ones_do(seed: int, n_blocks: int) -> None:
    model, rng = random_model(seed), np.random.default_rng(seed)
    states, actions = random_steps(seed, model, 3 * n_blocks)
    ahead = rng.normal(size=states.shape) * 3
    found = np.stack(model.native.earn_around(states, actions, ahead, 3), axis=1)
    for row, *given_step in zip(found, states.tolist(), actions.tolist(), ahead.tolist(), strict=True):
        np.testing.assert_array_equal(row, earned(model.plain, *given_step))


@A_FEW
@given(
    SEEDS, st.integers(1, 7), st.integers(1, 3), st.integers(1, 4), st.floats(0.1, 1.0), st.sampled_from([None, 2, 10])
)
def test_the_backward_pass_is_the_plain_one(
    seed: int, d: int, m: int, n_steps: int, discount: float, rank: int | None
) -> None:
    """Rewards bend either way, or only downwards, in some dimensions or in all."""
    rng, w, n = np.random.default_rng(seed), d + m, 2
    slopes, gradient = rng.normal(size=(n, n_steps, d, w)), rng.normal(size=(n, n_steps, w))
    curvature = rng.normal(size=(n, n_steps, w, w))
    curvature = curvature + curvature.transpose(0, 1, 3, 2)
    if rank is not None:
        root = rng.normal(size=(n, n_steps, w, rank))
        curvature = -root @ root.transpose(0, 1, 3, 2)
    sizes, damping = rng.uniform(0.1, 2.0, w), rng.uniform(0.0, 1.0, (n, m))
    box = np.stack([np.full(m, -1.0), np.full(m, 1.0)], axis=1)
    actions = np.clip(rng.normal(size=(n, n_steps, m)), -1.0, 1.0)
    given = (slopes, gradient, curvature, sizes, actions, damping)
    change, feedback = _core.improve_backward(*given, box, discount, 1e-3)
    for i in range(n):
        row = (slopes[i], gradient[i], curvature[i], sizes, actions[i], damping[i])
        for found, expected in zip((change[i], feedback[i]), tracking.backward(*row, box, discount, 1e-3), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6 * (1.0 + np.abs(expected).max()))


def test_what_overflowed_is_flat() -> None:
    broken = np.full((1, 2, 1, 2), np.nan), np.full((1, 2, 2), np.inf), np.full((1, 2, 2, 2), -np.inf)
    box = np.array([[-1.0, 1.0]])
    made = _core.improve_backward(*broken, np.ones(2), np.zeros((1, 2, 1)), np.zeros((1, 1)), box, 0.9, 1e-3)
    assert all(np.isfinite(part).all() for part in made)


@pytest.mark.parametrize(
    ("name", "shape"), [("actions", (2, 3, 5)), ("feedback", (2, 3, 1, 9)), ("reference", (2, 3, 2))]
)
def test_arrays_that_do_not_fit_are_refused_by_name(name: str, shape: tuple[int, ...]) -> None:
    model = random_model(12)
    d, m = model.n_states, model.plain.n_actions
    starts, _ = random_steps(0, model, 2)
    action_box, reach = boxes(model, np.random.default_rng(0))
    law = {
        "actions": np.zeros((2, 3, m)),
        "feedback": np.zeros((2, 3, m, d)),
        "reference": np.zeros((2, 4, d)),
    } | {name: np.zeros(shape)}
    with pytest.raises(ValueError, match=name):
        _core.track(model.native, starts, **law, action_box=action_box, reach=reach)


def test_steps_around_points_need_whole_blocks() -> None:
    model = random_model(12)
    states, actions = random_steps(0, model, 4)
    for n in (0, 3):
        with pytest.raises(ValueError, match="n: must divide"):
            model.native.step_around(states, actions, n)
        with pytest.raises(ValueError, match="n: must divide"):
            model.native.earn_around(states, actions, states, n)
    with pytest.raises(ValueError, match="next_states: has"):
        model.native.earn_around(states, actions, states[:, :0].copy(), 4)
    with pytest.raises(ValueError, match="next_states: must have one row"):
        model.native.earn_around(states, actions, states[:3].copy(), 4)


@A_FEW
@given(SEEDS, st.integers(1, 4), st.integers(0, 6), st.booleans())
def test_nearest_distances_are_the_plain_ones(seed: int, d: int, n_places: int, turns: bool) -> None:
    rng = np.random.default_rng(seed)
    rows, places, scale = rng.normal(size=(5, d)) * 4, rng.normal(size=(n_places, d)) * 4, rng.uniform(0.1, 3.0, d)
    periods = np.zeros((d, 2))
    if turns:
        periods[0] = -np.pi, np.pi
    found = _core.nearest_distances(rows, places, scale, periods if turns else np.empty((0, 2)))
    expected = [tracking.nearest(row, places.tolist(), scale.tolist(), periods.tolist()) for row in rows.tolist()]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("wrong", ["places", "scale", "periods"])
def test_nearest_distances_refuse_arrays_that_do_not_fit(wrong: str) -> None:
    arrays = {"rows": np.zeros((2, 3)), "places": np.zeros((4, 3)), "scale": np.ones(3), "periods": np.zeros((3, 2))}
    arrays[wrong] = arrays[wrong][..., :2] if wrong == "places" else arrays[wrong][:2]
    with pytest.raises(ValueError, match=wrong):
        _core.nearest_distances(**arrays)
    with pytest.raises(ValueError, match="scale: must be positive"):
        _core.nearest_distances(np.zeros((2, 1)), np.zeros((1, 1)), np.zeros(1), np.empty((0, 2)))

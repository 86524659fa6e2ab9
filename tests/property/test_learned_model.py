"""Steps and rollouts of a learned model in the core, against the plain model, number by number."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import policyforest._core as _core
from oracles.learned_model import Rules, Stream, rollout, step
from random_models import Pair, PolicyPair, random_group, random_model, random_policy, random_steps
from strategies import SEEDS

A_FEW = settings(max_examples=60)


def drawn(seed: int, model: Pair, count: int) -> np.ndarray | None:
    n = len(model.plain.residuals)
    return np.random.default_rng(seed).integers(n, size=count).astype(np.uint32) if n else None


@given(SEEDS, st.integers(0, 4), st.integers(1, 3))
def test_a_group_of_regressors_is_coefficients_and_forests(seed: int, n_inputs: int, n_outputs: int) -> None:
    rng = np.random.default_rng(seed)
    group, plain = random_group(rng, n_inputs, n_outputs)
    rows = rng.uniform(-4, 4, (7, n_inputs))
    np.testing.assert_array_equal(group.predict(rows), [plain(x) for x in rows.tolist()])
    np.testing.assert_array_equal(group.features(rows, 1), [plain.linear(x) for x in rows.tolist()])
    for degree in range(2, 6):
        expected = [plain.products(x, degree) for x in rows.tolist()]
        np.testing.assert_array_equal(group.features(rows, degree), expected)


@given(SEEDS, st.booleans())
def test_a_step_is_the_plain_step(seed: int, noisy: bool) -> None:
    model = random_model(seed)
    states, actions = random_steps(seed, model, 5)
    residuals = drawn(seed, model, 5) if noisy else None
    for keep in (False, True):
        found = model.native.step(states, actions, residuals, keep)
        for i in range(len(states)):
            row = None if residuals is None else int(residuals[i])
            expected = step(model.plain, states[i].tolist(), actions[i].tolist(), row, keep)
            for part, plain in zip(found, expected, strict=True):
                np.testing.assert_array_equal(part[i], plain)


@given(SEEDS, st.integers(1, 8), st.sampled_from([0.0, 0.5, 0.98]), st.booleans(), st.sampled_from([0.0, 0.1]))
def test_a_rollout_is_the_plain_rollout(
    seed: int, n_steps: int, discount: float, noisy: bool, action_noise: float
) -> None:
    model = random_model(seed)
    policy = random_policy(seed, model)
    states, firsts = random_steps(seed, model, 5)
    rng = np.random.default_rng(seed)
    streams = rng.integers(0, 2**32, 5, dtype=np.uint32)
    rules = Rules(
        n_steps, discount, int(rng.integers(2**64, dtype=np.uint64)), noisy, action_noise, policy.box.tolist()
    )
    for actions in (None, firsts):
        values, visited, alive = model.native.rollouts(
            policy.native, states, actions, streams, n_steps, discount, rules.seed, noisy, action_noise, True, 1
        )
        for i in range(len(states)):
            first = None if actions is None else actions[i].tolist()
            expected = rollout(model.plain, policy.plain, states[i].tolist(), first, int(streams[i]), rules)
            assert values[i] == expected.value
            assert alive[i] == len(expected.visited)
            np.testing.assert_array_equal(visited[i, : alive[i]], np.reshape(expected.visited, (-1, model.n_states)))
            assert not visited[i, alive[i] :].any()


def many_rollouts(
    model: Pair,
    policy: PolicyPair,
    states: np.ndarray,
    streams: np.ndarray,
    order: np.ndarray,
    n_threads: int = 1,
    trace: bool = True,
) -> Sequence[np.ndarray]:
    return model.native.rollouts(
        policy.native, np.ascontiguousarray(states[order]), None, np.ascontiguousarray(streams[order]), 6, 0.9, 5, True,
        0.1, trace, n_threads,
    )  # fmt: skip


@A_FEW
@given(SEEDS)
def test_threads_and_the_trace_change_no_bit(seed: int) -> None:
    model = random_model(seed)
    policy = random_policy(seed, model)
    states, _ = random_steps(seed, model, 300)
    streams, order = np.arange(300, dtype=np.uint32), np.arange(300)
    one = many_rollouts(model, policy, states, streams, order)
    two = many_rollouts(model, policy, states, streams, order, n_threads=2)
    assert [part.tobytes() for part in one] == [part.tobytes() for part in two]
    assert many_rollouts(model, policy, states, streams, order, trace=False)[0].tobytes() == one[0].tobytes()


@A_FEW
@given(SEEDS)
def test_the_same_stream_meets_the_same_noise_in_any_block(seed: int) -> None:
    """Rows are shuffled, cut and repeated: what happens to a row depends on its state and its stream alone."""
    model = random_model(seed)
    policy = random_policy(seed, model)
    states, _ = random_steps(seed, model, 300)
    streams = np.random.default_rng(seed).integers(0, 50, 300).astype(np.uint32)
    whole = many_rollouts(model, policy, states, streams, np.arange(300))
    shuffled = np.random.default_rng(seed).permutation(300)
    for order in (shuffled, shuffled[:140], np.repeat(shuffled[:3], 100)):
        part = many_rollouts(model, policy, states, streams, order)
        assert [a.tobytes() for a in part] == [np.ascontiguousarray(a[order]).tobytes() for a in whole]


@given(st.integers(0, 2**64 - 1), st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=4), st.integers(1, 1000))
def test_draws_are_those_of_the_streams(seed: int, streams: list[int], n_residuals: int) -> None:
    names = np.array(streams, dtype=np.uint32)
    plain = [Stream(seed, stream) for stream in streams]
    expected = [[random.below(n_residuals) for _ in range(5)] for random in plain]
    assert _core.residual_draws(seed, names, 5, n_residuals).tolist() == expected
    bells = [Stream(seed, 2**40 + stream) for stream in streams]
    assert _core.action_draws(seed, names, 3).tolist() == [[random.bell() for _ in range(3)] for random in bells]


def test_the_noise_of_actions_has_mean_0_and_variance_1() -> None:
    noise = _core.action_draws(3, np.arange(500, dtype=np.uint32), 100)
    assert noise.mean() == pytest.approx(0.0, abs=0.02)
    assert noise.var() == pytest.approx(1.0, abs=0.02)


def small_model() -> tuple[Pair, np.ndarray, np.ndarray]:
    model = random_model(12)
    states, actions = random_steps(0, model, 4)
    return model, states, actions


def test_rows_that_do_not_fit_the_model_are_refused() -> None:
    model, states, actions = small_model()
    wide = np.zeros((4, model.n_states + 1))
    with pytest.raises(ValueError, match=f"^states: has {model.n_states + 1} columns, must have {model.n_states}$"):
        model.native.step(wide, actions, None, True)
    with pytest.raises(ValueError, match=r"^actions: must have one row per state"):
        model.native.step(states, actions[:2], None, True)
    with pytest.raises(ValueError, match=r"^residual_rows: is out of range"):
        model.native.step(states, actions, np.full(4, 10**6, np.uint32), True)
    with pytest.raises(ValueError, match=r"^n_residuals: is 0, must be at least 1"):
        _core.residual_draws(0, np.zeros(1, np.uint32), 1, 0)


def test_a_policy_of_other_states_is_refused() -> None:
    model, states, _ = small_model()
    other = random_model(13)
    assert other.n_states != model.n_states
    with pytest.raises(ValueError, match="controller: must have the states and actions of the model"):
        model.native.rollouts(
            random_policy(0, other).native, states, None, np.arange(4, dtype=np.uint32), 2, 0.9, 0, True, 0.0, False, 1
        )


def test_an_unfinished_model_is_refused() -> None:
    model = _core.LearnedModel(2, 1, np.empty((0, 2)))
    with pytest.raises(ValueError, match=r"^model: "):
        model.step(np.zeros((1, 2)), np.zeros((1, 1)), None, True)


def test_an_unknown_kind_of_end_is_refused() -> None:
    group = _core.RegressorGroup(np.empty((0, 5)))
    with pytest.raises(ValueError, match=r"^kind: is sometimes, must be thresholds, logistic or forest$"):
        _core.LearnedModel(1, 1, np.empty((0, 2))).set_end("sometimes", [], None, group)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_coefficients_must_be_finite(bad: float) -> None:
    group = _core.RegressorGroup(np.array([[0.0, 1.0, 0.0, -1.0, 1.0]]))
    with pytest.raises(ValueError, match="coefficients must be finite"):
        group.add(np.array([0.0, bad]), None)

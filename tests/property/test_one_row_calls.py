"""`Policy.act`, `Float32Policy.act` and `Forest.predict_one`: any row of real numbers is taken, nothing else is."""

import gc
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box
from hypothesis import given
from hypothesis import strategies as st

from policies import forest_policy, grown
from policyforest import Forest, Policy

POLICY = forest_policy(2, periodic={0: (-np.pi, np.pi)})
SINGLE = POLICY.astype("float32")
INSIDE = forest_policy(2).with_outside("raise")
CALLS: dict[str, Callable[[Any], Any]] = {
    "act": POLICY.act,
    "act inside the box": INSIDE.act,
    "float32 act": SINGLE.act,
    "predict_one": POLICY.forests[0].predict_one,
}
ALL_CALLS = pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
UNLIMITED_CALLS = pytest.mark.parametrize("call", [CALLS[k] for k in ("act", "float32 act", "predict_one")])


def states(width: int = 64) -> st.SearchStrategy[list[float]]:
    return st.lists(st.floats(-1e6, 1e6, width=width), min_size=2, max_size=2)  # type: ignore[call-overload]


def bits(answer: Any) -> bytes:
    return np.asarray(answer).tobytes()


def apart(numbers: list[float], dtype: str = "f8") -> np.ndarray:
    """The numbers with others between them."""
    return np.array([numbers, [np.nan] * 2], dtype).T.ravel()[::2]


def unaligned(numbers: list[float]) -> np.ndarray:
    return np.frombuffer(b"\0" + np.array(numbers).tobytes(), "f8", offset=1)


@UNLIMITED_CALLS
@given(numbers=states())
def test_the_layout_of_a_row_does_not_change_the_answer(call: Callable[[Any], Any], numbers: list[float]) -> None:
    expected = bits(call(np.array(numbers)))
    backwards = np.array(numbers[::-1])[::-1]
    swapped, column = np.array(numbers, ">f8"), np.array([numbers, numbers]).T.copy()[:, 0]
    for row in (numbers, tuple(numbers), apart(numbers), backwards, swapped, column, unaligned(numbers)):
        assert bits(call(row)) == expected


@UNLIMITED_CALLS
@given(numbers=states(32))
def test_float32_rows_get_the_answer_of_the_same_numbers_in_float64(
    call: Callable[[Any], Any], numbers: list[float]
) -> None:
    expected = bits(call(np.array(numbers, np.float64)))
    assert bits(call(np.array(numbers, np.float32))) == expected
    assert bits(call(apart(numbers, "f4"))) == expected
    assert bits(call(np.array(numbers, ">f4"))) == expected


@UNLIMITED_CALLS
@given(numbers=st.lists(st.integers(-(2**15), 2**15 - 1), min_size=2, max_size=2))
def test_whole_numbers_and_truths_are_numbers(call: Callable[[Any], Any], numbers: list[int]) -> None:
    expected = bits(call(np.array(numbers, np.float64)))
    for row in (numbers, np.array(numbers, np.int16), np.array(numbers, np.int64)):
        assert bits(call(row)) == expected
    truths = [number > 0 for number in numbers]
    assert bits(call(np.array(truths))) == bits(call(truths)) == bits(call(np.array(truths, np.float64)))


@given(numbers=states())
def test_a_float32_policy_rounds_one_state_as_it_rounds_rows(numbers: list[float]) -> None:
    assert bits(SINGLE.act(numbers)) == bits(SINGLE.act_batch([numbers])[0])


def test_a_float32_policy_rounds_large_whole_numbers_once() -> None:
    step = Forest.from_arrays(
        feature=[0, -1, -1],
        split=[2.0**60, -1.0, 1.0],
        child=[1, 0, 1],
        node_offsets=[0, 3],
        box=[[0.0, 2.0**61]],
    )
    policy = Policy((step,), Box(-np.inf, np.inf, (1,)), Box(-1.0, 1.0, (1,))).astype("float32")
    row = np.array([2**60 + 2**36 + 1])  # nearest to 2^60 + 2^37; by way of float64 it would be a tie and go to 2^60
    assert policy.act(row).tolist() == policy.act_batch([row]).tolist()[0] == [1.0]


@ALL_CALLS
@pytest.mark.parametrize("given_shape", [(3,), (1,), (0,), (1, 2), (2, 1), ()])
def test_another_shape_is_named(call: Callable[[Any], Any], given_shape: tuple[int, ...]) -> None:
    for row in (np.zeros(given_shape), np.zeros(given_shape, np.float32), np.zeros(given_shape).tolist()):
        with pytest.raises(ValueError, match=r"^(state|x): has shape .*, must have shape \(2,\)$") as error:
            call(row)
        assert f"has shape {given_shape}," in str(error.value)


@ALL_CALLS
@pytest.mark.parametrize(
    ("row", "kind"),
    [
        (None, "object"),
        ("12", "<U2"),
        (["1", "2"], "<U1"),
        ([b"1", b"2"], r"\|S1"),
        ([None, 1.0], "object"),
        ({0.0, 1.0}, "object"),
        ([10**400, 0], "object"),
        ([1j, 0.0], "complex128"),
        (np.zeros(2, np.complex64), "complex64"),
        (np.zeros(2, "M8[s]"), r"datetime64\[s\]"),
        (np.zeros(2, [("a", "f8")]), r"\[\('a', '<f8'\)\]"),
    ],
)
def test_what_is_no_real_number_is_refused_by_its_type(call: Callable[[Any], Any], row: Any, kind: str) -> None:
    with pytest.raises(TypeError, match=f"^(state|x): holds {kind}, must hold real numbers$"):
        call(row)


@ALL_CALLS
def test_a_ragged_list_is_no_array_of_numbers(call: Callable[[Any], Any]) -> None:
    with pytest.raises(
        ValueError, match=r"^(state|x): not an array of numbers \(setting an array element.*\)$"
    ) as error:
        call([0.0, [1.0, 2.0]])
    assert isinstance(error.value.__cause__, ValueError)


@ALL_CALLS
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("form", [list, np.array, np.float32, apart])
def test_a_number_that_is_not_finite_is_named_with_its_place(
    call: Callable[[Any], Any], bad: float, form: Callable[[Any], Any]
) -> None:
    with pytest.raises(ValueError, match=f"^(state|x): holds {bad} at 1, all numbers must be finite$"):
        call(form([0.0, bad]))


def test_a_float32_policy_names_a_state_beyond_float32() -> None:
    message = "^state: holds 1e[+]39 at 1, which is not finite in float32; must be at most 3.40282e[+]38 in size$"
    for row in (np.array([0.0, 1e39]), [0.0, 1e39], apart([0.0, 1e39])):
        with np.errstate(all="raise"), pytest.raises(ValueError, match=message):
            SINGLE.act(row)
    with np.errstate(all="raise"):
        assert bits(SINGLE.act([0.0, 1e-300])) == bits(SINGLE.act([0.0, 0.0]))


class Broken:
    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        raise RuntimeError("no array today")


@ALL_CALLS
def test_errors_of_the_given_object_are_passed_on(call: Callable[[Any], Any]) -> None:
    with pytest.raises(RuntimeError, match="no array today"):
        call(Broken())


@ALL_CALLS
@pytest.mark.parametrize(
    "row", [np.zeros(2, np.float16), [0.0, 0.0], np.zeros((50, 2)), "12", [0.0, [1.0, 2.0]]], ids=str
)
def test_conversions_and_refusals_keep_no_memory(call: Callable[[Any], Any], row: Any) -> None:
    def memory_after_calls() -> int:
        for _ in range(300):
            with suppress(ValueError, TypeError):
                call(row)
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        memory = [memory_after_calls() for _ in range(6)]
    finally:
        tracemalloc.stop()
    # An array of two numbers for each call would be more in each round. A single round may also have what other threads
    # of the process and caches of the interpreter take, so the round with the least counts.
    assert min(np.diff(memory)) < 300 * 16


def test_a_policy_takes_the_observations_of_an_environment() -> None:
    env = gymnasium.make("MountainCarContinuous-v0")
    space: Any = env.observation_space
    box = np.stack([space.low, space.high], axis=1).astype(np.float64)
    policy = Policy((grown(0, box=box),), space, env.action_space)  # type: ignore[arg-type]
    observation, _ = env.reset(seed=0)
    for _ in range(5):
        assert observation.dtype == np.float32
        action = policy.act(observation)
        assert bits(action) == bits(policy.act(observation.astype(np.float64)))
        observation, *_ = env.step(action)

"""`act`, `act_batch` and `predict` of every kind of policy take the same states and refuse the others alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import policyforest as pf
from golden_files import FORMAT_1

POLICIES: dict[str, Any] = {file.stem: pf.load(file) for file in sorted(FORMAT_1.glob("*.pforest"))}
POLICIES["float32"] = POLICIES["forest-linear"].astype("float32")
ALL_POLICIES = pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES.keys())


def calls(policy: Any) -> dict[str, Callable[[Any], Any]]:
    """All ways to ask for the action in one state."""
    return {
        "act": policy.act,
        "act_batch": lambda state: policy.act_batch(rows_of(state))[0],
        "predict": lambda state: policy.predict(state)[0],
        "predict rows": lambda state: policy.predict(rows_of(state))[0][0],
    }


def rows_of(state: Any) -> Any:
    return state[np.newaxis] if isinstance(state, np.ndarray) else [state]


@ALL_POLICIES
@pytest.mark.parametrize(
    ("state", "kind"),
    [
        (["1", "2"], "<U1"),
        ([b"1", b"2"], r"\|S1"),
        (np.zeros(2, "M8[s]"), r"datetime64\[s\]"),
        (np.zeros(2, "m8[s]"), r"timedelta64\[s\]"),
        (np.zeros(2, object), "object"),
        ([None, 1.0], "object"),
        ([10**400, 0], "object"),
        ([1j, 0.0], "complex128"),
    ],
)
def test_what_is_no_real_number_is_refused_by_its_type(policy: Any, state: Any, kind: str) -> None:
    for call in calls(policy).values():
        with pytest.raises(TypeError, match=f"^(states?|observation): holds {kind}, must hold real numbers$"):
            call(state)


@ALL_POLICIES
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_masked_entries_are_refused_and_a_mask_without_any_is_not(policy: Any, dtype: type) -> None:
    for call in calls(policy).values():
        with pytest.raises(ValueError, match=r"^(states?|observation): is a masked array with masked entries"):
            call(np.ma.array(np.zeros(2, dtype), mask=[False, True]))
        assert np.array_equal(call(np.ma.array(np.zeros(2, dtype))), call(np.zeros(2)))
    for call in (policy.act_batch, policy.predict):
        with pytest.raises(ValueError, match="masked entries"):
            call([np.zeros(2), np.ma.array([0.0, 0.0], mask=[True, False])])


@ALL_POLICIES
def test_truth_values_are_0_and_1(policy: Any) -> None:
    for call in calls(policy).values():
        assert np.array_equal(call([True, False]), call(np.array([1.0, 0.0])))
        assert np.array_equal(call(np.array([True, False])), call(np.array([1.0, 0.0])))


@ALL_POLICIES
def test_ragged_states_are_no_array_of_numbers(policy: Any) -> None:
    for call in calls(policy).values():
        with pytest.raises(ValueError, match=r"^(states?|observation): not an array of numbers"):
            call([0.0, [1.0, 2.0]])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", ["binary-action-search-polynomial", "lspi-radial"])
@pytest.mark.parametrize("state", [[1e308, 1e308], [-1e308, 1e308], [1e200, 0.0], [0.0, -1e160]])
def test_a_state_so_large_that_values_overflow_is_refused_without_warnings(kind: str, state: list[float]) -> None:
    policy = POLICIES[kind]
    for call in calls(policy).values():
        with pytest.raises(ValueError, match=r"^state: is so large that the values of its actions overflow$"):
            call(state)
    with pytest.raises(ValueError, match="is so large"):
        policy.act_batch([[0.0, 0.0], state])
    assert policy.action_space.contains(policy.predict([1e20, 3.0])[0])

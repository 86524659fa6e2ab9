"""Policies: what they answer, to whom, and within which bounds."""

import inspect
import pickle
from dataclasses import FrozenInstanceError, dataclass

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

import policyforest as pf
from oracles.forest import predict, read_trees
from two_action_policies import BOX, PI, STATES, grown, make, some_states

# --- Acting ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("leaf_model", ["constant", "linear"])
def test_each_action_is_its_forests_prediction_within_the_box(leaf_model):
    policy, states = make(leaf_model), some_states()
    forests = [read_trees(forest.arrays) for forest in policy.forests]
    oracle = np.array([[predict(trees, x) for trees in forests] for x in states.tolist()])
    assert np.abs(oracle).max() > 0.5  # so that clipping is seen
    expected = np.clip(oracle, -0.5, 0.5)
    assert np.array_equal(policy.act_batch(states), expected)
    assert np.array_equal([policy.act(x) for x in states], expected)


def test_one_state_and_rows_get_the_same_bits_out_of_the_box_too():
    for leaf_model in ("constant", "linear"):
        policy, states = make(leaf_model), 4 * some_states()
        assert np.array_equal([policy.act(x) for x in states], policy.act_batch(states))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("outside", ["nearest", "raise"])
@pytest.mark.parametrize("periodic", [None, {0: (-PI, PI)}])
def test_a_state_that_is_no_number_is_an_error(bad, outside, periodic):
    policy = make(outside=outside, periodic=periodic)
    for d in range(2):
        state = np.zeros(2)
        state[d] = bad
        for ask in (policy.act, lambda x: policy.act_batch([x, x]), policy.predict):
            with pytest.raises(ValueError, match="state"):
                ask(state)


def test_an_action_is_never_nan():
    """w·x + c = inf - inf: a state so far away has no action."""
    steep = pf.Forest.from_arrays(
        feature=[-1], split=[0.0], child=[0], node_offsets=[0, 1], box=BOX, coefficients=[[2.0, -2.0, 0.0]]
    )
    policy = pf.Policy((steep,), Box(-np.inf, np.inf, (2,), np.float64), Box(-1, 1, (1,)))
    assert policy.act(np.array([1e308, 0.0])).tolist() == [1.0]
    for ask in (policy.act, lambda x: policy.act_batch([x]), policy.predict):
        with pytest.raises(ValueError, match="state: is so large that action 0 overflows"):
            ask(np.array([1e308, 1e308]))


@pytest.mark.parametrize("state", [np.zeros(3), np.zeros(1), np.zeros((1, 2)), np.float64(0.0)])
def test_a_state_must_have_its_dimensions(state):
    with pytest.raises(ValueError, match=r"state: has shape .*, must have shape \(2,\)"):
        make().act(state)


def test_a_state_must_hold_numbers():
    with pytest.raises(TypeError, match="state: holds object, must hold real numbers"):
        make().act(np.array([None, None]))


@pytest.mark.parametrize(
    "state",
    [np.zeros(2, np.float32), np.zeros(2, np.int64), np.zeros(4)[::2], np.zeros(2, ">f8"), [0.0, 0.0]],
)
def test_act_converts_other_numbers(state):
    action = make().act(state)
    assert action.dtype == np.float64
    assert np.array_equal(action, make().act(np.zeros(2)))


@pytest.mark.parametrize("states", [np.zeros(2), np.zeros((3, 3)), np.zeros((0, 2)), np.zeros((1, 1, 2))])
def test_rows_must_have_the_states_dimensions(states):
    with pytest.raises(ValueError, match="states"):
        make().act_batch(states)


def test_rows_are_converted_from_other_numbers():
    policy = make()
    rows = some_states(5).round()
    for given in (rows.astype(np.float32), rows.astype(int), rows.tolist(), np.asfortranarray(rows)):
        assert np.array_equal(policy.act_batch(given), policy.act_batch(rows))


# --- Outside of the box ----------------------------------------------------------------------------------------------


def test_outside_of_the_box_the_outermost_leaf_answers():
    policy = make("constant")
    states = 5 * some_states()
    nearest = np.clip(states, BOX[:, 0], BOX[:, 1])
    assert np.array_equal(policy.act_batch(states), policy.act_batch(nearest))


def test_or_it_is_an_error():
    policy = make().with_outside("raise")
    inside, beyond = np.array([0.0, 3.0]), np.array([0.0, np.nextafter(3.0, 4.0)])
    assert np.array_equal(policy.act(inside), make().act(inside))
    assert np.array_equal(policy.act_batch([inside])[0], make().act(inside))
    for ask in (policy.act, lambda x: policy.act_batch([inside, x]), policy.predict):
        with pytest.raises(ValueError, match=r"state: has 3\.00.* in dimension 1, must be within \[-2.0, 3.0\], the"):
            ask(beyond)
    assert np.array_equal(policy.with_outside("nearest").act(beyond), make().act(inside))


def test_an_angle_is_never_outside():
    policy = make(periodic={0: (-PI, PI)}, outside="raise")
    angles = np.linspace(-3, 3, 50)
    states = np.stack([angles, np.zeros(50)], axis=1)
    for turns in (-2, 1, 7):
        moved = states + [2 * PI * turns, 0.0]
        assert np.array_equal(policy.act_batch(moved), policy.act_batch(states))
        assert np.array_equal(policy.act(moved[0]), policy.act(states[0]))
    with pytest.raises(ValueError, match="dimension 1"):
        policy.act(np.array([0.0, 9.0]))


# --- Stable-Baselines3 -----------------------------------------------------------------------------------------------


def test_predict_has_the_signature_of_stable_baselines3():
    names = ["self", "observation", "state", "episode_start", "deterministic"]
    for kind in (pf.Policy, pf.GreedyPolicy):
        parameters = inspect.signature(kind.predict).parameters
        assert list(parameters) == names
        assert [p.default for p in parameters.values()][2:] == [None, None, True]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_predict_answers_in_the_spaces_type_and_shape(dtype):
    # 0.1 in single precision is above 0.1, and no action may leave the box of its space.
    policy = make("linear", dtype=dtype, reach=0.1)
    rows = some_states(100)
    many, memory = policy.predict(rows.astype(np.float32), state="memory")
    assert memory == "memory"
    assert many.dtype == dtype
    assert many.shape == (100, 2)
    assert all(policy.action_space.contains(action) for action in many)
    assert np.allclose(many, policy.act_batch(rows.astype(np.float32)), atol=1e-7)
    one, memory = policy.predict(rows[3].astype(np.float32), deterministic=False)
    assert memory is None
    assert np.array_equal(one, many[3])
    assert np.array_equal(policy.predict(rows[3].astype(np.float32).tolist())[0], one)


@pytest.mark.parametrize("shape", [(3,), (2, 3), (2, 1, 2), ()])
def test_predict_refuses_other_shapes(shape):
    with pytest.raises(ValueError, match="observation: has shape"):
        make().predict(np.zeros(shape))


# --- Making one ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"forests": ()}, "forests: has 0 forests, must have one for each of 1"),
        ({"forests": (grown(0), grown(1))}, "forests: has 2 forests"),
        ({"forests": (grown(0, box=BOX[:1]),)}, "forests: one has 1 inputs for 2 state dimensions"),
        ({"observation_space": Discrete(3)}, "observation_space: .*must be a gymnasium.spaces.Box"),
        ({"observation_space": Box(0, 255, (8, 8, 3), np.uint8)}, "observation_space: .*images"),
        ({"action_space": Discrete(3)}, "action_space: .*discrete"),
        ({"action_space": Box(-np.inf, 1, (1,))}, "action_space: .*bounded"),
        ({"outside": "guess"}, "outside: is 'guess'"),
        ({"periodic": {2: (0.0, 1.0)}}, "periodic"),
        ({"periodic": {0: (1.0, 0.0)}}, "periodic"),
    ],
)
def test_a_policy_needs_parts_that_fit(changes, message):
    fields = {"forests": (grown(0),), "observation_space": STATES, "action_space": Box(-1, 1, (1,))}
    with pytest.raises(ValueError, match=message):
        pf.Policy(**{**fields, **changes})


def test_a_policy_does_not_change():
    policy = make()
    with pytest.raises(FrozenInstanceError):
        policy.outside = "raise"
    with pytest.raises(ValueError, match="read-only"):
        policy.state_box[0, 0] = 7.0
    assert policy.n_leaves == sum(forest.n_leaves for forest in policy.forests)
    assert "2 states -> 2 actions, 5+5 trees" in repr(policy)


def test_a_policy_with_another_info_keeps_its_compiled_controller():
    policy = make()
    named = policy.with_info(pf.PolicyInfo("given", problem="Pendulum-v1"))
    assert named.native is policy.native
    assert (named.info.problem, policy.info.problem) == ("Pendulum-v1", "")


@pytest.mark.parametrize("outside", ["nearest", "raise"])
def test_a_policy_can_be_pickled(outside):
    policy = make("linear", periodic={0: (-PI, PI)}, outside=outside).simplify(6, n_states=100)
    again = pickle.loads(pickle.dumps(policy))
    assert np.array_equal(again.act_batch(some_states()), policy.act_batch(some_states()))
    assert (again.info, again.outside, again.simplification) == (policy.info, outside, policy.simplification)
    assert again.act(some_states()[0]).tolist() == policy.act(some_states()[0]).tolist()


def test_info_keeps_the_plain_parameters_of_a_learner():
    @dataclass
    class Learner:
        discount: float = 0.9
        horizon: str = "auto"
        callback: object = print

    info = pf.PolicyInfo.of("fqi", Learner(), 12, iterations=3)
    assert info.method == "fqi"
    assert info.settings == {"discount": 0.9, "horizon": "auto", "iterations": 3}
    assert info.n_samples == 12
    assert info.software == f"policyforest {pf.__version__}"
    assert info.created.endswith("+00:00")

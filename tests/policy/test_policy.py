"""Policies: what they answer, to whom, and within which bounds."""

import inspect
import pickle
from dataclasses import FrozenInstanceError, dataclass

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

import policyforest as pf
from oracles.forest import Split, predict, read_trees

PI = float(np.pi)
BOX = np.array([[-PI, PI], [-2.0, 3.0]])
STATES = Box(np.array([-PI, -np.inf]), np.array([PI, np.inf]), dtype=np.float64)


def grown(seed, leaf_model="constant", box=BOX, periodic=None, n=150):
    rng = np.random.default_rng(seed)
    X = box[:, 0] + rng.random((n, len(box))) * (box[:, 1] - box[:, 0])
    y = np.sin(X + seed).sum(axis=1)
    return pf.grow_forest(
        X, y, n_estimators=5, leaf_model=leaf_model, min_samples_leaf=6, box=box, periodic=periodic, random_state=seed
    )


def make(leaf_model="constant", n_actions=2, dtype=np.float64, reach=0.5, periodic=None, **more):
    forests = tuple(grown(j, leaf_model, periodic=periodic) for j in range(n_actions))
    return pf.Policy(forests, STATES, Box(-reach, reach, (n_actions,), dtype), periodic or {}, **more)


def some_states(n=300):
    rng = np.random.default_rng(7)
    return BOX[:, 0] + rng.random((n, 2)) * (BOX[:, 1] - BOX[:, 0])


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
        with pytest.raises(ValueError, match=r"state: has 3\.00.* in dimension 1, the policy knows only \[-2.0, 3.0\]"):
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


# --- The bound on its time -------------------------------------------------------------------------------------------


def comparisons(tree, x):
    count = 0
    while isinstance(tree, Split):
        tree = tree.lower if x[tree.feature] <= tree.threshold else tree.upper
        count += 1
    return count


def deepest(tree):
    return 1 + max(deepest(tree.lower), deepest(tree.upper)) if isinstance(tree, Split) else 0


def test_no_action_takes_more_comparisons_than_it_says():
    policy = make()
    trees = [tree for forest in policy.forests for tree in read_trees(forest.arrays)]
    assert policy.worst_case_comparisons == sum(map(deepest, trees))
    taken = [sum(comparisons(tree, x) for tree in trees) for x in some_states().tolist()]
    assert 0 < max(taken) <= policy.worst_case_comparisons
    assert policy.worst_case_comparisons <= sum(forest.depth * len(forest) for forest in policy.forests)


# --- One tree per action --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("leaf_model", ["constant", "linear"])
@pytest.mark.parametrize("max_leaves", [1, 2, 17])
def test_a_simplified_policy_is_one_small_tree_an_action(leaf_model, max_leaves):
    policy = make(leaf_model)
    simple = policy.simplify(max_leaves, n_states=500)
    assert [len(forest) for forest in simple.forests] == [1, 1]
    assert all(forest.n_leaves <= max_leaves for forest in simple.forests)
    assert simple.forests[0].leaf_model == leaf_model
    assert simple.worst_case_comparisons < policy.worst_case_comparisons
    report = simple.simplification
    assert (report.max_leaves, report.n_leaves, report.n_states) == (max_leaves, simple.n_leaves, 500)
    assert policy.simplification is None
    assert (simple.info, simple.action_space, simple.outside) == (policy.info, policy.action_space, policy.outside)


def test_it_reports_how_far_the_actions_moved():
    policy = make("constant", reach=5.0)
    report = policy.simplify(6).simplification
    states = some_states(20_000)
    moved = np.abs(policy.simplify(6).act_batch(states) - policy.act_batch(states))
    assert np.allclose(report.mean_change, moved.mean(axis=0), rtol=0.05)
    assert np.allclose(report.largest_change, moved.max(axis=0), rtol=0.2)
    assert all(type(change) is float for change in report.mean_change + report.largest_change)


def test_more_leaves_move_it_less_and_enough_leaves_not_at_all():
    policy = make("linear", reach=5.0)
    moved = [max(policy.simplify(n, 500).simplification.mean_change) for n in (1, 20, 100_000)]
    assert moved[0] > moved[1] > moved[2]
    assert moved[2] < 1e-12


def test_a_policy_that_raises_outside_can_be_simplified():
    assert make(outside="raise").simplify(5, n_states=5_000).outside == "raise"


def test_simplify_refuses_what_makes_no_sense():
    for arguments in ((0,), (-1,), (3, 0)):
        with pytest.raises(ValueError, match=r"max_leaves|n_states"):
            make().simplify(*arguments)
    with pytest.raises(TypeError, match="max_leaves"):
        make().simplify(2.5)
    forest = grown(0, box=BOX).arrays
    endless = pf.Forest.from_arrays(
        **{name: forest[name] for name in ("feature", "split", "child", "node_offsets")}, box=[[-np.inf, np.inf]] * 2
    )
    with pytest.raises(ValueError, match=r"state_box: .*must be finite"):
        pf.Policy((endless,), STATES, Box(-1, 1, (1,))).simplify(5)


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


# --- The greedy policy -----------------------------------------------------------------------------------------------


def make_greedy(search="exact", periodic=None, dtype=np.float64):
    forest = grown(4, box=np.concatenate([BOX, [[-1.0, 2.0]]]), periodic=periodic)
    space = Box(-1.0, 2.0, (1,), dtype)
    return pf.GreedyPolicy(forest, STATES, space, search, 30, periodic=periodic or {})


def test_the_greedy_policy_takes_the_best_action():
    policy, states = make_greedy(), some_states(50)
    chosen = policy.act_batch(states)
    values = policy.forest.predict(np.column_stack([states, chosen]))
    for action in np.linspace(-1, 2, 101):
        others = policy.forest.predict(np.column_stack([states, np.full(50, action)]))
        assert (values >= others - 1e-12).all()
    assert np.array_equal(policy.act(states[7]), chosen[7])
    assert np.array_equal(policy.act_batch(4 * states), policy.act_batch(np.clip(4 * states, BOX[:, 0], BOX[:, 1])))


def test_the_greedy_policy_turns_angles_back():
    policy = make_greedy(periodic={0: (-PI, PI)})
    states = some_states(50)
    assert np.array_equal(policy.act_batch(states + [4 * PI, 0.0]), policy.act_batch(states))
    assert not np.array_equal(make_greedy().act_batch(states + [4 * PI, 0.0]), make_greedy().act_batch(states))


def test_the_greedy_policy_predicts_for_stable_baselines3():
    policy = make_greedy("merged", dtype=np.float32)
    many, memory = policy.predict(some_states(4).astype(np.float32), state=1)
    assert (many.dtype, many.shape, memory) == (np.float32, (4, 1), 1)
    assert policy.predict(np.zeros(2))[0].shape == (1,)


def test_the_greedy_policy_refuses_bad_states():
    policy = make_greedy()
    for states in ([[0.0]], [[0.0, 0.0, 0.0]], [[0.0, np.nan]], [0.0, 0.0], np.zeros((0, 2))):
        with pytest.raises(ValueError, match="states"):
            policy.act_batch(states)
    for state in ([0.0], [0.0, np.nan], [[0.0, 0.0]]):
        with pytest.raises(ValueError, match="state"):
            policy.act(state)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"forest": grown(0)}, "forest: has 2 inputs, must have 2 \\+ 1"),
        ({"observation_space": Discrete(3)}, "observation_space"),
        ({"action_space": Discrete(3)}, "action_space"),
        ({"action_search": "guess"}, "action_search"),
        ({"max_leaves": 0}, "max_leaves"),
        ({"periodic": {2: (0.0, 1.0)}}, "periodic"),
    ],
)
def test_a_greedy_policy_needs_parts_that_fit(changes, message):
    greedy = make_greedy()
    fields = {name: getattr(greedy, name) for name in ("forest", "observation_space", "action_space")}
    with pytest.raises(ValueError, match=message):
        pf.GreedyPolicy(**{**fields, **changes})

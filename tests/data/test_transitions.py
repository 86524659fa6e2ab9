"""Transitions: what they accept, and how they are cut and joined."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

import policyforest as pf
from policyforest.data.transitions import Transitions

ACTIONS = Box(-1.0, 1.0, (1,), np.float64)
STATES = Box(np.array([-2.0, -np.inf]), np.array([2.0, np.inf]), dtype=np.float64)


def fields(n=6, seed=0):
    generator = np.random.default_rng(seed)
    return {
        "states": generator.uniform(-1, 1, (n, 2)),
        "actions": generator.uniform(-1, 1, (n, 1)),
        "rewards": generator.normal(size=n),
        "next_states": generator.uniform(-1, 1, (n, 2)),
        "terminals": np.arange(n) % 3 == 2,
        "episodes": np.arange(n) // 3,
    }


def samples(n=6, seed=0, **changes):
    spaces = {"action_space": ACTIONS, "observation_space": STATES}
    return Transitions(**{**fields(n, seed), **spaces, **changes})


def assert_same(a, b):
    for name in ("states", "actions", "rewards", "next_states", "terminals", "episodes", "state_limits"):
        left, right = getattr(a, name), getattr(b, name)
        assert left.dtype == right.dtype
        assert np.array_equal(left, right), name
    assert (a.observation_space, a.action_space, a.periodic) == (
        b.observation_space,
        b.action_space,
        b.periodic,
    )


def test_holds_what_it_was_given_and_lets_nobody_write():
    given = fields()
    data = Transitions(**given, action_space=ACTIONS)
    given["states"][:] = 7.0
    assert data.states.max() < 1.0
    assert data.observation_space == Box(-np.inf, np.inf, (2,), np.float64)
    for name in ("states", "actions", "rewards", "next_states", "terminals", "episodes", "state_limits"):
        with pytest.raises(ValueError):
            getattr(data, name)[...] = 0
    with pytest.raises(AttributeError):
        data.states = given["states"]
    assert len(data) == 6
    assert data.n_episodes == 2
    assert "6 samples in 2 episodes, 2 terminal" in repr(data)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"states": np.empty((0, 2))}, "states: .*empty"),
        ({"states": np.zeros(6)}, "states: .*dimensions"),
        ({"states": np.full((6, 2), np.nan)}, "states: .*nan"),
        ({"next_states": np.full((6, 2), np.inf)}, "next_states: .*inf"),
        ({"next_states": np.zeros((6, 3))}, "next_states: .*shape"),
        ({"next_states": np.full((6, 2), 2.5)}, "next_states: row 0 .*limits"),
        ({"states": np.full((6, 2), -2.5)}, "states: row 0 .*limits"),
        ({"actions": np.zeros((5, 1))}, "actions: .*shape"),
        ({"actions": np.full((6, 1), 1.5)}, r"actions: row 0 is \[1.5\].*action space"),
        ({"rewards": np.zeros(5)}, "rewards: .*shape"),
        ({"rewards": np.array([0, 0, np.nan, 0, 0, 0])}, r"rewards: .*nan at \(2,\)"),
        ({"terminals": np.zeros(5, dtype=bool)}, "terminals: .*shape"),
        ({"episodes": np.arange(6) - 1}, "episodes: .*-1"),
        ({"episodes": np.zeros(5, dtype=int)}, "episodes: .*shape"),
        ({"action_space": Discrete(3)}, "action_space: .*discrete"),
        ({"action_space": Box(-np.inf, np.inf, (1,))}, "action_space: .*bounded"),
        ({"action_space": Box(0, 9, (1,), np.int64)}, "action_space: .*real"),
        ({"action_space": None}, "action_space"),
        ({"observation_space": Box(0, 255, (8, 8, 3), np.uint8)}, "observation_space: .*images"),
        ({"observation_space": Box(-3, 3, (3,))}, "states: .*shape"),
        ({"state_limits": [[0, 1]]}, "state_limits: .*shape"),
        ({"state_limits": [[1, 0], [0, 1]]}, "state_limits: .*exceed"),
        ({"periodic": {2: (-1.0, 1.0)}}, "periodic"),
        ({"periodic": {0: (1.0, -1.0)}}, "periodic"),
        ({"periodic": {0: (-1.0, np.inf)}}, "periodic"),
        ({"periodic": {0: (-0.1, 0.1)}}, "states: .*angle 0"),
    ],
)
def test_refuses(changes, message):
    with pytest.raises(ValueError, match=message):
        samples(**changes, outside="raise")


def test_rounding_to_float32_is_within_the_box():
    low, high = np.float64(np.float32(-1.0000002)), np.float64(np.nextafter(np.float32(1.0), np.float32(2.0)))
    rows = np.column_stack([np.linspace(low, high, 6), np.zeros(6)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for outside in ("warn", "raise"):
            data = samples(states=rows, next_states=rows, state_limits=[[-1, 1], [-1, 1]], outside=outside)
            assert data.n_outside == 0
    assert data.states.tolist() == rows.tolist()
    assert data.state_box()[0].tolist() == [low, high]


def test_excursions_are_kept_and_counted_with_one_warning():
    rows = np.zeros((6, 2))
    rows[2, 1], rows[4, 1] = -2.5, 3.5
    with pytest.warns(pf.ObservationWarning, match=r"2 of 6 .*dimension 1 .*\[-1, 1\].* -2.5 to 3.5") as told:
        data = samples(states=rows, next_states=np.zeros((6, 2)), state_limits=[[-1, 1], [-1, 1]])
    assert len(told) == 1
    assert told[0].filename == __file__
    assert data.n_outside == 2
    assert data.states.tolist() == rows.tolist()
    assert data.state_box().tolist() == [[-1.0, 1.0], [-2.5, 3.5]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert data[:4].n_outside == 1
        assert (data + data).n_outside == 4


def test_excursions_survive_a_file_without_another_warning(tmp_path):
    with pytest.warns(pf.ObservationWarning):
        data = samples(states=np.full((6, 2), -2.5), state_limits=[[-1, 1], [-1, 1]])
    data.save(tmp_path / "data.npz")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Transitions.load(tmp_path / "data.npz").n_outside == 6


def test_angles_beyond_their_turn_are_moved_by_whole_turns():
    rows = np.zeros((6, 2))
    rows[:, 0] = [-0.3, -0.1, 0.0, 0.1, np.float32(0.1), 0.35]
    data = samples(states=rows, next_states=rows, periodic={0: (-0.1, 0.1)})
    assert data.states[:, 0] == pytest.approx([-0.1, -0.1, 0.0, 0.1, -0.1, -0.05])


def test_outside_must_be_a_known_word():
    with pytest.raises(ValueError, match="outside: is 'clip', must be one of 'warn', 'raise', 'keep'"):
        samples(outside="clip")


@pytest.mark.parametrize(
    "changes",
    [
        {"states": np.full((6, 2), "a")},
        {"rewards": np.zeros(6, dtype=complex)},
        {"terminals": np.zeros(6)},
        {"episodes": np.zeros(6)},
    ],
)
def test_refuses_numbers_of_another_kind(changes):
    with pytest.raises(TypeError, match=next(iter(changes))):
        samples(**changes)


def test_terminal_next_states_may_lie_outside_the_limits():
    next_states = np.where(fields()["terminals"][:, None], 9.0, 0.0) * np.ones(2)
    data = samples(next_states=next_states)
    assert data.next_states.max() == 9.0


def test_episodes_follow_from_the_states_where_they_are_not_given():
    states = np.array([[0.0], [1.0], [2.0], [0.0], [1.0], [5.0]])
    next_states = np.array([[1.0], [2.0], [3.0], [1.0], [2.0], [6.0]])
    terminals = np.array([False, False, True, False, False, False])
    data = Transitions(states, np.zeros((6, 1)), np.zeros(6), next_states, terminals, action_space=ACTIONS)
    assert data.episodes.tolist() == [0, 0, 0, 1, 1, 2]


def test_episodes_become_samples_whose_last_one_may_be_terminal():
    rng = np.random.default_rng(3)
    played = [
        SimpleNamespace(
            states=rng.uniform(-1, 1, (n + 1, 2)),
            actions=rng.uniform(-1, 1, (n, 1)),
            rewards=rng.normal(size=n),
            terminal=terminal,
        )
        for n, terminal in ((3, True), (1, False), (0, True), (2, True))
    ]
    limits = [[-1.0, 1.0], [-2.0, 2.0]]
    data = Transitions.from_episodes(played, action_space=ACTIONS, state_limits=limits, periodic={0: (-1.0, 1.0)})
    assert data.episodes.tolist() == [0, 0, 0, 1, 3, 3]
    assert data.terminals.tolist() == [False, False, True, False, False, True]
    steps = [(episode, t) for episode in played for t in range(len(episode.rewards))]
    for row, (episode, t) in enumerate(steps):
        assert data.states[row].tobytes() == episode.states[t].tobytes()
        assert data.actions[row].tobytes() == episode.actions[t].tobytes()
        assert data.rewards[row] == episode.rewards[t]
        assert data.next_states[row].tobytes() == episode.states[t + 1].tobytes()
    assert data.state_limits.tolist() == limits
    assert data.periodic == {0: (-1.0, 1.0)}
    with pytest.raises(ValueError, match="episodes: is empty"):
        Transitions.from_episodes([], action_space=ACTIONS)


def test_state_box_takes_limits_where_there_are_any_and_data_elsewhere():
    data = samples()
    alive = data.next_states[~data.terminals]
    seen = np.concatenate([data.states, alive])[:, 1]
    assert data.state_box().tolist() == [[-2.0, 2.0], [seen.min(), seen.max()]]
    assert data.unbounded == (1,)
    limited = samples(state_limits=[[-1.5, 1.5], [-3.0, np.inf]])
    assert limited.state_box().tolist() == [[-1.5, 1.5], [-3.0, seen.max()]]
    assert limited.unbounded == (1,)
    everything_ends = samples(terminals=np.ones(6, dtype=bool))
    assert everything_ends.state_box()[1].tolist() == [data.states[:, 1].min(), data.states[:, 1].max()]


def test_rows_are_chosen_by_slice_numbers_or_mask():
    data = samples(periodic={0: (-2.0, 2.0)})
    assert data[2:5].episodes.tolist() == [0, 1, 1]
    assert np.array_equal(data[[5, 0]].rewards, data.rewards[[5, 0]])
    assert np.array_equal(data[data.terminals].states, data.states[data.terminals])
    assert data[::2].periodic == data.periodic
    assert data[::2].observation_space == STATES


@pytest.mark.parametrize("rows", [0, 1.5, [0.5], [[0, 1]], "a", None])
def test_other_row_choices_are_refused(rows):
    with pytest.raises(TypeError, match="rows"):
        samples()[rows]


def test_choosing_nothing_is_refused():
    with pytest.raises(ValueError, match="empty"):
        samples()[:0]
    with pytest.raises(IndexError):
        samples()[[17]]


def test_joining_keeps_episodes_apart():
    a, b = samples(6), samples(3, seed=1)
    joined = a + b
    assert joined.episodes.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert np.array_equal(joined.states, np.concatenate([a.states, b.states]))
    three = Transitions.concatenate([b, a, b])
    assert three.n_episodes == 4
    assert_same(Transitions.concatenate([a]), a)


def test_joining_needs_the_same_problem():
    data = samples()
    others = {
        "action_space": Box(-1.5, 1.5, (1,), np.float64),
        "observation_space": Box(-3, 3, (2,), np.float64),
        "state_limits": [[-1.0, 1.0], [-1.0, 1.0]],
        "periodic": {0: (-2.0, 2.0)},
    }
    for name, value in others.items():
        with pytest.raises(ValueError, match=name):
            data + samples(**{name: value})
    with pytest.raises(ValueError, match="parts"):
        Transitions.concatenate([])
    with pytest.raises(TypeError):
        data + 1

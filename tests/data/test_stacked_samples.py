"""Samples of a state that is made of signals: history, past actions, derived columns and columns from outside."""

import numpy as np
import pytest
from gymnasium.spaces import Box
from hypothesis import given
from hypothesis import strategies as st

import policyforest as pf
from oracles import signals as oracle
from signal_samples import ACTIONS, run_of


@given(st.integers(1, 4), st.integers(0, 4), st.booleans(), st.integers(1, 9), st.integers(1, 3))
def test_stacked_samples_are_the_last_rows_and_actions(history, past, known, n, episodes):
    data = run_of(n, seed=n, episodes=episodes)
    expected, lost = [], 0
    for e in range(episodes):
        part = data[data.episodes == e]
        rows = [*part.states.tolist(), part.next_states[-1].tolist()]
        states = oracle.stacked(rows, part.actions.tolist(), history, past, [0.0] if known else None)
        pairs = [(states[t], states[t + 1]) for t in range(n) if states[t] is not None]
        expected += pairs
        lost += n - len(pairs)
    before = "idle" if known else "unknown"
    if not expected:
        with pytest.raises(ValueError, match=f"history: is {history} with {past} past actions.*the longest has {n}"):
            data.with_signals(history=history, history_actions=past, before=before)
        return
    made = data.with_signals(history=history, history_actions=past, before=before)
    assert made.states.tolist() == [here for here, _ in expected]
    assert made.next_states.tolist() == [ahead for _, ahead in expected]
    assert made.n_lost == lost
    assert len(made) + lost == len(data)


def test_names_limits_and_angles_of_a_stacked_state():
    data = pf.collect("policyforest/SwingUp-v0", episodes=2, seed=0, max_steps=10, history=2, history_actions=1)
    assert data.plant.state_names == ("theta", "omega", "theta_1", "omega_1", "u_1")
    assert list(data.periodic) == [0, 2]
    assert data.state_limits[4].tolist() == [data.action_space.low[0], data.action_space.high[0]]
    assert data.n_lost == 2
    assert data.plant.signals.state_names == data.plant.state_names


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"history": 0}, "history: is 0, must be"),
        ({"history": 2.5}, "history: is 2.5, must be a whole number"),
        ({"history_actions": -1}, "history_actions: is -1"),
        ({"history": 30}, "history: is 30 .*the longest has 15"),
        ({"delay": 40}, "delay: is 40, must be below 15, the number of rows of the longest episode"),
        ({"delay": 40, "before": "idle"}, "delay: is 40, must be below 15, the number of rows of the longest episode"),
        (
            {"delay": "auto", "history": 12},
            "delay: episodes must have more than 27 rows to find a delay of up to 5 steps",
        ),
        ({"delay": "soon"}, "delay: is 'soon', must be a whole number"),
        ({"derive": ["v"]}, "derive: is 'v', must be 'name = formula'"),
        ({"derive": ["v = diff(z, 1)"]}, "derive: v: names z, the known names are x, y"),
        ({"derive": ["v = diff(x, dt)"]}, "derive: v: names dt, but the control period is not known"),
        ({"derive": ["v = exp(x)"]}, "derive: v: has 'exp"),
        ({"derive": ["v = ema(x, 2)"]}, "ema has the share 2, must be above 0 and at most 1"),
        ({"derive": ["v = diff(x, 0)"]}, "diff has 0 as its second argument"),
        ({"derive": ["x = y"]}, "derive: 'x' is the name of a measured column, must be a new name"),
        ({"derive": ["u = y"]}, "derive: 'u' is the name of an action, must be a new name"),
        ({"derive": ["v = y", "v = x"]}, "derive: 'v' is the name of another derived column, must be a new name"),
        (
            {"derive": ["x_1 = y"], "history": 2},
            "derive: 'x_1' must be another name, because the state holds a past row",
        ),
        ({"derive": ["u_1 = y"], "delay": 1}, r"derive: 'u_1' must be another name, .*\(history 1, 1 past actions\)"),
        ({"derive": ["v = 1/(x-x)"]}, "derive: v = 1/[(]x-x[)] is (inf|nan) at .*, must be finite"),
        ({"channels": ["z"]}, "channels: names 'z', the known names are x, y"),
        ({"period": 0}, "period: is 0"),
        ({"max_rate": 0}, r"max_rate\[0\]: is 0, must be above 0"),
        ({"max_rate": [1, 2]}, "max_rate: has 2 numbers, must have one per action"),
        ({"max_rate": 0.1, "quantum": 0.5}, r"max_rate\[0\]: is 0.1, must be at least the quantum 0.5"),
        ({"quantum": -1}, r"quantum\[0\]: is -1"),
        ({"quantum": 1e3}, r"quantum\[0\]: is 1000, must be smaller: only one multiple of it lies in"),
        ({"idle": 5}, r"idle\[0\]: is 5.*must lie within"),
        ({"memory": 5}, "memory: is not an option"),
    ],
)
def test_options_that_do_not_fit_are_refused(options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        run_of(15).with_signals(**options)


def test_nothing_asked_for_changes_nothing():
    data = run_of(5)
    assert data.with_signals() is data
    with pytest.raises(ValueError, match="signals: the samples already have signals"):
        data.with_signals(history=2).with_signals(history=2)


def test_files_of_samples_keep_signals(tmp_path):
    data = run_of(9).with_signals(history=3, history_actions=1)
    data.save(tmp_path / "d.npz")
    loaded = pf.Transitions.load(tmp_path / "d.npz")
    assert (loaded.plant, loaded.n_lost) == (data.plant, data.n_lost)


def test_exogenous_columns_are_declared_by_name():
    data = run_of(20).with_signals(exogenous=["y"])
    assert data.plant.exogenous == ("y",)
    assert pf.DynamicsForest().fit(data).exogenous == (1,)
    assert run_of(20).with_signals(exogenous=["y"], history=2).plant.exogenous == ("y",)
    with pytest.raises(ValueError, match="exogenous: is 'z', must be one of x, y"):
        run_of(20).with_signals(exogenous=["z"])


def test_transitions_take_the_options_themselves():
    data = run_of(20)
    rows = (data.states, data.actions, data.rewards, data.next_states, data.terminals, data.episodes)
    how = {"action_space": ACTIONS, "plant": pf.Plant(("x", "y"), ("u",))}
    made, same = pf.Transitions(*rows, **how, history=2, delay=1), data.with_signals(history=2, delay=1)
    assert np.array_equal(made.states, same.states)
    assert (made.plant, made.n_lost) == (same.plant, same.n_lost)
    assert made.plant.delay == 1
    with pytest.raises(TypeError, match="depth: is not an option"):
        pf.Transitions(*rows, **how, depth=2)


def test_a_set_point_is_held_previewed_or_drawn_in_plans():
    rng = np.random.default_rng(0)
    n = 400
    point = rng.uniform(-1, 1, n + 2)  # jumps at every step: its changes are large
    level, rows = 0.0, []
    pushes = rng.uniform(-1, 1, n)
    for t in range(n):
        rows.append([level, point[t], point[t + 1]])
        level = 0.8 * level + 0.2 * pushes[t]
    states = np.array([*rows, [level, point[n], point[n + 1]]])
    plant = pf.Plant(("level", "setpoint", "ahead"), ("u",))
    rewards = -((states[1:, 0] - states[:-1, 1]) ** 2)
    told = (states[:-1], pushes[:, None], rewards, states[1:], np.zeros(n, bool), np.arange(n) // 40)

    def next_point(**options):
        data = pf.Transitions(*told, action_space=Box(-1, 1, (1,), np.float64), plant=plant, **options)
        model = pf.DynamicsForest().fit(data)
        assert model.is_good
        draws = np.arange(50, dtype=np.uint32)
        here, idle = np.tile([0.0, 0.25, 0.5], (50, 1)), np.zeros((50, 1))
        return model.native.step(here, idle, draws, False)[0][:, 1]

    assert set(next_point(exogenous=["setpoint", "ahead"], held=["setpoint"])) == {0.25}
    assert set(next_point(exogenous=["ahead"], previewed=["setpoint = ahead"])) == {0.5}
    assert len(set(next_point(exogenous=["setpoint", "ahead"]))) > 20


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"held": ["z"]}, "held, previewed: is 'z', must be one of x, y"),
        ({"previewed": ["y"]}, "previewed: is 'y', must be 'name = column that holds its next value'"),
        ({"held": ["y"], "previewed": ["y = x"]}, "held, previewed: name 'y' twice, must name a column once"),
    ],
)
def test_columns_from_outside_that_do_not_fit_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        run_of(15).with_signals(**options)


def test_what_is_known_of_outside_columns_survives_a_file(tmp_path):
    data = run_of(20).with_signals(history=2, held=["y"], delay=1)
    data.save(tmp_path / "log.npz")
    assert pf.Transitions.load(tmp_path / "log.npz").plant == data.plant
    assert data.plant.follows == (("y", "y"),)

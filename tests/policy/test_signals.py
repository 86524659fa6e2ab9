"""Signals: history, delay, derived columns and actuators, in samples, in controllers and in files."""

import math
import warnings
from dataclasses import replace

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces import Box
from hypothesis import given, settings
from hypothesis import strategies as st

import policyforest as pf
from oracles import signals as oracle
from policyforest._support.signal_formulas import Memory
from policyforest._support.signals import Actuators, Signals
from policyforest.environments.limited_actuators import DelayedActions, LimitedActuators

PENDULUM = "policyforest/InvertedPendulum6kg-v0"
ACTIONS = Box(-2.0, 2.0, (1,), np.float64)
numbers = st.floats(-5, 5, allow_subnormal=False).map(lambda x: round(x, 6))


def run_of(n, seed=0, width=2, episodes=1):
    """Samples of random walks, as one or more episodes of n rows."""
    rng = np.random.default_rng(seed)
    states = rng.normal(size=(episodes, n + 1, width)).cumsum(axis=1)
    parts = np.arange(episodes).repeat(n)
    rows = states[:, :-1].reshape(-1, width), states[:, 1:].reshape(-1, width)
    actions = rng.uniform(-2, 2, (episodes * n, 1))
    return pf.Transitions(
        rows[0], actions, rng.normal(size=n * episodes), rows[1], np.zeros(n * episodes, bool), parts,
        action_space=ACTIONS, plant=pf.Plant(("x", "y"), ("u",)),
    )  # fmt: skip


def some_policy(signals, seed=0):
    """A forest over the states that signals make."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(300, signals.n_states))
    forest = pf.grow_forest(
        rows, np.tanh(rows.sum(axis=1)) * 2, n_estimators=5, leaf_model="linear", min_samples_leaf=30
    )
    states = Box(-np.inf, np.inf, (signals.n_states,), np.float64)
    return pf.Policy((forest,), states, ACTIONS, signals=signals)


@given(
    st.lists(st.tuples(numbers, numbers), min_size=2, max_size=12),
    st.floats(0.01, 2.0),
    st.floats(0.05, 1.0),
)
def test_filters_are_what_they_say(rows, dt, share):
    made = Signals(
        ("x", "y"), ("u",), derived=(("dx", "diff(x, dt)"), ("f", f"ema(y, {share!r})"), ("g", f"ema(dx, {share!r})")),
        period=dt,
    )  # fmt: skip
    values, ready = made.program.run(np.array(rows), Memory())
    xs, ys = zip(*rows, strict=True)
    change = oracle.differences(xs, dt)
    assert ready.tolist() == [False] + [True] * (len(rows) - 1)
    assert values[1:, 0].tolist() == change[1:]
    assert values[:, 1].tolist() == oracle.filtered(ys, share)
    assert values[1:, 2].tolist() == oracle.filtered(change[1:], share)


@given(st.lists(st.floats(-1e4, 1e4), min_size=1, max_size=50))
def test_sine_and_cosine_are_within_rounding(xs):
    made = Signals(("x",), ("u",), derived=(("s", "sin(x)"), ("c", "cos(x)")))
    values, _ = made.program.run(np.array(xs)[:, None], Memory())
    assert values[:, 0] == pytest.approx(np.sin(xs), rel=0, abs=3e-16)
    assert values[:, 1] == pytest.approx(np.cos(xs), rel=0, abs=3e-16)


def test_the_difference_of_an_angle_goes_the_short_way_round():
    made = Signals(
        ("x",), ("u",), derived=(("w", "diff(x, 0.5)"),), periodic=(("x", -math.pi, math.pi),)
    )  # fmt: skip
    rows = [3.1, -3.1, 3.0]
    values, _ = made.program.run(np.array(rows)[:, None], Memory())
    assert values[1:, 0].tolist() == oracle.differences(rows, 0.5, (-math.pi, math.pi))[1:]
    assert abs(values[1, 0]) < 0.2


@given(
    numbers, numbers, st.sampled_from([math.inf, 0.3, 1.0]), st.sampled_from([0.0, 0.4]), st.sampled_from([0.0, 0.25])
)
def test_actuators_are_what_they_say(command, before, rate, dead, quantum):
    command, before = np.clip([command, before], -2, 2)
    if quantum:
        before = quantum * math.floor(before / quantum)
    limits = Actuators((rate,), (dead,), (quantum,)).checked(np.array([[-2.0, 2.0]]))
    found = limits.applied(np.array([[command]]), np.array([[before]]), np.array([[-2.0, 2.0]]))[0, 0]
    assert found == oracle.actuated(command, before, -2.0, 2.0, rate, dead, quantum)
    assert abs(found - before) <= rate * (1 + 1e-12)


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


@settings(max_examples=20)
@given(st.integers(1, 3), st.integers(0, 3), st.sampled_from([None, 0.5]), st.integers(0, 99))
def test_a_controller_acts_on_the_state_that_the_samples_have(history, past, rate, seed):
    limits = {} if rate is None else {"max_rate": rate}
    data = run_of(15, seed).with_signals(
        history=history, history_actions=past, derive=["v = diff(x, dt)", "f = ema(v, 0.3)"], period=0.1,
        before="idle", **limits,
    )  # fmt: skip
    signals = data.plant.signals
    policy = some_policy(signals, seed)
    controller = policy.controller()
    controller.reset()
    measured, actions = run_of(15, seed).states, []
    for row in measured:
        actions.append(controller.step(row))
        if controller.state is not None and len(actions) > signals.warm_up:
            newest = controller.state[: len(signals.channel_names)]
            assert np.array_equal(newest[:2], row)
    assert all((a == 0).all() for a in actions[: signals.warm_up])
    if rate is not None:
        assert np.abs(np.diff([0.0, *np.concatenate(actions)])).max() <= rate * (1 + 1e-12)
    # The same run as samples: the policy's actions at their states are the controller's.
    told = pf.Transitions(
        measured[:-1], np.array(actions[:-1]), np.zeros(14), measured[1:], np.zeros(14, bool), action_space=ACTIONS,
        plant=pf.Plant(("x", "y"), ("u",)),
    ).with_signals(
        history=history, history_actions=past, derive=["v = diff(x, dt)", "f = ema(v, 0.3)"], period=0.1,
        before="idle", **limits,
    )  # fmt: skip
    commands = policy.act_batch(told.states)
    last = (
        told.states[:, [len(signals.channel_names) * history]] if signals.history_actions else np.zeros_like(commands)
    )
    taken = signals.actuators.applied(commands, last, np.array([[-2.0, 2.0]]))
    assert np.array_equal(taken, np.array(actions[signals.warm_up : -1]))


def test_a_policy_without_signals_has_a_controller_too():
    policy = some_policy(Signals(("x", "y"), ("u",))).with_signals(None)
    controller = policy.controller()
    controller.reset()
    assert np.array_equal(controller.step([0.3, 0.1]), policy.act([0.3, 0.1]))


@pytest.mark.parametrize(
    ("observation", "error", "message"),
    [
        ([1.0], ValueError, r"observation: has shape \(1,\), must have shape \(2,\): x, y"),
        ([1.0, math.nan], ValueError, "observation: is .*nan.*must be finite"),
        (["a", "b"], TypeError, "observation: holds"),
    ],
)
def test_a_controller_refuses_what_is_no_measurement(observation, error, message):
    controller = some_policy(Signals(("x", "y"), ("u",))).controller()
    with pytest.raises(RuntimeError, match="step: reset was not called"):
        controller.step([0.0, 0.0])
    controller.reset()
    with pytest.raises(error, match=message):
        controller.step(observation)


@pytest.mark.parametrize("bad", [[1.0, 0.0], [math.nan, 1.0], [1.0]])
def test_a_measurement_that_is_refused_breaks_the_history_and_counts_as_an_idle_step(bad):
    signals = Signals(
        ("x", "y"), ("u",), derived=(("q", "clip(x / y, -3, 3)"), ("w", "diff(x, 1)")), history=2, history_actions=1,
        actuators=Actuators(max_rate=(0.5,)), idle=(0.25,),
    )  # fmt: skip
    controller = some_policy(signals).controller()
    controller.reset()
    for row in ([0.1, 1.0], [0.2, 1.0], [0.3, 1.0]):
        before = controller.step(row)
    assert controller.state is not None
    with pytest.raises(ValueError, match="observation: "):
        controller.step(bad)
    assert controller.state is None
    expected = np.clip(0.25, before - 0.5, before + 0.5)
    assert np.array_equal(controller.last_action, expected)
    for row in ([0.4, 1.0], [0.5, 1.0]):  # the difference and the second row are not known again
        assert np.array_equal(controller.step(row), np.clip(0.25, expected - 0.5, expected + 0.5))
        expected = controller.last_action
        assert controller.state is None
    controller.step([0.6, 1.0])
    assert controller.state is not None
    assert np.allclose(controller.state[[0, 4]], [0.6, 0.5])


@pytest.mark.parametrize("formula", [
    "clip(x / y, -1, 1)", "min(x / y, 1)", "max(-x / y, 1)", "sign(x / y)", "x / (x / y)", "1 if x / y > 0 else 0",
    "not x / y", "x > 5 or x / y", "x < 5 and x / y", "ema(clip(x / y, -1, 1), 0.5)", "abs(sign(y / y))",
])  # fmt: skip
def test_a_division_by_zero_in_a_derived_signal_is_not_hidden(formula):
    signals = Signals(("x", "y"), ("u",), derived=(("q", formula),))
    controller = some_policy(signals).controller()
    controller.reset()
    assert controller.step([1.0, 2.0]).shape == (1,)
    with pytest.raises(ValueError, match=r"q = .* is not finite at"):
        controller.step([1.0, 0.0])
    rows = np.array([[1.0, 1.0], [1.0, 0.0], [1.0, 3.0], [1.0, 4.0]])
    data = pf.Transitions(
        rows[:-1], np.zeros((3, 1)), np.zeros(3), rows[1:], np.zeros(3, bool), np.zeros(3, int), action_space=ACTIONS,
        plant=pf.Plant(("x", "y"), ("u",)),
    )  # fmt: skip
    with pytest.raises(ValueError, match=r"derive: q = .* at .*1.0, 0.0.*is there a division by zero"):
        data.with_signals(derive=[f"q = {formula}"])


@pytest.mark.parametrize("formula", ["x / y if y > 0 else 0", "y > 0 and x / y", "y == 0 or x / y", "x / max(y, 1)"])
def test_a_division_that_does_not_matter_is_no_error(formula):
    signals = Signals(("x", "y"), ("u",), derived=(("q", formula),))
    controller = some_policy(signals).controller()
    controller.reset()
    controller.step([1.0, 0.0])
    assert np.isfinite(controller.state).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"history": 0}, "history: is 0, must be"),
        ({"history": 2.5}, "history: is 2.5, must be a whole number"),
        ({"history_actions": -1}, "history_actions: is -1"),
        ({"history": 30}, "history: is 30 .*the longest has 15"),
        ({"delay": 40}, "delay: is 40, must be below 15, the rows of the longest episode"),
        ({"delay": 40, "before": "idle"}, "delay: is 40, must be below 15, the rows of the longest episode"),
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


def test_a_dead_zone_needs_zero_among_the_actions():
    with pytest.raises(ValueError, match=r"dead_zone\[0\]: is 0.1, but 0 is not an action in \[1, 2\]"):
        Actuators(dead_zone=(0.1,)).checked(np.array([[1.0, 2.0]]))


def test_nothing_asked_for_changes_nothing():
    data = run_of(5)
    assert data.with_signals() is data
    with pytest.raises(ValueError, match="signals: the samples already have signals"):
        data.with_signals(history=2).with_signals(history=2)


def test_files_of_policies_keep_signals_and_old_files_have_none(tmp_path):
    signals = run_of(9).with_signals(
        history=2, derive=["v = diff(x, dt)"], period=0.1, max_rate=0.5, dead_zone=0.1, quantum=0.05
    ).plant.signals  # fmt: skip
    policy = some_policy(signals)
    policy.save(tmp_path / "p.pforest")
    loaded = pf.load(tmp_path / "p.pforest")
    assert loaded.signals == signals
    plain = policy.with_signals(None)
    plain.save(tmp_path / "plain.pforest")
    assert b'\\"version\\": 1,' in (tmp_path / "plain.pforest").read_bytes()
    assert pf.load(tmp_path / "plain.pforest").signals is None
    ours, theirs = policy.controller(), loaded.controller()
    ours.reset()
    theirs.reset()
    for row in run_of(9).states:
        assert np.array_equal(ours.step(row), theirs.step(row))


@pytest.mark.parametrize(
    "change",
    [
        {"history": 0},
        {"history": 10**9},
        {"history": "2"},
        {"measured": []},
        {"measured": ["x", 3]},
        {"derived": [["v", "__import__('os')"]]},
        {"derived": [["v"]]},
        {"actuators": {}},
        {"actuators": {"max_rate": [-1.0], "dead_zone": [], "quantum": []}},
        {"actuators": {"max_rate": ["a"], "dead_zone": [], "quantum": []}},
        {"idle": [1.0, 2.0]},
        {"period": -1.0},
        {"periodic": [["x", 1.0]]},
        {"more": 1},
        {"measured": ["x"]},
    ],
)
def test_hostile_signals_in_a_file_are_refused(change, tmp_path):
    from policyforest._support.tensor_files import read_arrays, read_header, write_tensors

    policy = some_policy(Signals(("x", "y"), ("u",), history=2, history_actions=1))
    policy.save(tmp_path / "p.pforest")
    with (tmp_path / "p.pforest").open("rb") as file:
        content, entries = read_header(file)
        arrays = read_arrays(file, entries)
    content["signals"] = content["signals"] | change
    write_tensors(tmp_path / "bad.pforest", arrays, content)
    with pytest.raises(ValueError, match=r"bad.pforest: is not a policy that can be loaded"):
        pf.load(tmp_path / "bad.pforest")


def test_files_of_samples_keep_signals(tmp_path):
    data = run_of(9).with_signals(history=3, history_actions=1)
    data.save(tmp_path / "d.npz")
    loaded = pf.Transitions.load(tmp_path / "d.npz")
    assert (loaded.plant, loaded.n_lost) == (data.plant, data.n_lost)


@pytest.mark.parametrize("delay", [0, 1, 3])
def test_the_delay_of_commands_is_found_with_evidence(delay):
    env = DelayedActions(gym.make(PENDULUM), delay)
    found = pf.find_delay(pf.collect(env, episodes=60, seed=5), before="idle")
    assert found.delay == delay
    assert found.certain
    assert [row.delay for row in found.table] == [0, 1, 2, 3, 4, 5]
    assert f"commands act {delay} step{'' if delay == 1 else 's'} late (certain)" in str(found)
    data = pf.collect(env, episodes=60, seed=5, delay="auto")
    expected = pf.collect(env, episodes=60, seed=5, delay=delay)
    assert data.plant == expected.plant


@pytest.mark.parametrize("delay", [0, 1, 2, 3])
@pytest.mark.parametrize("history", [2, 3])
def test_a_history_that_is_not_needed_does_not_shorten_the_delay(delay, history):
    data = pf.collect(DelayedActions(gym.make(PENDULUM), delay), episodes=60, seed=1)
    found = pf.find_delay(data, history=history, before="idle")
    assert found.delay == delay
    assert found.certain


def test_an_episode_that_is_hard_to_predict_does_not_hide_the_delay():
    """One of these six episodes begins where the others never were, and its errors are larger than all others."""
    data = pf.collect(DelayedActions(gym.make("Pendulum-v1"), 2), episodes=6, seed=1)
    assert pf.find_delay(data, before="idle").delay == 2


def test_commands_without_effect_are_not_late():
    data = pf.collect(gym.make(PENDULUM), episodes=40, seed=3)
    others = np.random.default_rng(0).uniform(-50.0, 50.0, data.actions.shape)
    found = pf.find_delay(replace(data, actions=others), history=2, before="idle")
    assert (found.delay, found.certain) == (0, False)


def test_a_delay_is_found_where_speeds_are_not_measured():
    class Angle(gym.ObservationWrapper):
        observation_space = Box(-np.inf, np.inf, (1,), np.float64)

        def observation(self, observation):
            return observation[:1]

    env = Angle(DelayedActions(gym.make(PENDULUM), 2))
    data = pf.collect(env, episodes=80, seed=2, history=2, delay="auto")
    assert (data.plant.signals.history, data.plant.signals.history_actions) == (2, 3)


def test_a_delay_cannot_be_found_in_too_few_rows():
    with pytest.raises(ValueError, match="delay: only 10 rows have 5 past actions, must be at least 30"):
        pf.find_delay(run_of(15))


def test_the_model_knows_history_and_actuators_exactly():
    env = DelayedActions(gym.make(PENDULUM), 1)
    data = pf.collect(env, episodes=60, seed=0, delay=1, max_rate=20.0, quantum=0.5, dead_zone=2.0)
    assert np.abs(data.actions - data.states[:, [2]]).max() <= 20.0
    assert np.array_equal(np.round(data.actions / 0.5) * 0.5, data.actions)
    model = pf.DynamicsForest().fit(data)
    assert model.structure.copies == ((2, 3),)
    states, commands = data.states[:200], np.linspace(-50, 50, 200)[:, None]
    ahead = model.native.step(np.ascontiguousarray(states), commands, None, False)[0]
    expected = [
        oracle.actuated(c, b, -50, 50, 20.0, 2.0, 0.5) for c, b in zip(commands[:, 0], states[:, 2], strict=True)
    ]
    assert ahead[:, 2].tolist() == expected
    drawn = model.sample(300, 1)
    assert np.array_equal(drawn.next_states[:, 2], drawn.actions[:, 0])


def test_samples_and_policies_go_through_limited_actuators():
    env = LimitedActuators(gym.make(PENDULUM), Actuators(max_rate=(5.0,)))
    data = pf.collect(env, episodes=5, seed=0)
    first = np.unique(data.episodes, return_index=True)[1]
    assert np.abs(data.actions[first]).max() <= 5.0
    inside = np.diff(data.episodes) == 0
    assert np.abs(np.diff(data.actions[:, 0]))[inside].max() <= 5.0 * (1 + 1e-12)


def test_a_learned_policy_keeps_its_signals_and_is_evaluated_on_measurements():
    env = DelayedActions(gym.make("policyforest/DoubleIntegrator-v0"), 1)  # without noise, planning takes seconds
    data = pf.collect(env, episodes=30, seed=0, delay="auto", max_rate=0.9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pf.PlanningWarning)
        policy = pf.learn(data, discount=0.9)
    assert policy.signals == data.plant.signals
    assert policy.signals.history_actions == 1
    assert pf.evaluate(policy, env, episodes=2, max_steps=50).lengths.min() == 50  # random actions: 7 steps
    with pytest.raises(ValueError, match="policy: it measures p, v; must measure 3 numbers"):
        pf.evaluate(policy, "Pendulum-v1", episodes=1)


def test_an_agent_explores_on_stacked_states_and_its_policy_runs_on_measurements(tmp_path):
    from exploring import small_agent

    options = {"history": 2, "history_actions": 1, "max_rate": 10.0}
    env = pf.SignalTask(gym.make(PENDULUM), **options)
    agent = small_agent(env, run_dir=tmp_path / "run").learn(episodes=3)
    data = agent.transitions
    assert data.plant.state_names == ("theta", "omega", "theta_1", "omega_1", "u_1")
    assert np.abs(data.actions - data.states[:, [4]]).max() <= 10.0 * (1 + 1e-12)
    assert env.n_filling >= 3
    policy = agent.policies(1)[0]
    assert policy.signals == env.plant.signals
    inside = pf.evaluate(policy, env, episodes=1, max_steps=5)
    outside = pf.evaluate(policy, gym.make(PENDULUM), episodes=1, max_steps=6)
    assert outside.lengths[0] == inside.lengths[0] + 1  # the step while the history fills
    agent.run.close()


def csv_log(path, delay=0, n=300, jitter=0.0):
    """A mass on a spring, pushed at random, as a CSV log; commands act some rows late."""
    rng = np.random.default_rng(0)
    x, v, time, pushes = 0.3, 0.0, 0.0, rng.uniform(-1, 1, n).tolist()
    rows = ["t,x,u,episode"]
    for t in range(n):
        rows.append(f"{time!r},{x!r},{pushes[t]!r},{t // 60}")
        u = pushes[t - delay] if t >= delay else 0.0
        v += 0.1 * (u - x)
        x += 0.1 * v
        time += 0.1 + jitter * float(rng.random())
    path.write_text("\n".join(rows))
    return path


LOG = {"state": ["x"], "action": ["u"], "episode": "episode", "time": "t", "reward": "-x**2"}


def test_a_log_is_read_with_history_and_counts_what_it_loses(tmp_path):
    path = csv_log(tmp_path / "log.csv", delay=2)
    log = pf.read_log(path, **LOG, delay="auto", history=2, derive=["v = diff(x, dt)"])
    assert log.transitions.plant.state_names == ("x", "v", "x_1", "v_1", "u_1", "u_2", "u_3")
    assert log.transitions.plant.signals.period == pytest.approx(0.1)
    assert log.description.n_lost == log.transitions.n_lost == 5 * 3
    assert "commands act 2 steps late (certain)" in log.description.delay
    plain = pf.read_log(path, **LOG)
    assert len(plain.transitions) == len(log.transitions) + 15


def test_a_log_whose_period_changes_is_refused_for_history_and_resampled_on_request(tmp_path):
    path = csv_log(tmp_path / "log.csv", jitter=0.2)
    with pytest.raises(ValueError, match=r"period: the time between rows varies by .* s around .* s \(160 of 300 rows"):
        pf.read_log(path, **LOG, history=2)
    assert pf.read_log(path, **LOG, history=2, period=0.2).transitions.plant.signals.period == 0.2
    assert len(pf.read_log(path, **LOG).transitions) > 0


def test_commands_take_history_and_report_lost_rows(tmp_path):
    import json

    from cli_runs import run

    path = csv_log(tmp_path / "log.csv", delay=1)
    options = ["--state", "x", "--action", "u", "--episode", "episode", "--time", "t", "--reward", "-x**2"]
    told = run("data", path, *options, "--delay", "auto", "--history", "2").stdout
    assert "10 samples lost, because their history is not known" in told
    assert "commands act 1 step late (certain)" in told
    output = tmp_path / "p.pforest"
    arguments = ["--history", "2", "--derive", "v = diff(x, dt)", "--max-rate", "0.5", "--json"]
    done = json.loads(run("learn", "--data", path, *options, *arguments, "-o", output).stdout)
    assert done["state"] == ["x", "v", "x_1", "v_1", "u_1"]
    assert done["lost"] == 10
    assert pf.load(output).signals.actuators.max_rate == (0.5,)
    message = run("learn", "inverted-pendulum-6kg", "--max-rate", "fast", code=2).stderr
    assert "--max-rate: is 'fast', must be numbers" in message


def test_exogenous_columns_are_declared_by_name():
    data = run_of(20).with_signals(exogenous=["y"])
    assert data.plant.exogenous == ("y",)
    assert pf.DynamicsForest().fit(data).exogenous == (1,)
    assert run_of(20).with_signals(exogenous=["y"], history=2).plant.exogenous == ("y",)
    with pytest.raises(ValueError, match="exogenous: is 'z', must be one of x, y"):
        run_of(20).with_signals(exogenous=["z"])


def test_a_signal_task_finds_the_delay_itself_and_says_how():
    env = pf.SignalTask(pf.DelayedActions(gym.make(PENDULUM), 2), delay="auto")
    assert env.plant.delay == 2
    assert env.plant.state_names == ("theta", "omega", "u_1", "u_2")
    assert env.evidence is not None
    assert "commands act 2 steps late (certain)" in str(env.evidence)
    assert pf.SignalTask(gym.make(PENDULUM), delay=1).evidence is None


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

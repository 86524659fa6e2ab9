"""A controller that is already there: its forms, exploring around it, and comparing with it offline."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces import Box

import policyforest as pf
from cli_runs import run
from exploring import small_agent

PENDULUM = "policyforest/InvertedPendulum6kg-v0"
STATES, ACTIONS = Box(-np.inf, np.inf, (2,), np.float64), Box(-50.0, 50.0, (1,), np.float64)
NAMES = (("theta", "omega"), ("u",))
WEAK, BAD = "u = clip(30*theta + 12*omega, -50, 50)", "u = clip(-30*theta, -50, 50)"


def baseline(law):
    return pf.as_baseline(law, STATES, ACTIONS, *NAMES)


@pytest.fixture(scope="module")
def own_episodes():
    """What the weak controller logs with a little noise."""
    noisy = pf.NoisyBaseline(baseline(WEAK), (5.0,), seed=1)
    return pf.collect(PENDULUM, noisy, episodes=30, seed=0, max_steps=60)


def test_a_formula_a_function_and_a_policy_are_baselines():
    rows = np.random.default_rng(0).normal(size=(20, 2))
    wanted = np.clip(30 * rows[:, :1] + 12 * rows[:, 1:], -50, 50)
    by_formula = baseline(WEAK)
    by_function = baseline(lambda state: np.clip(30 * state[0] + 12 * state[1], -50, 50))
    assert by_formula.act_batch(rows) == pytest.approx(wanted)
    assert np.array_equal(by_function.act_batch(rows), by_formula.act_batch(rows))
    assert np.array_equal(baseline(by_formula).act_batch(rows), by_formula.act_batch(rows))
    assert np.array_equal(by_formula.act(rows[0]), by_formula.act_batch(rows)[0])
    two = pf.as_baseline("v = 2*s0; u = -x", Box(-1, 1, (1,)), Box(-9, 9, (2,)), ("x",), ("u", "v"))
    assert two.act([0.5]).tolist() == [-0.5, 1.0]


@pytest.mark.parametrize(
    ("law", "error", "message"),
    [
        ("u = -12*phi", ValueError, "baseline: 'u = -12[*]phi' names phi, the known names are theta, omega"),
        ("-12*theta", ValueError, "baseline: is '-12[*]theta', must be 'u = …'"),
        ("w = theta", ValueError, "baseline: is 'w = theta', must be 'u = …'"),
        ("u = theta +", ValueError, "baseline: is 'theta [+]', must be a formula"),
        (3, TypeError, "baseline: is 3, must be a policy, a function or a formula"),
    ],
)
def test_what_is_no_baseline_is_refused(law, error, message):
    with pytest.raises(error, match=message):
        baseline(law)


@pytest.mark.parametrize(
    ("law", "message"),
    [
        (
            "u = 1000*theta",
            r"returned \[100.0\] at the state \[0.1, 0.0\], must be finite and within \[\[-50.0, 50.0\]\]",
        ),
        (lambda state: np.array([np.nan]), r"returned \[nan\] at the state"),
        (lambda state: np.zeros(2), r"returned shape \(1, 2\), must return shape \(1, 1\)"),
        ("u = 1/omega", r"returned .inf. at the state \[0.1, 0.0\], .* \(does it divide by zero"),
        ("u = clip(1/omega, -50, 50)", r"returned .nan. at the state \[0.1, 0.0\], .* \(does it divide by zero"),
        ("u = 3*theta if omega > 1/omega else 0", "does it divide by zero"),
    ],
)
def test_actions_that_are_not_finite_or_leave_their_box_are_refused(law, message):
    with pytest.raises(ValueError, match=message):
        baseline(law).act([0.1, 0.0])


@pytest.mark.parametrize("returned", [None, "left", [None], {"u": 1.0}])
def test_what_a_function_returns_in_place_of_numbers_is_named(returned):
    with pytest.raises(
        TypeError, match=r"baseline: .* returned .* at the state \[0.1, 0.0\], must return one number per"
    ):
        baseline(lambda state: returned).act([0.1, 0.0])


def test_a_pid_law_with_an_integral_is_a_formula_in_its_incremental_form():
    data = pf.collect(PENDULUM, episodes=6, seed=0, history=3, history_actions=1)
    spaces = (data.observation_space, data.action_space, data.plant.state_names, data.plant.action_names)
    increments = "50*(theta - theta_1) + 2*theta + 9*(theta - 2*theta_1 + theta_2)"
    law = pf.as_baseline(f"u = clip(u_1 + {increments}, -50, 50)", *spaces).with_signals(data.plant.signals)
    controller = law.controller()
    controller.reset()
    angles = [0.0, 0.0, 0.01, 0.03, 0.02]  # an error that begins when the history is full
    sent = [float(controller.step([angle, 0.0])[0]) for angle in angles]
    wanted = [50 * e + 2 * sum(angles[: t + 1]) + 9 * (e - angles[t - 1]) for t, e in enumerate(angles)]
    assert sent[2:] == pytest.approx(wanted[2:])


def test_exploring_around_a_baseline_is_bounded_and_stops_outside_of_the_safe_box():
    law, box = baseline(WEAK), np.array([[-0.1, 0.1], [-np.inf, np.inf]])
    noisy = pf.NoisyBaseline(law, (5.0,), box, seed=0)
    inside = np.array([noisy.act([0.05, 0.1])[0] for _ in range(200)]) - law.act([0.05, 0.1])[0]
    assert -5 <= inside.min() < -4 < 4 < inside.max() <= 5
    assert noisy.act([0.2, 0.1]).tolist() == law.act([0.2, 0.1]).tolist()
    assert noisy.bounded(np.array([0.0, 0.0]), np.array([40.0])).tolist() == [5.0]
    with pytest.raises(ValueError, match="noise: has 2 numbers, must have one per action"):
        pf.NoisyBaseline(law, (1.0, 2.0))


def test_an_agent_with_a_guard_stays_near_the_baseline():
    agent = small_agent(gym.make(PENDULUM))
    law = baseline(WEAK)
    agent.guard = pf.NoisyBaseline(law, (3.0,), np.array([[-0.2, 0.2], [-1.0, 1.0]]))
    agent.learn(episodes=3)
    data = agent.transitions
    apart = np.abs(data.actions - law.act_batch(data.states))
    assert apart.max() <= 3.0 + 1e-9
    unsafe = (np.abs(data.states) > [0.2, 1.0]).any(axis=1)
    assert np.array_equal(data.actions[unsafe], law.act_batch(data.states)[unsafe]) or not unsafe.any()


def test_learning_takes_a_formula_as_baseline_and_the_comparison_says_better(own_episodes):
    made = pf.PlannedLearning(0.95, baseline=WEAK).fit(own_episodes)
    assert "baseline" in {row.name for row in made.candidates}
    found = pf.compare_offline(made.policy, WEAK, own_episodes, discount=0.95)
    truth = [pf.evaluate(p, PENDULUM, episodes=10, max_steps=200).mean for p in (made.policy, baseline(WEAK))]
    assert truth[0] > truth[1]
    assert found.statement == "better"
    assert found.interval[0] > 0
    assert str(found).startswith("better: gain")


def test_a_worse_policy_is_called_worse_and_the_same_is_not_called_better(own_episodes):
    worse = pf.compare_offline(BAD, WEAK, own_episodes, discount=0.95)
    assert worse.statement == "worse"
    same = pf.compare_offline(WEAK, WEAK, own_episodes, discount=0.95)
    assert same.statement == "not shown to be better"
    assert same.gain == 0.0


def test_too_few_episodes_cannot_be_held_out(own_episodes):
    with pytest.raises(ValueError, match="data: has 3 episodes, must have at least 8 for 4 folds"):
        pf.compare_offline(WEAK, BAD, own_episodes[own_episodes.episodes < 3])


def test_the_command_explores_from_a_baseline(tmp_path):
    options = ["--episodes", "2", "--policies", "1", "--validation-episodes", "1", "--max-steps", "10", "--jobs", "1"]
    arguments = ["--baseline", WEAK, "--noise", "3", "--safe", "theta=-0.3:0.3", "-o", tmp_path / "p.pforest"]
    run("explore", PENDULUM, *options, *arguments)
    assert "--noise: is missing" in run("explore", PENDULUM, "--baseline", WEAK, code=2).stderr
    assert "--noise, --safe: need --baseline" in run("explore", PENDULUM, "--noise", "1", code=2).stderr
    wrong = run("explore", PENDULUM, "--baseline", WEAK, "--noise", "1", "--safe", "x=0:1", code=2).stderr
    assert "--safe: is 'x=0:1', must be name=low:high with a name of theta, omega" in wrong


@pytest.mark.parametrize(("action", "shown"), [(np.nan, "nan"), (80.0, "80.0")])
def test_a_baseline_is_checked_also_where_no_plan_uses_it(action, shown):
    few = pf.collect(PENDULUM, episodes=3, seed=0)
    with pytest.raises(
        ValueError, match=rf"baseline: .* returned \[{shown}\] at the state .*, must be finite and within"
    ):
        pf.learn(few, discount=0.95, baseline=lambda state: np.array([action]))

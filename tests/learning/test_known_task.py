"""Rewards and ends that are written down: formulas and functions, in data, environments, learners and files."""

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import policyforest as pf
from cli_runs import run
from policyforest.data.known_functions import known_rewards
from policyforest.data.plant import StepFormula

PENDULUM = "policyforest/InvertedPendulum6kg-v0"
CART = "policyforest/DoubleIntegrator-v0"
COST = "-((2*next_theta/pi)**2 + next_omega**2 + (u/50)**2)"
NAMES = (("theta", "omega"), ("u",))


def pendulum_cost(states, actions, next_states):
    """The reward of the pendulum while it stands, in plain Python."""
    theta, omega = next_states.T
    return -((2 * theta / np.pi) ** 2 + omega**2 + (actions[:, 0] / 50) ** 2)


@pytest.fixture(scope="module")
def data():
    return pf.collect(PENDULUM, episodes=20, seed=3)


numbers = st.floats(-10, 10, allow_subnormal=False)


@given(st.lists(st.tuples(*[numbers] * 5), min_size=1, max_size=20))
def test_a_formula_is_the_function_that_it_says(rows):
    columns = np.array(rows)
    steps = columns[:, :2], columns[:, 2:3], columns[:, 3:]
    assert StepFormula("reward", COST, *NAMES)(*steps) == pytest.approx(pendulum_cost(*steps), rel=1e-12, abs=1e-12)
    numbered = COST.replace("theta", "s0").replace("omega", "s1").replace("u/50", "a0/50")
    assert np.array_equal(StepFormula("reward", numbered, *NAMES)(*steps), StepFormula("reward", COST, *NAMES)(*steps))


def test_a_constant_is_a_formula():
    assert (
        StepFormula("reward", "-1", *NAMES)(np.zeros((3, 2)), np.zeros((3, 1)), np.zeros((3, 2))).tolist() == [-1] * 3
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("phi**2", "reward: 'phi[*][*]2' names phi, the known names are theta, omega, u, next_theta, next_omega"),
        ("next_u", "reward: 'next_u' names next_u"),
        ("theta +", "reward: is 'theta [+]', must be a formula"),
        ("__import__('os')", "reward: has .*only names"),
        ("", "reward: is '', must be a formula"),
        ("1/(theta - theta)", "reward: returned (nan|inf) at the state .* must return finite"),
    ],
)
def test_what_is_no_formula_is_refused(data, text, message):
    with pytest.raises(ValueError, match=message):
        data.with_known(reward=text)


def test_what_is_neither_formula_nor_function_is_refused(data):
    with pytest.raises(TypeError, match="reward: is 3, must be a formula or a function"):
        data.with_known(reward=3)


def test_samples_are_judged_again_by_what_is_known(data):
    judged = data.with_known(COST, "abs(next_theta) > pi/2 or abs(next_omega) > 2")
    assert judged.rewards == pytest.approx(pendulum_cost(data.states, data.actions, data.next_states))
    assert np.array_equal(judged.terminals, data.terminals)
    alive = ~data.terminals
    assert judged.rewards[alive] == pytest.approx(data.rewards[alive])
    assert judged.plant.reward == COST
    assert np.array_equal(judged.states, data.states)
    assert data.with_known() is data


def test_a_function_and_its_formula_judge_alike(data):
    by_function, by_formula = data.with_known(pendulum_cost), data.with_known(COST)
    assert by_function.rewards == pytest.approx(by_formula.rewards)


def test_a_terminal_sample_whose_next_state_is_missing_stays_terminal():
    states = np.array([[0.0], [1.0]])
    space = gym.spaces.Box(-1, 1, (1,))
    steps = pf.Transitions(states, np.zeros((2, 1)), np.zeros(2), [[1.0], [1.0]], [False, True], action_space=space)
    assert steps.with_known(terminal="next_s0 > 5").terminals.tolist() == [False, True]


def test_collecting_under_a_known_task_pays_and_ends_by_it():
    data = pf.collect(PENDULUM, episodes=5, seed=0, reward="-abs(u)", terminal="abs(next_theta) > 0.05")
    assert np.array_equal(data.rewards, -np.abs(data.actions[:, 0]))
    assert np.array_equal(data.terminals, np.abs(data.next_states[:, 0]) > 0.05)
    last = np.flatnonzero(np.diff(data.episodes, append=99))
    assert data.terminals[last].all()
    assert not np.delete(data.terminals, last).any()
    plain = pf.collect(PENDULUM, episodes=5, seed=0)
    assert np.array_equal(
        data.states[data.episodes == 0], plain.states[plain.episodes == 0][: (data.episodes == 0).sum()]
    )


def test_an_end_of_the_environment_alone_is_a_time_limit():
    data = pf.collect(PENDULUM, episodes=3, seed=0, terminal="abs(next_theta) > 100")
    assert not data.terminals.any()
    assert data.n_episodes == 3


def test_evaluation_sums_the_known_reward(data):
    grown = pf.FittedQIteration(0.9, horizon=2, n_estimators=3, resample=None).fit(data)
    policy = pf.FittedPolicyForest(n_states=200, n_estimators=3).fit(grown)  # any policy of forests will do
    judged = pf.evaluate(policy, PENDULUM, episodes=2, reward="-1", max_steps=20)
    assert judged.returns.tolist() == (-judged.lengths).tolist()


def test_environments_name_their_columns_and_any_environment_can():
    class Named(gym.Wrapper):
        @property
        def unwrapped(self):
            return self

        observation_space, action_space = gym.spaces.Box(-1, 1, (2,)), gym.spaces.Box(-1, 1, (1,))
        state_names, action_names = ("x", "v"), ("f",)

    assert pf.collect("Pendulum-v1", steps=3).plant.state_names == ("cos_theta", "sin_theta", "omega")
    assert pf.KnownTask(Named(gym.make(PENDULUM)), "x + f").plant.state_names == ("x", "v")
    with pytest.raises(ValueError, match="reward: 'height' names height, the known names are x, v, f"):
        pf.KnownTask(Named(gym.make(PENDULUM)), "height")


def test_the_model_uses_the_known_reward_exactly_and_so_does_whatever_draws_from_it(data):
    judged = data.with_known(COST)
    drawn = pf.DynamicsForest().fit(judged).sample(500, 1)
    paid = known_rewards(pendulum_cost, drawn.states, drawn.actions, drawn.next_states)
    assert drawn.rewards == pytest.approx(paid)
    assert pf.DynamicsForest(reward=COST).fit(data).reward_score == 1.0
    resampled = pf.FittedQIteration(0.9, horizon=2, n_estimators=3, resample=500).fit(judged)
    assert resampled.resampling.reward_score == 1.0


def test_learning_by_a_formula_is_learning_by_the_function():
    """On a system without noise, where planning takes seconds; the cost is not quadratic, so no formula solves it."""
    cost, names = "-abs(next_p) - 0.1*abs(next_v) - 0.1*u**2", (("p", "v"), ("u",))
    data = pf.collect(CART, episodes=15, seed=3)
    by_formula = pf.learn(data, discount=0.9, reward=cost)
    by_function = pf.learn(data, discount=0.9, reward=lambda s, a, n: StepFormula("reward", cost, *names)(s, a, n))
    assert by_formula.info.settings["winner"] not in ("constant", "linear-quadratic")
    assert np.array_equal(by_formula.act_batch(data.states), by_function.act_batch(data.states))


def test_an_agent_explores_under_a_known_task_and_its_run_resumes(tmp_path):
    from exploring import small_agent

    env = pf.KnownTask(gym.make(PENDULUM), "-abs(u) / 50")
    agent = small_agent(env, run_dir=tmp_path / "run").learn(episodes=2)
    assert np.array_equal(agent.transitions.rewards, -np.abs(agent.transitions.actions[:, 0]) / 50)
    agent.run.close()
    resumed = pf.resume(tmp_path / "run")
    assert resumed.problem.plant.reward == "-abs(u) / 50"
    assert np.array_equal(resumed.learn(episodes=3).transitions.rewards[: agent.total_steps], agent.transitions.rewards)


def test_files_keep_names_and_formulas_and_warn_of_functions(data, tmp_path):
    judged = data.with_known(COST)
    judged.save(tmp_path / "data.npz")
    assert pf.Transitions.load(tmp_path / "data.npz").plant == judged.plant
    with pytest.warns(UserWarning, match="reward: is a Python function, which no file can hold"):
        data.with_known(pendulum_cost).save(tmp_path / "function.npz")
    assert pf.Transitions.load(tmp_path / "function.npz").plant.reward is None


def test_samples_of_different_tasks_are_not_joined(data):
    with pytest.raises(ValueError, match=r"parts\[1\].plant"):
        _ = data + data.with_known("-1")


def test_another_reward_for_the_same_samples_is_one_command(tmp_path):
    run("learn", CART, "--episodes", "10", "--save-data", tmp_path / "d.npz", "-o", tmp_path / "a.pforest")
    run("learn", "--data", tmp_path / "d.npz", "--reward", "-abs(u)", "-o", tmp_path / "b.pforest")
    first, second = (pf.load(tmp_path / f"{name}.pforest") for name in "ab")
    assert second.info.settings["reward"] == "-abs(u)"
    assert not np.array_equal(first.act([0.1, 0.1]), second.act([0.1, 0.1]))


def test_commands_take_a_known_reward_for_environments(tmp_path):
    import json

    output = tmp_path / "p.pforest"
    run("learn", CART, "--episodes", "10", "--reward", "-abs(u)", "--terminal", "abs(next_p) > 0.9", "-o", output)
    assert pf.load(output).info.settings["terminal"] == "abs(next_p) > 0.9"
    told = run("evaluate", output, CART, "--episodes", "2", "--reward", "-1", "--max-steps", "5", "--json")
    report = json.loads(told.stdout)
    assert report["returns"] == [-n for n in report["lengths"]]
    message = run("explore", PENDULUM, "--reward", "-phi", code=2).stderr
    assert "reward: '-phi' names phi" in message


def test_a_log_s_formula_over_its_columns_is_known_and_one_over_others_is_measured(tmp_path):
    rows = ["x,u,power", *(f"{np.sin(t / 5)},{np.cos(t / 3)},{t}" for t in range(60))]
    (tmp_path / "log.csv").write_text("\n".join(rows))
    read = {"state": ["x"], "action": ["u"]}
    known = pf.read_log(tmp_path / "log.csv", reward="-(x**2) - next_x", terminal="abs(x) > 0.99", **read).transitions
    assert known.plant == pf.Plant(("x",), ("u",), "-(x**2) - next_x", "abs(next_x) > 0.99")
    again = known.with_known(known.plant.reward, known.plant.terminal)
    assert np.array_equal(again.rewards, known.rewards)
    assert np.array_equal(again.terminals, known.terminals)
    measured = pf.read_log(tmp_path / "log.csv", reward="-power", **read).transitions
    assert measured.plant.reward is None


@pytest.mark.parametrize("formula", ["1/theta", "clip(1/theta, -1, 1)", "-1 if 1/theta > 0 else 0"])
def test_a_reward_that_divides_by_zero_is_refused_also_inside_a_clip(formula):
    data = pf.collect(PENDULUM, episodes=1, seed=0, max_steps=3)  # its first angle is 0
    with pytest.raises(ValueError, match=r"reward: .* (nan|inf) .*finite numbers \(does it divide by zero\?\)"):
        data.with_known(reward=formula)

"""What the agent that plans with the learned model survives: rewards that fail, and episodes without an end."""

from __future__ import annotations

import itertools
import math
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces import Box

import policyforest as pf
from exploring import Corridor, same_samples
from planning_agents import agent
from policyforest.data.known_functions import UnjudgedStepError
from policyforest.exploration import ModelPlanner, resume
from policyforest.exploration.model_planner import HELD

pytestmark = pytest.mark.usefixtures("small_plans")


@pytest.mark.parametrize("wrong", ["raises", "nan"])
def test_a_reward_function_that_fails_costs_no_episode_and_the_error_names_the_state(tmp_path, wrong):
    def failing(states, actions, next_states):
        if len(states) > 25 and wrong == "raises":
            raise ZeroDivisionError("no reward")
        return np.full(len(states), np.nan if len(states) > 25 else 0.0)

    learner = agent(seed=8, reward=failing, run_dir=tmp_path / "run")
    with pytest.raises(ValueError, match=r"reward: (raised ZeroDivisionError|returned nan).* state"):
        learner.learn(episodes=6)
    assert learner.n_episodes == len(learner.log) == len(list((tmp_path / "run").glob("episode-*"))) == 2


@pytest.mark.parametrize("wrong", [math.nan, math.inf, 1e80, None, "much", [1.0, 2.0], "raises"])
def test_an_environment_s_reward_that_fails_costs_only_its_step(tmp_path, wrong):
    class Failing(Corridor):
        def step(self, action: Any) -> Any:
            state, reward, *rest = super().step(action)
            if (self.episode, self.t) != (2, 5):
                return state, reward, *rest
            if wrong == "raises":
                raise UnjudgedStepError("reward: raised ZeroDivisionError at the state [0.1], must return a number")
            return state, wrong, *rest

    Failing.__qualname__ = Corridor.__qualname__  # the same class, before it is repaired
    learner = agent(Failing(), seed=8, run_dir=tmp_path / "run")
    with pytest.raises(
        ValueError, match=r"^reward: (is (nan|inf|1e\+80|None|'much'|\[1.0, 2.0\])|raised .*) at the state \[.*must"
    ):
        learner.learn(episodes=6)
    assert [report.steps for report in learner.log] == [10, 10, 4]
    assert not learner.episodes[-1].terminal
    learner.run.close()
    found = resume(tmp_path / "run", Corridor())
    assert same_samples(found.transitions, learner.transitions)
    assert found.learn(episodes=4).n_episodes == 4


def test_a_first_step_without_a_reward_leaves_no_episode():
    class Failing(Corridor):
        def step(self, action: Any) -> Any:
            state, _, *rest = super().step(action)
            return state, math.nan, *rest

    learner = agent(Failing(), seed=8)
    with pytest.raises(ValueError, match="reward: is nan at the state"):
        learner.learn(episodes=1)
    assert learner.n_episodes == 0
    learner.begin_episode()  # nothing is left of the first


def test_a_state_of_a_size_that_no_model_can_learn_costs_only_its_step():
    class Diverging(Corridor):
        def step(self, action: Any) -> Any:
            state, *rest = super().step(action)
            return (state * 1e80 if (self.episode, self.t) == (1, 4) else state), *rest

    learner = agent(Diverging(), seed=8)
    with pytest.raises(ValueError, match=r"is \[.*e\+\d\d\], must hold finite numbers of at most 1e\+70 in size"):
        learner.learn(episodes=6)
    assert [report.steps for report in learner.log] == [10, 3]


@pytest.mark.parametrize(
    ("seen", "message"),
    [
        (np.array([np.nan]), r"is \[nan\], must hold finite numbers"),
        (np.array([-np.inf]), r"is \[-inf\], must hold finite numbers"),
        (np.zeros(2), r"has the shape \(2,\), must have the shape \(1,\)"),
        (0.5, r"is 0\.5, must have the shape \(1,\)"),
        (None, r"is None, must have the shape \(1,\)"),
        ("left", "is 'left', must hold real numbers"),
        ([[0.0], [0.0, 1.0]], r"is \[\[0\.0\], \[0\.0, 1\.0\]\], must hold real numbers"),
    ],
)
def test_an_observation_that_is_no_state_costs_only_its_step(seen, message):
    class Failing(Corridor):
        def step(self, action: Any) -> Any:
            state, *rest = super().step(action)
            return (seen if (self.episode, self.t) == (1, 4) else state), *rest

    learner = agent(Failing(), seed=8)
    place = r"^next_state: the environment's observation after the state \[\S+\] \(action \[\S+\]\) "
    with pytest.raises(ValueError, match=place + message):
        learner.learn(episodes=6)
    assert [report.steps for report in learner.log] == [10, 3]


@pytest.mark.parametrize("returned", [np.zeros(3), np.array(["much"])])
def test_a_known_reward_of_a_wrong_form_costs_only_its_step(returned):
    steps = itertools.count()
    learner = agent(seed=8, reward=lambda states, actions, ahead: returned if next(steps) == 4 else ahead[:, 0])
    with pytest.raises(ValueError, match=r"^reward: returned "):
        learner.learn(episodes=1)
    assert [report.steps for report in learner.log] == [4]


@pytest.mark.parametrize("background", [False, True])
def test_a_plan_that_fails_costs_no_episode_and_is_made_by_the_next_call(monkeypatch, background):
    learner, plan, calls = agent(seed=5, growth=0.0), ModelPlanner.plan, []

    def failing(self, task):
        calls.append(task.seed)
        if len(calls) == 2:
            raise MemoryError("no memory today")
        return plan(self, task)

    monkeypatch.setattr(ModelPlanner, "plan", failing)
    end = type(learner).end_episode
    monkeypatch.setattr(type(learner), "end_episode", lambda self: end(self, background=background))
    with pytest.raises(MemoryError, match="no memory today"):
        learner.learn(episodes=5)
    n_episodes = learner.n_episodes
    assert n_episodes == len(learner.log) == len(learner.episodes) >= 3
    assert not learner.transitions.terminals.any()
    learner.learn(episodes=n_episodes + 1)
    if not background:  # in the background, the failure is only known when another plan has begun
        assert calls[1] == calls[2]
        expected = agent(seed=5, growth=0.0).learn(episodes=n_episodes + 1)
        assert same_samples(learner.transitions, expected.transitions)
        assert [each.episode for each in learner.plans] == [each.episode for each in expected.plans]


def test_an_environment_that_never_ends_is_cut(monkeypatch):
    monkeypatch.setattr("policyforest.exploration.model_exploration.LONGEST_EPISODE", 25)

    class Endless(Corridor):
        def step(self, action: Any) -> Any:
            return *super().step(action)[:3], False, {}

    learner = agent(Endless(), seed=0).learn(episodes=5)
    assert [report.steps for report in learner.log] == [25] * 5
    steps = itertools.count()
    monkeypatch.setattr(Endless, "reset", lambda self, **how: (next(steps), Corridor.reset(self, **how))[1])
    assert learner.best_policy(1, 2).act([0.5])[0] < 0
    assert next(steps) >= 2  # the episodes of the validation came to an end


def test_episodes_of_one_step_and_actions_without_effect_are_survived():
    class Short(Corridor):
        def step(self, action: Any) -> Any:
            state, reward, _, _, _ = super().step(0.0 * action)
            return state, reward, True, False, {}

    learner = agent(Short(), seed=0).learn(episodes=30)
    assert learner.total_steps == 30
    assert learner.best_policy(1, 2).act([0.3]).shape == (1,)


@pytest.mark.parametrize("n_dimensions", [2, 4])
def test_the_best_action_of_episodes_of_one_step_is_learned(n_dimensions):
    class Guess(gym.Env[Any, Any]):
        observation_space = Box(-1.0, 1.0, (n_dimensions,), np.float64)
        action_space = Box(-1.0, 1.0, (1,), np.float64)

        def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
            super().reset(seed=seed)
            self.state = self.np_random.uniform(-1, 1, n_dimensions)
            return self.state.copy(), {}

        def step(self, action: Any) -> Any:
            return self.state.copy(), -float((action[0] - 0.5 * self.state[0]) ** 2), True, False, {}

    learner = pf.ModelExploration(Guess(), seed=0).learn(episodes=120)
    assert not learner.found_nothing
    policy = learner.best_policy(1, None)
    assert pf.evaluate(policy, Guess(), episodes=100, seed=1).mean > -0.02  # the best constant action: -0.083


class Stuck(Corridor):
    """It does not move before the fourth episode."""

    def step(self, action: Any) -> Any:
        return super().step(action if self.episode >= 3 else 0.0 * action)


@pytest.mark.usefixtures("small_plans")
def test_while_actions_have_no_effect_in_the_model_they_are_drawn_at_random(tmp_path):
    """A plan would choose the same action in every state, and never find out that another one has an effect."""
    learner = agent(Stuck(), seed=0, run_dir=tmp_path / "run").learn(episodes=5)
    assert {plan.winner for plan in learner.plans if plan.episode < 3} == {HELD}
    data = learner.transitions
    for episode in range(4):
        assert len(np.unique(data.actions[data.episodes == episode])) > 1
    assert [report.kind for report in learner.log][:4] == ["random"] * 4
    learner.run.close()
    # A resumed run acts at random, too.
    env = Stuck()
    env.episode = 4
    resumed = pf.resume(tmp_path / "run", env).learn(episodes=7)
    env = Stuck()
    whole = agent(env, seed=0).learn(episodes=7)
    assert same_samples(resumed.transitions, whole.transitions)


@pytest.mark.usefixtures("small_plans")
def test_an_effect_of_actions_is_used_as_soon_as_the_model_knows_it():
    learner = agent(Corridor(), seed=0).learn(episodes=5)
    assert HELD not in {plan.winner for plan in learner.plans}

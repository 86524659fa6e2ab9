"""Collecting where something does not fit: it is refused by name, or noted with a warning."""

import warnings

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete

import policyforest as pf
from played_environments import IDS, Line, StepPolicy
from policyforest.environments import problems
from policyforest.environments.collection import collect


def with_spaces(observation_space=None, action_space=None):
    env = Line()
    env.observation_space = observation_space or Line.observation_space
    env.action_space = action_space or Line.action_space
    return env


@pytest.mark.parametrize(
    ("env", "message"),
    [
        ("CartPole-v1", "env.action_space: .*discrete"),
        (with_spaces(action_space=Box(0, 5, (1,), np.int64)), "env.action_space: .*real"),
        (with_spaces(action_space=Box(-np.inf, np.inf, (1,))), "env.action_space: .*bounded"),
        (with_spaces(action_space=Box(-1, 1, ())), "env.action_space: .*one dimension"),
        (with_spaces(observation_space=Box(0, 255, (9, 9, 3), np.uint8)), "env.observation_space: .*images"),
        (with_spaces(observation_space=Discrete(4)), "env.observation_space"),
        (with_spaces(observation_space=Dict(a=Box(0, 1, (2,)))), "env.observation_space"),
        (Line(observation=np.float32([np.nan])), "env: .*observation"),
        (Line(observation=np.float32([11.0])), "states: row 1 .*limits"),
        (
            Line(observation=np.float32([0.0, 1.0])),
            r"env: .* after the state \[0\.0\] .* shape \(2,\), must have the shape \(1,\)",
        ),
        (
            Line(observation="here"),
            r"env: .*observation after the state \[0\.0\] \(action .* is 'here', must hold real",
        ),
        (Line(reward=np.nan), r"reward: is nan at the state \[0\.0\] \(action .*must be finite"),
        (Line(reward=None), r"reward: is None at the state \[0\.0\] \(action .*must be a real number"),
        (Line(reward="much"), r"reward: is 'much' at the state .*must be a real number"),
        (Line(reward=np.zeros(2)), r"reward: is array\(\[0\., 0\.\]\) at the state .*must be a real number"),
    ],
)
def test_names_what_cannot_be_learned_in(env, message):
    with pytest.raises(ValueError, match=message):
        collect(env, episodes=1, outside="raise")


@pytest.mark.parametrize("reward", [np.array([0.5]), np.array(0.5), np.float32(0.5), [0.5]])
def test_a_reward_that_is_an_array_of_one_number_is_this_number(reward):
    assert (collect(Line(reward=reward), episodes=1).rewards == 0.5).all()
    assert pf.evaluate(lambda state: np.zeros(1), Line(reward=reward), episodes=1).mean == 3.5


def test_observations_outside_of_their_box_are_kept_with_one_warning():
    with pytest.warns(pf.ObservationWarning, match=r"declared within \[-10, 10\] and goes from 11 to 11") as told:
        data = collect(Line(observation=np.float32([11.0])), episodes=2)
    assert len(told) == 1
    assert str(told[0].message).endswith("; declare a wider box")  # agents have no argument `outside`
    assert data.n_outside == len(data)


def test_an_environment_that_ignores_seeds_is_noted():
    class Unseeded(gym.Wrapper):
        def reset(self, *, seed=None, options=None):
            return self.env.reset(options=options)

    with pytest.warns(pf.ObservationWarning, match="ignores seeds"):
        collect(Unseeded(gym.make("Pendulum-v1")), episodes=1, max_steps=5)
    with pytest.warns(pf.ObservationWarning, match="ignores seeds"):
        pf.evaluate(lambda state: np.zeros(1, np.float32), Unseeded(gym.make("Pendulum-v1")), episodes=1, max_steps=5)


def test_episodes_that_always_end_at_the_same_step_look_like_a_time_limit():
    class Timed(gym.Wrapper):
        def step(self, action):
            seen, reward, ended, limit, info = self.env.step(action)
            return seen, reward, ended or limit, False, info

    timed = Timed(gym.make("Pendulum-v1", max_episode_steps=7))
    with pytest.warns(pf.ObservationWarning, match="all 3 terminal episodes end after 7 steps.*truncated=True"):
        collect(timed, episodes=3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        collect(gym.make("Pendulum-v1", max_episode_steps=7), episodes=3)


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (lambda state: np.array([1.5]), "policy: .*1.5"),
        (lambda state: np.array([np.nan]), "policy: .*nan"),
        (lambda state: np.zeros(2), "policy: .*shape"),
        (lambda state: 0.5, "policy: .*shape"),
    ],
)
def test_names_actions_that_cannot_be_played(policy, message):
    with pytest.raises(ValueError, match=message):
        collect(Line(), policy, episodes=1)


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"episodes": 0},
        {"steps": 0},
        {"episodes": 1, "seed": -1},
        {"episodes": 1, "max_steps": 0},
        {"episodes": 1, "periodic": {5: (0.0, 1.0)}},
    ],
)
def test_refuses_bad_numbers(arguments):
    with pytest.raises(ValueError):
        collect(IDS[0], **arguments)


def test_refuses_what_is_no_environment_and_no_policy():
    with pytest.raises(TypeError, match="env"):
        collect(3, episodes=1)
    with pytest.raises(TypeError, match="env"):
        collect(gym.make_vec(IDS[0], num_envs=2), episodes=1)
    with pytest.raises(TypeError, match="policy"):
        collect(IDS[0], 3, episodes=1)
    with pytest.raises(gym.error.NameNotFound):
        collect("policyforest/Unknown-v0", episodes=1)


def test_an_endless_episode_is_refused():
    with pytest.raises(ValueError, match="max_steps"):
        collect(problems.DoubleIntegrator(), StepPolicy(0.0, 0.0), episodes=1)
    assert len(collect(problems.DoubleIntegrator(), StepPolicy(0.0, 0.0), steps=5000)) == 5000

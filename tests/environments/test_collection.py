"""Collecting samples, played or uniform: the core's path and Gymnasium's loop give the same."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces import Box

from played_environments import IDS, Line, StepPolicy, Watched, assert_same
from policyforest.environments import collection, problems
from policyforest.environments.collection import collect, sample_uniform
from policyforest.environments.episodes import EpisodePlayer, uniform_actions


@pytest.mark.parametrize("id", IDS)
@pytest.mark.parametrize("limits", [{"episodes": 4}, {"steps": 333}, {"episodes": 3, "max_steps": 20}])
def test_core_and_loop_collect_the_same_random_samples(id, limits):
    native, loop = gym.make(id), Watched(gym.make(id))
    assert EpisodePlayer(native, None).native
    assert not EpisodePlayer(loop, None).native
    assert_same(collect(native, seed=5, **limits), collect(loop, seed=5, **limits))


@pytest.mark.parametrize("id", IDS)
def test_core_and_loop_collect_the_same_samples_of_a_policy(id):
    high = float(gym.make(id).action_space.high[0])
    policy = StepPolicy(-0.5 * high, 0.75 * high)
    native, loop = gym.make(id), Watched(gym.make(id))
    assert EpisodePlayer(native, policy).native
    assert not EpisodePlayer(native, policy.act).native
    expected = collect(native, policy, episodes=3, seed=2)
    assert_same(expected, collect(loop, policy, episodes=3, seed=2))
    assert_same(expected, collect(native, policy.act, episodes=3, seed=2))


@pytest.mark.parametrize("id", IDS)
def test_core_and_loop_sample_the_same(id):
    box = [[-0.4, 0.3], [-1.0, 0.9]]
    native = sample_uniform(id, 60, seed=3, state_box=box)
    assert_same(native, sample_uniform(Watched(gym.make(id)), 60, seed=3, state_box=box))


@pytest.mark.parametrize("id", IDS)
def test_samples_belong_to_the_problem(id):
    data = collect(id, steps=100)
    problem = gym.make(id).unwrapped
    assert data.observation_space == problem.observation_space
    assert data.action_space == problem.action_space
    assert data.periodic == problem.periodic
    assert np.array_equal(data.state_limits, problem.state_limits)


def test_same_seed_same_samples_and_another_seed_others():
    a, b, c = (collect(IDS[1], episodes=5, seed=seed) for seed in (1, 1, 2))
    assert_same(a, b)
    assert not np.array_equal(a.states[:4], c.states[:4])


def test_an_episode_does_not_depend_on_the_ones_before_it():
    short, long = collect(IDS[2], episodes=3, max_steps=2), collect(IDS[2], episodes=3, max_steps=4)
    assert np.array_equal(short.actions[short.episodes == 2], long.actions[long.episodes == 2][:2])


def test_states_follow_one_another_within_an_episode():
    data = collect(IDS[4], episodes=3)
    inside = data.episodes[1:] == data.episodes[:-1]
    assert np.array_equal(data.next_states[:-1][inside], data.states[1:][inside])


def test_terminal_is_the_last_of_an_episode_that_ended():
    data = collect(IDS[1], episodes=20)
    last = np.append(data.episodes[1:] != data.episodes[:-1], True)
    assert np.array_equal(data.terminals, last)
    assert (data.rewards[last] == -1000).all()


def test_time_limits_are_not_terminal():
    resting = collect(IDS[2], StepPolicy(0.0, 0.0), episodes=2)
    assert len(resting) == 400
    assert not resting.terminals.any()
    cut = collect(IDS[1], episodes=3, max_steps=2)
    assert len(cut) == 6
    assert not cut.terminals.any()
    assert not collect(Line(), episodes=2).terminals.any()
    assert collect(Line(ends_at=3), episodes=2).terminals.tolist() == [False, False, True] * 2


def test_steps_cut_the_last_episode():
    data = collect(IDS[1], steps=17, seed=3)
    assert len(data) == 17
    assert data.n_episodes > 1
    whole = collect(IDS[1], episodes=data.n_episodes, seed=3)
    assert_same(data, whole[:17])


def test_single_precision_actions_are_stored_as_they_were_played():
    data = collect(Line(), episodes=2)
    assert len(data) == 14
    assert np.array_equal(data.actions, data.actions.astype(np.float32))
    assert np.array_equal(data.next_states, (data.states + data.actions).astype(np.float32))


@pytest.mark.parametrize("id", ["Pendulum-v1", "MountainCarContinuous-v0"])
def test_other_environments_are_collected_by_gymnasiums_loop(id):
    data = collect(id, steps=250, seed=4)
    assert len(data) == 250
    env = gym.make(id)
    assert data.observation_space == env.observation_space
    assert_same(data, collect(env, steps=250, seed=4))


@pytest.mark.parametrize("id", ["InvertedPendulum-v5", "Reacher-v5"])
def test_unbounded_observations_take_their_box_from_the_data(id):
    pytest.importorskip("mujoco")
    data = collect(id, steps=60)
    assert data.unbounded == tuple(range(data.states.shape[1]))
    box = data.state_box()
    assert np.isfinite(box).all()
    assert ((data.states >= box[:, 0]) & (data.states <= box[:, 1])).all()


def test_a_wrapper_that_changes_the_states_hides_the_limits_of_the_problem():
    scaled = gym.wrappers.RescaleObservation(gym.make(IDS[4]), -1.0, 1.0)
    data = collect(scaled, steps=20)
    assert data.state_limits.tolist() == [[-1, 1], [-1, 1]]
    assert data.periodic == {}
    assert collect(scaled, steps=20, periodic={0: (-1.0, 1.0)}).periodic == {0: (-1.0, 1.0)}


def test_a_problem_with_changed_rules_is_played_by_its_own_rules():
    class Shaped(problems.DoubleIntegrator):
        def step(self, action):
            observation, _, terminated, truncated, info = super().step(action)
            return observation, 42.0, terminated, truncated, info

    env = gym.wrappers.TimeLimit(Shaped(), 10)
    assert (collect(env, episodes=1).rewards == 42).all()


def test_a_policy_that_checks_its_states_is_asked_at_every_step():
    policy = StepPolicy(-0.5, 0.5)
    policy.outside = "raise"
    assert not EpisodePlayer(gym.make(IDS[2]), policy).native


def test_a_window_is_shown_every_step(monkeypatch):
    pytest.importorskip("pygame")
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    env = gym.make(IDS[0], render_mode="human", max_episode_steps=2)
    assert not EpisodePlayer(env, None).native
    collect(env, episodes=1)
    env.close()


def test_uniform_actions_fill_the_box_and_do_not_depend_on_how_many_are_drawn():
    space = Box(np.float32([-2.0, 0.1]), np.float32([3.0, 0.3]), dtype=np.float32)
    at_once = uniform_actions(space, np.random.default_rng(0), 2000)
    generator = np.random.default_rng(0)
    assert np.array_equal(at_once, np.concatenate([uniform_actions(space, generator, 1) for _ in range(2000)]))
    assert ((at_once >= space.low) & (at_once <= space.high)).all()
    assert at_once.mean(axis=0) == pytest.approx([0.5, 0.2], abs=0.1)


def test_uniform_samples_cover_the_limits_and_are_episodes_of_their_own():
    data = sample_uniform("policyforest/CarOnTheHill-v0", 5000, seed=1)
    assert data.n_episodes == 5000
    assert data.states.min(axis=0) == pytest.approx([-1, -3], abs=0.02)
    assert data.states.max(axis=0) == pytest.approx([1, 3], abs=0.02)
    assert abs(data.actions).max() == pytest.approx(4, abs=0.02)
    assert set(data.rewards) == {-1.0, 0.0, 1.0}
    assert np.array_equal(data.terminals, data.rewards != 0)


def test_uniform_samples_are_the_same_in_one_block_or_many(monkeypatch):
    id, box = "policyforest/InvertedPendulum6kg-v0", [[-1, 1], [-2, 2]]
    whole = sample_uniform(id, 100, state_box=box)
    monkeypatch.setattr(collection, "LARGEST_BLOCK", 7)
    assert_same(whole, sample_uniform(id, 100, state_box=box))


def test_uniform_samples_need_a_finite_box_within_the_limits():
    with pytest.raises(ValueError, match=r"state_box: .*finite"):
        sample_uniform("policyforest/InvertedPendulum-v0", 10)
    assert len(sample_uniform("policyforest/InvertedPendulum-v0", 10, state_box=[[-1, 1], [-5, 5]])) == 10
    with pytest.raises(ValueError, match=r"state_box: .*within"):
        sample_uniform("policyforest/CarOnTheHill-v0", 10, state_box=[[-2, 1], [-3, 3]])
    with pytest.raises(ValueError, match=r"state_box: .*shape"):
        sample_uniform("policyforest/CarOnTheHill-v0", 10, state_box=[[-1, 1]])


def test_uniform_samples_need_an_environment_that_can_be_put_into_a_state():
    with pytest.raises(ValueError, match=r"env: reset\(options"):
        sample_uniform(Line(), 10)


def test_only_an_environment_that_was_made_here_is_closed(monkeypatch):
    closed = []
    monkeypatch.setattr(problems.NativeProblem, "close", lambda env: closed.append(env))
    given = gym.make("policyforest/DoubleIntegrator-v0")
    collect(given, episodes=1)
    assert closed == []
    collect("policyforest/DoubleIntegrator-v0", episodes=1)
    assert len(closed) == 1
    with pytest.raises(ValueError, match="state_box"):
        sample_uniform("policyforest/DoubleIntegrator-v0", 5, state_box=[[-9, 9], [-9, 9]])
    assert len(closed) == 2

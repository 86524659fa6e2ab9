"""Runs of the agent that plans with the learned model: resumed, and asked for their best policy."""

from __future__ import annotations

import json
import shutil

import gymnasium as gym
import numpy as np
import pytest

import policyforest as pf
from exploring import PENDULUM, Corridor, same_behaviour, same_samples
from planning_agents import Valley, agent, distance
from policyforest.exploration import model_planner, resume

pytestmark = pytest.mark.usefixtures("small_plans")


@pytest.mark.parametrize("stop", [1, 3])
def test_a_resumed_run_is_the_uninterrupted_one(tmp_path, stop):
    agent(seed=4, run_dir=tmp_path / "run", reward="-abs(next_s0)").learn(episodes=stop).run.close()
    found = resume(tmp_path / "run", Corridor()).learn(episodes=6)
    expected = agent(seed=4, reward="-abs(next_s0)").learn(episodes=6)
    assert same_samples(found.transitions, expected.transitions)
    assert same_behaviour(found, expected)
    assert found.settings() == expected.settings()
    assert [report.kind for report in found.log] == [report.kind for report in expected.log]
    assert [plan.winner for plan in found.plans] == [plan.winner for plan in expected.plans]
    states = found.transitions.states
    np.testing.assert_array_equal(
        found.best_policy(2, 1).act_batch(states), expected.best_policy(2, 1).act_batch(states)
    )


@pytest.mark.parametrize("grid", [True, False])
def test_asking_for_the_best_policy_does_not_change_the_run(monkeypatch, grid):
    if not grid:
        monkeypatch.setattr(model_planner.GridPlanning, "fits", staticmethod(lambda model: False))
    asked, alone = agent(seed=3), agent(seed=3)
    asked.learn(total_timesteps=25)
    first = asked.best_policy(validation_episodes=None)
    assert isinstance(first, pf.Policy)
    asked.learn(total_timesteps=50)
    alone.learn(total_timesteps=25).learn(total_timesteps=50)
    assert same_samples(asked.transitions, alone.transitions)
    assert [plan.episode for plan in asked.plans] == [plan.episode for plan in alone.plans]
    assert same_behaviour(asked, alone)


def test_the_best_policy_is_chosen_by_the_ensemble_where_no_episodes_are_to_be_played(monkeypatch):
    learner = agent(seed=1).learn(episodes=3)
    monkeypatch.setattr(Corridor, "reset", lambda *_, **__: pytest.fail("an episode was played"))
    assert isinstance(learner.best_policy(validation_episodes=None), pf.Policy)


def test_a_plan_that_was_interrupted_is_made_again(tmp_path):
    whole = agent(seed=5, growth=0.0, run_dir=tmp_path / "run").learn(episodes=4)  # it plans after every episode
    whole.run.close()
    last = max((tmp_path / "run").glob("plan-*.pforest"))
    assert last.stem == f"plan-{3:06}"
    shutil.copytree(tmp_path / "run", tmp_path / "missing")
    shutil.copytree(tmp_path / "run", tmp_path / "damaged")
    (tmp_path / "missing" / last.name).unlink()
    (tmp_path / "damaged" / last.name).write_bytes(b"half a file")
    for name in ("missing", "damaged"):
        found = resume(tmp_path / name, Corridor())
        assert same_behaviour(found, whole)
        assert (tmp_path / name / last.name).is_file()
        found.run.close()


@pytest.mark.parametrize("lost", [(1,), (2,), (1, 3), (2, 3), (1, 2, 3)], ids=str)
@pytest.mark.parametrize("how", ["missing", "damaged"])
def test_plans_whose_files_are_lost_are_made_again_with_the_same_bits(tmp_path, lost, how):
    whole = agent(seed=5, growth=0.0, run_dir=tmp_path / "run").learn(episodes=4)  # it plans after every episode
    whole.run.close()
    for number in lost:
        path = tmp_path / "run" / f"plan-{number:06}.pforest"
        path.unlink() if how == "missing" else path.write_bytes(b"half a file")
    found = resume(tmp_path / "run", Corridor())
    assert same_behaviour(found, whole)
    assert [plan.values for plan in found.plans] == [plan.values for plan in whole.plans]
    assert len(list((tmp_path / "run").glob("plan-*.pforest"))) == 3
    assert same_samples(found.learn(episodes=5).transitions, whole_of(5).transitions)


def whole_of(episodes: int) -> pf.ModelExploration:
    return agent(seed=5, growth=0.0).learn(episodes=episodes)


def test_a_lost_plan_is_noticed_where_later_episodes_needed_none(tmp_path):
    learner = agent(seed=5, growth=1.0, run_dir=tmp_path / "run").learn(episodes=7)
    learner.run.close()
    plans = sorted((tmp_path / "run").glob("plan-*.pforest"))
    assert len(plans) == len(learner.plans) < 7
    assert plans[-1].stem != f"plan-{6:06}"
    plans[-1].unlink()
    found = resume(tmp_path / "run", Corridor())
    assert same_behaviour(found, learner)
    assert [plan.episode for plan in found.plans] == [plan.episode for plan in learner.plans]


def test_a_known_function_must_be_given_again_and_be_the_same(tmp_path):
    agent(seed=6, reward=distance, run_dir=tmp_path / "run").learn(episodes=2).run.close()
    with pytest.raises(ValueError, match=r"reward: is None, must be given again: the run was begun with .*distance"):
        resume(tmp_path / "run", Corridor())
    with pytest.raises(ValueError, match="reward: is '-abs"):
        resume(tmp_path / "run", Corridor(), reward="-abs(next_s0)")
    found = resume(tmp_path / "run", Corridor(), reward=distance)
    assert found.n_episodes == 2


def test_a_changed_environment_is_refused_by_name(tmp_path):
    agent(seed=7, run_dir=tmp_path / "run").learn(episodes=1).run.close()
    with pytest.raises(ValueError, match=r"problem\.observation_space"):
        resume(tmp_path / "run", Valley())

    class Windy(Corridor):
        """The same spaces; only its name differs."""

    with pytest.raises(ValueError, match=r"problem\.env_kwargs.*Corridor.*Windy"):
        resume(tmp_path / "run", Windy())
    with pytest.raises(ValueError, match=r"problem\.env_kwargs\.max_episode_steps is None there and 5 here"):
        resume(tmp_path / "run", gym.wrappers.TimeLimit(Corridor(), 5))


class Tripled(gym.Wrapper):
    def step(self, action):
        state, reward, *rest = super().step(action)
        return state, 3.0 * reward, *rest


def test_a_wrapper_more_or_less_is_refused_with_both_chains(tmp_path):
    plain, wrapped = tmp_path / "plain", tmp_path / "wrapped"
    agent(gym.make(PENDULUM), run_dir=plain).run.close()
    agent(gym.wrappers.RecordEpisodeStatistics(Tripled(gym.make(PENDULUM))), run_dir=wrapped).run.close()
    scaled = gym.wrappers.TransformReward(gym.make(PENDULUM), lambda reward: 3.0 * reward)
    with pytest.raises(ValueError, match=r"problem\.wrappers is \[\] there and \['TransformReward'\] here"):
        resume(plain, scaled)
    with pytest.raises(ValueError, match=r"problem\.wrappers is \['Tripled'\] there and \['TransformReward'\] here"):
        resume(wrapped, scaled)
    with pytest.raises(ValueError, match=r"^env: is None, must be the wrapped .*begun with the wrappers \['Tripled'\]"):
        resume(wrapped)
    for folder, env in ((plain, gym.make(PENDULUM)), (plain, None),
                        (wrapped, Tripled(gym.make(PENDULUM)))):  # fmt: skip
        resume(folder, env).run.close()


@pytest.mark.parametrize("options", [{"reward": "-abs(next_theta)"}, {"history": 2}])
def test_wrappers_of_this_library_need_not_be_made_again(tmp_path, options):
    agent(gym.make(PENDULUM), run_dir=tmp_path, **options).run.close()
    resume(tmp_path).run.close()


def test_a_run_that_was_begun_before_wrappers_were_kept_is_resumed(tmp_path):
    agent(Tripled(gym.make(PENDULUM)), run_dir=tmp_path).run.close()
    settings = json.loads((tmp_path / "settings.json").read_text())
    assert settings["problem"].pop("wrappers") == ["Tripled"]
    (tmp_path / "settings.json").write_text(json.dumps(settings))
    for env in (None, Tripled(gym.make(PENDULUM))):
        resume(tmp_path, env).run.close()


def test_the_id_of_the_run_makes_its_environment(tmp_path):
    agent(gym.make(PENDULUM, max_episode_steps=7), run_dir=tmp_path).run.close()
    for id in (PENDULUM, f"policyforest:{PENDULUM}"):
        found = resume(tmp_path, id)
        assert found.env.spec.id == PENDULUM
        assert found.env.spec.max_episode_steps == 7
        found.run.close()
    with pytest.raises(
        ValueError, match=r"is another run: problem\.id is 'policyforest/.*' there and 'Pendulum-v1' here"
    ):
        resume(tmp_path, "Pendulum-v1")


def test_a_run_that_was_begun_before_classes_were_kept_is_resumed(tmp_path):
    agent(seed=7, run_dir=tmp_path / "run").learn(episodes=1).run.close()
    settings = json.loads((tmp_path / "run" / "settings.json").read_text())
    settings["problem"]["env_kwargs"] = {}
    (tmp_path / "run" / "settings.json").write_text(json.dumps(settings))
    assert resume(tmp_path / "run", Corridor()).n_episodes == 1

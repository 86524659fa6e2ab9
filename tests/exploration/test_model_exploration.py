"""The agent that plans with the learned model: what it plans, when, what it survives, and what it refuses."""

from __future__ import annotations

import itertools
import math
import shutil
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces import Box

import policyforest as pf
from exploring import Corridor, corridor_problem, same_behaviour, same_samples
from policyforest.data.known_functions import UnjudgedStepError
from policyforest.exploration import ModelPlanner, ensemble_judge, make_agent, model_planner, resume
from policyforest.exploration.known_formulas import known_function
from policyforest.learning.improvement import trajectories, trajectory_policy
from policyforest.learning.improvement.trajectory_policy import Effort


@pytest.fixture(autouse=True)
def small_plans(monkeypatch):
    """Plans of a tenth of their size: what is tested here does not depend on how good they are."""
    sizes = {
        model_planner: {"USUAL": Effort(1), "FINAL": Effort(1), "MEMBERS": 2},
        ensemble_judge: {"MEMBERS": 2, "JUDGED_STARTS": 6},
        trajectories: {"SEQUENCES": 80},
        trajectory_policy: {
            "STARTS": 4,
            "AGGREGATED": 6,
            "OBSERVED": 3,
            "SEARCH_ROUNDS": 4,
            "TREES": 5,
            "SEARCHES": 1,
            "SLOW_SEARCHES": 1,
        },
    }
    for module, numbers in sizes.items():
        for name, number in numbers.items():
            monkeypatch.setattr(module, name, number)


def distance(states, actions, next_states):
    return -np.abs(next_states[:, 0])


def agent(system: Any = None, **settings: Any) -> pf.ModelExploration:
    """Plans take less than a second."""
    return pf.ModelExploration(Corridor() if system is None else system, discount=0.7, **settings)


class Valley(gym.Env[Any, Any]):
    """A car on a plain; only far to the right is there a reward, and it ends the episode."""

    observation_space = Box(-10.0, 10.0, (2,), np.float64)
    action_space = Box(-1.0, 1.0, (1,), np.float64)
    goal = 3.0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.x, self.t = self.np_random.uniform(-0.1, 0.1, 2), 0
        return self.x.copy(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        speed = 0.9 * self.x[1] + 0.1 * float(action[0])
        self.x = np.clip(np.array([self.x[0] + 0.3 * speed, speed]), -9.0, 9.0)
        self.t += 1
        done = bool(self.x[0] > self.goal)
        return self.x.copy(), (10.0 if done else 0.0) - 0.01 * float(action[0]) ** 2, done, self.t >= 60, {}


def test_it_learns_to_drive_to_the_middle_of_a_corridor_within_a_few_episodes():
    learner = agent(seed=1).learn(episodes=8)
    policy = learner.best_policy(validation_episodes=3)
    assert pf.evaluate(policy, Corridor(), episodes=20, seed=5).mean > -1.4  # full speed to the middle earns -1.2
    assert learner.log[0].kind == "random"
    assert learner.log[-1].kind == "plain"
    assert policy.info.settings["known"] == {"reward": None, "terminal": None}


def test_few_dimensions_are_planned_on_a_grid_and_a_pole_swings_up_within_four_episodes():
    learned = pf.ModelExploration(gym.make("policyforest/SwingUp-v0"), seed=3).learn(episodes=4)
    assert any("grid" in plan.values for plan in learned.plans)
    assert not any("trajectories" in plan.values for plan in learned.plans)
    assert max(report.episode_return for report in learned.log[1:]) > -40  # hanging still: about -100


def test_without_a_grid_trajectories_are_planned(monkeypatch):
    monkeypatch.setattr(model_planner.GridPlanning, "fits", staticmethod(lambda model: False))
    learned = agent(seed=1).learn(episodes=4)
    assert any("trajectories" in plan.values for plan in learned.plans)
    assert learned.log[-1].episode_return > learned.log[0].episode_return


def test_members_disagree_about_outcomes_where_no_sample_is():
    samples = pf.collect("policyforest/SwingUp-v0", episodes=2, seed=0)
    judge = ModelPlanner().judge(ModelPlanner().learn_model(samples, 0), 0)
    exploring = judge.simulation(0, novelty=1.0)

    def disputed(states):
        outcomes = [
            member.step(np.ascontiguousarray(states), np.zeros((len(states), 1)), None, False)[0]
            for member in (exploring.native, *exploring.rivals)
        ]
        return exploring._disputed(outcomes[0], outcomes[1:])

    seen, far = disputed(samples.states), disputed(samples.states * [1.0, 3.0])
    assert seen.min() >= 0.0
    assert far.max() <= 1.0
    assert np.mean(far) > 2 * np.mean(seen)
    assert judge.simulation(0).rivals == ()


def test_first_actions_are_held_for_several_steps():
    learner = agent(seed=0)
    learner.begin_episode()
    taken = []
    for _ in range(40):
        taken.append(learner.act([0.0]))
        learner.observe(taken[-1], 0.0, [0.0], False)
    changes = sum(a[0] != b[0] for a, b in itertools.pairwise(taken))
    assert 3 < changes < 30


def test_a_plan_is_made_when_samples_have_grown_or_predictions_were_wrong():
    planner = ModelPlanner(0.7, growth=0.5)
    data = pf.collect(Corridor(), episodes=10, seed=0)
    model = planner.learn_model(data[:60], 0)
    assert not planner.due(None, data[:10])
    assert planner.due(None, data[:30])
    assert not planner.due(model, data[:70])
    assert planner.due(model, data[:90])
    moved = pf.Transitions.concatenate([data[:60], _displaced(data[60:70])])
    assert planner.due(model, moved)


def _displaced(data: pf.Transitions) -> pf.Transitions:
    """The same steps of a corridor with wind."""
    episodes = [
        pf.environments.episodes.Episode(
            np.concatenate([data.states[data.episodes == e][:1], data.states[data.episodes == e][:1] * 0.0]),
            data.actions[data.episodes == e][:1],
            data.rewards[data.episodes == e][:1],
            False,
        )
        for e in np.unique(data.episodes)
    ] * 4
    return corridor_problem().transitions(episodes)


def test_plans_are_fewer_than_episodes():
    learner = agent(seed=2, growth=0.5).learn(episodes=8)
    assert 1 <= len(learner.plans) < 7
    assert sum(report.plan_seconds > 0 for report in learner.log) == len(learner.plans)


def test_a_known_reward_is_used_as_a_function_and_as_a_formula():
    by_function = agent(seed=3, reward=distance).learn(episodes=4)
    by_formula = agent(seed=3, reward="-abs(next_s0)").learn(episodes=4)
    assert same_samples(by_function.transitions, by_formula.transitions)
    assert by_function.best_policy(1, 1).info.settings["known"]["reward"].endswith("distance")


def test_formulas_name_dimensions_by_number_and_by_the_problem_s_names():
    problem = pf.exploration.Problem.of_env(gym.make("policyforest/SwingUp-v0"))
    named = known_function("reward", "-abs(next_theta) - u**2 + omega", problem)
    numbered = known_function("reward", "-abs(next_s0) - a0**2 + s1", problem)
    rows = np.array([[0.3, 1.0], [0.5, -2.0]]), np.array([[2.0], [1.0]]), np.array([[0.1, 1.0], [-0.2, 0.0]])
    np.testing.assert_array_equal(named(*rows), numbered(*rows))
    np.testing.assert_allclose(named(*rows), [-0.1 - 4.0 + 1.0, -0.2 - 1.0 - 2.0])
    with pytest.raises(ValueError, match="reward: 'height' names height, the known names are"):
        known_function("reward", "height", problem)


def test_a_goal_is_found_without_being_told_what_it_pays():
    learner = pf.ModelExploration(Valley(), discount=0.9, seed=1, max_steps=60)
    learner.learn(episodes=12, callback=lambda report: not report.terminal)
    assert learner.log[-1].terminal
    assert any(report.kind == "optimistic" for report in learner.log)


@pytest.mark.parametrize("every_step", [0.0, -1.0])
def test_a_goal_is_found_where_all_other_steps_pay_the_same(every_step):
    class Flat(Valley):
        def step(self, action: Any) -> Any:
            state, _, done, cut, told = super().step(action)
            return state, 10.0 if done else every_step, done, cut, told

    learner = pf.ModelExploration(Flat(), discount=0.9, seed=0, max_steps=60)
    learner.learn(episodes=10, callback=lambda report: not report.terminal)
    assert learner.log[-1].terminal
    assert {report.kind for report in learner.log[1:]} == {"optimistic"}  # nothing that is known is worth doing


def test_rewards_that_never_differ_are_no_goal():
    class Unpaid(Corridor):
        def step(self, action: Any) -> Any:
            state, _, *rest = super().step(action)
            return state, 0.0, *rest

    learner = agent(Unpaid(), seed=0).learn(episodes=4)
    assert learner.plans
    assert learner.found_nothing


def test_a_goal_that_is_never_found_is_reported(monkeypatch):
    monkeypatch.setattr(Valley, "goal", math.inf)
    learner = agent(Valley(), seed=0, max_steps=30).learn(episodes=3)
    assert learner.found_nothing
    assert 0.0 < learner.log[-1].coverage < 1.0


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


@pytest.mark.parametrize("wrong", [math.nan, math.inf, "raises"])
def test_an_environment_s_reward_that_fails_costs_only_its_step(tmp_path, wrong):
    class Failing(Corridor):
        def step(self, action: Any) -> Any:
            state, reward, *rest = super().step(action)
            if (self.episode, self.t) != (2, 5):
                return state, reward, *rest
            if wrong == "raises":
                raise UnjudgedStepError("reward: raised ZeroDivisionError at the state [0.1], must return a number")
            return state, wrong, *rest

    learner = agent(Failing(), seed=8, run_dir=tmp_path / "run")
    with pytest.raises(ValueError, match=r"^reward: (is (nan|inf)|raised .*) at the state \[.*must"):
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


def test_an_environment_that_never_ends_is_cut(monkeypatch):
    monkeypatch.setattr("policyforest.exploration.model_exploration.LONGEST_EPISODE", 25)

    class Endless(Corridor):
        def step(self, action: Any) -> Any:
            return *super().step(action)[:3], False, {}

    learner = agent(Endless(), seed=0).learn(episodes=2)
    assert [report.steps for report in learner.log] == [25, 25]
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


def test_a_run_is_bounded_by_steps():
    learner = agent(seed=0).learn(total_timesteps=25)
    assert learner.total_steps == 25
    assert [report.steps for report in learner.log] == [10, 10, 5]


def test_plans_in_the_background_act_when_they_are_ready():
    learner = agent(corridor_problem(), seed=0)
    env = Corridor()
    for episode in range(4):
        state, _ = env.reset(seed=episode)
        learner.begin_episode()
        for _ in range(10):
            action = learner.act(state)
            state, reward, terminal, _, _ = env.step(action)
            learner.observe(action, reward, state, terminal)
        learner.end_episode(background=True)
    learner.wait()
    assert learner.plans
    assert learner.policy is not None
    assert learner.best_policy(2).act([0.5])[0] < 0  # judged by the ensemble: there is no environment


def test_names_and_functions_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="r_max: the agent 'plan' does not use it"):
        make_agent("plan", corridor_problem(), r_max=1.0)
    with pytest.raises(ValueError, match="reward: only the agent 'plan'"):
        make_agent("mre", corridor_problem(), reward="s0")
    with pytest.raises(TypeError, match="terminal: is 3, must be a formula or a function"):
        agent(terminal=3)
    with pytest.raises(ValueError, match="growth"):
        agent(growth=-1.0)
    assert make_agent("plan", corridor_problem(), discount=0.9).model_planner.discount == 0.9

"""The agent that plans with the learned model: what it finds and what it is told."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import policyforest as pf
from exploring import Corridor, corridor_problem, same_samples
from planning_agents import Valley, agent, distance
from policyforest.exploration import ModelPlanner, make_agent, model_exploration, model_planner
from policyforest.exploration.found_goals import nothing_paid
from policyforest.exploration.known_formulas import known_function
from policyforest.learning.improvement.simple_policies import constant_policy

pytestmark = pytest.mark.usefixtures("small_plans")


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
    learned = agent(seed=1).learn(episodes=8)
    assert any("trajectories" in plan.values for plan in learned.plans)
    returns = [report.episode_return for report in learned.log]
    assert np.mean(returns[-3:]) > returns[0] + 3.0


def test_first_actions_are_held_for_several_steps():
    learner = agent(seed=0)
    learner.begin_episode()
    taken = []
    for _ in range(40):
        taken.append(learner.act([0.0]))
        learner.observe(taken[-1], 0.0, [0.0], False)
    changes = sum(a[0] != b[0] for a, b in itertools.pairwise(taken))
    assert 3 < changes < 30


def test_a_known_reward_is_used_as_a_function_and_as_a_formula():
    by_function = agent(seed=3, reward=distance).learn(episodes=4)
    by_formula = agent(seed=3, reward="-abs(next_s0)").learn(episodes=4)
    assert same_samples(by_function.transitions, by_formula.transitions)
    assert by_function.best_policy(1, 1).info.settings["known"]["reward"].endswith("distance")


def test_a_run_is_played_with_the_reward_and_the_end_that_are_known():
    learner = agent(seed=3, reward="-2 * abs(next_s0)", terminal="next_s0 > 0.5").learn(episodes=6)
    for episode, report in zip(learner.episodes, learner.log, strict=True):
        assert report.episode_return == pytest.approx(-2 * np.abs(episode.states[1:]).sum())
        assert report.terminal == (episode.states[-1, 0] > 0.5)
        assert not (episode.states[1:-1] > 0.5).any()
    assert any(report.terminal for report in learner.log)


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


@pytest.mark.parametrize("pays", [True, False])
def test_a_known_reward_that_no_step_has_earned_yet_is_something_to_go_for(pays):
    data = pf.collect(Corridor(), episodes=40, seed=0)
    data = data[np.flatnonzero(data.next_states[:, 0] < 0.5)]

    def reward(states: Any, actions: Any, ahead: Any) -> Any:
        return np.where(ahead[:, 0] > 0.55, float(pays), 0.0)

    planner = ModelPlanner(0.7, reward)
    unpaid = replace(data, rewards=np.zeros(len(data)))
    judge = planner.judge(planner.learn_model(unpaid, 0), 0)
    right, idle = (constant_policy(unpaid, np.array([a])) for a in (0.2, 0.0))
    assert nothing_paid(judge, right, idle) == (not pays)


def test_what_the_last_plan_finds_is_reported_as_found(monkeypatch):
    learner = agent(seed=1).learn(episodes=6)
    learner._stored[-1] = replace(learner._stored[-1], explores=True)
    assert learner.found_nothing
    learner.best_policy(validation_episodes=None)
    assert not learner.found_nothing  # its plan from all samples beats every constant action
    learner.learn(episodes=7)
    assert learner.found_nothing == learner.plans[-1].explores


def test_policies_are_validated_by_the_reward_that_is_known(monkeypatch):
    learner = agent(seed=3, reward="-abs(next_s0 - 0.5)").learn(episodes=5)
    env, judged = Corridor(), []
    validated = model_exploration.validated

    def noted(*words, **more):
        judged.append(words[1])
        return validated(*words, **more)

    monkeypatch.setattr(model_exploration, "validated", noted)
    learner.best_policy(validation_episodes=2)
    judged[0].reset(seed=0)
    env.reset(seed=0)
    ahead, paid, *_ = judged[0].step(np.array([0.1]))
    assert paid == pytest.approx(-abs(ahead[0] - 0.5))
    assert env.step(np.array([0.1]))[1] != pytest.approx(paid)


def test_a_policy_that_earns_less_than_doing_nothing_in_its_validation_is_not_kept():
    class Costly(Corridor):
        """What the agent learns from pays for moving; in the episodes that follow, moving costs."""

        def step(self, action: Any) -> Any:
            state, reward, *rest = super().step(action)
            return state, reward if self.episode < 6 else -float(abs(action[0])), *rest

    learner = agent(Costly(), seed=1).learn(episodes=6)
    assert not learner.found_nothing
    policy = learner.best_policy(validation_episodes=2)
    np.testing.assert_array_equal(policy.act_batch([[-0.5], [0.5]]), [[0.0], [0.0]])
    assert policy.info.settings["winner"] == "constant"
    assert learner.found_nothing


def test_where_nothing_is_worth_doing_the_policy_does_nothing():
    class Idle(Corridor):
        def step(self, action: Any) -> Any:
            return super().step(0.0 * action)

    learner = agent(Idle(), seed=0).learn(episodes=3)
    policy = learner.best_policy(validation_episodes=2)
    np.testing.assert_array_equal(policy.act_batch([[-0.5], [0.5]]), [[0.0], [0.0]])
    assert learner.found_nothing
    learner.learn(episodes=12)  # few samples suggest an effect by chance
    final = learner.model_planner.plan(replace(learner.next_task(12), final=True, like=None))
    assert (final.winner, final.found) == ("constant", False)
    np.testing.assert_array_equal(final.policy.act_batch([[-0.5], [0.5]]), [[0.0], [0.0]])


def test_an_action_that_is_best_everywhere_is_kept_as_a_constant_one():
    class Full(Corridor):
        def step(self, action: Any) -> Any:
            state, _, *rest = super().step(0.0 * action)
            return state, float(action[0]), *rest

    learner = agent(Full(), seed=0).learn(episodes=4)
    np.testing.assert_allclose(learner.best_policy(validation_episodes=None).act_batch([[-0.5], [0.5]]), 0.2, atol=1e-3)


def test_a_goal_that_is_never_found_is_reported(monkeypatch):
    monkeypatch.setattr(Valley, "goal", math.inf)
    learner = agent(Valley(), seed=0, max_steps=30).learn(episodes=3)
    assert learner.found_nothing
    assert 0.0 < learner.log[-1].coverage < 1.0


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
    with pytest.raises(ValueError, match="growth: is nan"):
        agent(growth=math.nan)
    with pytest.raises(ValueError, match=r"discount: is 1\.5, must be"):
        pf.ModelExploration(Corridor(), discount=1.5)
    for make in (pf.ModelExploration, pf.DisagreementExploration, pf.MultiResolutionExploration):
        with pytest.raises(TypeError, match=f"growht, sed: {make.__name__} has no argument of this name"):
            make(Corridor(), sed=3, growht=0.5)
    assert make_agent("plan", corridor_problem(), discount=0.9).model_planner.discount == 0.9

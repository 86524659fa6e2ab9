"""Plans with the learned model: when they are made, and which policy wins."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from gymnasium.spaces import Box

import policyforest as pf
from exploring import Corridor, corridor_problem
from planning_agents import agent
from policyforest.exploration import ModelPlanner, model_planner
from policyforest.exploration.shown_policies import same_policy, shown_policies
from policyforest.learning.improvement import trajectory_policy
from policyforest.learning.improvement.simple_policies import constant_policy

pytestmark = pytest.mark.usefixtures("small_plans")


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


def test_a_plan_is_made_when_episodes_ended_where_no_end_was_expected():
    planner, data = ModelPlanner(0.7, growth=0.5), pf.collect(Corridor(), episodes=10, seed=0)
    ended = replace(data, terminals=np.isin(np.arange(100), [69]))
    assert not planner.due(planner.learn_model(data[:60], 0), data[:70])
    assert planner.due(planner.learn_model(ended[:60], 0), ended[:70])
    known = replace(planner, terminal=lambda states, actions, ahead: np.zeros(len(states)))
    assert not known.due(known.learn_model(ended[:60], 0), ended[:70])


@pytest.mark.parametrize(
    ("kind", "ends"),
    [
        ("thresholds", lambda s: s[:, 0] > 0.5),
        ("logistic", lambda s: (s**2).sum(axis=1) > 0.8),
        ("forest", lambda s: (np.sin(9 * s[:, 0]) > 0.3) & (s[:, 1] > 0)),
    ],
)
def test_the_chance_of_an_end_is_that_of_the_compiled_model(kind, ends):
    rng = np.random.default_rng(0)
    states = rng.uniform(-1, 1, (600, 2))
    states = states[~ends(states)]
    actions = rng.uniform(-1, 1, (len(states), 2))
    ahead = states + 0.5 * actions
    ended, episodes = ends(ahead), np.arange(len(states)) // 10
    space = Box(-1.0, 1.0, (2,), np.float64)
    data = pf.Transitions(states, actions, -ended.astype(float), ahead, ended, episodes, action_space=space)
    model = ModelPlanner(0.7).learn_model(data, 0)
    assert model.end.kind == kind
    predicted, _, chance, _ = model.native.step(states, actions, None, False)
    np.testing.assert_allclose(model.end.chance_at(predicted), chance, atol=1e-9)
    assert model.end.chance_at(ahead[ended]).mean() > 0.5 > model.end.chance_at(ahead[~ended]).mean()


def test_plans_wait_for_several_new_samples_of_each_dimension():
    data, rows = pf.collect(Corridor(), episodes=10, seed=0), np.arange(60)
    wide = pf.Transitions(
        np.repeat(data.states[rows], 9, axis=1), data.actions[rows], data.rewards[rows],
        np.repeat(data.next_states[rows], 9, axis=1), data.terminals[rows], data.episodes[rows],
        action_space=data.action_space,
    )  # fmt: skip
    planner = ModelPlanner(0.7)
    assert planner.due(None, data[:20])
    assert not planner.due(None, wide[:39])
    assert planner.due(None, wide[:40])
    model = ModelPlanner(0.7).learn_model(wide[:20], 0)
    assert not planner.due(model, wide[:59])  # nearly three times as many samples, but 39 new ones
    assert planner.due(model, wide)


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
    ] * 8
    return corridor_problem().transitions(episodes)


def test_plans_are_fewer_than_episodes():
    learner = agent(seed=2, growth=0.5).learn(episodes=8)
    assert 1 <= len(learner.plans) < 7
    assert sum(report.plan_seconds > 0 for report in learner.log) == len(learner.plans)


@pytest.mark.parametrize("promising", [True, False])
def test_a_plan_that_its_member_promises_much_of_is_tried_although_an_earlier_policy_seems_better(
    monkeypatch, promising
):
    good = agent(seed=1).learn(episodes=6).best_policy(1, 1)
    samples = pf.collect(Corridor(), episodes=4, seed=0)
    poor = constant_policy(samples, np.array([0.2]))
    monkeypatch.setattr(model_planner.GridPlanning, "fits", staticmethod(lambda model: False))
    planned = trajectory_policy.TrajectoryPlan(poor, 0.0, 0.0, True, None)
    monkeypatch.setattr(model_planner, "trajectory_policy", lambda *_: planned)
    monkeypatch.setattr(model_planner._Planning, "_improved", lambda *_: None)
    monkeypatch.setattr(model_planner, "linear_quadratic_policy", lambda *_: None)
    monkeypatch.setattr(model_planner._Planning, "_promising", lambda *_: promising)
    made = ModelPlanner(0.7).plan(model_planner.ModelTask(samples, 0, (good,)))
    assert made.winner == ("optimistic" if promising else "earlier 0")
    assert made.policy is (poor if promising else good)
    assert not made.explores  # it is to earn something: later plans and the end may go back to it


def test_a_plan_is_promising_by_what_its_own_member_says():
    task = model_planner.ModelTask(pf.collect(Corridor(), episodes=4), 0)
    planning = model_planner._Planning(ModelPlanner(0.7), task)
    planning.on_grid = False
    best, constant = np.full((2, 3), -1.0), np.full((2, 3), -3.0)
    more, other = best.copy(), best.copy()
    more[0], more[1] = -0.7, -9.0  # a tenth of what is gained is 0.2
    other[0], other[1] = -0.9, 9.0
    assert planning._promising(more, best, constant)
    assert not planning._promising(other, best, constant)
    planning.task = replace(planning.task, final=True)
    assert not planning._promising(more, best, constant)


def test_what_one_member_alone_promises_does_not_hide_what_all_agree_to():
    """An earlier policy that all members find better than doing nothing is played, not an episode of novelty."""
    planning = object.__new__(model_planner._Planning)
    nothing, good = np.full((4, 6), -45.0), np.full((4, 6), -20.0)
    dream = np.array([-36.0, 60.0, -53.0, -42.0])[:, None] + np.zeros(6)
    values = {"constant": nothing, "earlier 0": good, "grid": dream}
    assert planning._certain("grid", values, "constant") == "earlier 0"
    assert planning._certain("grid", values | {"grid": good + 1.0}, "constant") == "grid"
    assert planning._certain("grid", {"constant": nothing, "grid": dream}, "constant") == "grid"


def test_earlier_policies_compete_once_each_and_the_one_that_earned_most_is_among_them():
    learned = agent(seed=1, growth=0.0).learn(episodes=3)
    data = learned.transitions
    low = [constant_policy(data, np.array([a])) for a in (-0.2, -0.1, 0.1, 0.2)]
    plans = [replace(learned.plans[-1], episode=e, policy=low[k], explores=False) for e, k in enumerate((0, 1, 1))]
    learned._stored = plans
    earlier = learned._earlier()
    assert [policy.act([0.0])[0] for policy in earlier] == [-0.1, -0.2]
    learned._stored = [replace(plans[0], episode=0, policy=low[0])] + [
        replace(plans[0], episode=e, policy=low[k]) for e, k in ((1, 1), (2, 2), (2, 3))
    ]
    earned = shown_policies(low[3], learned._stored, data, 0.7)
    best = max((each for each in earned if each.returns), key=lambda each: np.mean(each.returns))
    assert any(same_policy(best.policy, policy) for policy in learned._earlier())

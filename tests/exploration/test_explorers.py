"""Explorers: optimism where little is known, drawn actions, and what explorers refuse."""

from __future__ import annotations

import numpy as np
import pytest

import policyforest as pf
from exploring import Corridor, corridor_problem, small_planner
from policyforest.exploration import EXPLORERS, EpsilonSchedule, Explorer, make_agent
from policyforest.exploration.explorers import Behaviour, explorer
from policyforest.exploration.planner import OptimisticLeaves, OptimisticTargets


def test_optimism_raises_what_is_not_known_by_either_rule():
    data = pf.collect(Corridor(), episodes=5, seed=0)
    known = pf.KnownnessForest([[-1, 1], [-0.2, 0.2]], n_estimators=5)
    known.insert(np.concatenate([data.states, data.actions], axis=1))
    learner = pf.FittedQIteration(discount=0.9, horizon=5, n_estimators=5, resample=None)
    plain = learner.fit(data)
    for rule in (OptimisticLeaves(known, 0.0), OptimisticTargets(known, 0.0)):
        bent, _ = learner.iterate(data, optimism=rule)
        assert (bent.value(data.states) >= plain.value(data.states) - 1e-9).mean() > 0.9
        assert bent.value(data.states).max() <= 1e-9  # never above the optimistic value
    # By hand, for the targets: y' = k y + (1 - k) v.
    inputs = np.array([[0.0, 0.0], [0.9, 0.1]])
    k = known.knownness(inputs)
    np.testing.assert_allclose(OptimisticTargets(known, 7.0).targets(inputs, np.ones(2)), k + (1 - k) * 7.0)


def test_the_optimistic_value_is_discounted_or_as_printed():
    for value, expected in (("discounted", 20.0), ("printed", 2.0)):
        planner = small_planner(optimistic_value=value)
        rule = planner._optimism(pf.KnownnessForest([[0, 1], [0, 1]]), 2.0)
        assert rule.value == pytest.approx(expected)


def test_drawn_actions_follow_the_disagreement_of_the_trees():
    data = pf.collect(Corridor(), episodes=8, seed=0)
    policy = pf.FittedPolicyForest(
        states="visited", n_states=1, min_samples_leaf=5, q_learner=pf.FittedQIteration(horizon=3, resample=None)
    ).fit(data)
    behaviour, state, rng = Behaviour(policy), np.array([0.3]), np.random.default_rng(0)
    trees = np.clip([tree.predict(state[None])[0] for tree in (policy.forests[0][k] for k in range(25))], -0.2, 0.2)
    drawn = np.array([behaviour.draw(state, rng)[0] for _ in range(2000)])
    assert ((drawn >= -0.2) & (drawn <= 0.2)).all()
    assert np.median(drawn) == pytest.approx(np.mean(trees), abs=3 * np.std(trees) / np.sqrt(500) + 1e-3)
    assert drawn.std() <= np.std(trees) * 1.1 + 1e-12


def test_where_the_trees_agree_actions_still_vary_by_the_least_spread():
    data = pf.collect(Corridor(), episodes=8, seed=0)
    agreeing = pf.FittedPolicyForest(
        n_estimators=1, n_states=1, states="visited", q_learner=pf.FittedQIteration(horizon=1, resample=None)
    ).fit(data)
    behaviour, state, rng = Behaviour(agreeing), np.array([0.3]), np.random.default_rng(0)
    mean = float(np.clip(agreeing.act(state)[0], -0.2, 0.2))
    assert [behaviour.draw(state, rng)[0] for _ in range(9)] == pytest.approx([mean] * 9, abs=1e-6)
    offsets = np.array([behaviour.draw(state, rng, 0.05)[0] for _ in range(4000)]) - mean
    inside = offsets[(np.abs(mean + offsets) < 0.2 - 1e-9)]
    spread = 0.05 * 0.4
    expected = truncated_spread(spread, -0.2 - mean, 0.2 - mean)
    assert inside.std() == pytest.approx(expected, rel=0.1)


def test_optimistic_episodes_follow_their_plan_without_the_least_spread():
    data = pf.collect(Corridor(), episodes=8, seed=0)
    policy = pf.FittedPolicyForest(
        n_estimators=1, n_states=1, states="visited", q_learner=pf.FittedQIteration(horizon=1, resample=None)
    ).fit(data)
    behaviour, state, ours = Behaviour(policy), np.array([0.3]), explorer("disagreement")
    kinds = {ours.kind(episode): episode for episode in range(1, 12)}
    drawn = {
        kind: np.std([ours.action(behaviour, state, episode, np.random.default_rng(i))[0] for i in range(50)])
        for kind, episode in kinds.items()
    }
    assert drawn["optimistic"] == pytest.approx(0.0, abs=1e-9)
    assert drawn["plain"] > 0.001


def truncated_spread(sigma, low, high):
    """The standard deviation of N(0, sigma) between two borders, from many draws."""
    draws = np.random.default_rng(1).normal(0.0, sigma, 200_000)
    return draws[(draws > low) & (draws < high)].std()


def test_our_explorer_draws_with_a_least_spread_and_the_paper_s_does_not_draw():
    assert explorer("disagreement").least_spread == 0.05
    assert not explorer("mre").draw
    with pytest.raises(ValueError, match="least_spread"):
        Explorer("mine", draw=True, least_spread=1.5)


def test_epsilon_falls_from_start_to_end():
    schedule = EpsilonSchedule(1.0, 0.2, 4)
    assert [round(schedule(e), 9) for e in (0, 1, 2, 4, 9)] == [1.0, 0.8, 0.6, 0.2, 0.2]
    with pytest.raises(ValueError, match=r"epsilon\.start"):
        EpsilonSchedule(start=1.5)


@pytest.mark.parametrize("name", EXPLORERS)
def test_agents_by_name_take_a_system_without_an_environment(name):
    agent = make_agent(name, corridor_problem(), discount=0.9, seed=1)
    assert agent.explorer.name == name
    assert agent.planner.q_learner.discount == 0.9


def test_optimism_fades_or_alternates():
    fading, alternate = (Explorer("x", optimism=o, random_episodes=1) for o in ("fading", "alternate"))
    kinds = [fading.kind(e) == "optimistic" for e in range(1, 101)]
    assert [sum(kinds[:n]) for n in (4, 12, 30, 100)] == [4, 8, 13, 21]
    assert [alternate.kind(e) for e in range(4)] == ["random", "optimistic", "plain", "optimistic"]


def test_explorers_refuse_what_they_do_not_know():
    with pytest.raises(ValueError, match="agent: is 'other'"):
        make_agent("other", corridor_problem())
    with pytest.raises(ValueError, match="optimism"):
        Explorer("x", optimism="sometimes")
    with pytest.raises(ValueError, match="knownness"):
        pf.MultiResolutionExploration(corridor_problem(), knownness="other")
    with pytest.raises(ValueError, match="update"):
        pf.MultiResolutionExploration(corridor_problem(), update="other")
    with pytest.raises(ValueError, match="final"):
        pf.MultiResolutionExploration(corridor_problem(), final="other")


def test_the_final_policies_of_mre_can_be_ours_and_its_exploration_stays_the_paper_s():
    paper, ours = (pf.MultiResolutionExploration(corridor_problem(), final=final) for final in ("paper", "ours"))
    assert ours.planner.settings() == paper.planner.settings()
    assert ours.final.min_samples_leaf == pf.DisagreementExploration(corridor_problem()).final.min_samples_leaf
    assert paper.final.min_samples_leaf == paper.planner.policy_learner.min_samples_leaf != ours.final.min_samples_leaf
    assert paper.settings() != ours.settings()

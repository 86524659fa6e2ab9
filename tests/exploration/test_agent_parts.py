"""What an agent is made of: experience, plans in the background, and which plans a resumed run needs."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import policyforest as pf
from exploring import Corridor, corridor_problem, same_samples, small_planner
from policyforest.environments.episodes import Episode, EpisodePlayer
from policyforest.exploration.background_plans import BackgroundPlans
from policyforest.exploration.experience import Experience
from policyforest.exploration.planner import PlanInput
from policyforest.exploration.run_directory import Record, plans_needed


def played(n: int) -> list[Episode]:
    player = EpisodePlayer(Corridor(), None)
    return [player.play(0, e) for e in range(n)]


def empty_experience() -> Experience:
    return Experience(corridor_problem(), lambda box: pf.KnownnessForest(box, n_estimators=3))


def test_looking_at_one_more_episode_takes_nothing_in():
    experience, (first, second) = empty_experience(), played(2)
    experience.add(first)
    ahead = experience.samples_with(second)
    assert (len(ahead), len(experience.samples)) == (20, 10)
    assert (len(experience.episodes), len(experience.known)) == (1, 10)
    experience.add(second)
    assert same_samples(experience.samples, ahead)
    assert len(experience.known) == 20


def test_an_episode_outside_of_the_states_widens_what_is_known():
    experience = empty_experience()
    outside = Episode(np.array([[0.0], [1.5], [0.0]]), np.array([[0.1], [0.1]]), np.zeros(2), False)
    experience.add(played(1)[0])
    with pytest.warns(pf.ObservationWarning, match="declared within"):
        experience.add(outside)
    assert experience.known.box[0].tolist() == [-1.0, 1.5]
    assert len(experience.known) == len(experience.samples)


def test_an_episode_that_cannot_be_samples_is_refused_before_it_is_taken_in():
    experience = empty_experience()
    broken = Episode(np.array([[0.0], [np.nan]]), np.array([[0.1]]), np.array([0.0]), False)
    with pytest.raises(ValueError, match="next_states: holds nan"):
        experience.add(broken)
    assert experience.episodes == []
    with pytest.raises(ValueError, match="transitions: the agent has none yet"):
        _ = experience.samples


def test_the_behaviour_changes_when_the_plan_in_the_background_is_ready():
    experience, planner, gate = empty_experience(), small_planner(), threading.Event()
    experience.add(played(1)[0])
    plan = planner.plan(PlanInput(experience.samples, seed=0))
    plans = BackgroundPlans()
    plans.make_in_background("plain", lambda: gate.wait(10) and plan)
    assert plans.planning
    assert plans.behaviour is None
    gate.set()
    plans.wait()
    assert not plans.planning
    assert plans.behaviour.policy is plan.policy
    assert plans.last("plain") is plan
    assert plans.last("optimistic") is None


def test_a_failure_in_the_background_is_raised_once_and_the_last_behaviour_stays():
    plans = BackgroundPlans()
    plans.make_in_background("plain", lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        plans.wait()
    plans.wait()
    assert plans.behaviour is None


@pytest.mark.parametrize(
    ("kinds", "warm_start", "needed"),
    [
        (["plain", "optimistic", "optimistic"], True, {0, 2}),
        (["plain", "plain", "optimistic"], True, {1, 2}),
        (["optimistic", "plain"], True, {1}),
        (["plain", "optimistic", "optimistic"], False, {2}),
    ],
)
def test_a_resumed_run_needs_its_last_plan_and_the_one_that_the_next_begins_with(kinds, warm_start, needed):
    episode = played(1)[0]
    assert plans_needed([Record(episode, kind, None) for kind in kinds], warm_start) == needed

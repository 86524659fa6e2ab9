"""Small agents and systems for the tests of exploration."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.spaces import Box

import policyforest as pf
from policyforest.exploration import ExploringAgent, Planner, Problem
from policyforest.exploration.explorers import explorer

PENDULUM = "policyforest/InvertedPendulum6kg-v0"


def small_planner(**settings: Any) -> Planner:
    return Planner(
        q_learner=pf.FittedQIteration(discount=0.9, horizon=3, n_estimators=3, resample=None),
        policy_learner=pf.FittedPolicyForest(states="visited", n_states=1, n_estimators=3, min_samples_leaf=5),
        n_estimators=3,
        **settings,
    )


def small_agent(system: Any = None, name: str = "disagreement", **settings: Any) -> ExploringAgent:
    """An agent whose episodes and plans take some ten milliseconds."""
    who = settings.pop("explorer", None) or explorer(name)
    planner = settings.pop("planner", None) or small_planner(warm_start=True)
    settings = {"r_max": 0.0, "max_steps": 15, **settings}
    return ExploringAgent(gym.make(PENDULUM) if system is None else system, who, planner, **settings)


class Corridor(gym.Env[Any, Any]):
    """x' = x + a in [-1, 1]; the reward is -|x|. It can be told to break down at a step of an episode."""

    observation_space = Box(-1.0, 1.0, (1,), np.float64)
    action_space = Box(-0.2, 0.2, (1,), np.float64)

    def __init__(self, breaks_at: tuple[int, int] | None = None) -> None:
        self.breaks_at, self.episode, self.t = breaks_at, -1, 0
        self.x = np.zeros(1)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.episode, self.t = self.episode + 1, 0
        self.x = self.np_random.uniform(-1, 1, 1)
        return self.x.copy(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        if (self.episode, self.t) == self.breaks_at:
            raise OSError("the cable came off")
        self.x = np.clip(self.x + action, -1.0, 1.0)
        self.t += 1
        return self.x.copy(), -float(abs(self.x[0])), False, self.t >= 10, {}


def corridor_problem() -> Problem:
    return Problem.of_spaces(Corridor.observation_space, Corridor.action_space)


def same_samples(a: pf.Transitions, b: pf.Transitions) -> bool:
    names = ("states", "actions", "rewards", "next_states", "terminals", "episodes")
    return all(np.array_equal(getattr(a, name), getattr(b, name)) for name in names)


def same_behaviour(a: ExploringAgent, b: ExploringAgent) -> bool:
    assert a.policy is not None
    assert b.policy is not None
    states = a.transitions.states
    return np.array_equal(a.policy.act_batch(states), b.policy.act_batch(states))

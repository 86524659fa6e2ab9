"""Learning from scratch with a model that is planned in: what a cell of each study computes.

A cell is one run of `pf.ModelExploration` with a budget of steps or episodes, judged by its best policy on episodes
that it has not seen. Seeds begin at 2000: no setting was chosen on them. (Some from 1000 on were looked at before a
setting was changed.) The reward is learned, unless the study's title states that it is known, as PILCO, PETS and
MC-PILCO assume.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np

from policyforest.data.known_functions import Known
from policyforest.environments.collection import collect
from policyforest.environments.evaluation import evaluate
from policyforest.environments.named_problems import named_problem
from policyforest.environments.problems import cart_pole_balanced, cart_pole_reward
from policyforest.exploration import ModelExploration
from policyforest.paper.batch_studies import EVALUATION_SEED
from policyforest.paper.studies import Study

FIRST_SEED = 2_000
CART_POLE = "policyforest/CartPoleSwingUp-v0"
ROD_REWARD = "-(abs(next_theta) / pi + (u / 15)**2) - 50 * (abs(next_omega) > 10)"
# A policy must hold the pole up at the end of five seconds: three are the episodes it learns from.
BALANCE_STEPS, BALANCE_EPISODES = 100, 10


def explore_and_evaluate(
    seed: int,
    *,
    problem: str,
    budget: Mapping[str, int],
    episodes: int,
    discount: float | None = None,
    reward: Known | str | None = None,
) -> dict[str, Any]:
    """A cell: one run, and what its best policy is worth."""
    env = gym.make(named_problem(problem).id)
    agent = ModelExploration(env, discount=discount, reward=reward, seed=seed)
    started = time.process_time()
    agent.learn(budget.get("episodes"), budget.get("total_timesteps"))
    exploring = time.process_time() - started
    policy = agent.best_policy()
    seconds = time.process_time() - started
    judged = evaluate(policy, env, episodes=episodes, seed=EVALUATION_SEED)
    explored = {
        "return": judged.mean,
        "worst_episode": judged.worst,
        "steps": float(judged.lengths.mean()),
        "ended": float(judged.terminals.mean()),
        "balanced": _balanced(problem, policy),
        "cpu_seconds": seconds,
        "exploring_seconds": exploring,
        "plans": len(agent.plans),
        "episodes": agent.n_episodes,
        "winner": policy.info.settings["winner"],
        "training_returns": [report.episode_return for report in agent.log],
    }
    return {"samples": agent.total_steps, "explored": explored}


def _balanced(problem: str, policy: Any) -> float:
    """The share of episodes that end with the pole up; 0 where there is no pole to swing up."""
    if named_problem(problem).id != CART_POLE:
        return 0.0
    played = collect(
        gym.make(CART_POLE, max_episode_steps=BALANCE_STEPS), policy, episodes=BALANCE_EPISODES, seed=EVALUATION_SEED
    )
    ends = [cart_pole_balanced(played.next_states[played.episodes == e]) for e in np.unique(played.episodes)]
    return float(np.mean(ends))


def _study(
    name: str, title: str, number: int, seconds: float, run: Callable[[int], dict[str, Any]], **more: Any
) -> Study:
    counts = {"quick": 1, "paper": number}
    return Study(
        f"explore-{name}", f"{title}, explored with a learned model", run, counts, seconds, "runs", ("explored",),
        first_seed=FIRST_SEED, **more,
    )  # fmt: skip


def _cart_pole_studies() -> list[Study]:
    run = partial(explore_and_evaluate, problem=CART_POLE, episodes=10)
    made = []
    for steps in (400, 600):
        title = f"Cart-pole swing-up, reward known, {steps} steps"
        known = partial(run, budget={"total_timesteps": steps}, reward=cart_pole_reward)
        made.append(_study(f"cart-pole-known-{steps}", title, 50, 200.0, known))
    for steps in (600, 1_200):
        title = f"Cart-pole swing-up, reward learned, {steps} steps"
        made.append(_study(f"cart-pole-{steps}", title, 50, 400.0, partial(run, budget={"total_timesteps": steps})))
    return made


def _rod_studies() -> list[Study]:
    run = partial(explore_and_evaluate, problem="swing-up", episodes=1)
    made = [
        _study(f"swing-up-{n}", f"Rod swing-up, {n} episodes", 20, 120.0, partial(run, budget={"episodes": n}))
        for n in (8, 15)
    ]
    known = partial(run, budget={"episodes": 4}, reward=ROD_REWARD)
    return [*made, _study("swing-up-known-4", "Rod swing-up, reward known, 4 episodes", 20, 40.0, known)]


def _gymnasium_studies() -> list[Study]:
    run = explore_and_evaluate
    car = partial(run, problem="MountainCarContinuous-v0", episodes=20, discount=0.99)
    pole = partial(run, problem="InvertedPendulum-v5", episodes=10)
    pendulum = partial(run, problem="Pendulum-v1", episodes=50)
    arm = partial(run, problem="Reacher-v5", episodes=100, discount=0.95)
    made = [
        _study(f"mountain-car-{n}", f"MountainCarContinuous-v0 without r_max, {n} episodes", 10, 300.0,
               partial(car, budget={"episodes": n}))
        for n in (15, 30)
    ] + [
        _study(f"inverted-pendulum-v5-{n}", f"InvertedPendulum-v5, {n} steps", 20, 40.0,
               partial(pole, budget={"total_timesteps": n}), extra="mujoco")
        for n in (300, 600)
    ] + [
        _study(f"pendulum-v1-{n}", f"Pendulum-v1, {n} steps", 10, 100.0,
               partial(pendulum, budget={"total_timesteps": n}))
        for n in (1_000, 2_000)
    ]  # fmt: skip
    reach = partial(arm, budget={"total_timesteps": 3_000})
    return [*made, _study("reacher-v5-3000", "Reacher-v5, 3,000 steps", 10, 300.0, reach, extra="mujoco")]


STUDIES = {study.name: study for study in (*_cart_pole_studies(), *_rod_studies(), *_gymnasium_studies())}

"""Learning from scratch by planning in a learned model: the computation of a cell of each study.

A cell is one run of `pf.ModelExploration` with a budget of steps or episodes, judged by its best policy on episodes
that it has not seen, and in some studies also by the best policy after a part of the budget. The best policy is chosen
by the returns that policies earned in the run, and by the members of the model's ensemble. In problems of few
dimensions, it is the best of three policies and of doing nothing, by ten episodes of each, which do not count towards
the budget (`VALIDATED`). Seeds begin at 2000, those of the cart-pole at 5000 and those of problems with at most two
dimensions of state at 12000 or 13000; no setting was chosen on these seeds. (Results of some lower seeds were seen
before a setting was changed.) The reward is learned, unless the study's title states that it is known, as PILCO, PETS
and MC-PILCO assume.
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

Budget = Mapping[str, int]
"""The number of "episodes" or "total_timesteps" in all"""
Run = Callable[..., dict[str, Any]]
FIRST_SEED = 2_000
# Of studies whose name begins like this.
FIRST_SEEDS = {"cart-pole": 5_000, "swing-up": 12_000, "mountain-car": 13_000, "pendulum-v1": 12_000}
CART_POLE = "policyforest/CartPoleSwingUp-v0"
ROD_REWARD = "-(abs(next_theta) / pi + (u / 15)**2) - 50 * (abs(next_omega) > 10)"
# The number of validation episodes of each candidate, in studies with validation.
VALIDATED = 10
# A policy must hold the pole up at the end of five seconds; the episodes that it learns from last three.
BALANCE_STEPS, BALANCE_EPISODES = 100, 10
# The time of a plan is the median of this many plans.
TIMED_PLANS = 3


def explore_and_evaluate(
    seed: int,
    *,
    problem: str,
    budget: Budget,
    episodes: int,
    earlier: Budget | None = None,
    discount: float | None = None,
    reward: Known | str | None = None,
    validation: int | None = None,
) -> dict[str, Any]:
    """A cell: one run, and the return of its best policy; with `earlier`, also the return after that part of the
    budget."""
    env = gym.make(named_problem(problem).id)
    agent = ModelExploration(env, discount=discount, reward=reward, seed=seed)
    exploring, found = 0.0, {}
    for part, spent in (("earlier", earlier), ("explored", budget)):
        if spent is None:
            continue
        started = time.process_time()
        agent.learn(spent.get("episodes"), spent.get("total_timesteps"))
        exploring += time.process_time() - started
        found[part] = _judged(agent, problem, episodes, exploring, validation)
    return {"samples": agent.total_steps, **found}


def _judged(
    agent: ModelExploration, problem: str, episodes: int, exploring: float, validation: int | None
) -> dict[str, Any]:
    """The return of the best policy of a run so far, chosen by `validation` more episodes of each candidate or, with
    None, without more episodes."""
    started = time.process_time()
    policy = agent.best_policy(validation_episodes=validation)
    seconds = exploring + time.process_time() - started
    return {
        **worth(policy, problem, episodes),
        "cpu_seconds": seconds,
        "exploring_seconds": exploring,
        "plans": len(agent.plans),
        "episodes": agent.n_episodes,
        "winner": policy.info.settings["winner"],
        "training_returns": [report.episode_return for report in agent.log],
    }


def plan_and_evaluate(seed: int, *, problem: str, budget: Budget, episodes: int) -> dict[str, Any]:
    """A cell: the processor seconds, on one thread, of one plan after a run, and the return of its policy."""
    agent = ModelExploration(gym.make(named_problem(problem).id), seed=seed)
    agent.learn(budget.get("episodes"), budget.get("total_timesteps"))
    task, seconds = agent.next_task(agent.n_episodes), list[float]()
    for _ in range(TIMED_PLANS):
        started = time.process_time()
        made = agent.model_planner.plan(task)
        seconds.append(time.process_time() - started)
    spent = float(np.median(seconds))
    told = {**worth(made.policy, problem, episodes), "cpu_seconds": spent, "exploring_seconds": spent, "plans": 1}
    return {"samples": agent.total_steps, "explored": told}


def worth(policy: Any, problem: str, episodes: int) -> dict[str, float]:
    """The return of a policy on episodes that no learner has seen."""
    judged = evaluate(policy, gym.make(named_problem(problem).id), episodes=episodes, seed=EVALUATION_SEED)
    return {
        "return": judged.mean,
        "worst_episode": judged.worst,
        "steps": float(judged.lengths.mean()),
        "ended": float(judged.terminals.mean()),
        "balanced": _balanced(problem, policy),
    }


def _balanced(problem: str, policy: Any) -> float:
    """The share of episodes that end with the pole up; 0 if there is no pole to swing up."""
    if named_problem(problem).id != CART_POLE:
        return 0.0
    played = collect(
        gym.make(CART_POLE, max_episode_steps=BALANCE_STEPS), policy, episodes=BALANCE_EPISODES, seed=EVALUATION_SEED
    )
    ends = [cart_pole_balanced(played.next_states[played.episodes == e]) for e in np.unique(played.episodes)]
    return float(np.mean(ends))


def _study(name: str, title: str, number: int, seconds: float, run: Run, **more: Any) -> Study:
    counts, parts = {"quick": 1, "paper": number}, more.pop("parts", ("explored",))
    first = next((seed for begin, seed in FIRST_SEEDS.items() if name.startswith(begin)), FIRST_SEED)
    return Study(
        f"explore-{name}", f"{title}, explored with a learned model", run, counts, seconds, "runs", parts,
        first_seed=first, **more,
    )  # fmt: skip


def _in_steps(
    name: str, title: str, stops: tuple[int, int], number: int, seconds: float, run: Run, **more: Any
) -> Study:
    """A study whose runs are judged after both numbers of steps."""
    first, last = ({"total_timesteps": steps} for steps in stops)
    both = partial(run, budget=last, earlier=first)
    title = f"{title}, {stops[0]:,} and {stops[1]:,} steps"
    return _study(f"{name}-{stops[1]}", title, number, seconds, both, parts=("earlier", "explored"), **more)


def _cart_pole_studies() -> list[Study]:
    run = partial(explore_and_evaluate, problem=CART_POLE, episodes=10)
    known = partial(run, reward=cart_pole_reward)
    return [
        _in_steps("cart-pole-known", "Cart-pole swing-up, reward known", (400, 600), 50, 40.0, known),
        _in_steps("cart-pole", "Cart-pole swing-up, reward learned", (600, 1_200), 50, 80.0, run),
    ]


def _rod_studies() -> list[Study]:
    run = partial(explore_and_evaluate, problem="swing-up", episodes=1, validation=VALIDATED)
    made = [
        _study(f"swing-up-{n}", f"Rod swing-up, {n} episodes", 20, 10.0, partial(run, budget={"episodes": n}))
        for n in (4, 8, 15)
    ]
    known = partial(run, budget={"episodes": 4}, reward=ROD_REWARD)
    plan = partial(plan_and_evaluate, problem="swing-up", budget={"episodes": 12}, episodes=1)
    made.append(_study("swing-up-plan-1200", "Rod swing-up, one plan at 1,200 samples", 5, 8.0, plan))
    return [*made, _study("swing-up-known-4", "Rod swing-up, reward known, 4 episodes", 20, 6.0, known)]


def _gymnasium_studies() -> list[Study]:
    run = explore_and_evaluate
    car = partial(run, problem="MountainCarContinuous-v0", episodes=20, discount=0.99, validation=VALIDATED)
    pole = partial(run, problem="InvertedPendulum-v5", episodes=10)
    pendulum = partial(run, problem="Pendulum-v1", episodes=50, validation=VALIDATED)
    arm = partial(run, problem="Reacher-v5", episodes=100, discount=0.95, budget={"total_timesteps": 3_000})
    double = partial(run, problem="InvertedDoublePendulum-v5", episodes=10, budget={"total_timesteps": 5_000})
    made = [
        _study(f"mountain-car-{n}", f"MountainCarContinuous-v0 without r_max, {n} episodes", 10, 10.0,
               partial(car, budget={"episodes": n}))
        for n in (15, 30)
    ] + [
        _study(f"pendulum-v1-{n}", f"Pendulum-v1, {n} steps", 20, 10.0,
               partial(pendulum, budget={"total_timesteps": n}))
        for n in (400, 1_000, 2_000)
    ]  # fmt: skip
    return [
        *made,
        _in_steps("inverted-pendulum-v5", "InvertedPendulum-v5", (300, 600), 20, 40.0, pole, extra="mujoco"),
        _study("reacher-v5-3000", "Reacher-v5, 3,000 steps", 10, 300.0, arm, extra="mujoco"),
        _study("inverted-double-pendulum-v5-5000", "InvertedDoublePendulum-v5, 5,000 steps", 3, 300.0, double,
               extra="mujoco"),
    ]  # fmt: skip


STUDIES = {study.name: study for study in (*_cart_pole_studies(), *_rod_studies(), *_gymnasium_studies())}

"""SAC and TD3 of Stable-Baselines3 with the same number of steps as our agent: the computation of a cell of each study.

They use the library's defaults, the discount of our runs and one thread, learn the reward as part of their values, and
need torch (the extra "compare"). If our budget is a number of episodes, theirs is the number of steps of as many whole
episodes. On MountainCarContinuous-v0, where our episodes end at the goal, their budgets are the steps of our longest
runs of 15 and 30 episodes. Neither learner can be given the reward, so our runs with a known reward are not compared
with them.
"""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import gymnasium as gym

from policyforest._support.extras import import_extra
from policyforest.environments.named_problems import named_problem
from policyforest.paper.exploration_studies import CART_POLE, FIRST_SEED, worth
from policyforest.paper.studies import Study

ALGORITHMS = ("SAC", "TD3")
N_RUNS = 5
# Name, problem, discount, stops and number of evaluation episodes; our runs are judged by the same episodes.
TASKS = (
    ("cart-pole", CART_POLE, 0.98, (600, 1_200), 10),
    ("swing-up", "policyforest/SwingUp-v0", 0.98, (800, 1_500), 1),
    ("inverted-pendulum-v5", "InvertedPendulum-v5", 0.98, (300, 600), 10),
    ("mountain-car", "MountainCarContinuous-v0", 0.99, (5_700, 6_800), 20),
    ("pendulum-v1", "Pendulum-v1", 0.98, (1_000, 2_000), 50),
    ("reacher-v5", "Reacher-v5", 0.95, (1_500, 3_000), 100),
)
SECONDS_PER_STEP = 0.025


def train_and_evaluate(
    seed: int, *, algorithm: str, problem: str, discount: float, stops: tuple[int, int], episodes: int
) -> dict[str, Any]:
    """A cell: one run, and the return of its policy without exploration at each stop."""
    sb3, torch = import_extra("stable_baselines3", "compare"), import_extra("torch", "compare")
    torch.set_num_threads(1)
    env = gym.make(named_problem(problem).id)
    model = getattr(sb3, algorithm)("MlpPolicy", env, gamma=discount, seed=seed, device="cpu")
    found, seconds = {}, 0.0
    for part, stop in zip(("earlier", "explored"), stops, strict=True):
        started = time.process_time()
        model.learn(stop - model.num_timesteps, reset_num_timesteps=False)
        seconds += time.process_time() - started
        found[part] = {
            **worth(model, problem, episodes),
            "cpu_seconds": seconds,
            "exploring_seconds": seconds,
            "plans": 0,
        }
    return {"samples": int(model.num_timesteps), **found}


def rival_study(algorithm: str, name: str, stops: tuple[int, int]) -> str:
    """The name of a study."""
    return f"explore-{algorithm.lower()}-{name}-{stops[1]}"


def _study(algorithm: str, name: str, problem: str, discount: float, stops: tuple[int, int], episodes: int) -> Study:
    how: dict[str, Any] = {
        "algorithm": algorithm,
        "problem": problem,
        "discount": discount,
        "stops": stops,
        "episodes": episodes,
    }
    return Study(
        rival_study(algorithm, name, stops),
        f"{problem}, {stops[0]:,} and {stops[1]:,} steps of Stable-Baselines3's {algorithm}",
        partial(train_and_evaluate, **how),
        {"quick": 1, "paper": N_RUNS},
        SECONDS_PER_STEP * stops[1],
        "runs",
        ("earlier", "explored"),
        extra="compare",
        first_seed=FIRST_SEED,
    )


STUDIES = {study.name: study for study in (_study(a, *task) for a in ALGORITHMS for task in TASKS)}

"""How well `pf.evaluate_offline` ranks policies: 20 of mixed quality on each of the paper's three problems.

    python benchmarks/rank_offline.py --seeds 0 1 2 3 4   # the table of docs/judging.md; about two minutes per seed

The policies differ in how many samples they were learned from and in the horizon of Fitted Q Iteration. They are judged
on other samples than those, and then played; Spearman's rank correlation compares the two orders.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from dataclasses import replace
from typing import Any

import gymnasium as gym
import numpy as np

import policyforest as pf
from policyforest.environments.named_problems import environment_id, named_problem
from policyforest.learning.presets import paper

# Of Fitted Q Iteration; Car on the Hill is 20 steps from its goal.
HORIZONS = {
    "inverted-pendulum-6kg": (1, 2, 4, 8, 12),
    "double-integrator": (1, 2, 4, 8, 12),
    "car-on-the-hill": (5, 10, 15, 20, 30),
}
# Episodes to learn from, and to judge by; for Car on the Hill single samples, spread over all states.
EPISODES = {"inverted-pendulum-6kg": ((5, 10, 30, 80), 150), "double-integrator": ((5, 10, 30, 80), 300)}
SAMPLES = {"car-on-the-hill": ((200, 500, 1_000, 2_000), 6_000)}
# Car on the Hill is judged from so many uniform states: from its one start most of these policies score 0.
UNIFORM_STARTS, LONGEST = 200, 200


def gather(problem: str, size: int, seed: int) -> pf.Transitions:
    if problem in SAMPLES:
        return pf.sample_uniform(environment_id(problem), size, seed)
    return pf.collect(environment_id(problem), episodes=size, seed=seed)


def contenders(problem: str, seed: int) -> list[pf.Policy]:
    sizes, _ = (EPISODES | SAMPLES)[problem]
    learned = []
    for i, size in enumerate(sizes):
        data = gather(problem, size, seed + i)
        for horizon in HORIZONS[problem]:
            q_learner, policy_learner = paper(problem, "constant", random_state=seed)
            q = replace(q_learner, horizon=horizon).fit(data)
            learned.append(replace(policy_learner, n_states=1_000, min_samples_leaf=5).fit(q))
    return learned


def ranks(values: list[float]) -> np.ndarray:
    """From 0; equal values share the mean of their ranks."""
    array = np.array(values)
    return np.array([(array < v).sum() + ((array == v).sum() - 1) / 2 for v in array])


def spearman(a: list[float], b: list[float]) -> float:
    return float(np.corrcoef(ranks(a), ranks(b))[0, 1])


def true_return(problem: str, policy: pf.Policy, starts: np.ndarray | None, discount: float, seed: int) -> float:
    """The mean discounted return of episodes, from given states or from the problem's own start."""
    if starts is None:
        return pf.evaluate(policy, environment_id(problem), episodes=10, seed=seed, discount=discount).mean
    env = gym.make(environment_id(problem)).unwrapped
    noise = env.draw_noise(np.random.default_rng(seed), LONGEST)
    rewards = [env.system.play(policy.native, state, noise)[2] for state in starts]
    return float(np.mean([r @ discount ** np.arange(len(r)) for r in rewards]))


def study(problem: str, seed: int) -> dict[str, Any]:
    started = time.process_time()
    judged_on = gather(problem, (EPISODES | SAMPLES)[problem][1], seed + 1_000)
    discount = named_problem(problem).discount
    starts = judged_on.states[:UNIFORM_STARTS] if problem in SAMPLES else None
    model = pf.DynamicsForest().fit(judged_on)
    guessed, true, unknown = [], [], []
    for policy in contenders(problem, seed):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", pf.CoverageWarning)
            judged = pf.evaluate_offline(
                policy, judged_on, discount=discount, bootstrap=0, starts=starts, resample=model
            )
        guessed.append(judged.value)
        unknown.append(judged.unknown)
        true.append(true_return(problem, policy, starts, discount, seed))
    return {
        "problem": problem,
        "policies": len(true),
        "samples": len(judged_on),
        "worst": min(true),
        "best": max(true),
        "spearman": spearman(guessed, true),
        "chosen": true[int(np.argmax(guessed))],
        "place": 1 + sum(value > true[int(np.argmax(guessed))] for value in true),
        "seconds": time.process_time() - started,
        "values": guessed,
        "returns": true,
        "unknown": unknown,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--problem", choices=[*EPISODES, *SAMPLES], action="append")
    parser.add_argument("--json", action="store_true", help="a line of JSON for each ranking, as it is done")
    given = parser.parse_args()
    problems = given.problem or [*EPISODES, *SAMPLES]
    rows: dict[str, list[dict[str, Any]]] = {problem: [] for problem in problems}
    for seed in given.seeds:
        for problem in problems:
            rows[problem].append(study(problem, seed))
            if given.json:
                print(json.dumps({"seed": seed} | rows[problem][-1]), flush=True)
    if not given.json:
        print_table(given.seeds, rows)


def print_table(seeds: list[int], rows: dict[str, list[dict[str, Any]]]) -> None:
    heads = ["problem", *(f"seed {seed}" for seed in seeds), "mean", "min", "chosen: rank of 20", "CPU s a seed"]
    print("", *heads, "", sep=" | ")
    print("|---" * len(heads) + "|")
    for problem, found in rows.items():
        rhos = [row["spearman"] for row in found]
        places = ", ".join(str(row["place"]) for row in found)
        seconds = np.mean([row["seconds"] for row in found])
        numbers = [f"{rho:.2f}" for rho in [*rhos, np.mean(rhos), min(rhos)]]
        print("", problem, *numbers, places, f"{seconds:.0f}", "", sep=" | ")


if __name__ == "__main__":
    main()

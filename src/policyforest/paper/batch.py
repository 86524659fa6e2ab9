"""Batch learning on the paper's three problems, and on Pendulum-v1: what a cell of each study computes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import gymnasium as gym

from policyforest.collection import collect, sample_uniform
from policyforest.evaluation import evaluate
from policyforest.methods import BASELINES, Learner
from policyforest.paper.cells import Study
from policyforest.presets import named_problem
from policyforest.q_function import QFunction
from policyforest.transitions import Transitions

EVALUATION_SEED = 1


def learn_and_evaluate(
    seed: int,
    *,
    problem: str,
    methods: Sequence[str],
    preset: str | None,
    samples: dict[str, int],
    episodes: int,
) -> dict[str, Any]:
    """The returns and lengths of `episodes` episodes of the policy of each method, from the same samples."""
    id = named_problem(problem).id
    env = gym.make(id)
    data = _gather(env, samples, seed)
    result: dict[str, Any] = {"samples": len(data)}
    q: QFunction | None = None
    for method in methods:
        learner = Learner(method, problem, preset=None if method in BASELINES else preset, seed=seed)
        learned = learner.fit(data, q)
        q = learned.q or q
        judged = evaluate(learned.policy, env, episodes=episodes, seed=EVALUATION_SEED)
        result[method] = {
            "return": judged.mean,
            "worst_episode": judged.worst,
            "steps": float(judged.lengths.mean()),
            "ended": float(judged.terminals.mean()),
            "q_seconds": learned.q_seconds,
            "policy_seconds": learned.policy_seconds,
        }
    return result


def _gather(env: gym.Env[Any, Any], samples: dict[str, int], seed: int) -> Transitions:
    if "uniform" in samples:
        return sample_uniform(env, samples["uniform"], seed)
    return collect(env, episodes=samples.get("episodes"), steps=samples.get("steps"), seed=seed)


def _study(name: str, title: str, quick: int, full: int, seconds: float, **cell: Any) -> Study:
    return Study(name, title, partial(learn_and_evaluate, **cell), {"quick": quick, "paper": full}, seconds)


ALL = ("fqi", "fpf-pwc", "fpf-pwl")

STUDIES = {
    study.name: study
    for study in (
        _study(
            "pendulum-6kg-paper",
            "Inverted Pendulum, 6 kg and 2 rad/s, 100 random episodes, the paper's settings",
            *(4, 50, 8.0),
            problem="inverted-pendulum-6kg",
            methods=ALL,
            preset="paper",
            samples={"episodes": 100},
            episodes=10,
        ),
        _study(
            "pendulum-6kg",
            "Inverted Pendulum, 6 kg and 2 rad/s, 100 random episodes, our defaults",
            *(4, 50, 6.0),
            problem="inverted-pendulum-6kg",
            methods=("fpf-pwl",),
            preset=None,
            samples={"episodes": 100},
            episodes=10,
        ),
        _study(
            "pendulum-8kg",
            "Inverted Pendulum, 8 kg, 100 random episodes, our defaults",
            *(4, 50, 6.0),
            problem="inverted-pendulum",
            methods=("fpf-pwl",),
            preset=None,
            samples={"episodes": 100},
            episodes=10,
        ),
        _study(
            "double-integrator-paper",
            "Double Integrator from (1, 0), 300 random episodes, the paper's settings",
            *(4, 100, 3.0),
            problem="double-integrator",
            methods=(*ALL, "bas"),
            preset="paper",
            samples={"episodes": 300},
            episodes=1,
        ),
        _study(
            "double-integrator",
            "Double Integrator from (1, 0), 300 random episodes, our defaults",
            *(4, 100, 8.0),
            problem="double-integrator",
            methods=("fpf-pwl",),
            preset=None,
            samples={"episodes": 300},
            episodes=1,
        ),
        _study(
            "car-on-the-hill",
            "Car on the Hill from (-0.5, 0), 20,000 uniform samples, the paper's way",
            *(2, 200, 8.0),
            problem="car-on-the-hill",
            methods=ALL,
            preset="paper",
            samples={"uniform": 20_000},
            episodes=1,
        ),
        _study(
            "pendulum-v1",
            "Gymnasium's Pendulum-v1, 10,000 random steps, our defaults",
            *(1, 10, 40.0),
            problem="Pendulum-v1",
            methods=("fpf-pwl",),
            preset=None,
            samples={"steps": 10_000},
            episodes=50,
        ),
    )
}

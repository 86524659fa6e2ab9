"""The time of an action and of learning on the Double Integrator, at the paper's settings and on one thread."""

from __future__ import annotations

from functools import partial
from typing import Any

import gymnasium as gym

from policyforest.environments.collection import collect
from policyforest.environments.named_problems import environment_id
from policyforest.learning.methods import Learner
from policyforest.learning.q_function import QFunction
from policyforest.paper.studies import Study
from policyforest.policy.action_time import action_time

PROBLEM = "double-integrator"
METHODS = ("fqi", "fpf-pwc", "fpf-pwl")


def learn_and_time(seed: int, *, samples: dict[str, int]) -> dict[str, Any]:
    """The median time of one action from Python (µs) for each method, and the seconds that Q and the policy took."""
    data = collect(
        gym.make(environment_id(PROBLEM)), episodes=samples.get("episodes"), steps=samples.get("steps"), seed=seed
    )
    result: dict[str, Any] = {"samples": len(data)}
    q: QFunction | None = None
    q_seconds = 0.0
    for method in METHODS:
        learned = Learner(method, PROBLEM, preset="paper", seed=seed).fit(data, q)
        q_seconds = q_seconds if q is not None else learned.q_seconds
        q = learned.q
        result[method] = {
            "action_us": 1e6 * action_time(learned.policy, data.states[:200]),
            "q_seconds": q_seconds,
            "policy_seconds": learned.policy_seconds,
        }
    return result


def _study(name: str, title: str, **samples: int) -> Study:
    run = partial(learn_and_time, samples=samples)
    return Study(name, title, run, {"quick": 3, "paper": 10}, seconds=1.5, kind="times", methods=METHODS)


POINTS = (50, 100, 200, 300)
"""Training episodes; the study of the last point has no number in its name"""


def study_at(point: int) -> str:
    return "double-integrator-times" + ("" if point == POINTS[-1] else f"-{point}")


STUDIES = {
    study.name: study
    for study in (
        *(
            _study(
                study_at(point),
                f"Double Integrator, {point} random episodes, the paper's settings: time of an action and of learning",
                episodes=point,
            )
            for point in POINTS
        ),
        _study(
            "double-integrator-times-10000",
            "Double Integrator, 10,000 samples, the paper's settings: time of an action and of learning",
            steps=10_000,
        ),
    )
}

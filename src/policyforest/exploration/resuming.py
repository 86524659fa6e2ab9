"""From a run directory back to the agent, to the bit."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import gymnasium as gym

from policyforest._support.files import differences
from policyforest.environments.episodes import id_from_file
from policyforest.exploration.agent import ExploringAgent
from policyforest.exploration.explorers import EpsilonSchedule, Explorer
from policyforest.exploration.planner import Planner
from policyforest.exploration.problem import Problem
from policyforest.exploration.run_directory import RunDirectory
from policyforest.learning.fitted_policy import FittedPolicyForest
from policyforest.learning.fitted_q import FittedQIteration


def resume(
    run_dir: str | os.PathLike[str],
    env: gym.Env[Any, Any] | None = None,
    *,
    n_jobs: int | None = 1,
    expected: Mapping[str, Any] | None = None,
) -> ExploringAgent:
    """The agent of a run that was killed or has ended; `agent.learn(episodes=…)` goes on to the same bits.

    env: the environment; default: one made from the id that the run knows. One of another problem is an error.
    expected: the `settings()` that the run must have; an error names every difference.
    """
    run, settings = RunDirectory.open(run_dir)
    try:
        problem = Problem.from_settings(settings["problem"])
        if expected is not None:
            # Those of the agent, not of the file: what an older version did not write has its default there.
            _require_same(run, _agent(problem, settings, n_jobs).settings(), expected)
        if env is None and problem.id:
            env = gym.make(id_from_file(str(run.path), problem.id), **problem.env_kwargs)
        if env is not None:
            _require_same(run, problem.settings(), Problem.of_env(env).settings(), "problem.")
        agent = _agent(problem if env is None else env, settings, n_jobs)
        agent.restore(run)
    except BaseException:
        run.close()
        raise
    return agent


def _require_same(run: RunDirectory, theirs: Mapping[str, Any], ours: Mapping[str, Any], prefix: str = "") -> None:
    different = differences(theirs, ours)
    if different:
        raise ValueError(f"run_dir: {run.path} is another run: {'; '.join(prefix + line for line in different)}")


def _agent(system: gym.Env[Any, Any] | Problem, settings: Mapping[str, Any], n_jobs: int | None) -> ExploringAgent:
    explorer, planner, final = (dict(settings[name]) for name in ("explorer", "planner", "final"))
    epsilon = explorer.pop("epsilon")
    q, policy, final_q = planner.pop("q"), planner.pop("policy"), final.pop("q")
    return ExploringAgent(
        system,
        Explorer(**explorer, epsilon=None if epsilon is None else EpsilonSchedule(**epsilon)),
        Planner(
            q_learner=FittedQIteration(**q, n_jobs=n_jobs),
            policy_learner=FittedPolicyForest(**policy, n_jobs=n_jobs),
            **planner,
        ),
        final=replace(FittedPolicyForest(**final, n_jobs=n_jobs), q_learner=FittedQIteration(**final_q, n_jobs=n_jobs)),
        r_max=settings["r_max"],
        seed=settings["seed"],
        max_steps=settings["max_steps"],
    )

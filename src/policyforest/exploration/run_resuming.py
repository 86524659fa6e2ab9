"""Restores the agent of a run directory, bit for bit."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import gymnasium as gym

from policyforest._support.files import differences
from policyforest.data.plant import KnownFunction
from policyforest.data.signal_options import signal_options
from policyforest.environments.episodes import id_from_file
from policyforest.environments.known_task import known_task
from policyforest.environments.signal_task import SignalTask
from policyforest.exploration.agent_settings import agent_arguments
from policyforest.exploration.exploring_agent import ExploringAgent
from policyforest.exploration.guards import stored_guard
from policyforest.exploration.known_formulas import is_formula, known_name
from policyforest.exploration.model_exploration import PLAN_AGENT, ModelExploration
from policyforest.exploration.problem import CLASS, Explorable, Problem, wrappers_of
from policyforest.exploration.run_directory import SETTINGS, RunDirectory
from policyforest.policy.baseline import NoisyBaseline


def resume(
    run_dir: str | os.PathLike[str],
    env: gym.Env[Any, Any] | str | None = None,
    *,
    reward: KnownFunction | None = None,
    terminal: KnownFunction | None = None,
    guard: NoisyBaseline | None = None,
    n_jobs: int | None = 1,
    expected: Mapping[str, Any] | None = None,
) -> ExploringAgent:
    """The agent of a run that was killed or has ended; `agent.learn(episodes=…)` continues to the same bits.

    Args:
        env: The environment, or the run's id; default: one made from this id. One of another problem is an error.
        reward: The known reward of a run that was begun with a function; a formula is read from the run.
        terminal: The same for terminal steps.
        guard: The guard of a run that was begun with a function or a policy; one with a formula is read from the run.
        expected: The `settings()` that the run must have; an error names every difference.
    """
    run, settings = RunDirectory.open(run_dir)
    try:
        with _settings_read(run):
            problem = Problem.from_settings(settings["problem"])
            make = _maker(settings, n_jobs, {"reward": reward, "terminal": terminal})
            make = partial(make, guard=stored_guard(settings, problem, guard))
        if expected is not None:
            _require_same_agent(run, settings, expected)
        if isinstance(env, str) or (env is None and problem.id):
            env = _environment(run, problem, env)
        if env is not None:
            _require_same(run, problem.settings(), _given(env, problem).settings(), "problem.")
        agent = make(problem if env is None else env)
        if expected is not None:
            # The agent's settings, not the file's: those that an older version did not write have their defaults there.
            _require_same(run, agent.settings(), expected)
        agent.restore(run)
    except BaseException:
        run.close()
        raise
    return agent


def _require_same_agent(run: RunDirectory, settings: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
    if settings.get("agent") != expected.get("agent"):
        names = (agent_name(each) for each in (settings, expected))
        raise ValueError("run_dir: {} is another run: agent is {!r} there and {!r} here".format(run.path, *names))


@contextmanager
def _settings_read(run: RunDirectory) -> Iterator[None]:
    """Errors of settings that somebody has changed name their file."""
    try:
        yield
    except KeyError as error:
        raise ValueError(f"run_dir: {run.path / SETTINGS} lacks the key {error.args[0]!r}") from error
    except (TypeError, AttributeError) as error:
        raise ValueError(f"run_dir: {run.path / SETTINGS} is not the settings of a run ({error})") from error


def _environment(run: RunDirectory, problem: Problem, given: str | None) -> gym.Env[Any, Any]:
    """The environment of a run, made from the id that the run knows, or from the same id in an argument."""
    id = given or problem.id
    if given is None:
        try:
            id_from_file(str(run.path), problem.id)
        except ValueError as error:
            raise ValueError(f"env: is None, must be given: {error}") from error
    elif problem.id not in (given, given.rpartition(":")[2]):  # before a colon is the module to import
        _require_same(run, {"id": problem.id}, {"id": given}, "problem.")
    env = gym.make(id, **problem.env_kwargs)
    if problem.wrappers not in (None, found := wrappers_of(env)):
        wrapped = f"the wrappers {list(problem.wrappers or ())}, and {id!r} has {list(found)}"
        raise ValueError(f"env: is {given!r}, must be the wrapped environment: the run was begun with {wrapped}")
    env = known_task(env, problem.plant.reward, problem.plant.terminal)
    if problem.plant.signals is not None:
        env = SignalTask(env, **signal_options(problem.plant.signals, problem.plant.delay))
    return env


def agent_name(settings: Mapping[str, Any]) -> str:
    """The name of the agent to which the settings belong."""
    return str(settings.get("agent") or settings["explorer"]["name"])


def _given(env: gym.Env[Any, Any], problem: Problem) -> Problem:
    """The problem of an environment; without its wrappers and the name of its class if the run is older than these
    entries."""
    given = Problem.of_env(env)
    if problem.wrappers is None:
        given = replace(given, wrappers=None)
    if CLASS in given.env_kwargs and CLASS not in problem.env_kwargs:
        return replace(given, env_kwargs={})
    return given


def _maker(
    settings: Mapping[str, Any], n_jobs: int | None, known: Mapping[str, KnownFunction | None]
) -> Callable[..., ExploringAgent]:
    """Makes the agent of a run's settings."""
    if settings.get("agent") != PLAN_AGENT:
        for name, given in known.items():
            if given is not None:
                raise ValueError(f"{name}: was given, but the run was begun without it")
        return partial(_explorer, agent_arguments(settings, n_jobs))
    functions = {name: _known(name, settings[name], given) for name, given in known.items()}
    plain = {name: settings[name] for name in ("discount", "growth", "seed", "max_steps")}
    return partial(_model_agent, plain | functions | {"n_jobs": n_jobs})


def _explorer(arguments: Mapping[str, Any], system: Explorable, guard: NoisyBaseline | None) -> ExploringAgent:
    return ExploringAgent(system, guard=guard, **arguments)


def _model_agent(arguments: Mapping[str, Any], system: Explorable, guard: NoisyBaseline | None) -> ExploringAgent:
    return ModelExploration(system, guard=guard, **arguments)


def stored_delay(run_dir: str | os.PathLike[str]) -> int:
    """The delay that a run found when it began."""
    run, settings = RunDirectory.open(run_dir)
    run.close()
    with _settings_read(run):
        return Problem.from_settings(settings["problem"]).plant.delay


def _known(name: str, kept: str | None, given: KnownFunction | None) -> KnownFunction | None:
    """The known function of a run: a formula that it holds, or the function that must be given again."""
    if kept is None or is_formula(kept):
        if given is not None and known_name(given) != kept:
            raise ValueError(f"{name}: is {known_name(given)!r}, but the run was begun with {kept!r}")
        return kept
    if known_name(given) != kept:
        raise ValueError(f"{name}: is {known_name(given)!r}, must be given again: the run was begun with {kept!r}")
    return given


def _require_same(run: RunDirectory, theirs: Mapping[str, Any], ours: Mapping[str, Any], prefix: str = "") -> None:
    different = differences(theirs, ours)
    if different:
        raise ValueError(f"run_dir: {run.path} is another run: {'; '.join(prefix + line for line in different)}")

"""The loop of an agent and a Gymnasium environment."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np

from policyforest._support.arguments import whole_number
from policyforest.data.known_functions import UnjudgedStepError
from policyforest.environments.episodes import random_streams, warn_if_unseeded
from policyforest.exploration.episode_report import EpisodeCallback, EpisodeReport

if TYPE_CHECKING:
    from policyforest.exploration.exploring_agent import ExploringAgent


def explore_environment(
    agent: ExploringAgent,
    episodes: int | None,
    total_timesteps: int | None,
    callback: EpisodeCallback | None,
    bar: bool,
) -> None:
    """See `ExploringAgent.learn`."""
    if agent.env is None:
        raise ValueError(
            "env: is missing, must be given to learn (else use begin_episode, act, observe and end_episode)"
        )
    if episodes is None and total_timesteps is None:
        raise ValueError("episodes, total_timesteps: both are None, one must be given")
    most = None if episodes is None else whole_number("episodes", episodes, at_least=1)
    steps = None if total_timesteps is None else whole_number("total_timesteps", total_timesteps, at_least=1)
    if callback is not None and not callable(callback):
        raise TypeError(f"callback: is {callback!r}, must be a function of an EpisodeReport")
    agent.keep_pending()
    begun = agent.n_episodes
    assert agent.task is not None
    with _progress(bar, most, steps) as advance:
        while (most is None or agent.n_episodes < most) and (steps is None or agent.total_steps < steps):
            left = None if steps is None else steps - agent.total_steps
            play_episode(agent, agent.task, min((n for n in (agent.max_steps, left) if n is not None), default=None))
            advance(agent.log[-1])
            if callback is not None and callback(agent.log[-1]) is False:
                break
    if agent.n_episodes > begun:
        first = agent.episodes[begun].states[0]
        warn_if_unseeded(agent.env, random_streams(agent.seed, begun)[0], first, stacklevel=3)


def play_episode(agent: ExploringAgent, env: gym.Env[Any, Any], limit: int | None) -> None:
    """One episode. If the environment raises, the finished episodes are kept and the error is shown; if a step has no
    reward or no sound observation, the steps before it are also kept, as an episode that was cut."""
    agent.begin_episode()
    try:
        env_seed, _ = random_streams(agent.seed, agent.n_episodes)
        observation, _ = env.reset(seed=env_seed)
        for _ in count() if limit is None else range(limit):
            action = agent.act(observation)
            taken = action.astype(agent.problem.action_space.dtype)
            observation, reward, terminal, truncated, info = env.step(taken)
            applied = np.asarray(info.get("applied", taken), dtype=np.float64)  # the action that actuators applied
            agent.observe(applied, reward, observation, bool(terminal))  # type: ignore[arg-type]
            if terminal or truncated:
                break
    except UnjudgedStepError:
        agent.cut_episode()
        raise
    except BaseException:
        agent.abandon_episode()
        raise
    agent.end_episode()


@contextmanager
def _progress(wanted: bool, episodes: int | None, steps: int | None) -> Iterator[Callable[[EpisodeReport], None]]:
    if not wanted:
        yield lambda report: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as shown:
        task = shown.add_task("exploring", total=steps if episodes is None else episodes)

        def advance(report: EpisodeReport) -> None:
            done = report.total_steps if episodes is None else report.episode + 1
            shown.update(task, completed=done, description=f"episode {report.episode + 1}: {report.episode_return:.4g}")

        yield advance

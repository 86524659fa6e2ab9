"""Collecting samples: episodes of a policy, or states and actions drawn uniformly from their boxes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Unpack

import numpy as np
import numpy.typing as npt
from gymnasium.utils.seeding import np_random

from policyforest._support.arguments import Floats, box_array, whole_number
from policyforest._support.signals import Actuators, numbers_per_action
from policyforest._support.spaces import bounds, require_actions
from policyforest.data.excursions import Excursions, warn_time_limit
from policyforest.data.plant import KnownFunction
from policyforest.data.signal_options import SignalOptions
from policyforest.data.transitions import Transitions
from policyforest.environments.episodes import (
    LARGEST_BLOCK,
    Environment,
    Episode,
    EpisodePlayer,
    opened,
    random_streams,
    uniform_actions,
)
from policyforest.environments.known_task import known_task
from policyforest.environments.limited_actuators import LimitedActuators
from policyforest.environments.problems.native import NativeProblem


def collect(
    env: Environment | str,
    policy: object | None = None,
    *,
    episodes: int | None = None,
    steps: int | None = None,
    seed: int = 0,
    max_steps: int | None = None,
    periodic: Mapping[int, tuple[float, float]] | None = None,
    outside: Excursions = "warn",
    reward: KnownFunction | None = None,
    terminal: KnownFunction | None = None,
    **signals: Unpack[SignalOptions],
) -> Transitions:
    """Plays episodes and returns their samples.

    Args:
        env: An environment with Box spaces, or its id.
        policy: Chooses actions (see `EpisodePlayer` in `policyforest.environments.episodes`); None: uniform actions.
        episodes: Stop after this many episodes.
        steps: Stop after this many control steps; the last episode may be cut. Give `episodes`, `steps` or both.
        seed: The same seed gives the same samples.
        max_steps: The longest episode, if shorter than the environment's own time limit. An episode that either of them
            cuts is not terminal: it could have continued.
        periodic: The state dimensions that are angles, {dimension: (low, high)}; default: the environment's attribute
            of that name.
        outside: "warn", "raise" or "keep" for observations outside of their declared box.
        reward: A known reward in place of the environment's, as in `KnownTask`: a formula or a function of rows.
        terminal: The same for terminal steps.
        **signals: `SignalOptions`: history, delay, derived signals, actuators. Before an episode, commands are idle.
    """
    limits = _limits(episodes, steps)
    seed = whole_number("seed", seed, at_least=0)
    with opened(env) as made:
        limited = _limited(made, policy, signals) if signals else made
        player = EpisodePlayer(known_task(limited, reward, terminal), policy, max_steps)
        data = _transitions(player, _played(player, seed, *limits), periodic, outside)
    return data.with_signals(before="idle", **signals) if signals else data


def _limits(episodes: int | None, steps: int | None) -> tuple[int | None, int | None]:
    if episodes is None and steps is None:
        raise ValueError("episodes, steps: both are None, one must be given")
    most_episodes = None if episodes is None else whole_number("episodes", episodes, at_least=1)
    return most_episodes, None if steps is None else whole_number("steps", steps, at_least=1)


def _limited(env: Environment, policy: object | None, signals: SignalOptions) -> Environment:
    """The environment behind the known actuators, if any; a policy that has signals applies its actuators itself."""
    box = bounds(require_actions("env.action_space", env.action_space))
    wanted = {name: signals.get(name) for name in ("max_rate", "dead_zone", "quantum")}
    limits = Actuators(**{name: numbers_per_action(name, n, len(box)) for name, n in wanted.items()}).checked(box)  # type: ignore[arg-type]
    if limits.idle or getattr(policy, "signals", None) is not None:
        return env
    return LimitedActuators(env, limits, numbers_per_action("idle", signals.get("idle"), len(box)))


def _played(player: EpisodePlayer, seed: int, most_episodes: int | None, left: int | None) -> list[Episode]:
    """Plays episodes until there are enough episodes or steps, and warns of common mistakes."""
    played: list[Episode] = []
    while (most_episodes is None or len(played) < most_episodes) and left != 0:
        played.append(player.play(seed, len(played), at_most=left))
        left = None if left is None else left - len(played[-1].rewards)
    player.check_seed(seed, played[0].states[0], stacklevel=3)
    lengths = np.array([len(episode.rewards) for episode in played])
    warn_time_limit(lengths, np.array([episode.terminal for episode in played]), stacklevel=3)
    return played


def sample_uniform(
    env: Environment | str, n: int, seed: int = 0, *, state_box: npt.ArrayLike | None = None
) -> Transitions:
    """Single control steps from `n` states, with states and actions drawn uniformly from their boxes; each step is an
    episode of its own.

    The environment must support ``reset(options={"state": ...})``. States are drawn from `state_box`, which must be
    finite; by default it is the environment's `state_limits`, or else its observation space."""
    n = whole_number("n", n, at_least=1)
    seed = whole_number("seed", seed, at_least=0)
    with opened(env) as made:
        player = EpisodePlayer(made, None)
        env_seed, generator = random_streams(seed, 0)
        box = _sampling_box(player, state_box)
        unit = generator.random((n, len(box)))
        states = np.minimum(box[:, 0] + unit * (box[:, 1] - box[:, 0]), box[:, 1])
        actions = uniform_actions(player.action_space, generator, n)
        step = _step_native if player.native else _step_loop
        return Transitions(
            *step(player, states, actions, env_seed),
            np.arange(n),
            action_space=player.action_space,
            observation_space=player.observation_space,
            state_limits=player.told("state_limits"),
            periodic=player.told("periodic"),
            plant=player.plant,
        )


# states, actions, rewards, next states, terminals
SampledSteps = tuple[Floats, Floats, Floats, Floats, npt.NDArray[np.bool_]]


def _transitions(
    player: EpisodePlayer,
    played: list[Episode],
    periodic: Mapping[int, tuple[float, float]] | None,
    outside: Excursions,
) -> Transitions:
    return Transitions.from_episodes(
        played,
        action_space=player.action_space,
        observation_space=player.observation_space,
        state_limits=player.told("state_limits"),
        periodic=player.told("periodic") if periodic is None else periodic,
        outside=outside,
        plant=player.plant,
    )


def _sampling_box(player: EpisodePlayer, state_box: npt.ArrayLike | None) -> Floats:
    limits = player.told("state_limits")
    if limits is None:
        limits = bounds(player.observation_space)
    box = box_array("state_box", limits if state_box is None else state_box, len(limits))
    if not np.isfinite(box).all():
        raise ValueError(f"state_box: is {box.tolist()}, must be finite; pass a finite state_box")
    if not ((box[:, 0] >= limits[:, 0]) & (box[:, 1] <= limits[:, 1])).all():
        raise ValueError(f"state_box: is {box.tolist()}, must lie within {limits.tolist()}")
    return box


def _step_native(player: EpisodePlayer, states: Floats, actions: Floats, env_seed: int) -> SampledSteps:
    problem = player.env.unwrapped
    assert isinstance(problem, NativeProblem)
    noise = problem.draw_noise(np_random(env_seed)[0], len(states))
    blocks = []
    for i in range(0, len(states), LARGEST_BLOCK):
        rows = slice(i, i + LARGEST_BLOCK)
        blocks.append(problem.system.step_many(states[rows], actions[rows], noise[rows]))
    next_states, rewards, terminals = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    return states, actions, rewards, next_states, terminals


def _step_loop(player: EpisodePlayer, states: Floats, actions: Floats, env_seed: int) -> SampledSteps:
    sources, rewards, next_states = np.empty_like(states), np.empty(len(states)), np.empty_like(states)
    terminals = np.zeros(len(states), dtype=np.bool_)
    for i, (state, action) in enumerate(zip(states, actions, strict=True)):
        sources[i], _ = player.env.reset(seed=env_seed if i == 0 else None, options={"state": state})
        if not np.allclose(sources[i], state, rtol=1e-5, atol=1e-6):
            asked, got = state.tolist(), sources[i].tolist()
            raise ValueError(f"env: reset(options={{'state': {asked}}}) gave {got}, must give that state")
        taken = action.astype(player.action_space.dtype)
        next_states[i], rewards[i], terminals[i], _, _ = player.env.step(taken)
    return sources, actions, rewards, next_states, terminals

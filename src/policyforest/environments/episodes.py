"""Episodes: an environment and a policy, played from a start to an end.

The benchmark problems are played by the core, one whole episode per call; every other environment goes through
Gymnasium's loop. Both give the same numbers for the same seed. Episode e of a run has its own random streams,
derived from (seed, e), so that it does not depend on the length of the episodes before it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.spaces import Box
from gymnasium.utils.seeding import np_random
from gymnasium.wrappers import OrderEnforcing, PassiveEnvChecker, TimeLimit

import policyforest._core as _core
from policyforest._support.arguments import Floats, whole_number
from policyforest._support.signals import Signals
from policyforest._support.spaces import bounds, check_fit, require_actions, require_observations
from policyforest.data.excursions import ObservationWarning
from policyforest.data.plant import Plant
from policyforest.data.step_checks import step_reward, step_state
from policyforest.environments.known_task import environment_plant
from policyforest.environments.problems.native import NativeProblem

# Steps that the core plays per call, at first and at most. Random numbers are drawn ahead for all of them although
# most random episodes end early, and Ctrl-C is noticed only between calls.
FIRST_BLOCK, LARGEST_BLOCK = 32, 4096
TRANSPARENT_WRAPPERS = (TimeLimit, OrderEnforcing, PassiveEnvChecker)

Environment = gym.Env[Any, Any]
ControlLaw = Callable[[Any, bool], Any]
"""Called with an observation and whether it is the first of an episode; returns the action."""


@dataclass(frozen=True)
class Episode:
    """T control steps; `states` has one row more than `actions`. A time limit leaves `terminal` False."""

    states: Floats
    actions: Floats
    rewards: Floats
    terminal: bool


class EpisodePlayer:
    """Plays episodes of one policy in one environment; `policy` None draws actions uniformly from their box.

    A policy has ``act(state)``, or ``predict(observation, ...)`` like Stable-Baselines3's, or is a function of
    the observation. A policy with a `native` controller runs in the core if the environment does."""

    def __init__(self, env: Environment, policy: object | None, max_steps: int | None = None) -> None:
        if not isinstance(env, gym.Env):
            raise TypeError(f"env: is {env!r}, must be a Gymnasium environment or its id")
        self.env = env
        self.observation_space = require_observations("env.observation_space", env.observation_space)
        self.action_space = require_actions("env.action_space", env.action_space)
        self._stateful = _stateful(policy, self.plant)
        if self._stateful is None:
            check_fit(policy, self.observation_space, self.action_space)
        else:
            _check_signals(policy, self.observation_space, self.action_space)
        self._policy = policy
        self._problem, time_limit = _native_problem(env)
        if max_steps is not None:
            max_steps = whole_number("max_steps", max_steps, at_least=1)
        self._max_steps = min((n for n in (max_steps, time_limit) if n is not None), default=None)
        self._controller = None if self._stateful is not None else _native_controller(policy)
        self._control_law = None if policy is None else self._stateful or _control_law(policy)

    def told(self, attribute: str) -> Any:
        """What the environment declares about its states (`state_limits`, `periodic`), unless a wrapper has
        changed what a state is; None if it declares nothing."""
        if isinstance(self.plant.signals, Signals):
            return self.env.get_wrapper_attr(attribute) if self.env.has_wrapper_attr(attribute) else None
        inside = self.env.unwrapped
        unchanged = inside.observation_space == self.observation_space
        return getattr(inside, attribute, None) if unchanged else None

    @property
    def plant(self) -> Plant:
        """What is known about the system in addition to its observations."""
        return environment_plant(self.env)

    @property
    def native(self) -> bool:
        """Whether episodes are played by the core."""
        return self._problem is not None and (self._policy is None or self._controller is not None)

    def play(self, seed: int, episode: int, at_most: int | None = None) -> Episode:
        """Plays episode number `episode` of the run with this seed, cut after `at_most` steps."""
        limit = min((n for n in (self._max_steps, at_most) if n is not None), default=None)
        env_seed, generator = random_streams(seed, episode)
        if self.native:
            return self._play_native(env_seed, generator, limit)
        return self._play_loop(env_seed, generator, limit)

    def check_seed(self, seed: int, first: Floats, stacklevel: int) -> None:
        """Warns if episode 0 of this seed, which began with the state `first`, would now begin with another state."""
        if not self.native:
            warn_if_unseeded(self.env, random_streams(seed, 0)[0], first, stacklevel + 1)

    def _play_native(self, env_seed: int, generator: np.random.Generator, limit: int | None) -> Episode:
        problem = self._problem
        assert problem is not None
        if limit is None:
            raise ValueError("max_steps: is None, must be a number for an environment without a time limit")
        env_generator, _ = np_random(env_seed)
        start = problem.draw_start(env_generator)
        blocks: list[tuple[Floats, Floats, Floats]] = []
        state, done, terminal, block = start, 0, False, FIRST_BLOCK
        while done < limit and not terminal:
            steps = min(block, limit - done)
            noise = problem.draw_noise(env_generator, steps)
            if self._controller is not None:
                played = problem.system.play(self._controller, state, noise)
            else:
                actions = uniform_actions(self.action_space, generator, steps)
                played = problem.system.replay(actions, state, noise)
            states, actions, rewards, terminal = played
            blocks.append((states[1:], actions, rewards))
            state, done, block = states[-1], done + len(rewards), min(2 * block, LARGEST_BLOCK)
        states, actions, rewards = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
        return Episode(np.concatenate([start[None], states]), actions, rewards, terminal)

    def _play_loop(self, env_seed: int, generator: np.random.Generator, limit: int | None) -> Episode:
        observation, _ = self.env.reset(seed=env_seed)
        shape = self.observation_space.shape
        states, actions, rewards = [step_state("env", observation, shape, None)], [], []
        terminal = False
        for t in count() if limit is None else range(limit):
            if self._control_law is None:
                wanted: Any = uniform_actions(self.action_space, generator, 1)[0]
            else:
                wanted = self._control_law(observation, t == 0)
            action = _checked_action(self.action_space, wanted)
            observation, reward, terminal, truncated, info = self.env.step(action)
            taken = info.get("applied", action).astype(np.float64)  # the action that limited actuators applied
            rewards.append(step_reward(reward, states[-1], taken))
            states.append(step_state("env", observation, shape, (states[-1], taken)))
            actions.append(taken)
            if terminal or truncated:
                break
        return Episode(np.array(states), np.array(actions), np.array(rewards), bool(terminal))


@contextmanager
def opened(env: Environment | str) -> Iterator[Environment]:
    """The environment itself, or one made from its id, which is closed at the end."""
    if not isinstance(env, str):
        yield env
        return
    with closing(gym.make(env)) as made:
        yield made


def id_from_file(where: str, id: str) -> str:
    """An environment's id from a file. Gymnasium imports the module before a colon, which no file may cause."""
    if ":" in id:
        raise ValueError(
            f"{where}: names the environment {id!r}, which would import a module; must be created by the caller"
        )
    return id


def warn_if_unseeded(env: Environment, seed: int, first: Floats, stacklevel: int) -> None:
    """Warns if a reset with the seed of an earlier episode does not begin with the same state as that episode.

    Called once at the end of a run, so that no extra reset happens between the episodes."""
    again = np.array(env.reset(seed=seed)[0], dtype=np.float64)
    if np.array_equal(first, again, equal_nan=True):
        return
    warnings.warn(
        f"the environment ignores seeds: reset(seed={seed}) gave {first.tolist()} and later {again.tolist()}; runs "
        "with the same seed differ from each other (its reset must pass the seed on: super().reset(seed=seed))",
        ObservationWarning,
        stacklevel=stacklevel + 1,
    )


def uniform_actions(space: Box, generator: np.random.Generator, steps: int) -> Floats:
    """Rows drawn uniformly from the box, as numbers that the space can hold. They are the same whether they are
    drawn at once or one by one."""
    low, high = bounds(space).T
    drawn = np.minimum(low + generator.random((steps, len(low))) * (high - low), high)
    held: Floats = drawn.astype(space.dtype).astype(np.float64)
    return held


def random_streams(seed: int, episode: int) -> tuple[int, np.random.Generator]:
    """The seed of the environment and the generator of random actions."""
    sequence = np.random.SeedSequence(seed, spawn_key=(episode,))
    return int(sequence.generate_state(1)[0]), np.random.default_rng(sequence.spawn(1)[0])


def _native_problem(env: Environment) -> tuple[NativeProblem | None, int | None]:
    """The benchmark problem inside and its time limit, if no wrapper changes or observes its steps."""
    time_limit: int | None = None
    while isinstance(env, gym.Wrapper):
        if type(env) not in TRANSPARENT_WRAPPERS:
            return None, None
        if isinstance(env, TimeLimit):
            time_limit = min(env._max_episode_steps, time_limit or env._max_episode_steps)
        env = env.env
    if not isinstance(env, NativeProblem) or env.render_mode == "human":
        return None, None
    methods = ("reset", "step", "draw_noise")
    plain = all(getattr(type(env), name) is getattr(NativeProblem, name) for name in methods)
    return (env, time_limit) if plain else (None, None)


def _native_controller(policy: object | None) -> _core.Controller | None:
    """The policy in the form that the core runs, unless it has to look at each state first."""
    controller = getattr(policy, "native", None)
    checks_states = getattr(policy, "outside", "nearest") != "nearest"
    return controller if isinstance(controller, _core.Controller) and not checks_states else None


def _stateful(policy: object | None, plant: Plant) -> ControlLaw | None:
    """A policy with signals acts by its own controller, unless the environment itself makes its states."""
    signals = getattr(policy, "signals", None)
    make = getattr(policy, "controller", None)
    if not isinstance(signals, Signals) or not callable(make) or plant.signals is not None:
        return None
    controller = make()

    def act(observation: Any, first: bool) -> Any:
        if first:
            controller.reset()
        return controller.step(np.asarray(observation, dtype=np.float64))

    return act


def _check_signals(policy: Any, observations: Box, actions: Box) -> None:
    measured = policy.signals.measured
    if len(measured) != observations.shape[0]:
        raise ValueError(f"policy: it measures {', '.join(measured)}; must measure {observations.shape[0]} numbers")
    if not np.allclose(bounds(policy.action_space), bounds(actions), rtol=1e-6, atol=0.0):
        raise ValueError(f"policy: it acts in {policy.action_space}; must act in {actions}")


def _control_law(policy: object) -> ControlLaw:
    act, predict = getattr(policy, "act", None), getattr(policy, "predict", None)
    if callable(act):
        return lambda observation, first: act(np.ascontiguousarray(observation, dtype=np.float64))
    if callable(predict):
        return _Predictor(predict)
    if callable(policy):
        return lambda observation, first: policy(observation)
    raise TypeError(f"policy: is {policy!r}, must have act(state) or predict(observation), or be a function")


class _Predictor:
    """Acts by Stable-Baselines3's `predict`, which is given the last internal state that it returned."""

    def __init__(self, predict: Callable[..., Any]) -> None:
        self._predict = predict
        self._state: Any = None

    def __call__(self, observation: Any, first: bool) -> Any:
        state = None if first else self._state
        start = np.array([first])
        action, self._state = self._predict(observation, state=state, episode_start=start, deterministic=True)
        return action


def _checked_action(space: Box, wanted: Any) -> np.ndarray[Any, Any]:
    action = np.asarray(wanted, dtype=space.dtype)
    if action.shape != space.shape:
        raise ValueError(f"policy: returned an action of shape {action.shape}, must be {space.shape}")
    if not ((action >= space.low) & (action <= space.high)).all():
        raise ValueError(f"policy: returned the action {action.tolist()}, must stay within {space}")
    return action

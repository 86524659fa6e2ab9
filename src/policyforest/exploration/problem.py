"""What an agent must know of a system before it begins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import gymnasium as gym
from gymnasium.envs.registration import EnvSpec
from gymnasium.spaces import Box
from numpy.typing import ArrayLike

from policyforest._support.arguments import Floats, box_array
from policyforest._support.spaces import bounds, box_from_json, box_to_json, require_actions, require_observations
from policyforest.data.plant import Plant
from policyforest.data.transitions import Transitions
from policyforest.environments.episodes import Episode, EpisodePlayer

# Where a problem without an id keeps the name of its environment's class.
CLASS = "class"
# Where Gymnasium's wrapper keeps the time limit of an environment without an id.
LIMIT = "_max_episode_steps"
# Where a problem keeps the class names of the wrappers around its environment, the outermost first.
WRAPPERS = "wrappers"
# Wrappers without a place in this list: those of `gymnasium.make`, those that only watch, and those of this library
# whose effect is stored with the plant.
NOT_LISTED = {
    *("TimeLimit", "OrderEnforcing", "PassiveEnvChecker"),
    *("RecordEpisodeStatistics", "RecordVideo", "HumanRendering", "RenderCollection"),
    *("EpisodeRecorder", "DataCollector", "KnownTask", "SignalTask"),
}


@dataclass(frozen=True)
class Problem:
    """What an agent must know about a system: its spaces, the states that are not terminal, and which are angles."""

    observation_space: Box
    action_space: Box
    state_limits: Floats
    periodic: Mapping[int, tuple[float, float]]
    id: str = ""
    env_kwargs: Mapping[str, Any] = field(default_factory=dict)
    """The arguments of `gymnasium.make` besides the id; without an id, the name of the environment's class"""
    plant: Plant = field(default_factory=Plant)
    """Names of the columns, and a reward or an end that is known"""
    wrappers: tuple[str, ...] | None = None
    """The class names of the wrappers around the environment, the outermost first; None if they are not known"""

    @classmethod
    def of_spaces(
        cls,
        observation_space: Box,
        action_space: Box,
        state_limits: ArrayLike | None = None,
        periodic: Mapping[int, tuple[float, float]] | None = None,
        id: str = "",
    ) -> Problem:
        """A system without a Gymnasium environment; infinite sides of the states' box are taken from the samples."""
        observations = require_observations("observation_space", observation_space)
        actions = require_actions("action_space", action_space)
        limits = bounds(observations) if state_limits is None else state_limits
        sides = box_array("state_limits", limits, observations.shape[0])
        return cls(observations, actions, sides, dict(periodic or {}), id)

    @classmethod
    def of(cls, system: Explorable) -> Problem:
        """The problem of an environment, of a pair (observations, actions) of spaces, or itself."""
        if isinstance(system, Problem):
            return system
        if isinstance(system, gym.Env):
            return cls.of_env(system)
        if isinstance(system, tuple) and len(system) == 2:
            return cls.of_spaces(*system)
        raise TypeError(f"system: is {system!r}, must be an environment, a Problem or a pair of spaces")

    @classmethod
    def of_env(cls, env: gym.Env[Any, Any]) -> Problem:
        """The problem that an environment declares."""
        player = EpisodePlayer(env, None)
        limits, periodic = player.told("state_limits"), player.told("periodic")
        problem = cls.of_spaces(player.observation_space, player.action_space, limits, periodic)
        problem = replace(problem, plant=player.plant, wrappers=wrappers_of(env))
        if env.spec is None:  # without an id, a run knows it by the name of its class
            limit = env.get_wrapper_attr(LIMIT) if env.has_wrapper_attr(LIMIT) else None
            kept = {CLASS: type(env.unwrapped).__qualname__}
            return replace(problem, env_kwargs=kept if limit is None else {**kept, "max_episode_steps": limit})
        return replace(problem, id=env.spec.id, env_kwargs=_kwargs(env.spec))

    def settings(self) -> dict[str, Any]:
        """Plain data."""
        known: dict[str, Any] = {} if not self.plant.says_more else {"plant": self.plant.settings()}
        if self.wrappers is not None:
            known[WRAPPERS] = list(self.wrappers)
        return known | {
            "id": self.id,
            "env_kwargs": dict(self.env_kwargs),
            "observation_space": box_to_json(self.observation_space),
            "action_space": box_to_json(self.action_space),
            "state_limits": [[repr(side) for side in row] for row in self.state_limits.tolist()],
            "periodic": {str(d): [repr(side) for side in sides] for d, sides in self.periodic.items()},
        }

    @classmethod
    def from_settings(cls, content: Mapping[str, Any]) -> Problem:
        """The inverse of `settings`."""
        problem = cls.of_spaces(
            box_from_json("observation_space", content["observation_space"]),
            box_from_json("action_space", content["action_space"]),
            [[float(side) for side in row] for row in content["state_limits"]],
            {int(d): (float(lo), float(hi)) for d, (lo, hi) in content["periodic"].items()},
            str(content["id"]),
        )
        plant = Plant.from_settings(content.get("plant", {}))
        wrappers = tuple(map(str, content[WRAPPERS])) if WRAPPERS in content else None
        return replace(problem, env_kwargs=dict(content["env_kwargs"]), plant=plant, wrappers=wrappers)

    def transitions(self, episodes: list[Episode]) -> Transitions:
        """The samples of some episodes."""
        return Transitions.from_episodes(
            episodes,
            action_space=self.action_space,
            observation_space=self.observation_space,
            state_limits=self.state_limits,
            periodic=self.periodic,
            outside="keep",
            plant=self.plant,
        )


Explorable = gym.Env[Any, Any] | Problem | tuple[Box, Box]


def wrappers_of(env: gym.Env[Any, Any]) -> tuple[str, ...]:
    """The class names of the wrappers that may change the behaviour of an environment, the outermost first."""
    names = []
    while isinstance(env, gym.Wrapper):
        names.append(type(env).__name__)
        env = env.env
    return tuple(name for name in names if name not in NOT_LISTED)


def _kwargs(spec: EnvSpec) -> dict[str, Any]:
    """The plain arguments, without those for display, which do not change the behaviour of an environment."""
    plain = {k: v for k, v in spec.kwargs.items() if v is None or isinstance(v, bool | int | float | str)}
    plain.pop("render_mode", None)
    return plain | {"max_episode_steps": spec.max_episode_steps}

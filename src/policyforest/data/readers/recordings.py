"""Bags that PolicyForest's own robot node has recorded: the bag itself describes what its columns mean.

| topic | |
|---|---|
| ``/policyforest/problem`` | once, as JSON: names of states and actions, limits of the actions, angles |
| ``/policyforest/state``, ``/policyforest/action`` | lists of numbers |
| ``/policyforest/episode`` | the number of the episode |
| ``/policyforest/reward``, ``/policyforest/terminal`` | of a step, just before the state that the step led to |
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium.spaces import Box

from policyforest._support.extras import import_extra
from policyforest.data.readers.columns import Columns

TOPIC_PREFIX = "/policyforest"
RECORDING_FORMAT = "policyforest recording"


@dataclass(frozen=True)
class RecordedProblem:
    """What a recording declares about itself."""

    states: tuple[str, ...]
    actions: tuple[str, ...]
    action_space: Box
    periodic: dict[str, tuple[float, float]]
    has_rewards: bool

    def wanted(self, given: Columns) -> Columns:
        """The columns of the recording, except those that the user chose."""
        judged = given.reward is None and self.has_rewards
        return replace(
            given,
            state=[f"{name}={TOPIC_PREFIX}/state.data[{i}]" for i, name in enumerate(self.states)],
            action=[f"{name}={TOPIC_PREFIX}/action.data[{i}]" for i, name in enumerate(self.actions)],
            reward=f"{TOPIC_PREFIX}/reward.data" if judged else given.reward,
            terminal=f"{TOPIC_PREFIX}/terminal.data" if judged and given.terminal is None else given.terminal,
            episode=given.episode or f"{TOPIC_PREFIX}/episode.data",
        )


def recorded_problem(path: Path) -> RecordedProblem | None:
    """The declaration in the bag; None if the bag is not one of our recordings."""
    highlevel = import_extra("rosbags.highlevel", "rosbags")
    try:
        with highlevel.AnyReader([path]) as reader:
            chosen = [c for c in reader.connections if c.topic == f"{TOPIC_PREFIX}/problem"]
            if not chosen:
                return None
            rewards = sum(c.msgcount for c in reader.connections if c.topic == f"{TOPIC_PREFIX}/reward")
            for connection, _, raw in reader.messages(connections=chosen):
                content = json.loads(reader.deserialize(raw, connection.msgtype).data)
                return _problem(content, rewards > 0)
    except (LookupError, TypeError, ValueError) as error:
        raise ValueError(f"{path}: {TOPIC_PREFIX}/problem is not the metadata of a recording ({error})") from error
    except Exception as error:  # rosbags, SQLite and MCAP raise errors of many types
        raise ValueError(f"{path}: is not a bag that can be read ({error})") from error
    return None


def _problem(content: Any, has_rewards: bool) -> RecordedProblem:
    if not isinstance(content, dict) or content.get("format") != RECORDING_FORMAT or content.get("version") != 1:
        raise ValueError("its format or version is not supported")
    states, actions = (tuple(str(name) for name in content[key]) for key in ("states", "actions"))
    low, high = np.array(content["action_limits"], dtype=np.float64).reshape(len(actions), 2).T
    periodic = {states[int(d)]: (float(lo), float(hi)) for d, (lo, hi) in dict(content["periodic"]).items()}
    return RecordedProblem(states, actions, Box(low, high, dtype=np.float64), periodic, has_rewards)

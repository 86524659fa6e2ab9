"""Reads the recording of a node or an agent as Transitions, bit for bit."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium.spaces import Box

from policyforest._support.arguments import Floats
from policyforest._support.extras import import_extra
from policyforest.data.readers.recordings import RECORDING_FORMAT, TOPIC_PREFIX
from policyforest.data.transitions import Transitions
from policyforest.ros.recording import LEAD, TYPES
from policyforest.ros.reward import Judge

RewardFunction = Callable[[Floats, Floats, Floats], tuple[float, bool]]
"""(state, action, next state) → (reward, whether it is terminal)"""


def read_recording(path: str | os.PathLike[str], reward: RewardFunction | None = None) -> Transitions:
    """The samples of a file that ``policyforest ros run --record`` or ``ros explore --record`` has written.

    A step that a fault has interrupted, and the last step of an episode whose end was not seen, are not samples.

    Args:
        reward: For recordings without rewards (the configuration had no formula), or to learn another task from them.
    """
    file = Path(path)
    problem, moments = _moments(file)
    try:
        if isinstance(reward, Judge):
            _require_names(problem, reward)
        return _transitions(problem, moments, reward)
    except (LookupError, TypeError, ValueError) as error:  # the file may come from an untrusted source
        what = f"{error.args[0]!r} is missing" if isinstance(error, KeyError) else error
        raise ValueError(f"{file}: {what}") from error


def _require_names(problem: dict[str, Any], judge: Judge) -> None:
    for kind, names in (("states", judge.states), ("actions", judge.actions)):
        if problem[kind] != names:
            raise ValueError(f"{kind}: are {problem[kind]} in the recording, {names} in the configuration")


def _transitions(problem: dict[str, Any], moments: list[dict[str, Any]], reward: RewardFunction | None) -> Transitions:
    steps = [(a, b) for a, b in pairwise(moments) if "action" in a and a["episode"] == b["episode"]]
    if not steps:
        raise ValueError("holds no step, at least two states of one episode are needed")
    if reward is None and any("reward" not in after for _, after in steps):
        raise ValueError("holds no rewards (its configuration had no formula), `reward` must be given")
    states, actions, after = (
        np.array([step[i][key] for step in steps]) for i, key in ((0, "state"), (0, "action"), (1, "state"))
    )
    if reward is None:
        rewards = [b["reward"] for _, b in steps]
        terminals = [b["terminal"] for _, b in steps]
    else:
        judged = [reward(*step) for step in zip(states, actions, after, strict=True)]
        rewards, terminals = [r for r, _ in judged], [bool(end) for _, end in judged]
    low, high = np.array(problem["action_limits"], dtype=np.float64).T
    return Transitions(
        states,
        actions,
        np.array(rewards),
        after,
        np.array(terminals, dtype=np.bool_),
        np.array([a["episode"] for a, _ in steps]),
        action_space=Box(low, high, dtype=np.float64),
        state_limits=[[float(side) for side in row] for row in problem["state_limits"]],
        periodic={int(d): (lo, hi) for d, (lo, hi) in problem["periodic"].items()},
    )


def _moments(file: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The problem, and the records of each time stamp that has a state."""
    highlevel = import_extra("rosbags.highlevel", "ros")
    if not file.is_file():
        raise FileNotFoundError(f"{file}: does not exist")
    problem: Any = None
    moments: dict[int, dict[str, Any]] = {}
    try:
        with highlevel.AnyReader([file]) as reader:
            ours = [c for c in reader.connections if c.topic in {f"{TOPIC_PREFIX}/{name}" for name in TYPES}]
            for connection, stamp, raw in reader.messages(connections=ours):
                value = reader.deserialize(raw, connection.msgtype).data
                name = connection.topic.removeprefix(f"{TOPIC_PREFIX}/")
                if name == "problem":
                    problem = json.loads(value)
                else:
                    moment = stamp + LEAD if name in ("reward", "terminal") else stamp
                    moments.setdefault(moment, {})[name] = value
    except Exception as error:  # rosbags raises a dozen kinds of errors for a damaged file
        raise ValueError(f"{file}: cannot be read as a bag or MCAP file ({error})") from error
    if not isinstance(problem, dict) or problem.get("format") != RECORDING_FORMAT or problem.get("version") != 1:
        raise ValueError(f"{file}: is not a recording of policyforest ({TOPIC_PREFIX}/problem is missing or foreign)")
    return problem, [moments[stamp] for stamp in sorted(moments) if "state" in moments[stamp]]

"""Distinguishes errors of a user's environment from errors of this library."""

from __future__ import annotations

import traceback
from pathlib import Path
from types import FrameType

import gymnasium as gym
import gymnasium.error

import policyforest
from policyforest.data.known_functions import UnjudgedStepError

OURS = Path(policyforest.__file__).parent
GYMNASIUM = Path(gym.__file__).parent


def place_in_environment(error: BaseException) -> str | None:
    """Where an environment's own code raised an error, such as "arm.py, line 40"; None if it did not.

    The innermost method of an environment on the traceback decides: if it is one of this library, the environments and
    wrappers of this library are at fault themselves."""
    if isinstance(error, UnjudgedStepError | gymnasium.error.Error):
        return None  # their messages state the step or the name that is wrong
    frames = list(traceback.walk_tb(error.__traceback__))
    inside = [(frame, line) for frame, line in frames if _is_environment(frame)]
    if not inside or _within(inside[-1][0], OURS):
        return None
    users = [each for each in inside if not (_within(each[0], GYMNASIUM) or _within(each[0], OURS))]
    frame, line = users[-1] if users else frames[-1]
    return f"{Path(frame.f_code.co_filename).name}, line {line}"


def _is_environment(frame: FrameType) -> bool:
    return isinstance(frame.f_locals.get("self"), gym.Env)


def _within(frame: FrameType, folder: Path) -> bool:
    return folder in Path(frame.f_code.co_filename).parents

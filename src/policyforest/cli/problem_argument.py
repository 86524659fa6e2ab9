"""Problems as they are named on the command line."""

from __future__ import annotations

from typing import Annotated

import gymnasium as gym
import typer
from gymnasium.error import Error, UnregisteredEnv

from policyforest._support.arguments import suggestion
from policyforest.environments.episodes import Environment
from policyforest.environments.named_problems import PROBLEMS, environment_id

PROBLEM_HELP = f"{', '.join(PROBLEMS)}, or any Gymnasium id."
ProblemName = Annotated[str | None, typer.Argument(metavar="PROBLEM", help=PROBLEM_HELP)]


def open_environment(problem: str, argument: str = "PROBLEM") -> Environment:
    """The environment of a short name or of an id; to be closed by the caller. Errors name the argument."""
    try:
        return gym.make(environment_id(problem))
    except Error as error:
        unknown = isinstance(error, UnregisteredEnv)
        if not unknown and not str(error).startswith("Malformed"):
            raise
        names = ", ".join(PROBLEMS)
        hint = suggestion(problem, PROBLEMS) or (f" ({error})" if unknown else "")
        raise ValueError(f"{argument}: is {problem!r}{hint}, must be one of {names}, or a Gymnasium id") from error

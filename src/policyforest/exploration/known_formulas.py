"""Rewards and ends that the user of an agent knows: functions, or formulas over the problem's columns."""

from __future__ import annotations

from typing import Any

from policyforest.data.known_functions import Known
from policyforest.data.plant import KnownFunction, StepFormula
from policyforest.exploration.problem import Problem


def known_function(name: str, given: KnownFunction | None, problem: Problem) -> Known | None:
    """The function that a user gave; a formula names columns as in `data.plant`."""
    if given is None:
        return None
    if isinstance(given, str):
        n_states, n_actions = problem.observation_space.shape[0], problem.action_space.shape[0]
        plant = problem.plant.named(n_states, n_actions)
        return StepFormula(name, given, plant.state_names, plant.action_names)
    if not callable(given):
        raise TypeError(f"{name}: is {given!r}, must be a formula or a function of (states, actions, next_states)")
    return given


def known_name(given: KnownFunction | None) -> str | None:
    """The text that a run directory keeps for a known function: its formula, or the name of a function, which must be
    given again when the run is resumed."""
    if given is None or isinstance(given, str):
        return given
    name: Any = getattr(given, "__qualname__", type(given).__qualname__)
    return f"function {getattr(given, '__module__', '')}.{name}"


def is_formula(name: str | None) -> bool:
    """Whether the text that a run directory keeps is a formula."""
    return name is not None and not name.startswith("function ")

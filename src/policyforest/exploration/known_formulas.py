"""Rewards and ends that the user knows: functions, or formulas of the names of the dimensions.

A formula names states `s0`, `s1`, …, next states `next_s0`, …, and actions `a0`, …; a problem that has names of its own
for them (`labels`) takes those as well: `theta`, `next_theta`, `torque`.

    exp(-(next_theta / 3)**2 - next_x**2)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from policyforest._support.arguments import Floats
from policyforest._support.formulas import Expression
from policyforest._support.labels import labels_for
from policyforest.data.known_functions import Known
from policyforest.exploration.problem import Problem

GivenFunction = Known | str | None
GREEK = {"θ": "theta", "ω": "omega", "τ": "tau"}


class KnownFormula:
    """A formula as a function of rows (states, actions, next_states)."""

    def __init__(self, name: str, text: str, problem: Problem) -> None:
        try:
            self._expression = Expression(text)
        except ValueError as error:
            raise ValueError(f"{name}: {str(error).removeprefix('expression: ')}") from None
        self._states, self._actions = dimension_names(problem)
        known = {*self._states, *(f"next_{each}" for each in self._states), *self._actions}
        if unknown := self._expression.names - known:
            raise ValueError(f"{name}: has {', '.join(sorted(unknown))}, known are {', '.join(sorted(known))}")

    def __call__(self, states: Floats, actions: Floats, next_states: Floats) -> Floats:
        columns = {each: states[:, d] for each, d in self._states.items()}
        columns |= {f"next_{each}": next_states[:, d] for each, d in self._states.items()}
        columns |= {each: actions[:, d] for each, d in self._actions.items()}
        return self._expression(columns)


def dimension_names(problem: Problem) -> tuple[Mapping[str, int], Mapping[str, int]]:
    """The names of states and actions in formulas."""
    n_states, n_actions = problem.observation_space.shape[0], problem.action_space.shape[0]
    states = {f"s{d}": d for d in range(n_states)}
    actions = {f"a{d}": d for d in range(n_actions)}
    labels = labels_for(problem.id, n_states, n_actions)
    for found, told in ((states, labels.states), (actions, labels.actions)):
        for d, label in enumerate(told):
            for word in label.split(" (")[0].split():
                plain = GREEK.get(word, word)
                if plain.isidentifier() and plain not in found and not label.startswith(("state ", "action ")):
                    found[plain] = d
    return states, actions


def known_function(name: str, given: GivenFunction, problem: Problem) -> Known | None:
    """The function that a user gave, a formula compiled; it is called once, so that what cannot work fails at once."""
    if given is None:
        return None
    if isinstance(given, str):
        return KnownFormula(name, given, problem)
    if not callable(given):
        raise TypeError(f"{name}: is {given!r}, must be a formula or a function of (states, actions, next_states)")
    return given


def known_name(given: GivenFunction) -> str | None:
    """What a run directory keeps of a known function: its formula, or the name of a function, which must be given again
    when the run is resumed."""
    if given is None or isinstance(given, str):
        return given
    name: Any = getattr(given, "__qualname__", type(given).__qualname__)
    return f"function {getattr(given, '__module__', '')}.{name}"


def is_formula(name: str | None) -> bool:
    """Whether what a run directory keeps is a formula."""
    return name is not None and not name.startswith("function ")

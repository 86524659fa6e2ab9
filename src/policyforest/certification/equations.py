"""Systems that are given by equations: formulas for the next state or for its rate of change.

    next state:      s' = f(s, a, w)
    Euler:           s <- s + h f(s, a, w), `substeps` times, h = `time_step`
    Runge-Kutta:     the classical method of fourth order, `substeps` times

The action a and the disturbance w are held for the whole control step. Formulas have the syntax of those over logs
(`_support/formulas.py`): ``"(9.8*sin(theta) - 0.1*u)/2"``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from policyforest._support.arguments import Floats, one_of, real_number, whole_number
from policyforest._support.formulas import CONSTANTS, Expression

Method = Literal["map", "euler", "runge-kutta"]


@dataclass(frozen=True)
class Equations:
    """A system as formulas, one for each state.

    Args:
        formulas: State name → its next value (`method="map"`) or its rate of change.
        actions: Names of the actions, in the policy's order.
        disturbances: Names of the disturbances; their ranges are given to `certify`.
        method: "map", "euler" or "runge-kutta".
        time_step: Seconds of one step of the integration.
        substeps: Steps of the integration in one control step.
        angles: State name → (low, high), the turn of an angle.
        parameters: Names for numbers in the formulas.
        sensors: What the policy reads, in its order: name → formula of the states; empty: the states themselves. An
            angle that the policy reads as a sine and a cosine is one state here, and wraps around.
    """

    formulas: Mapping[str, str]
    actions: tuple[str, ...]
    disturbances: tuple[str, ...] = ()
    method: Method = "map"
    time_step: float = 1.0
    substeps: int = 1
    angles: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    parameters: Mapping[str, float] = field(default_factory=dict)
    sensors: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        one_of("method", self.method, ("map", "euler", "runge-kutta"))
        real_number("time_step", self.time_step)
        whole_number("substeps", self.substeps, at_least=1, at_most=10_000)
        if not isinstance(self.formulas, Mapping) or not self.formulas:
            raise ValueError(f"formulas: is {self.formulas!r}, must have a formula for each state")
        names = [*self.formulas, *self.actions, *self.disturbances, *self.parameters]
        if len(set(names)) != len(names) or CONSTANTS.keys() & set(names):
            raise ValueError(f"formulas: the names {names} must differ from each other and from {', '.join(CONSTANTS)}")
        _require_formulas("formulas", self.formulas, names)
        _require_formulas("sensors", self.sensors, [*self.formulas, *self.parameters])
        for state, (low, high) in self.angles.items():
            if state not in self.formulas or not low < high:
                raise ValueError(f"angles: {state} is {(low, high)}, must be a state with low < high")
        for name, value in self.parameters.items():
            real_number(f"parameters: {name}", value)

    @property
    def states(self) -> tuple[str, ...]:
        """The names of the states."""
        return tuple(self.formulas)

    @property
    def periodic(self) -> dict[int, tuple[float, float]]:
        """State dimension → turn of its angle."""
        return {self.states.index(name): (float(low), float(high)) for name, (low, high) in self.angles.items()}

    def settings(self) -> dict[str, Any]:
        """Plain data, for files."""
        return {
            "formulas": dict(self.formulas),
            "actions": list(self.actions),
            "disturbances": list(self.disturbances),
            "method": self.method,
            "time_step": float(self.time_step),
            "substeps": int(self.substeps),
            "angles": {name: [float(low), float(high)] for name, (low, high) in self.angles.items()},
            "parameters": {name: float(value) for name, value in self.parameters.items()},
        } | ({"sensors": dict(self.sensors)} if self.sensors else {})

    def model_settings(self) -> dict[str, Any]:
        """The data that a certificate stores about these equations."""
        names = {"state_names": list(self.states), "action_names": list(self.actions)}
        return {"kind": "equations", "equations": self.settings(), **names}

    @classmethod
    def from_settings(cls, content: Any) -> Equations:
        """The inverse of `settings`; content that does not fit is a ValueError."""
        keys = ("formulas", "actions", "disturbances", "method", "time_step", "substeps", "angles", "parameters")
        if not isinstance(content, Mapping) or content.keys() - {"sensors"} != set(keys):
            raise ValueError(f"equations: must have {', '.join(keys)}")
        try:
            angles = {name: (float(low), float(high)) for name, (low, high) in content["angles"].items()}
            lists = {name: tuple(map(str, content[name])) for name in ("actions", "disturbances")}
            return cls(**{**content, "angles": angles, **lists})
        except (TypeError, AttributeError) as error:
            raise ValueError(f"equations: {error}") from None

    @classmethod
    def from_text(cls, text: str) -> Equations:
        """From the JSON text of `settings`; keys other than ``formulas`` and ``actions`` may be missing."""
        try:
            content = json.loads(text)
        except ValueError as error:
            raise ValueError(f"equations: must be a JSON object ({error})") from None
        if not isinstance(content, dict):
            raise ValueError("equations: must be a JSON object")
        defaults = {
            "disturbances": [],
            "method": "map",
            "time_step": 1.0,
            "substeps": 1,
            "angles": {},
            "parameters": {},
        }
        return cls.from_settings(defaults | content)

    def step(self, states: Floats, actions: Floats, disturbances: Floats) -> Floats:
        """The next states of rows, in floating-point numbers."""
        held = dict(zip((*self.actions, *self.disturbances), np.hstack([actions, disturbances]).T, strict=True))
        held |= {name: np.full(len(states), value) for name, value in self.parameters.items()}
        expressions = [Expression(text) for text in self.formulas.values()]

        def rates(at: Floats) -> Floats:
            columns = held | dict(zip(self.states, at.T, strict=True))
            return np.stack([e({name: columns[name] for name in e.names} or columns) for e in expressions], axis=1)

        here, h = states, self.time_step
        for _ in range(self.substeps):
            if self.method == "map":
                here = rates(here)
            elif self.method == "euler":
                here = here + h * rates(here)
            else:
                a = rates(here)
                b = rates(here + h / 2 * a)
                c = rates(here + h / 2 * b)
                d = rates(here + h * c)
                here = here + h / 6 * (a + 2 * b + 2 * c + d)
        return here


def _require_formulas(argument: str, formulas: Mapping[str, str], names: list[str]) -> None:
    for name, text in formulas.items():
        try:
            unknown = Expression(text).names - set(names)
        except ValueError as error:
            raise ValueError(f"{argument}: {name}: {str(error).removeprefix('expression: ')}") from None
        if unknown:
            raise ValueError(
                f"{argument}: {name} names {', '.join(sorted(unknown))}, the known names are {', '.join(names)}"
            )

"""An existing controller: a policy, a function of the measurement, or a law written as formulas."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import ArrayLike

from policyforest._support.arguments import Floats, box_array, finite_array, real_number
from policyforest._support.formulas import Expression
from policyforest._support.spaces import bounds, check_fit
from policyforest.policy.acting import ActingPolicy
from policyforest.policy.policy_info import PolicyInfo

# Actions that leave their box by less than this fraction of it are taken for rounding errors.
ROUNDING = 1e-6


@dataclass(frozen=True, eq=False)
class BaselinePolicy(ActingPolicy):
    """An existing controller with checks: its actions are finite and lie within their box.

    Args:
        law: Rows of states → rows of actions.
        observation_space: The space of the states.
        action_space: The box of the actions.
        text: A description for users.
        formula: The text of the law if it is a formula; only a formula can be saved to a file.
        names: The names of the states and of the actions in the formula.
    """

    kind = "baseline"

    law: Callable[[Floats], Any]
    observation_space: Box
    action_space: Box
    text: str = "a function"
    formula: str = ""
    names: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    info: PolicyInfo = field(default_factory=lambda: PolicyInfo("baseline"))

    def act(self, state: ArrayLike) -> Floats:
        """The action for one state."""
        action: Floats = self.act_batch(finite_array("state", state, 1)[None])[0]
        return action

    def act_batch(self, states: ArrayLike) -> Floats:
        """The actions for rows of states; if an action is not finite or leaves its box, an error names the state."""
        rows = finite_array("states", states, 2)
        actions = np.asarray(self.law(rows), dtype=np.float64)
        box = bounds(self.action_space)
        if actions.shape != (len(rows), len(box)):
            expected = (len(rows), len(box))
            raise ValueError(f"baseline: {self.text} returned shape {actions.shape}, must return shape {expected}")
        slack = ROUNDING * (box[:, 1] - box[:, 0])
        fine = np.isfinite(actions) & (actions >= box[:, 0] - slack) & (actions <= box[:, 1] + slack)
        if not fine.all():
            i = int(np.argmin(fine.all(axis=1)))
            remedy = "; limit a law with clip(…, low, high)"
            if not np.isfinite(actions[i]).all():
                remedy = " (does it divide by zero? a clip around that does not help)"
            raise ValueError(
                f"baseline: {self.text} returned {actions[i].tolist()} at the state {rows[i].tolist()}, must be finite "
                f"and within {box.tolist()}{remedy}"
            )
        kept: Floats = np.clip(actions, box[:, 0], box[:, 1])
        return kept


def as_baseline(
    baseline: Any,
    observation_space: Box,
    action_space: Box,
    state_names: tuple[str, ...],
    action_names: tuple[str, ...],
) -> BaselinePolicy:
    """The `BaselinePolicy` of a policy, of a function of one state, or of a law such as ``"u = -12*theta - 3*omega"``.

    In a law, semicolons separate several actions."""
    if isinstance(baseline, BaselinePolicy):
        return baseline
    spaces = (observation_space, action_space)
    if isinstance(baseline, str):
        names = (tuple(state_names), tuple(action_names))
        return BaselinePolicy(_law(baseline, *names), *spaces, repr(baseline), baseline, names)
    if callable(getattr(baseline, "act_batch", None)):
        check_fit(baseline, *spaces)
        return BaselinePolicy(baseline.act_batch, *spaces, text=type(baseline).__name__)
    if callable(baseline):
        function: Callable[[Floats], Any] = baseline
        name = getattr(baseline, "__name__", "a function")

        def rows(states: Floats) -> Any:
            return np.array([_numbers(name, function(state), state) for state in states])

        return BaselinePolicy(rows, *spaces, text=name)
    raise TypeError(f"baseline: is {baseline!r}, must be a policy, a function or a formula such as 'u = -2*theta'")


def _numbers(name: str, returned: Any, state: Floats) -> Floats:
    """The numbers that a function returned; None is refused, although NumPy would convert it to NaN."""
    numbers = np.atleast_1d(np.asarray(returned))
    if numbers.dtype.kind not in "fiub":
        raise TypeError(
            f"baseline: {name} returned {returned!r} at the state {state.tolist()}, must return one number per action"
        )
    return numbers.astype(np.float64)


def _law(text: str, state_names: tuple[str, ...], action_names: tuple[str, ...]) -> Callable[[Floats], Floats]:
    laws: dict[str, Expression] = {}
    numbered = {f"s{d}": d for d in range(len(state_names))}
    known = numbered | {name: d for d, name in enumerate(state_names)}
    for part in text.split(";"):
        name, equals, formula = part.partition("=")
        if not equals or name.strip() not in action_names:
            wanted = "; ".join(f"{action} = …" for action in action_names)
            raise ValueError(f"baseline: is {text!r}, must be {wanted!r}")
        if name.strip() in laws:
            raise ValueError(f"baseline: {text!r} has two laws for {name.strip()}, must have one")
        try:
            laws[name.strip()] = Expression(formula)
        except ValueError as error:
            raise ValueError(f"baseline: {str(error).removeprefix('expression: ')}") from None
        if unknown := sorted(laws[name.strip()].names - known.keys()):
            allowed = ", ".join(state_names)
            raise ValueError(f"baseline: {text!r} names {', '.join(unknown)}, the known names are {allowed}")
    missing = [name for name in action_names if name not in laws]
    if missing:
        raise ValueError(f"baseline: {text!r} has no law for {', '.join(missing)}")

    def law(states: Floats) -> Floats:
        columns = {name: states[:, d] for name, d in known.items()}
        return np.stack([laws[name](columns) for name in action_names], axis=1)

    return law


@dataclass(frozen=True)
class NoisyBaseline:
    """Explores around a controller: its action plus bounded noise inside a safe box, its action alone outside.

    Args:
        baseline: The controller.
        noise: The largest change of each action.
        safe_box: Rows (low, high) of states in which noise is allowed; None: everywhere.
        seed: The seed of the noise.
    """

    baseline: BaselinePolicy
    noise: tuple[float, ...]
    safe_box: ArrayLike | None = None
    seed: int = 0
    _rng: np.random.Generator = field(init=False, repr=False)

    def __post_init__(self) -> None:
        for j, size in enumerate(self.noise):
            real_number(f"noise[{j}]", size, at_least=0.0)
        if len(self.noise) != self.baseline.action_space.shape[0]:
            n = self.baseline.action_space.shape[0]
            raise ValueError(f"noise: has {len(self.noise)} numbers, must have one per action ({n})")
        if self.safe_box is not None:
            box = box_array("safe_box", self.safe_box, self.baseline.observation_space.shape[0])
            object.__setattr__(self, "safe_box", box)
        object.__setattr__(self, "_rng", np.random.default_rng(self.seed))

    def is_safe(self, state: Floats) -> bool:
        """Whether a state lies in the safe box."""
        if self.safe_box is None:
            return True
        low, high = np.asarray(self.safe_box).T
        return bool(((state >= low) & (state <= high)).all())

    def act(self, state: ArrayLike) -> Floats:
        """The action for one state."""
        here = finite_array("state", state, 1)
        size = np.array(self.noise)
        return self.bounded(here, self.baseline.act(here) + self._rng.uniform(-size, size))

    def bounded(self, state: Floats, wanted: Floats) -> Floats:
        """The wanted action, at most the noise away from the baseline's; outside the safe box the baseline's action."""
        own = self.baseline.act(state)
        if not self.is_safe(state):
            return own
        size, box = np.array(self.noise), bounds(self.baseline.action_space)
        near = np.clip(wanted, own - size, own + size)
        kept: Floats = np.clip(near, box[:, 0], box[:, 1])
        return kept

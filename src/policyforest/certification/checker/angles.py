"""Angles: adding a whole turn changes neither the next state nor, where it can matter, the action of the policy.

Cells of an angle represent all of its turns. This is valid only if the system behaves the same after a whole turn,
which is checked at points of the cells. The policy must also behave the same, unless no state leaves the turn that it
reads.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from policyforest._support.arguments import Array, Floats
from policyforest._support.spaces import bounds
from policyforest.certification.checker.forms import AffineForm
from policyforest.certification.checker.rejection import require
from policyforest.policy.policy import Policy

POINTS = 64
# Adding a turn may change a state by this fraction of its box, because some hundred steps can have such roundings.
NEARLY = 1e-6
Turns = Mapping[int, tuple[float, float]]
Forms = list[AffineForm]


@dataclass(frozen=True, eq=False)
class TurnedLoop:
    """A loop in which some states are angles: `step` maps states, actions and disturbances to the next states, `read`
    maps the states to the inputs of the policy, and is None if the inputs are the states."""

    arrays: Mapping[str, Array]
    policy: Policy
    turns: Turns
    steps: int
    step: Callable[[Forms, Forms, Forms], Forms]
    read: Callable[[Forms], Forms] | None

    def require(self) -> None:
        """Rejects a loop that differs after a whole turn of an angle."""
        start = self.arrays["start"]
        for d, (begin, end) in self.turns.items():
            require(0 <= d < len(start) and math.isfinite(end - begin) and begin < end, "the turn of an angle is wrong")
            require(start[d, 1] - start[d, 0] <= (end - begin) * (1 + 1e-12), "its start box has more than one turn")
        points = self._points()
        widths = self.arrays["box"][:, 1] - self.arrays["box"][:, 0]
        for d, (begin, end) in self.turns.items():
            turned = points + (end - begin) * (np.arange(len(start)) == d)
            same = _nearly_same(self._after(points), self._after(turned), self.turns, widths)
            require(same, f"state {d} is not an angle of its model, which changes after a whole turn")
            if self._leaves_its_turn(d):
                require(self._policy_turns(d, points, turned), f"state {d} is an angle, but not for the policy")

    def _points(self) -> Floats:
        """Points of some cells; not their middles, because thresholds may lie there."""
        n, cells = len(self.arrays["box"]), self.arrays["cells"]
        some = cells[:: max(1, len(cells) // POINTS)]
        points: Floats = 0.637 * some[:, :n] + 0.363 * some[:, n:]
        return points

    def _after(self, points: Floats) -> Forms:
        rng = np.random.default_rng(0)
        sides = np.concatenate([bounds(self.policy.action_space), self.arrays["disturbance"]])
        held = sides[:, 0] + rng.random((len(points), len(sides))) * (sides[:, 1] - sides[:, 0])
        actions = self.policy.action_space.shape[0]
        forms = _forms(held, len(self.arrays["box"]))
        return self.step(_forms(points, len(self.arrays["box"])), forms[:actions], forms[actions:])

    def _leaves_its_turn(self, d: int) -> bool:
        """Whether a policy can meet the angle outside of the turn; between moves the angle is not turned back."""
        (begin, end), sides = self.turns[d], self.arrays["start" if self.steps == 1 else "box"][d]
        circle = self.steps > 1 and sides[1] - sides[0] >= (end - begin) * (1 - 1e-12)
        return circle or not (begin <= sides[0] and sides[1] <= end)

    def _policy_turns(self, d: int, points: Floats, turned: Floats) -> bool:
        if self.read is not None:
            box = self.policy.state_box
            widths = np.where(np.isfinite(box).all(axis=1), box[:, 1] - box[:, 0], 1.0)
            before, after = (self.read(_forms(rows, len(self.arrays["box"]))) for rows in (points, turned))
            return _nearly_same(before, after, self.policy.periodic, widths)
        low, high = self.policy.periodic.get(d, (0.0, 0.0))
        length = self.turns[d][1] - self.turns[d][0]
        return abs((high - low) - length) <= 1e-12 * length


def _forms(rows: Floats, pairs: int) -> Forms:
    return [AffineForm.constant(column, len(rows), pairs) for column in rows.T]


def _nearly_same(before: Forms, after: Forms, turns: Turns, widths: Floats) -> bool:
    """Whether numbers differ only by rounding, and angles also by whole turns; numbers without a bound are not
    compared."""
    for i, (x, y) in enumerate(zip(before, after, strict=True)):
        gap = y.c - x.c
        if i in turns:
            length = turns[i][1] - turns[i][0]
            gap = gap - length * np.rint(gap / length)
        near = np.abs(gap) <= NEARLY * widths[i] + x.radius + y.radius
        if not (near | ~(x.bounded() & y.bounded())).all():
            return False
    return True

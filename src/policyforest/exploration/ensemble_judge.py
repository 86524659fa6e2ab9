"""The values of policies in the members of a model's ensemble, from where episodes begin.

Episodes begin at states that were seen, and around them: few were seen, and a policy that is only good from these would
fall from the next one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from policyforest._support.angles import within_half_a_turn, wrapped
from policyforest._support.arguments import Floats
from policyforest.data.transitions import Transitions
from policyforest.learning.dynamics.dynamics_model import DynamicsModel
from policyforest.learning.improvement.simulation import Simulation

# Members of the ensemble that plans are made in, and the first of those that only judge.
MEMBERS, FIRST_JUDGE = 4, 100
JUDGED_STARTS = 48
# Episodes may begin this many standard deviations of their first states away from one of these: for planning, and for
# the choice between policies. (Plans for everything that may happen are worse where most episodes begin.)
NEAR, FAR = 0.7, 1.5
# The model was wrong if its errors on new steps exceed those on held-out samples by this factor.
WRONG = 4.0
# An end was expected if the model gave it at least this probability.
EXPECTED = 0.5


class EnsembleJudge:
    """Values of policies in the members of a model's ensemble, from where episodes begin, under common noise."""

    def __init__(
        self, discount: float, n_steps: int, model: DynamicsModel, seed: int, leaving: float, away: float = NEAR
    ) -> None:
        self.discount, self.n_steps, self.model, self.seed, self.leaving = discount, n_steps, model, seed, leaving
        rng = np.random.default_rng([seed, 61])
        self.starts = likely_starts(model, JUDGED_STARTS, away, rng)
        self.judged = self.starts[rng.integers(len(self.starts), size=JUDGED_STARTS)]
        self._members: dict[int, Any] = {}

    def simulation(self, member: int, novelty: float = 0.0) -> Simulation:
        """A member of the ensemble, made when it is first needed."""
        others = [b for b in range(MEMBERS) if b != member] if novelty > 0.0 else []
        for b in (member, *others):
            if b not in self._members:
                self._members[b] = self.model.member(b)
        rivals = tuple(self._members[b] for b in others)
        return Simulation(self.model, self._members[member], self.discount, self.leaving, novelty, rivals)

    def values(self, policy: Any, first_member: int = 0) -> Floats:
        """Discounted returns (members, starts)."""
        return self.returns(policy, self.judged, 2 * self.n_steps, first_member)

    def returns(self, policy: Any, starts: Floats, n_steps: int, first_member: int = 0) -> Floats:
        """Discounted returns (members, starts) of rollouts of this length."""
        return np.stack([
            self.simulation(b).play(policy, starts, n_steps, np.random.default_rng([self.seed, 62, b])).worth
            for b in range(first_member, first_member + MEMBERS)
        ])  # fmt: skip


def first_states(data: Transitions) -> Floats:
    """The states where episodes begin, a row for each."""
    return data.states[np.unique(data.episodes, return_index=True)[1]]


def likely_starts(model: DynamicsModel, n: int, away: float, rng: np.random.Generator) -> Floats:
    """The states where episodes began, and n more at this number of standard deviations from them. None are added if
    dimensions are functions of others, because the functions would not hold."""
    data = model.transitions
    seen = first_states(data)
    if len(seen) < 3 or model.structure.circles or model.structure.relations:
        return seen
    apart = within_half_a_turn(seen - seen[0], data.periodic)
    deviations = apart - apart.mean(axis=0)
    rows = rng.integers(len(seen), size=n)
    # A sum of all deviations with normal weights has their covariance.
    moved = rng.standard_normal((n, len(seen))) @ deviations / np.sqrt(len(seen) - 1)
    more = wrapped(seen[rows] + away * moved, data.periodic)
    box = data.state_box()
    return np.concatenate([seen, np.clip(more, box[:, 0], box[:, 1])])


def was_wrong(model: DynamicsModel, newer: Transitions) -> bool:
    """Whether the errors on new steps are clearly larger than those on held-out steps when the model was learned, or
    most of the steps that ended an episode were not expected to."""
    living, ended = ~newer.terminals, newer.next_states[newer.terminals]
    if model.known_terminal is None and len(ended) and float(model.end.chance_at(ended).mean()) < EXPECTED:
        return True
    if not living.any():
        return False
    rows, before = newer[np.flatnonzero(living)], model.transitions
    ahead, rewards, chance, _ = model.native.step(rows.states, rows.actions, None, False)
    missed = within_half_a_turn(rows.next_states - ahead, newer.periodic)
    spread = within_half_a_turn(before.next_states - before.states, newer.periodic).var(axis=0)
    expected = (1.0 - np.array(model.state_scores)) * spread
    states_wrong = (np.mean(missed**2, axis=0) > WRONG * expected + 1e-4 * spread).any()
    ends_wrong = float(chance.mean()) > 0.1
    reward_error = float(np.mean((rewards - rows.rewards) ** 2))
    known = model.known_reward is not None
    allowed = WRONG * (1.0 - model.reward_score) + 1e-3
    reward_wrong = not known and reward_error > allowed * float(before.rewards.var()) + 1e-12
    return bool(states_wrong or ends_wrong or reward_wrong)

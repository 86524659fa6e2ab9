"""The best linear law in the learned model, found by a search over its gains.

Near a point where a system is held against noise, the best policy is nearly linear, and only a few numbers are left to
improve. A linear law is fitted to the actions of the start policy at the states that it visits,

    a = a_mean + K (s - s_mean),

and its gains K are moved by the simplex search of Nelder and Mead, each law judged by rollouts with the noise of the
data in many members of the ensemble, also with weaker and stronger gains. The means do not change: the system is held
at the same point. Rollouts are long enough to show a slow fall. A law of a few numbers can hardly exploit the model's
errors, whereas policies with more freedom, improved in the same model, can gain by chance.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from policyforest._support.arguments import Floats
from policyforest.learning.improvement.nelder_mead import minimise
from policyforest.learning.improvement.policy_search import (
    Improvement,
    ImprovementRound,
    ModelImprovement,
    PolicySearch,
)
from policyforest.learning.improvement.rollouts import checked_actions
from policyforest.learning.improvement.simple_policies import constant_policy, make_policy, middle_action, one_leaf
from policyforest.policy.policy import Policy

# A simplex search in more dimensions takes too many rollouts.
MOST_NUMBERS = 10
# Laws are judged over this multiple of the number of steps for which a reward matters, from this many states.
LONG, JUDGED = 5, 120
# The first step of a gain, and the one that ends the search, as parts of the largest gain.
FIRST_STEP, LAST_STEP = 0.25, 0.01
# The largest gain counts as at least this part of the action box per spread of a state.
SMALLEST = 0.02
# Laws that are tried per number.
TRIES = 25
# A search takes at most about this many steps of the model: laws of many numbers are judged from fewer of the states,
# but not from fewer than these. (A cart-pole took 40 s from all of them.)
MODEL_STEPS, FEWEST_JUDGED = 10_000_000, 16
# Members take turns with weaker, unchanged and stronger gains: a slope of the model that is wrong by this
# much must not let the system fall.
MARGIN = (0.75, 1.0, 1.25)


class _GainRounds(PolicySearch):
    """One run of the search for a linear law."""

    method = "gain-improvement"

    def run(self, policy: Any) -> Improvement:
        """Searches from the linear law that is nearest to the policy."""
        if self.data.states.shape[1] * len(self.box) > MOST_NUMBERS:
            return Improvement(policy, False, 0.0, ())
        visited = self._visited(policy)
        half = JUDGED // 2
        there = visited[self.rng.integers(len(visited), size=JUDGED - half)]
        self.judged = np.concatenate([self.draw_starts(half), there])
        law = _LinearLaw.nearest(visited, checked_actions(policy, visited, len(self.box)))
        value = float(self.judge(policy, 7).mean())
        if not self._within_reach(law, value):
            return Improvement(policy, False, 0.0, ())
        found = self._search(law)
        candidate, judged = self._policy(found), float(self.judge(self._policy(found), 7).mean())
        gain = self._worth(found) - self._worth(law)
        made = ImprovementRound(1, gain, None, max(judged, value), judged > value)
        if self.how.callback is not None:
            self.how.callback(made)
        return self.result(policy, candidate if made.taken else policy, (made,))

    def _within_reach(self, law: _LinearLaw, value: float) -> bool:
        """Whether the law keeps half of what the policy gains over doing nothing: otherwise no gains would be good
        enough to replace it."""
        nothing = float(self.judge(constant_policy(self.data, middle_action(self.data)), 7).mean())
        kept = float(self.judge(self._policy(law), 7).mean()) - nothing
        return kept > 0.5 * (value - nothing)

    def _visited(self, policy: Any) -> Floats:
        passed = [
            self.rollouts.visited(
                policy, self.draw_starts(40), n_steps=2 * self.how.n_steps, seed=self.seed + 5 + b, member=b,
                action_noise=0.03,
            )
            for b in range(self.how.n_members)
        ]  # fmt: skip
        return np.concatenate([*passed, self.starts])

    def _search(self, law: _LinearLaw) -> _LinearLaw:
        width = self.box[:, 1] - self.box[:, 0]
        largest = np.maximum(np.abs(law.gains).max(axis=0), SMALLEST * width)
        steps = np.where(np.isinf(law.spread)[:, None], 0.0, FIRST_STEP * largest)  # a constant state has no gain
        moved = np.flatnonzero(steps)
        n = len(moved)
        if n == 0:
            return law

        def at(z: Floats) -> _LinearLaw:
            gains = law.gains.copy()
            gains.reshape(-1)[moved] += steps.reshape(-1)[moved] * z
            return replace(law, gains=gains)

        simplex = np.concatenate([np.zeros((1, n)), np.eye(n)])
        calls, tolerance = TRIES * n, LAST_STEP / FIRST_STEP
        return at(minimise(lambda z: -self._worth(at(z)), simplex, most_calls=calls, tolerance=tolerance))

    def _worth(self, law: _LinearLaw) -> float:
        """The mean value over members and judged states, with a margin of the gains."""
        policies = [self._policy(replace(law, gains=part * law.gains)) for part in MARGIN]
        steps, seed = LONG * self.how.n_steps, 100 * (self.seed + 3)
        states = self.judged[:: self._stride()]
        values = [
            self.rollouts.values(policies[b % len(MARGIN)], states, n_steps=steps, seed=seed + b, member=b)
            for b in range(self.how.n_members)
        ]
        return float(np.mean(values))

    def _stride(self) -> int:
        """During the search, laws are judged from every n-th of the judged states; returns n."""
        n_laws = TRIES * self.data.states.shape[1] * len(self.box)
        steps = n_laws * self.how.n_members * LONG * self.how.n_steps
        return int(np.clip(np.ceil(JUDGED * steps / MODEL_STEPS), 1, JUDGED // FEWEST_JUDGED))

    def _policy(self, law: _LinearLaw) -> Policy:
        leaves = [one_leaf(self.data.state_box(), column) for column in law.coefficients.T]
        return make_policy(self.data, leaves, self.method)


@dataclass(frozen=True)
class _LinearLaw:
    """a = a_mean + K (s - s_mean), with the gains per spread of each state; infinite for a state that never changes."""

    mean_state: Floats
    mean_action: Floats
    spread: Floats
    gains: Floats
    """(n, m)"""

    @classmethod
    def nearest(cls, states: Floats, actions: Floats) -> _LinearLaw:
        """By least squares."""
        mean, spread = states.mean(axis=0), states.std(axis=0)
        spread = np.where(spread > 1e-9 * (1.0 + np.abs(mean)), spread, np.inf)
        gains = np.linalg.lstsq((states - mean) / spread, actions - actions.mean(axis=0), rcond=1e-9)[0]
        return cls(mean, actions.mean(axis=0), spread, gains)

    @property
    def coefficients(self) -> Floats:
        """The coefficients of (s, 1): (n + 1, m)."""
        slopes = self.gains / self.spread[:, None]
        found: Floats = np.concatenate([slopes, (self.mean_action - self.mean_state @ slopes)[None]])
        return found


@dataclass(frozen=True)
class GainImprovement(ModelImprovement):
    """Improves a policy by the best linear law in a learned model; `fit(model, policy)` returns a policy.

    It is for systems that are held at a point against noise, with at most 10 gains (states times actions); with more,
    the given policy is returned.

    Args:
        discount: gamma, in [0, 1).
        n_members: Members of the model's ensemble; many are needed, because a low gain that balances in most of them
            may not do so in the system.
        random_state: The seed.
        n_jobs: Threads; the result does not depend on them.
        callback: Called with an `ImprovementRound` at the end.
    """

    n_rounds: int = 1
    n_members: int = 12
    n_estimators: int = 1
    search = _GainRounds

"""From planned trajectories to a policy: what the trajectories do, and what their feedback would do near them.

The best sequence of actions from where episodes begin is searched for and improved by the slopes of the model. The
forest is regressed on the states of the trajectories, on states near them with the actions of their feedback, and,
as in DAgger (Ross et al., 2011), on trajectories from the states that the forest itself comes to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from policyforest._support.arguments import Floats
from policyforest.forest.growing import grow_forest
from policyforest.learning.improvement.simple_policies import make_policy
from policyforest.learning.improvement.simulation import Simulation
from policyforest.learning.improvement.trajectories import GROWN_FROM, Trajectories, search_sequence
from policyforest.policy.policy import Policy

# Rounds of the improvement of the first trajectory, and of those that start from it.
FIRST_ROUNDS, NEXT_ROUNDS = (6, 15), (4, 6)
# Rounds of the searches of each length, where the model is quick, where it holds Gaussian processes, and where there is
# an earlier plan to start from, too. Improvement makes more of a sequence than the search for it, and costs less: many
# short searches find the best trajectory more often than few long ones. (Cart-pole, 8 models: five searches found it in
# all of them, two of 8 rounds in 5.)
SEARCHES, SLOW_SEARCHES, FEW_SEARCHES = (8, 8, 3, 3, 3, 3, 3, 3), (8, 3, 3, 3, 3), (8, 3, 3)
# Trajectories from start states, and those that are added in each round: some of them from observed states.
STARTS, AGGREGATED, OBSERVED = 8, 20, 6
# Episodes begin anywhere if their first states differ by more than this part of the data's spread.
VARIED = 0.2
# A policy that is worth as much as trajectories but for this part is as good, and nearly as good.
SAME, NEARLY = 0.01, 0.03
# Where all episodes begin alike, an episode that is worth less than the others by this part has failed.
FAILED = 0.05
# Noise of the actions with which a policy is played to see where it comes to, as a part of their range.
NOISE = 0.05
# Episodes that a policy is played in to see where it comes to, and those of them that are learned from.
PLAYED, WORST = 16, 4
# Starts from which policies of several leaf sizes are compared.
JUDGED = 24
# The last steps of a plan have nothing to care for: their actions are not learned from.
LAST = 12
# States beside a trajectory lie so far from it, as a part of the data's spread; so many for each of its states.
BESIDE, COPIES = 0.05, 3
# Feedback may ask for actions this part of their range beyond it: a linear leaf is steeper for it, and policies clip.
BEYOND = 1.0
LEAF_SHARES = (0.03, 0.01, 0.004)
TREES = 12


@dataclass(frozen=True)
class TrajectoryPlan:
    """A policy, what it was learned from, and what it is worth in the simulation where episodes begin."""

    policy: Policy
    promised: float
    """What the planned trajectories are worth"""
    worth: float
    """What the policy is worth, over twice as many steps"""
    kept: bool
    """Whether the policy does what the trajectories promise"""
    sequence: Floats | None
    """The actions of the best trajectory, for the next plan to start from; None for plans without trajectories"""


class Effort(NamedTuple):
    """How much is done for a plan: how often trajectories are added from the states that the policy comes to, and the
    part of what the trajectories promise that the policy may miss to be good enough."""

    rounds: int = 3
    missed: float = SAME


USUAL, NOVEL, FINAL = Effort(), Effort(1), Effort(6)
"""For the next episode, for an episode that looks for what is new, and for a policy that is relied on"""


class _Fitted(NamedTuple):
    policy: Policy
    worth: float
    share: float
    """Of the states that a leaf has at least"""
    visited: Floats
    """States that the policy comes to"""


def trajectory_policy(
    simulation: Simulation,
    starts: Floats,
    n_steps: int,
    seed: int,
    earlier: Floats | None = None,
    effort: Effort = USUAL,
    incumbent: Policy | None = None,
    others: Sequence[Simulation] = (),
) -> TrajectoryPlan:
    """Plans from rows of start states; `earlier` is the sequence of an earlier plan. An `incumbent` that does what the
    trajectories promise stays. What was planned is compared in `others`, too: a single member has errors that plans
    exploit."""
    return _TrajectoryPlanning(simulation, starts, n_steps, seed, others).run(earlier, effort, incumbent)


class _TrajectoryPlanning:
    def __init__(
        self, simulation: Simulation, starts: Floats, n_steps: int, seed: int, others: Sequence[Simulation] = ()
    ) -> None:
        self.simulation, self.n_steps, self.seed = simulation, n_steps, seed
        self.members = (simulation, *others)
        self.n_first = max(1, round(GROWN_FROM * n_steps))
        self.lengths = (self.n_first, (self.n_first + n_steps) // 2, n_steps)
        self.data = simulation.model.transitions
        self.quick = not simulation.model.has_kernels
        self.rng = np.random.default_rng([seed, 51])
        # Where episodes begin anywhere, the few beginnings that were seen stand for all states that were.
        around = simulation.apart(starts, starts[:1])  # angles on both sides of a turn are near each other
        self.varied = varied = bool((around.std(axis=0) > VARIED * simulation.spread).any())
        seen = self.data.states[self.rng.integers(len(self.data), size=max(len(starts), STARTS))]
        self.starts = np.concatenate([starts, seen]) if varied else starts
        self.n_observed = AGGREGATED * 2 // 3 if varied else OBSERVED
        self.judged = self.starts[self.rng.integers(len(self.starts), size=JUDGED)]
        self.made: list[Trajectories] = []

    def run(self, earlier: Floats | None, effort: Effort, incumbent: Policy | None) -> TrajectoryPlan:
        best = self._first(earlier, incumbent)
        more = self._from(self._some_starts(STARTS), np.repeat(best.actions, STARTS, axis=0))
        after = self._from(*self._after(best))
        self.made = [more, after]
        if incumbent is not None:
            self._learn_from(incumbent)
        if incumbent is not None and self._is_done(incumbent, more, after, effort.missed):
            return TrajectoryPlan(incumbent, float(more.worth.mean()), self._worth(incumbent), True, best.actions[0])
        fitted = top = self._fitted(LEAF_SHARES)
        for _ in range(effort.rounds):
            if self._is_done(top.policy, more, after, effort.missed):
                break
            self._learn_from(fitted.policy)
            self._aggregate(more, fitted.visited)
            fitted = self._fitted((top.share,))
            top = max(top, fitted, key=lambda made: made.worth)
        kept = self._does(top.policy, more, NEARLY)
        return TrajectoryPlan(top.policy, float(more.worth.mean()), top.worth, kept, best.actions[0])

    def _is_done(self, policy: Policy, more: Trajectories, after: Trajectories, but: float) -> bool:
        """Whether nothing is left to learn from the model: a policy does what trajectories promise where episodes begin
        and where they lead to, which episodes may be too short to show, and fails from no start."""
        if self.varied or not (self._does(policy, more, but) and self._does(policy, after, NEARLY)):
            return False
        played = [each.play(policy, self.starts, 2 * self.n_steps, self._noise()).worth for each in self.members]
        usual = float(np.median(played))
        return float(np.min(played)) >= usual - FAILED * abs(usual)

    def _does(self, policy: Policy, promise: Trajectories, but: float) -> bool:
        """Whether a policy is worth as much as planned trajectories from the same starts, but for a part."""
        played = self.simulation.play(policy, promise.states[:, 0], self.n_steps, self._noise())
        promised = float(promise.worth.mean())
        return float(played.worth.mean()) >= promised - but * abs(promised)

    def _noise(self) -> np.random.Generator:
        return np.random.default_rng([self.seed, 52])

    def _first(self, earlier: Floats | None, incumbent: Policy | None) -> Trajectories:
        """The best trajectory from the middle of the start states."""
        around = self.simulation.apart(self.starts, self.starts[:1])
        start = self.starts[int(((around - around.mean(axis=0)) ** 2).sum(axis=1).argmin())]
        tried = [self._searched(start, n_steps, earlier) for n_steps in self.lengths]
        found = Trajectories.joined(tried)
        best = _row(found, int(found.worth_in(self.members).argmax()))
        if incumbent is not None:
            best.learn_from(self.simulation, incumbent, FIRST_ROUNDS[1])
        return best

    def _searched(self, start: Floats, n_steps: int, earlier: Floats | None) -> Trajectories:
        """Trajectories that begin with the best sequences of some length: short ones grow well where a system is
        unstable, long ones find detours."""
        searches = SEARCHES if self.quick else SLOW_SEARCHES if earlier is None else FEW_SEARCHES
        found = [search_sequence(self.simulation, start, n_steps, n_rounds, self.rng)[0] for n_rounds in searches]
        if earlier is not None:
            found.append(_fitting(earlier, n_steps))
        starts = np.repeat(start[None], len(found), axis=0)
        return Trajectories.grown(self.simulation, starts, np.stack(found), self.n_steps, FIRST_ROUNDS)

    def _after(self, best: Trajectories) -> tuple[Floats, Floats]:
        """States around where the best trajectory comes to, where a policy spends most of its time, and its last
        action."""
        reached = best.states[0, self.n_steps - LAST + self.rng.integers(LAST // 2, size=AGGREGATED)]
        reached = self._wrapped(reached + 2 * self._beside(reached.shape))
        return reached, np.zeros((AGGREGATED, self.n_first, best.actions.shape[2]))

    def _from(self, starts: Floats, actions: Floats) -> Trajectories:
        return Trajectories.grown(self.simulation, starts, actions[:, : self.n_first], self.n_steps, NEXT_ROUNDS)

    def _learn_from(self, policy: Policy) -> None:
        """Improves the trajectories by what a policy does better."""
        for made in self.made:
            made.learn_from(self.simulation, policy, NEXT_ROUNDS[1])

    def _samples(self) -> tuple[Floats, Floats]:
        """The states of all trajectories and states near them, with the actions there."""
        made, states, actions = Trajectories.joined(self.made), [], []
        n_used = max(self.n_steps - LAST, self.n_steps // 2)
        low, high = self.simulation.action_box.T
        here, taken = made.states[:, :n_used], made.actions[:, :n_used]
        for copy in range(1 + COPIES):
            moved = np.zeros_like(here) if copy == 0 else self._beside(here.shape)
            answer = taken + np.einsum("btin,btn->bti", made.feedback[:, :n_used], moved)
            states.append(self._wrapped((here + moved).reshape(-1, here.shape[2])))
            reach = BEYOND * (high - low)
            actions.append(np.clip(answer, low - reach, high + reach).reshape(-1, taken.shape[2]))
        return np.concatenate(states), np.concatenate(actions)

    def _beside(self, shape: tuple[int, ...]) -> Floats:
        return np.asarray(BESIDE * self.simulation.spread * self.rng.standard_normal(shape))

    def _wrapped(self, states: Floats) -> Floats:
        for d, (low, high) in self.data.periodic.items():
            states[:, d] = low + (states[:, d] - low) % (high - low)
        return states

    def _aggregate(self, more: Trajectories, visited: Floats) -> None:
        """Adds trajectories from states that the policy comes to, each starting like the nearest planned one."""
        chosen = visited[self.rng.integers(len(visited), size=AGGREGATED)]
        n = self.n_observed
        chosen[:n] = self.data.states[self.rng.integers(len(self.data), size=n)]
        chosen = chosen + self._beside(chosen.shape) / 2
        apart = self.simulation.apart(chosen[:, None, None], more.states[None, :, :-1]) / self.simulation.spread
        nearest = (apart**2).sum(axis=3).reshape(len(chosen), -1).argmin(axis=1)
        sequences = []
        for k in nearest:
            row, t = divmod(int(k), self.n_steps)
            sequences.append(_fitting(more.actions[row, t:], self.n_steps))
        self.made.append(self._from(self._wrapped(chosen), np.stack(sequences)))

    def _fitted(self, shares: tuple[float, ...]) -> _Fitted:
        """The policy of the best leaf size among shares of the states."""
        states, actions = self._samples()
        tried = [(share, self._regressed(states, actions, share)) for share in shares]
        worth = [self._worth(policy) for _, policy in tried]
        best = int(np.argmax(worth))
        share, policy = tried[best]
        return _Fitted(policy, worth[best], share, self._visited(policy))

    def _worth(self, policy: Policy) -> float:
        """What a policy is worth in the members, over twice as many steps."""
        played = [each.play(policy, self.judged, 2 * self.n_steps, self._noise()).worth for each in self.members]
        return float(np.mean(played))

    def _visited(self, policy: Policy) -> Floats:
        """States that a policy comes to. Where all episodes begin alike, those of the episodes that earn least, which
        show where it fails."""
        number = WORST if self.varied else PLAYED
        played = [
            each.play(policy, self._some_starts(number), 2 * self.n_steps, self.rng, NOISE)
            for each in (self.members[:1] if self.varied else self.members)
        ]
        worst = np.argsort(np.concatenate([each.worth for each in played]), kind="stable")[:WORST]
        visited = np.concatenate([each.states for each in played])[worst, :-1]
        visited = visited.reshape(-1, visited.shape[2])
        return np.asarray(visited[np.isfinite(visited).all(axis=1)])

    def _some_starts(self, number: int) -> Floats:
        return self.starts[self.rng.integers(len(self.starts), size=number)]

    def _regressed(self, states: Floats, actions: Floats, share: float) -> Policy:
        box = self.data.state_box()
        inside = np.ascontiguousarray(np.clip(states, *box.T))
        leaf = max(2 * (states.shape[1] + 1), int(share * len(states)))
        forests = [
            grow_forest(
                inside, actions[:, j], n_estimators=TREES, min_samples_leaf=leaf, leaf_model="linear",
                periodic=self.data.periodic or None, box=box, random_state=self.seed % 2**64,
                n_jobs=self.simulation.model.n_jobs,
            )
            for j in range(actions.shape[1])
        ]  # fmt: skip
        return make_policy(self.data, forests, "trajectories")


def _fitting(sequence: Floats, n_steps: int) -> Floats:
    """A sequence of the wanted length: cut, or its last action repeated."""
    missing = n_steps - len(sequence)
    return sequence[:n_steps] if missing <= 0 else np.concatenate([sequence, np.repeat(sequence[-1:], missing, axis=0)])


def _row(made: Trajectories, i: int) -> Trajectories:
    one = slice(i, i + 1)
    return Trajectories(made.states[one], made.actions[one], made.feedback[one], made.worth[one])

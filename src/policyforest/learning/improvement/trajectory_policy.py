"""From planned trajectories to a policy: a forest learns their actions, and near them the actions of their feedback.

The best sequence of actions from the first state of an episode is searched for, and improved by the slopes of the
model. The forest is regressed on the states of the trajectories, on states near them with the actions of their
feedback and, as in DAgger (Ross et al., 2011), on trajectories from the states that the forest itself reaches.
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

# Rounds of improvement, while trajectories grow and at full length: of the first one, and of those that start from it.
FIRST_ROUNDS, NEXT_ROUNDS = (6, 15), (4, 6)
# Rounds of each search for sequences of one length: if the model is quick; if it holds Gaussian processes; and if there
# is also an earlier plan to start from. Improvement gains more than the search does, and costs less: many short
# searches find the best trajectory more often than few long ones. (Cart-pole, 8 models: five searches found it in all
# of them, two searches of 8 rounds in 5 of them.)
SEARCHES, SLOW_SEARCHES, FEW_SEARCHES = (8, 8, 3, 3, 3, 3, 3, 3), (8, 3, 3, 3, 3), (8, 3, 3)
# The number of trajectories from start states, of those added in each round, and of those among them that begin in
# observed states.
STARTS, AGGREGATED, OBSERVED = 8, 20, 6
# Episodes count as beginning anywhere if their first states differ by more than this share of the data's spread.
VARIED = 0.2
# A policy counts as good, or as nearly as good, as the trajectories if its value is lower by at most this share.
SAME, NEARLY = 0.01, 0.03
# If all episodes begin alike, an episode whose value is below the median by more than this share has failed.
FAILED = 0.05
# Noise of the actions when a policy is played to find the states that it reaches, as a share of their range.
NOISE = 0.05
# The number of episodes that are played to find the states a policy reaches, and of the worst, which are learned from.
PLAYED, WORST = 16, 4
# Starts from which policies of several leaf sizes are compared.
JUDGED = 24
# The actions of the last steps of a plan are not learned from: they ignore everything after the plan.
LAST = 12
# The distance of states near a trajectory from it, as a share of the data's spread, and how many there are per state.
BESIDE, COPIES = 0.05, 3
# Feedback may exceed the range of actions by this share of it: linear leaves become steeper, and policies clip.
BEYOND = 1.0
LEAF_SHARES = (0.03, 0.01, 0.004)
TREES = 12


@dataclass(frozen=True)
class TrajectoryPlan:
    """A policy, the sequence that it comes from, and values in the simulation from the first states of episodes."""

    policy: Policy
    promised: float
    """The mean value of the planned trajectories"""
    worth: float
    """The value of the policy, over twice as many steps"""
    kept: bool
    """Whether the policy is nearly as good as the trajectories"""
    sequence: Floats | None
    """The actions of the best trajectory, for the next plan to start from; None for plans without trajectories"""


class Effort(NamedTuple):
    """The effort of a plan: how often trajectories are added from states that the policy reaches, and the share of the
    trajectories' value by which a policy that is good enough may fall short."""

    rounds: int = 3
    missed: float = SAME


USUAL, NOVEL, FINAL = Effort(), Effort(1), Effort(6)
"""For the next episode, for an episode that seeks novelty, and for a policy that is relied on"""


class _Fitted(NamedTuple):
    policy: Policy
    worth: float
    share: float
    """The smallest leaf, as a share of the states"""
    visited: Floats
    """States that the policy reaches"""


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
    """Plans from rows of start states. `earlier` is the sequence of an earlier plan; an `incumbent` that is as good as
    the trajectories is kept. Candidates are also compared in `others`, because plans exploit the errors of a single
    member."""
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
        # If episodes begin anywhere, too few beginnings were seen: all observed states serve as start states, too.
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
        """Whether nothing is left to learn from the model: a policy is as good as trajectories from the start states,
        nearly as good as those from where they lead (which episodes may be too short to show), and fails from no
        start."""
        if self.varied or not (self._does(policy, more, but) and self._does(policy, after, NEARLY)):
            return False
        played = [each.play(policy, self.starts, 2 * self.n_steps, self._noise()).worth for each in self.members]
        usual = float(np.median(played))
        return float(np.min(played)) >= usual - FAILED * abs(usual)

    def _does(self, policy: Policy, promise: Trajectories, but: float) -> bool:
        """Whether a policy's value is at most the share `but` below that of trajectories from the same starts."""
        played = self.simulation.play(policy, promise.states[:, 0], self.n_steps, self._noise())
        promised = float(promise.worth.mean())
        return float(played.worth.mean()) >= promised - but * abs(promised)

    def _noise(self) -> np.random.Generator:
        return np.random.default_rng([self.seed, 52])

    def _first(self, earlier: Floats | None, incumbent: Policy | None) -> Trajectories:
        """The best trajectory from the start state nearest to their mean."""
        around = self.simulation.apart(self.starts, self.starts[:1])
        start = self.starts[int(((around - around.mean(axis=0)) ** 2).sum(axis=1).argmin())]
        tried = [self._searched(start, n_steps, earlier) for n_steps in self.lengths]
        found = Trajectories.joined(tried)
        best = _row(found, int(found.worth_in(self.members).argmax()))
        if incumbent is not None:
            best.learn_from(self.simulation, incumbent, FIRST_ROUNDS[1])
        return best

    def _searched(self, start: Floats, n_steps: int, earlier: Floats | None) -> Trajectories:
        """Trajectories that begin with the best sequences of one length: short ones grow well if a system is unstable,
        long ones find detours."""
        searches = SEARCHES if self.quick else SLOW_SEARCHES if earlier is None else FEW_SEARCHES
        found = [search_sequence(self.simulation, start, n_steps, n_rounds, self.rng)[0] for n_rounds in searches]
        if earlier is not None:
            found.append(_fitting(earlier, n_steps))
        starts = np.repeat(start[None], len(found), axis=0)
        return Trajectories.grown(self.simulation, starts, np.stack(found), self.n_steps, FIRST_ROUNDS)

    def _after(self, best: Trajectories) -> tuple[Floats, Floats]:
        """States near the end of the best trajectory, where a policy spends most of its time, and actions of zero to
        begin with."""
        reached = best.states[0, self.n_steps - LAST + self.rng.integers(LAST // 2, size=AGGREGATED)]
        reached = self._moved(reached, 2 * self._beside((AGGREGATED,)))
        return reached, np.zeros((AGGREGATED, self.n_first, best.actions.shape[2]))

    def _from(self, starts: Floats, actions: Floats) -> Trajectories:
        return Trajectories.grown(self.simulation, starts, actions[:, : self.n_first], self.n_steps, NEXT_ROUNDS)

    def _learn_from(self, policy: Policy) -> None:
        """Improves the trajectories from which a policy earns more."""
        for made in self.made:
            made.learn_from(self.simulation, policy, NEXT_ROUNDS[1])

    def _samples(self) -> tuple[Floats, Floats]:
        """The states of all trajectories and states near them, with the actions there."""
        made, states, actions = Trajectories.joined(self.made), [], []
        n_used = max(self.n_steps - LAST, self.n_steps // 2)
        low, high = self.simulation.action_box.T
        here, taken = made.states[:, :n_used], made.actions[:, :n_used]
        for copy in range(1 + COPIES):
            moves = self._beside(here.shape[:2]) if copy > 0 else np.zeros((*here.shape[:2], made.feedback.shape[3]))
            answer = taken + np.einsum("btin,btn->bti", made.feedback[:, :n_used], moves)
            states.append(self._moved(here, moves))
            reach = BEYOND * (high - low)
            actions.append(np.clip(answer, low - reach, high + reach).reshape(-1, taken.shape[2]))
        return np.concatenate(states), np.concatenate(actions)

    def _beside(self, shape: tuple[int, ...]) -> Floats:
        """Random small moves of states in their directions."""
        coordinates = self.simulation.coordinates
        sizes = BESIDE * coordinates.sizes(self.simulation.spread)
        return np.asarray(sizes * self.rng.standard_normal((*shape, coordinates.number)))

    def _moved(self, states: Floats, moves: Floats) -> Floats:
        """Rows of states after these moves."""
        moved = self.simulation.coordinates.moved(states, moves).reshape(-1, states.shape[-1])
        for d, (low, high) in self.data.periodic.items():
            moved[:, d] = low + (moved[:, d] - low) % (high - low)
        return np.asarray(moved)

    def _aggregate(self, more: Trajectories, visited: Floats) -> None:
        """Adds trajectories from states that were observed or that the policy reaches; each begins with the actions of
        the nearest planned state."""
        chosen = visited[self.rng.integers(len(visited), size=AGGREGATED)]
        n = self.n_observed
        chosen[:n] = self.data.states[self.rng.integers(len(self.data), size=n)]
        chosen = self._moved(chosen, self._beside((AGGREGATED,)) / 2)
        apart = self.simulation.apart(chosen[:, None, None], more.states[None, :, :-1]) / self.simulation.spread
        nearest = (apart**2).sum(axis=3).reshape(len(chosen), -1).argmin(axis=1)
        sequences = []
        for k in nearest:
            row, t = divmod(int(k), self.n_steps)
            sequences.append(_fitting(more.actions[row, t:], self.n_steps))
        self.made.append(self._from(chosen, np.stack(sequences)))

    def _fitted(self, shares: tuple[float, ...]) -> _Fitted:
        """The policy with the best leaf size among the given shares of the states."""
        states, actions = self._samples()
        tried = [(share, self._regressed(states, actions, share)) for share in shares]
        worth = [self._worth(policy) for _, policy in tried]
        best = int(np.argmax(worth))
        share, policy = tried[best]
        return _Fitted(policy, worth[best], share, self._visited(policy))

    def _worth(self, policy: Policy) -> float:
        """The mean value of a policy over the members, over twice as many steps."""
        played = [each.play(policy, self.judged, 2 * self.n_steps, self._noise()).worth for each in self.members]
        return float(np.mean(played))

    def _visited(self, policy: Policy) -> Floats:
        """States that a policy reaches. If all episodes begin alike, only those of the episodes with the lowest value,
        which show where it fails."""
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
    """The sequence at the given length: cut, or extended by its last action."""
    missing = n_steps - len(sequence)
    return sequence[:n_steps] if missing <= 0 else np.concatenate([sequence, np.repeat(sequence[-1:], missing, axis=0)])


def _row(made: Trajectories, i: int) -> Trajectories:
    one = slice(i, i + 1)
    return Trajectories(made.states[one], made.actions[one], made.feedback[one], made.worth[one])

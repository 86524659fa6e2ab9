"""Fitted Policy Forest: from a Q forest to a policy that answers in a microsecond.

States are drawn, the best action of each is found, and one regression forest per action dimension learns pi_j(s) from
them (§ Learning the continuous policy). Constant leaves make "FPF:PWC", linear ones "FPF:PWL".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from policyforest._support.arguments import Floats, one_of, seed_number, whole_number
from policyforest._support.settings import HOW, plain_settings
from policyforest.data.transitions import Transitions
from policyforest.forest.executors.interface import Executor, Threads
from policyforest.forest.forest import Forest
from policyforest.forest.forest_blocks import SharedInputs, SharedStates
from policyforest.forest.growth_rules import LeafModel
from policyforest.learning.fitted_q import FittedQIteration
from policyforest.learning.nearby_states import NearbyStates
from policyforest.learning.q_function import QFunction
from policyforest.policy.policy import Policy, uniform_states
from policyforest.policy.policy_info import PolicyInfo

# The default n_min, as a fraction of the states: the arg max of a forest is noisy, and leaves this large average the
# noise of its random splits away. (10,000 uniform states: 62 in a linear leaf, whereas the authors tuned 125 for 25
# trees; on eight hard seeds of the 8 kg pendulum 62 and 50 trees gave -108, 100 gave -112.) Visited states are denser
# where it matters, and smaller leaves keep their actions apart (Pendulum-v1, 10,000 steps: 20 in a leaf give -197, 62
# give -498).
LEAF_SHARE = {("linear", "uniform"): 1 / 160, ("linear", "visited"): 1 / 500, ("constant", "uniform"): 1 / 400}
# Ten thousand states fill a box of two dimensions; most of a box with more dimensions is never visited.
FILLED_DIMENSIONS = 2


@dataclass(frozen=True)
class FittedPolicyForest:
    """Learns a policy from a Q function, or from samples, from which it learns a Q function first.

    Args:
        leaf_model: "linear" (FPF:PWL) or "constant" (FPF:PWC).
        n_states: The number of states that the policy is learned on.
        states: "uniform": states drawn in the box of the states; "visited": all states of the samples, filled up to
            `n_states` with states near them; "auto": uniform in one or two dimensions, visited in more.
        n_estimators: The number of trees for each action dimension. More trees act more steadily; 50 of them still
            answer in a microsecond.
        max_features: As in `grow_forest`.
        min_variance: As in `grow_forest`.
        min_samples_leaf: n_min, or None: 1/160 of the states for linear leaves on uniform states, 1/500 on visited
            ones, 1/400 for constant leaves.
        q_learner: How `fit(transitions)` learns Q.
        random_state: The seed.
        n_jobs: The number of threads; the result does not depend on it.
        executor: Finds the actions and grows the trees instead of threads of this process, with the same bits; the
            `q_learner` has its own executor.
    """

    leaf_model: LeafModel = "linear"
    n_states: int = 10_000
    states: Literal["auto", "uniform", "visited"] = "auto"
    n_estimators: int = 50
    max_features: int | None = None
    min_samples_leaf: int | None = None
    min_variance: float = 0.0
    q_learner: FittedQIteration = field(default_factory=FittedQIteration)
    random_state: int | np.random.Generator | None = 0
    n_jobs: int | None = 1
    executor: Executor | None = field(default=None, repr=False, metadata=HOW)

    def __post_init__(self) -> None:
        one_of("leaf_model", self.leaf_model, ("constant", "linear"))
        one_of("states", self.states, ("auto", "uniform", "visited"))
        whole_number("n_states", self.n_states, at_least=1)
        if not isinstance(self.q_learner, FittedQIteration):
            raise TypeError(f"q_learner: is {self.q_learner!r}, must be a FittedQIteration")
        if self.executor is not None and not isinstance(self.executor, Executor):
            raise TypeError(f"executor: is {self.executor!r}, must be one of policyforest.forest.executors or None")

    def fit(self, source: QFunction | Transitions | Any) -> Policy:
        """Learns from a Q function, or from samples: Transitions, or a dataset that `as_transitions` knows."""
        q = source if isinstance(source, QFunction) else self.q_learner.fit(source)
        seed = seed_number("random_state", self.random_state)
        samples = q.transitions
        states = self._draw_states(samples, np.random.default_rng(seed))
        executor = self.executor or Threads(self.n_jobs)
        executor.require(2 * states.nbytes)
        best = SharedStates(executor, "policy", states).actions(q.maximiser())
        forests = self._grow(samples, states, best, seed, executor)
        method = "fpf-pwl" if self.leaf_model == "linear" else "fpf-pwc"
        about_q = {"discount": q.settings.discount, "q": plain_settings(q.settings), "iterations": len(q.history)}
        info = PolicyInfo.of(method, self, len(samples), **about_q, **samples.plant.given_names)
        signals = samples.plant.signals
        return Policy(forests, samples.observation_space, samples.action_space, samples.periodic, info, signals=signals)

    def _grow(
        self, samples: Transitions, states: Floats, actions: Floats, seed: int, executor: Executor
    ) -> tuple[Forest, ...]:
        """One forest per action dimension, on the same states."""
        inputs = SharedInputs(executor, "policy", [*states.T], samples.state_box(), samples.periodic)
        return tuple(
            inputs.grow(
                actions[:, j],
                n_estimators=self.n_estimators,
                max_features=self.max_features,
                min_samples_leaf=self._leaf_size(*states.shape),
                min_variance=self.min_variance,
                leaf_model=self.leaf_model,
                random_state=(seed + j) % 2**64,
            )
            for j in range(actions.shape[1])
        )

    def _source(self, dims: int) -> Literal["uniform", "visited"]:
        if self.states == "auto":
            return "uniform" if dims <= FILLED_DIMENSIONS else "visited"
        return self.states

    def _leaf_size(self, n_states: int, dims: int) -> int:
        if self.min_samples_leaf is not None:
            return self.min_samples_leaf
        smallest = dims + 1 if self.leaf_model == "linear" else 1
        source = self._source(dims) if self.leaf_model == "linear" else "uniform"
        return max(smallest, int(LEAF_SHARE[self.leaf_model, source] * n_states))

    def _draw_states(self, samples: Transitions, rng: np.random.Generator) -> Floats:
        box = samples.state_box()
        if self._source(len(box)) == "uniform":
            return uniform_states(box, self.n_states, rng)
        missing = self.n_states - len(samples)
        if missing <= 0:
            return samples.states
        return np.concatenate([samples.states, NearbyStates(samples).draw(missing, rng)])

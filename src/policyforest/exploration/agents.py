"""Agents that are ready to use: the paper's, ours, and others for comparison.

Each takes an environment, or the spaces of a system that has none (`Problem.of_spaces` describes it further). Each also
takes a `guard` that keeps it near an existing controller, and `SignalOptions` such as ``history=2``.
"""

from __future__ import annotations

import os
from typing import Literal, Unpack

from policyforest._support.arguments import one_of
from policyforest.data.signal_options import SignalOptions
from policyforest.environments.named_problems import DISCOUNT, named_problem
from policyforest.exploration.explorers import EpsilonSchedule, Explorer, explorer
from policyforest.exploration.exploring_agent import ExploringAgent
from policyforest.exploration.planner import OptimisticValue, Planner, Update
from policyforest.exploration.problem import Explorable, Problem
from policyforest.forest.knownness import Form
from policyforest.learning.fitted_policy import FittedPolicyForest
from policyforest.learning.fitted_q import FittedQIteration
from policyforest.policy.baseline import NoisyBaseline

# For our own planning: a part of the box is known when it is as dense as this many points spread evenly.
ENOUGH_POINTS = 1_000.0
# A plan that continues from the last one needs fewer iterations: this bounds its time, but not its horizon in the end.
MOST_ITERATIONS, MOST_WARM_ITERATIONS = 60, 20

RunDir = str | os.PathLike[str] | None


class MultiResolutionExploration(ExploringAgent):
    """MRE with Fitted Policy Forests (§ Exploration): greedy on a Q that is optimistic where little is known.

    The defaults are the paper's form and settings (its Table of online parameters, from the authors' configurations).

    Args:
        system: An environment, a `Problem`, or the two spaces of a system, (observations, actions).
        knownness: "density" (the paper's) or "original" (Nouri and Littman's).
        update: "leaves" blends the leaves of every tree of every iteration, "targets" the targets of the samples.
        r_max: The largest reward of a step; None: the largest seen so far.
        optimistic_value: "discounted", R_max / (1 - gamma), or "printed", R_max.
        n_estimators: The number of trees of the knownness forest.
        max_points: nu of the knownness forest.
        discount: gamma; default: the problem's own, or 0.98.
        horizon: H, the number of iterations of a plan.
        draw: Actions are drawn from the disagreement of the policy forest's trees, which the paper does not do.
        final: `policies` learns by the "paper"'s settings, or by "ours", those of `DisagreementExploration`.
    """

    def __init__(
        self,
        system: Explorable,
        *,
        knownness: Form = "density",
        update: Update = "leaves",
        r_max: float | None = None,
        optimistic_value: OptimisticValue = "discounted",
        n_estimators: int = 25,
        max_points: int = 10,
        discount: float | None = None,
        horizon: int = 20,
        draw: bool = False,
        final: Literal["paper", "ours"] = "paper",
        seed: int = 0,
        n_jobs: int | None = 1,
        max_steps: int | None = None,
        run_dir: RunDir = None,
        guard: NoisyBaseline | None = None,
        **signals: Unpack[SignalOptions],
    ) -> None:
        ours = one_of("final", final, ("paper", "ours")) == "ours"
        gamma = discount_of(system, discount)
        planner = paper_planner(gamma, horizon, n_jobs, knownness, update, optimistic_value, n_estimators, max_points)
        super().__init__(
            system,
            Explorer("mre", optimism="always", draw=draw),
            planner,
            final=our_final(gamma, n_jobs) if ours else None,
            r_max=r_max,
            seed=seed,
            max_steps=max_steps,
            run_dir=run_dir,
            guard=guard,
            **signals,
        )


class BaselineExploration(ExploringAgent):
    """Uniform random, epsilon-greedy or greedy exploration, planned without optimism.

    Args:
        name: "random", "epsilon-greedy" or "greedy".
        epsilon: The schedule of "epsilon-greedy".
        planning: "paper", its settings with `horizon`, or "ours", those of `DisagreementExploration`: so that explorers
            can be compared with either of them, and differences come from exploration alone.
    """

    def __init__(
        self,
        system: Explorable,
        name: str = "epsilon-greedy",
        *,
        epsilon: EpsilonSchedule | None = None,
        planning: Literal["paper", "ours"] = "paper",
        discount: float | None = None,
        horizon: int = 20,
        seed: int = 0,
        n_jobs: int | None = 1,
        max_steps: int | None = None,
        run_dir: RunDir = None,
        guard: NoisyBaseline | None = None,
        **signals: Unpack[SignalOptions],
    ) -> None:
        one_of("name", name, ("random", "epsilon-greedy", "greedy"))
        ours = one_of("planning", planning, ("paper", "ours")) == "ours"
        gamma = discount_of(system, discount)
        super().__init__(
            system,
            explorer(name, epsilon=epsilon),
            our_planner(gamma, n_jobs) if ours else paper_planner(gamma, horizon, n_jobs),
            final=our_final(gamma, n_jobs) if ours else None,
            seed=seed,
            max_steps=max_steps,
            run_dir=run_dir,
            guard=guard,
            **signals,
        )


class DisagreementExploration(ExploringAgent):
    """Our own explorer: actions drawn from the disagreement of the policy forest's trees, and optimism that fades.

    Why it works. (1) Where the trees of the policy forest disagree, what is best is not known yet, and where they agree
    there is little to try: N(mean, standard deviation) of their answers explores exactly there, and the exploration
    fades by itself, down to `LEAST_SPREAD`. Without this minimum, noise would hide the effect of an action, and all
    trees would agree on something false. (2) Optimism finds rewards that no sample indicates, such as a goal that was
    never reached. But the density ratio never saturates, so the optimism of MRE never ends. Here it fades twice:
    knownness is measured against at most `ENOUGH_POINTS` points, and ever fewer episodes are optimistic; the others
    exploit. Its value is R_max and not R_max / (1 - gamma), next to which a goal of R_max would be invisible. (3) Plans
    without optimism begin with the values of the last one: a few iterations after each episode follow the samples, and
    the horizon grows with the run. (4) The final policies have larger leaves, and while samples are few they also learn
    from a model of them.
    """

    def __init__(
        self,
        system: Explorable,
        *,
        r_max: float | None = None,
        discount: float | None = None,
        seed: int = 0,
        n_jobs: int | None = 1,
        max_steps: int | None = None,
        run_dir: RunDir = None,
        guard: NoisyBaseline | None = None,
        **signals: Unpack[SignalOptions],
    ) -> None:
        gamma = discount_of(system, discount)
        super().__init__(
            system,
            explorer("disagreement"),
            our_planner(gamma, n_jobs),
            final=our_final(gamma, n_jobs),
            r_max=r_max,
            seed=seed,
            max_steps=max_steps,
            run_dir=run_dir,
            guard=guard,
            **signals,
        )


def our_planner(discount: float, n_jobs: int | None = 1) -> Planner:
    """How our own explorer plans between episodes."""
    return Planner(
        q_learner=FittedQIteration(discount=discount, n_averaged=1, min_samples_leaf=2, resample=None, n_jobs=n_jobs),
        policy_learner=FittedPolicyForest(
            states="visited", n_states=1, n_estimators=25, min_samples_leaf=5, n_jobs=n_jobs
        ),
        n_estimators=10,
        enough=ENOUGH_POINTS,
        optimistic_value="printed",
        warm_start=True,
        most_iterations=MOST_ITERATIONS,
        most_warm_iterations=MOST_WARM_ITERATIONS,
    )


def our_final(discount: float, n_jobs: int | None = 1) -> FittedPolicyForest:
    """How it learns its final policies, with larger leaves: while exploring, small leaves must not miss anything new;
    at the end, large ones must not learn the noise."""
    return FittedPolicyForest(
        states="visited",
        n_estimators=25,
        min_samples_leaf=100,
        q_learner=FittedQIteration(discount=discount, n_averaged=1, min_samples_leaf=4, n_jobs=n_jobs),
        n_jobs=n_jobs,
    )


def paper_planner(
    discount: float,
    horizon: int = 20,
    n_jobs: int | None = 1,
    knownness: Form = "density",
    update: Update = "leaves",
    optimistic_value: OptimisticValue = "discounted",
    n_estimators: int = 25,
    max_points: int = 10,
) -> Planner:
    """The paper's online settings: for Q n_min 2, V_min 1e-6; for the policy visited states, n_min 20, V_min 1e-4."""
    return Planner(
        q_learner=FittedQIteration(
            discount=discount,
            horizon=horizon,
            min_samples_leaf=2,
            min_variance=1e-6,
            max_leaves=200,
            resample=None,
            n_jobs=n_jobs,
        ),
        policy_learner=FittedPolicyForest(
            states="visited",
            n_states=1,
            n_estimators=25,
            min_samples_leaf=20,
            min_variance=1e-4,
            n_jobs=n_jobs,
        ),
        knownness=knownness,
        update=update,
        optimistic_value=optimistic_value,
        n_estimators=n_estimators,
        max_points=max_points,
    )


def discount_of(system: Explorable, given: float | None) -> float:
    """The given gamma, or the problem's own."""
    if given is not None:
        return given
    id = Problem.of(system).id
    return named_problem(id).discount if id else DISCOUNT

"""Batch learning on the paper's three problems, and on Pendulum-v1: the computation of a cell of each study.

A curve of performance against training episodes has four points. Each point has a study of the paper's methods at the
paper's settings ("…-paper"), and one of our defaults on the same samples.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import gymnasium as gym

from policyforest.data.transitions import Transitions
from policyforest.environments.collection import collect, sample_uniform
from policyforest.environments.evaluation import evaluate
from policyforest.environments.named_problems import named_problem
from policyforest.learning.methods import BASELINES, Learner
from policyforest.learning.q_function import QFunction
from policyforest.paper.studies import Study

EVALUATION_SEED = 1


def learn_and_evaluate(
    seed: int,
    *,
    problem: str,
    methods: Sequence[str],
    preset: str | None,
    samples: dict[str, int],
    episodes: int | Mapping[str, int],
) -> dict[str, Any]:
    """Learns a policy by each method from the same samples; returns the returns and lengths of `episodes` episodes.

    `episodes` can be one number, or a number per method, with "others" for all methods without their own."""
    id = named_problem(problem).id
    env = gym.make(id)
    data = gather(env, samples, seed)
    result: dict[str, Any] = {"samples": len(data)}
    q: QFunction | None = None
    for method in methods:
        learner = Learner(method, problem, preset=None if method in BASELINES else preset, seed=seed)
        learned = learner.fit(data, q)
        q = learned.q or q
        number = episodes if isinstance(episodes, int) else episodes.get(method, episodes["others"])
        judged = evaluate(learned.policy, env, episodes=number, seed=EVALUATION_SEED)
        result[method] = {
            "return": judged.mean,
            "worst_episode": judged.worst,
            "steps": float(judged.lengths.mean()),
            "ended": float(judged.terminals.mean()),
            "q_seconds": learned.q_seconds,
            "policy_seconds": learned.policy_seconds,
        }
    return result


def gather(env: gym.Env[Any, Any], samples: dict[str, int], seed: int) -> Transitions:
    """Collects samples: a number of "episodes" or "steps" of a random policy, or a number of "uniform" samples."""
    if "uniform" in samples:
        return sample_uniform(env, samples["uniform"], seed)
    return collect(env, episodes=samples.get("episodes"), steps=samples.get("steps"), seed=seed)


def _study(name: str, title: str, quick: int, full: int, seconds: float, **cell: Any) -> Study:
    run = partial(learn_and_evaluate, **cell)
    return Study(name, title, run, {"quick": quick, "paper": full}, seconds, methods=tuple(cell["methods"]))


ALL = ("fqi", "fpf-pwc", "fpf-pwl")


@dataclass(frozen=True)
class Curve:
    """Performance against the number of training episodes on one problem."""

    stem: str
    """The beginning of the names of its studies"""
    problem: str
    title: str
    points: tuple[int, ...]
    whole: int
    """The point whose studies have no number in their names; the paper states results for this point"""
    policies: int
    seconds: tuple[float, float]
    """The approximate seconds of a cell of the paper's methods, and of a cell of our method"""
    bas_apart: bool
    """Whether, at `whole`, Binary Action Search has its own study, which learns from the same samples"""
    episodes: int
    slow: Mapping[str, int]
    """Fewer evaluation episodes for methods whose actions take 100 µs. Policies differ far more than the episodes of
    one policy"""

    def paper_study(self, point: int) -> str:
        return f"{self.stem}-paper" + self._ending(point)

    def our_study(self, point: int) -> str:
        return self.stem + self._ending(point)

    def bas_study(self, point: int) -> str:
        return f"{self.stem}-bas" if self.bas_apart and point == self.whole else self.paper_study(point)

    def _ending(self, point: int) -> str:
        return "" if point == self.whole else f"-{point}"

    def studies(self) -> list[Study]:
        """The studies of each point: the paper's methods, our method, and Binary Action Search if it has its own
        study."""
        made = []
        for point in self.points:
            made += [self._paper_methods(point), self._our_method(point)]
            if point == self.whole and self.bas_apart:
                made.append(self._bas(point))
        return made

    def _paper_methods(self, point: int) -> Study:
        alone = point == self.whole and self.bas_apart
        return self._at(
            point,
            self.paper_study(point),
            "the paper's settings",
            *(QUICK, self.seconds[0]),
            methods=ALL if alone else (*ALL, "bas"),
            preset="paper",
            episodes=self.episodes if alone else self._fewer_episodes(),
        )

    def _our_method(self, point: int) -> Study:
        fixed = {"methods": ("fpf-pwl",), "preset": None, "episodes": self.episodes}
        return self._at(point, self.our_study(point), "our defaults", OUR_QUICK, self.seconds[1], **fixed)

    def _bas(self, point: int) -> Study:
        fixed = {"methods": ("bas",), "preset": None, "episodes": self._fewer_episodes()}
        return self._at(point, self.bas_study(point), "Binary Action Search", QUICK, self.seconds[0], **fixed)

    def _at(self, point: int, name: str, words: str, quick: int, seconds: float, **cell: Any) -> Study:
        title = f"{self.title}, {point} random episodes, {words}"
        samples = {"episodes": point}
        return _study(name, title, quick, self.policies, seconds, problem=self.problem, samples=samples, **cell)

    def _fewer_episodes(self) -> int | Mapping[str, int]:
        return {"others": self.episodes, **self.slow} if self.slow else self.episodes


QUICK, OUR_QUICK = 3, 2

CURVES = {
    curve.problem: curve
    for curve in (
        Curve(
            "pendulum-6kg",
            "inverted-pendulum-6kg",
            "Inverted Pendulum, 6 kg and 2 rad/s",
            points=(25, 50, 100, 200),
            whole=100,
            policies=50,
            seconds=(4.5, 10.0),
            bas_apart=True,
            episodes=10,
            slow={"fqi": 3, "bas": 3},
        ),
        Curve(
            "pendulum-8kg",
            "inverted-pendulum",
            "Inverted Pendulum, 8 kg",
            points=(25, 50, 100, 200),
            whole=100,
            policies=50,
            seconds=(6.0, 9.0),
            bas_apart=False,
            episodes=10,
            slow={"fqi": 3, "bas": 3},
        ),
        Curve(
            "double-integrator",
            "double-integrator",
            "Double Integrator from (1, 0)",
            points=(50, 100, 200, 300),
            whole=300,
            policies=100,
            seconds=(5.0, 10.0),
            bas_apart=False,
            episodes=1,
            slow={},
        ),
    )
}

STUDIES = {
    study.name: study
    for study in (
        *(study for curve in CURVES.values() for study in curve.studies()),
        _study(
            "car-on-the-hill",
            "Car on the Hill from (-0.5, 0), 20,000 uniform samples, the paper's way",
            *(2, 200, 6.3),
            problem="car-on-the-hill",
            methods=ALL,
            preset="paper",
            samples={"uniform": 20_000},
            episodes=1,
        ),
        _study(
            "car-on-the-hill-bas",
            "Car on the Hill from (-0.5, 0), 5,000 uniform samples, Binary Action Search",
            *(2, 200, 5.5),
            problem="car-on-the-hill",
            methods=("bas",),
            preset=None,
            samples={"uniform": 5_000},
            episodes=1,
        ),
        _study(
            "pendulum-v1",
            "Gymnasium's Pendulum-v1, 10,000 random steps, our defaults",
            *(1, 10, 40.0),
            problem="Pendulum-v1",
            methods=("fpf-pwl",),
            preset=None,
            samples={"steps": 10_000},
            episodes=50,
        ),
    )
}

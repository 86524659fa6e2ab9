"""Real systems: late commands, speeds that are not measured, an existing controller, known rewards, exported C.

This module computes the cells of each study. Seeds begin at 2000; no setting was chosen on these seeds. In the studies
of late commands and of known rewards, seeds begin at 9000, because cells of lower seeds had been computed before a
change of the learner. This change was chosen on seeds below 400.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.spaces import Box

from policyforest._support.arguments import Floats
from policyforest.data.transitions import Transitions
from policyforest.environments.collection import collect
from policyforest.environments.evaluation import evaluate
from policyforest.environments.limited_actuators import DelayedActions
from policyforest.environments.named_problems import named_problem
from policyforest.environments.problems.native import NativeProblem
from policyforest.export.host import HostPolicy
from policyforest.export.signal_text import measured_rows
from policyforest.forest.growing import grow_forest
from policyforest.learning.offline_comparison import compare_offline
from policyforest.learning.planned_learning import PlanningWarning, learn
from policyforest.paper.batch_studies import EVALUATION_SEED
from policyforest.paper.limit_studies import GRIDS, GridPolicy
from policyforest.paper.studies import Study
from policyforest.policy.baseline import NoisyBaseline, as_baseline
from policyforest.policy.policy import Policy

FIRST_SEED, LATER_SEED = 2_000, 9_000
PENDULUM, DISCOUNT = "policyforest/InvertedPendulum6kg-v0", 0.95
EPISODES = 10
"""The number of episodes of an evaluation"""


class AngleOnly(gym.ObservationWrapper[Any, Any, Any]):
    """A pendulum whose angle alone is measured."""

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        super().__init__(env)
        low, high = env.observation_space.low[:1], env.observation_space.high[:1]  # type: ignore[attr-defined]
        self.observation_space = Box(low, high, dtype=np.float64)
        self.state_names = ("theta",)

    def observation(self, observation: Any) -> Any:
        return observation[:1]


@dataclass(eq=False)
class PredictingGrid:
    """Dynamic programming with the true equations for late commands: acts on the state after the pending commands."""

    law: GridPolicy
    delay: int
    _pending: list[float] = field(default_factory=list)

    def predict(self, observation: Any, state: Any = None, episode_start: Any = None, **_: Any) -> tuple[Any, Any]:
        """Acts, with Stable-Baselines3's signature; the pending commands are kept in this object."""
        if episode_start is not None and episode_start[0]:
            self._pending = [0.0] * self.delay
        here = np.array(observation, dtype=np.float64)
        for command in self._pending:
            here = self.law.problem.system.step_many(here[None], np.array([[command]]), np.zeros((1, 1)))[0][0]
        action = self.law.act(here)
        self._pending = [*self._pending, float(action[0])][1:] if self.delay else []
        return action, None


def _learned(data: Transitions, seed: int, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PlanningWarning)
        return learn(data, discount=options.pop("discount", DISCOUNT), random_state=seed, **options)


def _row(policy: Any, env: Any, episodes: int = EPISODES) -> dict[str, Any]:
    judged = evaluate(policy, env, episodes=episodes, seed=EVALUATION_SEED)
    return {"return": judged.mean, "worst_episode": judged.worst, "steps": float(judged.lengths.mean())}


def delayed_pendulum(seed: int, *, delay: int, samples: int = 100) -> dict[str, Any]:
    """A cell: late commands, with the delay found, with the delay ignored, and with only the angle measured."""
    env = DelayedActions(gym.make(PENDULUM), delay)
    data = collect(env, episodes=samples, seed=seed, delay="auto")
    assert data.plant.signals is not None
    found = _row(_learned(data, seed), env) | {"delay": data.plant.signals.history_actions}
    ignored = _row(_learned(collect(env, episodes=samples, seed=seed), seed), env)
    hidden = AngleOnly(env)
    angle = _row(_learned(_stacked_angle(hidden, samples, seed, delay), seed), hidden)
    return {"found": found, "ignored": ignored, "angle": angle}


def _stacked_angle(env: gym.Env[Any, Any], samples: int, seed: int, delay: int) -> Transitions:
    """Samples whose states are angles and past commands.

    The reward of the environment depends on the speed, which is not measured but follows from the change of the
    angle."""
    return collect(env, episodes=samples, seed=seed, history=3, delay=delay)


@lru_cache(maxsize=1)
def _grid() -> GridPolicy:
    inside = gym.make(PENDULUM).unwrapped
    assert isinstance(inside, NativeProblem)
    return GridPolicy(inside, GRIDS["inverted-pendulum-6kg"], 1)


def delay_limit(number: int) -> dict[str, Any]:
    """A cell: the return of prediction and dynamic programming with the true equations, for commands `number` steps
    late."""
    env = DelayedActions(gym.make(PENDULUM), number)
    return {"problem": "inverted-pendulum-6kg"} | _row(PredictingGrid(_grid(), number), env)


PID = "u = clip(200*theta + 20*omega, -50, 50)"


def improved_pid(seed: int, *, samples: int = 50, noise: float = 5.0, steps: int = 100) -> dict[str, Any]:
    """A cell: a controller improved from its own episodes with small noise.

    The cell also has the statement of the comparison about the improvement, and the statement about a policy that is
    worse."""
    start = collect(PENDULUM, episodes=1, seed=seed)
    names = (start.plant.state_names, start.plant.action_names)
    law = as_baseline(PID, start.observation_space, start.action_space, *names)
    data = collect(PENDULUM, NoisyBaseline(law, (noise,), seed=seed), episodes=samples, seed=seed, max_steps=steps)
    policy = _learned(data, seed, baseline=PID)
    rng = np.random.default_rng([seed, 1])
    gains = rng.uniform([30.0, -20.0], [160.0, 8.0])
    worse = f"u = clip({gains[0]:.6g}*theta + {gains[1]:.6g}*omega, -50, 50)".replace("+ -", "- ")
    told = [
        compare_offline(p, law, data, discount=DISCOUNT, random_state=seed).statement for p in (policy, worse)
    ]  # fmt: skip
    worse_law = as_baseline(worse, start.observation_space, start.action_space, *names)
    rows = {"improved": (policy, told[0]), "baseline": (law, ""), "worse": (worse_law, told[1])}
    return {name: _row(p, PENDULUM) | {"statement": text} for name, (p, text) in rows.items()}


COSTS = {
    "inverted-pendulum-6kg": "-((2*next_theta/pi)**2 + next_omega**2 + (u/50)**2) "
    "if abs(next_theta) <= pi/2 and abs(next_omega) <= 2 else -1000",
    "inverted-pendulum": "-((2*next_theta/pi)**2 + next_omega**2 + (u/50)**2) if abs(next_theta) <= pi/2 else -1000",
    "double-integrator": "-(p**2 + u**2) if abs(next_p) <= 1 and abs(next_v) <= 1 else -50",
    "swing-up": "-(abs(next_theta)/pi + (u/15)**2) if abs(next_omega) <= 10 else -50",
}
"""The rewards of the problems that can be solved from random episodes"""


def known_reward(seed: int, *, problem: str, samples: int = 25) -> dict[str, Any]:
    """A cell: policies from the same episodes, with the reward learned and with the reward known."""
    named = named_problem(problem)
    data = collect(named.id, episodes=samples, seed=seed)
    rewards: dict[str, dict[str, Any]] = {"known": {"reward": COSTS[problem]}, "learned": {}}
    return {
        name: _row(_learned(data, seed, discount=named.discount, **more), named.id) for name, more in rewards.items()
    }


SIGNALS: dict[str, Any] = {
    "history": 2, "history_actions": 2, "period": 0.1, "max_rate": 8.0,
    "derive": ["v = diff(theta, dt)", "f = ema(v, 0.3)", "s = sin(theta)"],
}  # fmt: skip


def equal_bits(seed: int, *, steps: int = 100_000) -> dict[str, Any]:
    """A cell: the number of steps in which exported C and the Python controller differ.

    The run has history, filters and rate limits."""
    data = collect(PENDULUM, episodes=30, seed=seed, **SIGNALS)
    wanted = np.clip(100 * data.states[:, 0] + 30 * data.states[:, 1], -50, 50)
    forest = grow_forest(data.states, wanted, n_estimators=5, leaf_model="linear", random_state=seed)
    policy = Policy((forest,), data.observation_space, data.action_space, signals=data.plant.signals)
    rows = measured_rows(policy, steps, np.random.default_rng(seed))
    found: dict[str, Any] = {}
    for precision in ("float64", "float32"):
        runner = policy.astype(precision)
        controller = runner.controller()
        controller.reset()
        expected = np.array([controller.step(row) for row in rows])
        with tempfile.TemporaryDirectory() as folder:
            policy.export_c(folder, precision=precision)
            actions: Floats = HostPolicy(Path(folder)).step_many(rows)
        different = int((actions.view(np.uint8) != expected.view(np.uint8)).reshape(steps, -1).any(axis=1).sum())
        found[precision] = {"return": float(-different), "steps": float(steps)}
    return found


def _study(
    name: str, title: str, run: Callable[[int], Any], methods: tuple[str, ...], seconds: float, first: int = FIRST_SEED
) -> Study:
    counts = {"quick": 1, "paper": 20}
    return Study(f"real-{name}", title, run, counts, seconds, "returns", methods, first_seed=first)


LATE = ("found", "ignored", "angle")
TITLE = "Inverted Pendulum, 6 kg, 100 random episodes, commands {} late"
STUDIES = {
    study.name: study
    for study in (
        _study("delay-1", TITLE.format("one step"), partial(delayed_pendulum, delay=1), LATE, 45.0, LATER_SEED),
        _study("delay-2", TITLE.format("two steps"), partial(delayed_pendulum, delay=2), LATE, 35.0, LATER_SEED),
        Study(
            "real-delay-limits",
            "What prediction and dynamic programming with the true equations reach with late commands",
            delay_limit,
            {"quick": 3, "paper": 3},
            seconds=60.0,
            kind="limits",
        ),
        _study(
            "pid", "A PID of the 6 kg pendulum, improved from 50 of its own episodes with small noise", improved_pid,
            ("improved", "baseline", "worse"), 60.0,
        ),
        *(
            _study(
                f"known-reward-{problem}", f"Known against learned reward, 25 random episodes of {problem}",
                partial(known_reward, problem=problem), ("known", "learned"), 25.0, LATER_SEED,
            )
            for problem in COSTS
        ),
        _study(
            "c-bits", "Exported C against Python over 100,000 steps with history, filters and rate limits",
            equal_bits, ("float64", "float32"), 15.0,
        ),
    )
}  # fmt: skip

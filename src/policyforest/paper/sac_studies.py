"""Our policies compared with Stable-Baselines3's SAC: return against environment steps, and costs.

A cell is one seed of one learner. The learner is judged after each of several numbers of steps. A cell also has its
costs: processor seconds of learning (including the environment's steps), time of one action, and bytes to deploy. SAC
uses the library's defaults and the discount of the problem, on one thread. Our learner uses its own defaults, and
learns from as many steps of a random policy. Running SAC needs torch (the extra "compare"); showing its stored cells
does not.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from policyforest._support.arguments import Floats
from policyforest._support.extras import import_extra
from policyforest.data.transitions import Transitions
from policyforest.environments.collection import collect
from policyforest.environments.evaluation import evaluate
from policyforest.environments.named_problems import named_problem
from policyforest.learning.methods import Learner
from policyforest.paper.studies import Short, Study
from policyforest.policy.action_time import action_time
from policyforest.policy.policy import Policy

EVALUATION_SEED = 1
TREE_LEAVES = 500
TIMED_STATES = 200


def train_sac(seed: int, *, problem: str, stops: Sequence[int], episodes: int) -> dict[str, Any]:
    """SAC with the defaults of Stable-Baselines3, judged at each stop without exploration."""
    sb3, torch = import_extra("stable_baselines3", "compare"), import_extra("torch", "compare")
    torch.set_num_threads(1)
    named = named_problem(problem)
    env = gym.make(named.id)
    model = sb3.SAC("MlpPolicy", env, gamma=named.discount, seed=seed, device="cpu")
    curve, seconds = [], 0.0
    for stop in stops:
        started = time.process_time()
        model.learn(stop - model.num_timesteps, reset_num_timesteps=False)
        seconds += time.process_time() - started
        judged = evaluate(model, gym.make(named.id), episodes=episodes, seed=EVALUATION_SEED)
        curve.append({"steps": stop, "return": judged.mean, "worst": judged.worst, "train_seconds": seconds})
    states = collect(gym.make(named.id), steps=TIMED_STATES, seed=seed).states
    layers = _actor_layers(model)
    return {
        "curve": curve,
        "action_us": 1e6 * action_time(_Predicting(model), states),
        "bare_action_us": 1e6 * action_time(BareActor(layers, env.action_space), states),
        "bytes": sum(weights.size + bias.size for weights, bias in layers) * 4,
    }


class _Predicting:
    """A model of Stable-Baselines3, called as its users call it."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def act(self, state: Floats) -> Floats:
        action: Floats = self._model.predict(state, deterministic=True)[0]
        return action


class BareActor:
    """SAC's mean action in NumPy alone, as a careful user would deploy it: ReLU layers, tanh, scaled to the box."""

    def __init__(self, layers: Sequence[tuple[Floats, Floats]], action_space: Any) -> None:
        self._hidden, self._last = layers[:-1], layers[-1]
        self._low, self._half = action_space.low, 0.5 * (action_space.high - action_space.low)

    def act(self, state: Floats) -> Floats:
        x = state.astype(np.float32)
        for weights, bias in self._hidden:
            x = np.maximum(weights @ x + bias, 0.0)
        weights, bias = self._last
        action: Floats = self._low + self._half * (np.tanh(weights @ x + bias) + 1.0)
        return action


def _actor_layers(model: Any) -> list[tuple[Floats, Floats]]:
    actor = model.policy.actor
    linear = [layer for layer in [*actor.latent_pi, actor.mu] if hasattr(layer, "weight")]
    return [(layer.weight.detach().numpy(), layer.bias.detach().numpy()) for layer in linear]


def train_forest(seed: int, *, problem: str, stops: Sequence[int], episodes: int) -> dict[str, Any]:
    """Fitted Policy Forests with our defaults, each from the first steps of a random policy up to one of the stops."""
    named = named_problem(problem)
    env = gym.make(named.id)
    started = time.process_time()
    data = collect(env, steps=stops[-1], seed=seed)
    collecting = (time.process_time() - started) / stops[-1]
    curve, policy = [], None
    for stop in stops:
        started = time.process_time()
        policy = Learner("fpf-pwl", problem, seed=seed).fit(data[:stop]).policy
        seconds = stop * collecting + time.process_time() - started
        judged = evaluate(policy, env, episodes=episodes, seed=EVALUATION_SEED)
        curve.append({"steps": stop, "return": judged.mean, "worst": judged.worst, "train_seconds": seconds})
    assert isinstance(policy, Policy)
    return {"curve": curve, **weigh(policy, env, data, episodes)}


def weigh(policy: Policy, env: gym.Env[Any, Any], samples: Transitions, episodes: int) -> dict[str, Any]:
    """Time and size of a learned policy, and of the single tree into which it is distilled for microcontrollers."""
    states = samples.states[:TIMED_STATES]
    tree = policy.distil(TREE_LEAVES, samples)
    with tempfile.TemporaryDirectory() as folder:
        policy.save(Path(folder) / "policy.pforest")
        size = (Path(folder) / "policy.pforest").stat().st_size
        tree_bytes = tree.export_c(Path(folder) / "c", "float32").n_bytes
    return {
        "action_us": 1e6 * action_time(policy, states),
        "tree_action_us": 1e6 * action_time(tree, states),
        "tree_return": evaluate(tree, env, episodes=episodes, seed=EVALUATION_SEED).mean,
        "bytes": size,
        "tree_bytes": tree_bytes,
    }


# Environment steps after which learners are judged; random episodes of the 6 kg pendulum have about 5 steps.
STOPS = {
    "Pendulum-v1": {"sac": (1_000, 2_000, 5_000, 10_000), "forest": (1_000, 2_000, 5_000, 10_000)},
    "inverted-pendulum-6kg": {"sac": (500, 2_000, 5_000, 10_000), "forest": (150, 300, 500, 1_000)},
}
EPISODES = {"Pendulum-v1": 20, "inverted-pendulum-6kg": 3}
NAMES = {"Pendulum-v1": "pendulum-v1", "inverted-pendulum-6kg": "pendulum-6kg"}
LEARNERS = {"sac": ("Stable-Baselines3's SAC", train_sac), "forest": ("our defaults on random steps", train_forest)}
WEIGHED = {"sac": ("bare_action_us",), "forest": ("tree_action_us", "tree_return", "tree_bytes")}
"""The entries that a cell has in addition to its curve, the time of an action and the bytes"""
SECONDS = {
    ("sac", "Pendulum-v1"): 250.0,
    ("forest", "Pendulum-v1"): 170.0,
    ("sac", "inverted-pendulum-6kg"): 250.0,
    ("forest", "inverted-pendulum-6kg"): 45.0,
}


# The number of stops at the scale "quick", and the seconds that they take.
QUICK_STOPS, QUICK_SECONDS = {"sac": 2, "forest": 1}, 30.0


def study_name(learner: str, problem: str) -> str:
    return f"compare-{learner}-{NAMES[problem]}"


def _study(learner: str, problem: str) -> Study:
    words, train = LEARNERS[learner]
    stops, episodes = STOPS[problem][learner], EPISODES[problem]
    run = partial(train, problem=problem, episodes=episodes)
    return Study(
        study_name(learner, problem),
        f"{problem}, {words}: return against steps, seconds, time of an action, size",
        partial(run, stops=stops),
        {"quick": 1, "paper": 3},
        SECONDS[learner, problem],
        kind="comparisons",
        methods=WEIGHED[learner],
        short=Short(partial(run, stops=stops[: QUICK_STOPS[learner]]), QUICK_SECONDS),
        extra="compare" if learner == "sac" else None,
    )


STUDIES = {study.name: study for study in (_study(learner, problem) for problem in STOPS for learner in LEARNERS)}

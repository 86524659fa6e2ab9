"""Our policies in the hands of the real libraries."""

from __future__ import annotations

from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

import policyforest as pf

pytestmark = pytest.mark.ecosystem
ENV = "policyforest/DoubleIntegrator-v0"


@pytest.fixture(scope="module")
def policy() -> pf.Policy:
    data = pf.collect(ENV, episodes=50, seed=0)
    q_learner = pf.FittedQIteration(discount=0.98, horizon=6, resample=None)
    return pf.FittedPolicyForest(n_states=500, q_learner=q_learner).fit(data)


def test_evaluate_policy_takes_a_policy_as_it_is(policy: pf.Policy) -> None:
    from stable_baselines3.common.evaluation import evaluate_policy
    from stable_baselines3.common.monitor import Monitor

    mean, _ = evaluate_policy(policy, Monitor(gym.make(ENV)), n_eval_episodes=3)
    assert mean == pytest.approx(pf.evaluate(policy, ENV, episodes=3).mean, abs=1e-6)


def test_evaluate_policy_takes_vectors_of_environments(policy: pf.Policy) -> None:
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.evaluation import evaluate_policy
    from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv

    expected = pf.evaluate(policy, ENV, episodes=3).mean
    for kind in (DummyVecEnv, SubprocVecEnv):
        # The module before the colon is what new processes import.
        vector = make_vec_env(f"policyforest:{ENV}", n_envs=2, vec_env_cls=kind)
        mean, _ = evaluate_policy(policy, vector, n_eval_episodes=4)
        vector.close()
        assert mean == pytest.approx(expected, abs=1e-6)


def test_their_policies_are_evaluated_by_ours() -> None:
    from stable_baselines3 import PPO

    model = PPO("MlpPolicy", gym.make(ENV), n_steps=64, batch_size=64, seed=0, device="cpu")
    assert np.isfinite(pf.evaluate(model, gym.make(ENV), episodes=2).mean)


def test_scalars_have_their_names(tmp_path: Path) -> None:
    """Names that both write are spelt alike."""
    from stable_baselines3 import PPO
    from stable_baselines3.common.logger import configure

    model = PPO("MlpPolicy", gym.make(ENV), n_steps=64, batch_size=64, seed=0, device="cpu")
    model.set_logger(configure(str(tmp_path), ["csv"]))
    model.learn(64)
    header = next(tmp_path.glob("*.csv")).read_text().splitlines()[0]
    for name in ("time/iterations", "time/time_elapsed"):
        assert name in header


def test_a_model_card_is_one_to_hugging_face(policy: pf.Policy, tmp_path: Path) -> None:
    from huggingface_hub import ModelCard

    policy.save(tmp_path / "cart.pforest", card=True)
    card = ModelCard.load(tmp_path / "cart.md")
    assert card.data.library_name == "policyforest"
    assert card.data.pipeline_tag == "reinforcement-learning"

"""Our policies in the hands of the real libraries."""

from __future__ import annotations

from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

import policyforest as pf
from policyforest.report.tensorboard import ELAPSED, EPISODE_SCALARS, ITERATION_SCALARS

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
    """Scalars of theirs that we write too are spelt alike."""
    from stable_baselines3 import PPO
    from stable_baselines3.common.logger import configure
    from stable_baselines3.common.monitor import Monitor

    model = PPO("MlpPolicy", Monitor(gym.make(ENV)), n_steps=512, batch_size=64, n_epochs=1, seed=0, device="cpu")
    model.set_logger(configure(str(tmp_path), ["csv"]))
    model.learn(512)
    theirs = set(next(tmp_path.glob("*.csv")).read_text().splitlines()[0].split(","))
    ours = {ELAPSED, *ITERATION_SCALARS, *EPISODE_SCALARS}
    assert ours & theirs == {"time/time_elapsed", "time/iterations", "rollout/ep_rew_mean", "rollout/ep_len_mean"}


@pytest.mark.parametrize("time_limit", [False, True])
def test_a_learner_fits_a_dataset_of_d3rlpy(time_limit: bool) -> None:
    from d3rlpy.dataset import MDPDataset

    data = pf.collect(ENV, episodes=20, seed=1)
    ends = np.append(np.diff(data.episodes) != 0, True)
    flags = {"terminals": np.zeros(len(data)), "timeouts": ends} if time_limit else {"terminals": ends}
    arrays = {"observations": data.states, "actions": data.actions, "rewards": data.rewards}
    dataset = MDPDataset(**arrays, **{name: flag.astype(np.float32) for name, flag in flags.items()})
    read = pf.as_transitions(dataset, data.action_space)
    # Without an end, the last row of an episode has no next state.
    kept = data[~ends] if time_limit else data
    assert np.array_equal(read.states, kept.states)
    assert np.array_equal(read.actions, kept.actions)
    assert np.array_equal(read.terminals, np.zeros(len(kept), bool) if time_limit else ends)
    learner = pf.FittedPolicyForest(n_states=200, q_learner=pf.FittedQIteration(horizon=2, resample=None))
    assert learner.fit(dataset).act(np.array([0.5, 0.0])).shape == (1,)


def test_a_model_card_is_one_to_hugging_face(policy: pf.Policy, tmp_path: Path) -> None:
    from huggingface_hub import ModelCard

    policy.save(tmp_path / "cart.pforest", card=True)
    card = ModelCard.load(tmp_path / "cart.md")
    assert card.data.library_name == "policyforest"
    assert card.data.pipeline_tag == "reinforcement-learning"

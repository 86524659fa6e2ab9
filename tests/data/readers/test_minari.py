"""Minari datasets, with and without the spec of an environment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium as gym
import minari
import numpy as np
import pytest
from gymnasium import spaces
from minari.data_collector import EpisodeBuffer

import policyforest as pf


@pytest.fixture(autouse=True)
def datasets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    return tmp_path


def buffers(wrap: Any = lambda rows: rows) -> list[EpisodeBuffer]:
    generator = np.random.default_rng(0)
    return [
        EpisodeBuffer(
            id=k,
            observations=wrap(generator.random((n + 1, 3))),
            actions=generator.uniform(-1, 1, (n, 1)),
            rewards=generator.random(n).tolist(),
            terminations=[False] * (n - 1) + [k == 0],
            truncations=[False] * (n - 1) + [k != 0],
        )
        for k, n in enumerate((4, 6))
    ]


def create(name: str, buffer: list[EpisodeBuffer], observations: Any, **options: Any) -> None:
    minari.create_dataset_from_buffers(
        name,
        buffer,
        observation_space=observations,
        action_space=spaces.Box(-1, 1, (1,), np.float64),
        algorithm_name="random",
        author="unknown",
        author_email="unknown@example.com",
        code_permalink="https://example.com",
        **options,
    )


def test_a_dataset_without_an_environment_is_read_by_id_and_by_folder(datasets: Path) -> None:
    create("logs/plain-v0", buffers(), spaces.Box(0, 1, (3,), np.float64))
    for path in ("minari:logs/plain-v0", datasets / "logs" / "plain-v0"):
        log = pf.read_log(path)
        data = log.transitions
        assert len(data) == 10
        assert data.n_episodes == 2
        assert data.terminals.sum() == 1
        assert data.action_space.high.tolist() == [1]
        assert np.array_equal(data.next_states[0], data.states[1])
        assert np.array_equal(data.states[0], buffers()[0].observations[0])


def test_a_dataset_with_an_environment_spec_is_read(datasets: Path) -> None:
    env = gym.make("Pendulum-v1")
    create("pendulum/random-v0", buffers(), env.observation_space, env=env, eval_env=env)
    assert minari.load_dataset("pendulum/random-v0").env_spec is not None
    data = pf.read_log(datasets / "pendulum" / "random-v0").transitions
    assert len(data) == 10
    assert data.observation_space == env.observation_space
    env.close()


def test_dictionaries_are_flattened_and_images_refused(datasets: Path) -> None:
    parts = spaces.Dict({"a": spaces.Box(0, 1, (2,), np.float64), "b": spaces.Box(0, 1, (1,), np.float64)})
    create("logs/dict-v0", buffers(lambda rows: {"a": rows[:, :2], "b": rows[:, 2:]}), parts)
    data = pf.read_log("minari:logs/dict-v0").transitions
    assert np.array_equal(data.states[:4], buffers()[0].observations[:-1])


def test_a_reward_formula_takes_the_place_of_the_dataset_s(datasets: Path) -> None:
    create("logs/plain-v0", buffers(), spaces.Box(0, 1, (3,), np.float64))
    data = pf.read_log("minari:logs/plain-v0", reward="-next_state_0 - action_0**2").transitions
    assert np.allclose(data.rewards, -data.next_states[:, 0] - data.actions[:, 0] ** 2)


def test_what_is_no_dataset_is_refused(datasets: Path) -> None:
    with pytest.raises(ValueError, match="not found locally"):
        pf.read_log("minari:no/such-v0")
    (datasets / "broken" / "data").mkdir(parents=True)
    (datasets / "broken" / "data" / "metadata.json").write_text("{")
    with pytest.raises(ValueError, match="is not a Minari dataset"):
        pf.read_log(datasets / "broken")


def test_a_dataset_with_wrong_bytes_is_read_or_refused(datasets: Path) -> None:
    create("logs/plain-v0", buffers(), spaces.Box(0, 1, (3,), np.float64))
    file = next(datasets.rglob("main_data.hdf5"))
    whole, rng = file.read_bytes(), np.random.default_rng(0)
    refused = 0
    for k in range(30):
        damaged = bytearray(whole if k % 2 else whole[: rng.integers(len(whole))])
        for place in rng.integers(len(damaged), size=8):
            damaged[place] = rng.integers(256)
        file.write_bytes(damaged)
        try:
            pf.read_log("minari:logs/plain-v0")
        except ValueError:
            refused += 1
    assert refused > 10

"""Files of version 0.1.0 still load: they give the actions and samples, and resume to the bits, that it computed.

Linear leaves that are learned after loading are the exception. The files were written when leaves were plain least
squares; now slopes are shrunk, so their coefficients, and what is computed from them, are near but not the same.

The files are in `format_1.zip`; `write_format_1.py` shows how they were made. A change that breaks a test here breaks
files that users have: read the old format as well, do not write the files again.
"""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import policyforest as pf
from golden_files import FORMAT_1 as FOLDER

KINDS = {
    "binary-action-search-polynomial": "binary-action-search",
    "discrete": "discrete",
    "forest-binary-action-search": "forest-binary-action-search",
    "forest-constant": "forest",
    "forest-distilled": "forest",
    "forest-linear": "forest",
    "forest-raises-outside": "forest",
    "forest-simplified": "forest",
    "forest-two-actions-periodic": "forest",
    "greedy-exact-two-actions-periodic": "greedy",
    "greedy-merged": "greedy",
    "lspi-radial": "lspi",
}
TURN = {0: (-float(np.pi), float(np.pi))}


@pytest.fixture(scope="module")
def expected() -> dict[str, Any]:
    with np.load(FOLDER / "expected.npz") as file:
        return dict(file)


def load(name: str) -> Any:
    return pf.load(FOLDER / f"{name}.pforest")


def unpacked(name: str, folder: Path) -> Path:
    shutil.unpack_archive(FOLDER / f"{name}.zip", folder)
    return folder


def require_same_bits(found: Any, expected: Any, name: str) -> None:
    assert found.dtype == expected.dtype, name
    assert found.shape == expected.shape, name
    assert found.tobytes() == expected.tobytes(), name


def require_arrays(found: Any, expected: dict[str, Any], prefix: str, except_for: str | None = None) -> None:
    """Compares a forest with all arrays whose names begin with the prefix."""
    names = [name for name in expected if name.startswith(f"{prefix}.")]
    assert len(names) == 7
    for name in names:
        if name == f"{prefix}.{except_for}":
            continue
        require_same_bits(found.arrays[name.removeprefix(f"{prefix}.")], expected[name], name)


def test_every_policy_file_is_tested() -> None:
    assert sorted(file.stem for file in FOLDER.glob("*.pforest")) == sorted(KINDS)


@pytest.mark.parametrize("name", KINDS)
def test_a_policy_gives_the_same_actions_to_the_bit(expected: dict[str, Any], name: str) -> None:
    policy = load(name)
    states, actions = expected[f"{name}.states"], expected[f"{name}.actions"]
    assert policy.kind == KINDS[name]
    require_same_bits(policy.act_batch(states), actions, name)
    for state, action in zip(states[:10], actions, strict=False):
        require_same_bits(policy.act(state), action, name)


@pytest.mark.parametrize("name", KINDS)
def test_a_policy_keeps_what_its_file_says_of_it(expected: dict[str, Any], name: str) -> None:
    policy = load(name)
    turning = policy.action_space.shape == (2,)
    assert policy.info.software == "policyforest 0.1.0"
    assert policy.info.n_samples == len(expected["turning.rewards" if turning else "straight.rewards"])
    assert policy.action_space.dtype == (np.float32 if turning else np.float64)
    assert np.isinf(policy.observation_space.high).any() == turning
    if KINDS[name] not in ("lspi", "binary-action-search"):
        assert policy.periodic == (TURN if turning else {})


def test_a_policy_that_raises_outside_of_its_box_still_does() -> None:
    with pytest.raises(ValueError, match="the policy knows"):
        load("forest-raises-outside").act(np.array([0.0, 1.5]))


@pytest.mark.parametrize("name", ["forest-simplified", "forest-distilled"])
def test_a_small_tree_keeps_its_distance_from_the_forest(name: str) -> None:
    policy = load(name)
    assert policy.simplification.max_leaves == 8
    assert policy.simplification.n_leaves == policy.n_leaves
    assert all(len(forest) == 1 for forest in policy.forests)


@pytest.mark.parametrize("suffix", ["npz", "parquet"])
@pytest.mark.parametrize("name", ["straight", "turning"])
def test_transitions_are_the_same_to_the_bit(expected: dict[str, Any], name: str, suffix: str) -> None:
    data = pf.Transitions.load(FOLDER / f"{name}.{suffix}")
    for field in ("states", "actions", "rewards", "next_states", "terminals", "episodes", "state_limits"):
        require_same_bits(getattr(data, field), expected[f"{name}.{field}"], field)
    turning = name == "turning"
    assert data.periodic == (TURN if turning else {})
    assert data.action_space.dtype == (np.float32 if turning else np.float64)
    assert np.isinf(data.observation_space.high).any() == turning


def test_an_interrupted_fit_is_resumed_to_the_same_bits(expected: dict[str, Any], tmp_path: Path) -> None:
    folder = unpacked("checkpoint", tmp_path)
    settings = json.loads((folder / "settings.json").read_text())
    seen: list[int] = []
    learner = pf.FittedQIteration(
        **settings["learner"],
        random_state=settings["seed"],
        checkpoint_dir=folder,
        callback=lambda done: seen.append(done.iteration),
    )
    q = learner.fit(pf.Transitions.load(FOLDER / "straight.npz"))
    assert seen == list(range(4, int(expected["checkpoint.iterations"]) + 1))  # the folder has the first three
    require_arrays(q.forest, expected, "checkpoint.forest")


def require_near(found: Any, expected: Any, *, largest: float, mean: float, name: str) -> None:
    assert found.shape == expected.shape, name
    distance = np.abs(found - expected)
    assert distance.max() <= largest, name
    assert distance.mean() <= mean, name


def stored_forest(expected: dict[str, Any], prefix: str) -> pf.Forest:
    names = ("feature", "split", "child", "node_offsets", "coefficients", "box")
    return pf.Forest.from_arrays(**{name: expected[f"{prefix}.{name}"] for name in names})


@pytest.mark.parametrize("name", ["run-disagreement", "run-mre"])
def test_a_run_is_resumed_to_the_same_trees_and_near_actions(
    expected: dict[str, Any], tmp_path: Path, name: str
) -> None:
    """Splits depend on all that was planned before: on the samples, the Q forest and the best actions of its states."""
    agent = pf.resume(unpacked(name, tmp_path))
    assert agent.n_episodes == 15
    assert agent.policy is not None
    require_arrays(agent.policy.forests[0], expected, f"{name}.resumed", except_for="coefficients")
    states = np.concatenate([episode.states for episode in agent.episodes])
    actions = np.clip(stored_forest(expected, f"{name}.resumed").predict(states), -1, 1)
    require_near(agent.policy.act_batch(states)[:, 0], actions, largest=0.4, mean=0.02, name="actions of -1 to 1")


@pytest.mark.parametrize("name", ["run-disagreement", "run-mre"])
def test_a_resumed_run_goes_on_to_a_near_episode_and_policy(
    expected: dict[str, Any], tmp_path: Path, name: str
) -> None:
    agent = pf.resume(unpacked(name, tmp_path)).learn(episodes=16)
    episode = agent.episodes[-1]
    require_same_bits(episode.states[0], expected[f"{name}.next.states"][0], "the first state")
    for field in ("states", "actions", "rewards"):
        found, wanted = getattr(episode, field), expected[f"{name}.next.{field}"]
        require_near(found, wanted, largest=0.1, mean=0.02, name=field)
    states = np.concatenate([episode.states for episode in agent.episodes])
    actions = np.clip(stored_forest(expected, f"{name}.next.policy").predict(states), -1, 1)
    # The plan sees the last episode, so its trees differ too.
    require_near(agent.policy.act_batch(states)[:, 0], actions, largest=2.0, mean=0.25, name="actions of -1 to 1")

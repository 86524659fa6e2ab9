"""Policies in files: what comes back is what was saved."""

import json
import pickle

import numpy as np
import pytest
from gymnasium.spaces import Box
from safetensors import safe_open

import policyforest as pf
from policies import INFO, POLICIES, STATES, actions_box, forest_policy, some_states
from policyforest.policy import policy_files
from policyforest.policy.policy_files import load


@pytest.mark.parametrize("name", POLICIES)
def test_a_loaded_policy_is_the_saved_one_to_the_bit(tmp_path, name):
    policy = POLICIES[name]()
    path = tmp_path / "policy.pforest"
    policy.save(path)
    loaded = load(path)
    assert type(loaded) is type(policy)
    states = some_states(stretch=0.99 if name == "raises outside" else 3.0)
    assert loaded.act_batch(states).tobytes() == policy.act_batch(states).tobytes()
    assert loaded.act(states[0]).tobytes() == policy.act(states[0]).tobytes()
    for field in ("observation_space", "action_space", "info", "periodic", "outside", "simplification", "progress"):
        assert getattr(loaded, field, None) == getattr(policy, field, None), field
    assert loaded.action_space.dtype == policy.action_space.dtype
    assert loaded.predict(states[0])[0].dtype == policy.predict(states[0])[0].dtype
    assert list(tmp_path.iterdir()) == [path]


def test_saving_again_gives_the_same_bytes(tmp_path):
    first, second = tmp_path / "1.pforest", tmp_path / "2.pforest"
    forest_policy(2).save(first)
    load(first).save(second)
    assert first.read_bytes() == second.read_bytes()


def test_infinite_sides_and_tiny_differences_survive(tmp_path):
    box = [[-np.inf, np.inf], [0.1 + 0.2, np.inf]]
    forest = pf.Forest.from_arrays(
        feature=[0, -1, -1],
        split=[np.nextafter(1.0, 2.0), 5e-324, -0.0],
        child=[1, 0, 1],
        node_offsets=[0, 3],
        box=box,
    )
    space = Box(np.array([-np.inf, np.nextafter(0.3, 0)]), np.array([0.3, np.inf]), dtype=np.float64)
    policy = pf.Policy((forest,), space, actions_box(1))
    policy.save(tmp_path / "a.pforest")
    loaded = load(tmp_path / "a.pforest")
    assert loaded.state_box.tolist() == box
    assert loaded.observation_space.low.tobytes() == space.low.tobytes()
    for name, array in forest.arrays.items():
        assert loaded.forests[0].arrays[name].tobytes() == array.tobytes()


def test_the_file_is_plain_safetensors(tmp_path):
    path = tmp_path / "policy.pforest"
    policy = forest_policy()
    policy.save(str(path))
    with safe_open(path, "numpy") as file:
        content = json.loads(file.metadata()["policyforest"])
        assert file.get_tensor("forest0.split").tolist() == policy.forests[0].arrays["split"].tolist()
    assert content["format"] == "policyforest policy"
    assert content["version"] == 1
    assert content["info"]["settings"]["seed"] == 2**64 - 1


@pytest.mark.parametrize("name", ["policy", "policy.npz", "policy.PFOREST", ".pforest"])
def test_a_policy_is_saved_under_its_suffix_only(tmp_path, name):
    with pytest.raises(ValueError, match=r"path: .*must end in \.pforest"):
        forest_policy().save(tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_the_suffix_does_not_matter_for_loading(tmp_path):
    forest_policy().save(tmp_path / "policy.pforest")
    (tmp_path / "policy.pforest").rename(tmp_path / "renamed")
    assert load(str(tmp_path / "renamed")).info == INFO


def test_a_failed_save_leaves_the_old_file(tmp_path):
    path = tmp_path / "policy.pforest"
    forest_policy().save(path)
    before = path.read_bytes()
    policy = forest_policy()
    for settings in ({"a": float("nan")}, {"a": object()}, {"a": "\x1b[2J"}, {"a": "x" * 2_000_000}):
        bad = pf.Policy(policy.forests, STATES, actions_box(1), info=pf.PolicyInfo("x", settings))
        with pytest.raises(ValueError, match=r"content|header"):
            bad.save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_only_policies_can_be_saved(tmp_path):
    with pytest.raises(TypeError, match="policy: is a int, must be of one of the kinds forest, greedy, baseline"):
        policy_files.save_policy(3, tmp_path / "a.pforest")


def test_what_is_not_a_file_is_not_found(tmp_path):
    for path in (tmp_path, tmp_path / "missing.pforest"):
        with pytest.raises(FileNotFoundError, match=path.name):
            load(path)


class Harmful:
    def __reduce__(self):
        return print, ("a pickle was run",)


@pytest.mark.parametrize("content", [b"", b"\0" * 7, b"\0" * 8, b"\0" * 80, b"{}", pickle.dumps(Harmful())])
def test_other_files_are_refused(tmp_path, capsys, content):
    path = tmp_path / "odd.pforest"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"odd\.pforest: is not a policy"):
        load(path)
    assert capsys.readouterr().out == ""

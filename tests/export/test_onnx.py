"""Exported ONNX models give the float32 policy's actions in onnxruntime, bit for bit."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import policyforest as pf
from policies import POLICIES, forest_policy
from policyforest.export.probing import probing_states

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")


def run(path: Path, states: np.ndarray) -> np.ndarray:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return session.run(["action"], {"state": states})[0]


@pytest.mark.parametrize("kind", ["constant", "linear", "three actions", "single precision", "periodic", "simplified"])
def test_onnxruntime_gives_the_actions_bit_for_bit(kind: str, tmp_path: Path) -> None:
    policy = POLICIES[kind]()
    policy.export_onnx(tmp_path / "policy.onnx")
    states = probing_states(policy, 100_000, seed=2).astype(np.float32)
    expected = policy.astype("float32").act_batch(states)
    found = run(tmp_path / "policy.onnx", states)
    assert np.array_equal(found, expected)
    one = np.concatenate([run(tmp_path / "policy.onnx", states[i : i + 1]) for i in range(20)])
    assert np.array_equal(one, expected[:20])


def test_a_forest_of_many_trees_is_added_in_order(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (500, 2))
    box = np.tile([-1.0, 1.0], (2, 1))
    for leaf_model in ("constant", "linear"):
        forest = pf.grow_forest(X, rng.random(500), n_estimators=100, leaf_model=leaf_model, box=box, random_state=0)
        policy = pf.Policy((forest,), forest_policy().observation_space, forest_policy().action_space)
        policy.export_onnx(tmp_path / "policy.onnx")
        states = rng.uniform(-1, 1, (5_000, 2)).astype(np.float32)
        assert np.array_equal(run(tmp_path / "policy.onnx", states), policy.astype("float32").act_batch(states))


def test_inputs_outputs_opset_and_origin_are_in_the_model(tmp_path: Path) -> None:
    policy = forest_policy(3, periodic={0: (-np.pi, np.pi)})
    policy.export_onnx(tmp_path / "policy.onnx")
    model = onnx.load(tmp_path / "policy.onnx")
    onnx.checker.check_model(model, full_check=True)
    assert {op.domain: op.version for op in model.opset_import} == {"": 17, "ai.onnx.ml": 3}
    shapes = {v.name: v.type.tensor_type.shape.dim[1].dim_value for v in (*model.graph.input, *model.graph.output)}
    assert shapes == {"state": 2, "action": 3}
    metadata = {prop.key: prop.value for prop in model.metadata_props}
    assert json.loads(metadata["info"])["method"] == policy.info.method
    assert json.loads(metadata["periodic"]) == {"0": [-np.pi, np.pi]}
    assert {node.domain for node in model.graph.node} == {"", "ai.onnx.ml"}


def test_a_bad_path_is_an_error_that_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"must end in \.onnx"):
        forest_policy().export_onnx(tmp_path / "policy.txt")
    with pytest.raises(OSError):
        forest_policy().export_onnx(tmp_path / "missing" / "policy.onnx")
    with pytest.raises(TypeError, match="must be a Policy of forests"):
        pf.Policy.export_onnx(POLICIES["lspi"](), tmp_path / "policy.onnx")
    assert list(tmp_path.iterdir()) == []

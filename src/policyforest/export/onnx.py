"""A policy as an ONNX model: standard operators, float32, one batch of states in, one of actions out.

Constant leaves become a TreeEnsembleRegressor with one target per tree. Linear leaves become one whose targets are the
numbers of the leaves, for which Gather then looks up the coefficients. One Sum adds the values of the trees, from the
first tree to the last. This is the order of `policy.astype("float32").act`, and the model gives the same actions.
Angles are wrapped before the trees, and actions are clipped after them.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from policyforest._support.files import replacing
from policyforest._support.labels import labels_of
from policyforest._support.spaces import bounds
from policyforest.export.program import forest_models
from policyforest.forest.forest import Forest
from policyforest.policy.float32_policy import Float32Policy, float32_policy
from policyforest.policy.policy import Policy
from policyforest.policy.policy_info import info_dict

OPSET, ML_OPSET = 17, 3
"""The versions of the default operators and of ai.onnx.ml, which onnxruntime 1.12 and later read"""
# Numbers of leaves are passed as float32, which is exact for whole numbers up to this one.
MOST_LEAVES = 2**24


def export_onnx(policy: Policy, path: str | os.PathLike[str]) -> None:
    """Writes the policy in float32 as an ONNX model with the input "state" (n, D) and the output "action" (n, A)."""
    if not isinstance(policy, Policy):
        raise TypeError(f"policy: is a {type(policy).__name__}, must be a Policy of forests to be exported as ONNX")
    target = Path(path)
    if target.suffix != ".onnx":
        raise ValueError(f"path: is {os.fspath(path)!r}, must end in .onnx")
    model = _model(policy)
    with replacing(target) as beside:
        beside.write_bytes(model.SerializeToString())


@dataclass
class _Graph:
    """Nodes and constants of a graph under construction."""

    nodes: list[Any] = field(default_factory=list)
    constants: list[Any] = field(default_factory=list)
    count: int = 0

    def name(self) -> str:
        self.count += 1
        return f"t{self.count}"

    def constant(self, array: NDArray[Any]) -> str:
        from onnx import numpy_helper

        name = self.name()
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def add(self, operator: str, *inputs: str, outputs: int = 1, domain: str = "", **attributes: Any) -> Any:
        from onnx import helper

        names = [self.name() for _ in range(outputs)]
        self.nodes.append(helper.make_node(operator, list(inputs), names, domain=domain, **attributes))
        return names[0] if outputs == 1 else names


def _model(policy: Policy) -> Any:
    try:
        from onnx import TensorProto, checker, helper
    except ImportError as error:
        raise ImportError("onnx: is not installed; pip install 'policyforest[onnx]'") from error
    from policyforest._support.version import __version__

    single = float32_policy(policy)
    graph = _Graph()
    _write_actions(graph, single)
    n_states, n_actions = policy.observation_space.shape[0], policy.action_space.shape[0]
    made = helper.make_graph(
        graph.nodes,
        "policy",
        [helper.make_tensor_value_info("state", TensorProto.FLOAT, ["n", n_states])],
        [helper.make_tensor_value_info("action", TensorProto.FLOAT, ["n", n_actions])],
        graph.constants,
        doc_string=f"{policy!r}",
    )
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", ML_OPSET)]
    model = helper.make_model(made, opset_imports=opsets, producer_name="policyforest", producer_version=__version__)
    model.ir_version = 8
    helper.set_model_props(model, _metadata(policy))
    checker.check_model(model)
    return model


def _metadata(policy: Policy) -> dict[str, str]:
    labels = labels_of(policy)
    return {
        "info": json.dumps(info_dict(policy.info), default=str),
        "states": json.dumps(labels.states, ensure_ascii=False),
        "actions": json.dumps(labels.actions, ensure_ascii=False),
        "state_box": json.dumps([[repr(float(side)) for side in row] for row in policy.state_box]),
        "action_box": json.dumps(bounds(policy.action_space).tolist()),
        "periodic": json.dumps({str(d): list(turn) for d, turn in policy.periodic.items()}),
        "worst_case_comparisons": str(policy.worst_case_comparisons),
    }


def _write_actions(graph: _Graph, single: Float32Policy) -> None:
    columns = _columns(graph, single)
    state = graph.add("Concat", *columns, axis=1) if single.periodic else "state"
    values = []
    for forest in single.rounded.forests:
        total = _sum(graph, forest, state, columns)
        count = graph.constant(np.array([len(forest)], dtype=np.float32))
        values.append(graph.add("Div", total, count) if len(forest) > 1 else total)
    joined = graph.add("Concat", *values, axis=1) if len(values) > 1 else values[0]
    box = bounds(single.action_space).astype(np.float32)
    raised = graph.add("Max", joined, graph.constant(box[np.newaxis, :, 0]))
    clipped = graph.add("Min", raised, graph.constant(box[np.newaxis, :, 1]))
    graph.add("Identity", clipped)
    graph.nodes[-1].output[0] = "action"


def _columns(graph: _Graph, single: Float32Policy) -> list[str]:
    """The state's dimensions as columns, angles wrapped: x - length * floor((x - lo) / length) where x is outside."""
    n = single.observation_space.shape[0]
    columns = graph.add("Split", "state", axis=1, outputs=n) if n > 1 else ["state"]
    for d, (low, high) in single.periodic.items():
        lo, hi = np.float32(low), np.float32(high)
        low_name, high_name, length = (graph.constant(np.array([[v]], dtype=np.float32)) for v in (lo, hi, hi - lo))
        x = columns[d]
        turns = graph.add("Floor", graph.add("Div", graph.add("Sub", x, low_name), length))
        moved = graph.add("Sub", x, graph.add("Mul", length, turns))
        clipped = graph.add("Min", graph.add("Max", moved, low_name), high_name)
        inside = graph.add("And", graph.add("GreaterOrEqual", x, low_name), graph.add("LessOrEqual", x, high_name))
        columns[d] = graph.add("Where", inside, x, clipped)
    return list(columns)


def _sum(graph: _Graph, forest: Forest, state: str, columns: list[str]) -> str:
    """The sum of a forest's trees: (n, 1)."""
    linear = forest.leaf_model == "linear"
    models = forest_models(forest)
    numbers = np.arange(len(models)) if linear else models[:, 0]
    if linear and len(models) > MOST_LEAVES:
        raise ValueError(f"policy: has {len(models)} leaves, at most {MOST_LEAVES} are allowed in ONNX")
    trees = graph.add("TreeEnsembleRegressor", state, domain="ai.onnx.ml", **_ensemble(forest, numbers))
    if linear:
        trees = _linear_values(graph, trees, models.astype(np.float32), columns)
    if len(forest) == 1:
        return str(trees)
    parts = graph.add("Split", trees, axis=1, outputs=len(forest))
    return str(graph.add("Sum", *parts))


def _linear_values(graph: _Graph, leaves: str, models: NDArray[np.float32], columns: list[str]) -> str:
    """c + w_0 x_0 + w_1 x_1 + … of the leaves whose numbers are given: (n, trees)."""
    from onnx import TensorProto

    index = graph.add("Cast", leaves, to=TensorProto.INT64)
    value = graph.add("Gather", graph.constant(models[:, -1]), index, axis=0)
    for d, column in enumerate(columns):
        weight = graph.add("Gather", graph.constant(models[:, d]), index, axis=0)
        value = graph.add("Add", value, graph.add("Mul", weight, column))
    return str(value)


def _ensemble(forest: Forest, numbers: NDArray[Any]) -> dict[str, Any]:
    """The attributes of a TreeEnsembleRegressor whose target k is tree k, with these numbers in its leaves."""
    arrays = forest.arrays
    offsets = arrays["node_offsets"]
    tree = np.repeat(np.arange(len(forest)), np.diff(offsets))
    node = np.arange(len(tree)) - offsets[tree]
    inner = arrays["feature"] >= 0
    leaf = ~inner
    return {
        "n_targets": len(forest),
        "aggregate_function": "SUM",
        "nodes_treeids": tree.tolist(),
        "nodes_nodeids": node.tolist(),
        "nodes_featureids": np.where(inner, arrays["feature"], 0).tolist(),
        "nodes_values": np.where(inner, arrays["split"], 0.0).tolist(),
        "nodes_modes": ["BRANCH_LEQ" if is_inner else "LEAF" for is_inner in inner],
        "nodes_truenodeids": np.where(inner, arrays["child"], 0).tolist(),
        "nodes_falsenodeids": np.where(inner, arrays["child"] + 1, 0).tolist(),
        "nodes_missing_value_tracks_true": [0] * len(tree),
        "nodes_hitrates": [1.0] * len(tree),
        "target_treeids": tree[leaf].tolist(),
        "target_nodeids": node[leaf].tolist(),
        "target_ids": tree[leaf].tolist(),
        "target_weights": np.asarray(numbers, dtype=np.float64).tolist(),
    }

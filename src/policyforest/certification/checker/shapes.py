"""Whether the arrays and the names of a certificate fit each other and the policy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from policyforest._support.arguments import Array
from policyforest.certification.checker.rejection import require
from policyforest.certification.checker.successors import sample_dimensions
from policyforest.policy.policy import Policy

MOST_SUBSTEPS = 10_000
MOST_STEPS_PER_MOVE = 1000
NUMBERS = ("cells", "successors", "box", "start", "target", "disturbance", "error", "slack")


def require_shapes(content: Mapping[str, Any], arrays: Mapping[str, Array], policy: Policy) -> None:
    """Requires that all arrays have the right shapes and finite numbers, and that no box has a side low > high."""
    n = len(arrays["box"])
    for name, array in arrays.items():
        require(np.isfinite(array).all(), f"its {name} holds a number that is not finite")
    for name in NUMBERS:
        require(arrays[name].dtype == np.float64, f"its {name} are not numbers of double precision")
    require(arrays["ranks"].dtype == np.int64, "its ranks are not whole numbers")
    for name, shape in (("box", (n, 2)), ("start", (n, 2)), ("error", (n,)), ("slack", (n,))):
        require(arrays[name].shape == shape, f"its {name} has the wrong shape")
    cells = arrays["cells"].shape
    require(arrays["ranks"].ndim == 1 and cells == (len(arrays["ranks"]), 2 * n), "its cells have the wrong shape")
    require(arrays["successors"].shape == cells, "its successors have the wrong shape")
    require(cells[0] > 0, "it has no cells: nothing is proved")
    require(arrays["target"].shape in ((0, 2), (n, 2)), "its target has the wrong shape")
    require(
        arrays["disturbance"].ndim == 2 and arrays["disturbance"].shape[1] == 2, "its disturbance has the wrong shape"
    )
    for name in ("box", "start", "target", "disturbance"):
        require((arrays[name][:, 0] <= arrays[name][:, 1]).all(), f"a side of its {name} is wrong")
    require((arrays["error"] >= 0).all() and (arrays["slack"] >= 0).all(), "an error is negative")
    steps = content["steps"]
    require(type(steps) is int and 1 <= steps <= MOST_STEPS_PER_MOVE, "its number of steps is wrong")
    _require_names(content["model"], arrays, policy, n)


def _require_names(told: Mapping[str, Any], arrays: Mapping[str, Array], policy: Policy, n: int) -> None:
    """Requires that the model has the states of the cells, and the inputs and the actions of the policy."""
    equations, names = told["equations"], (told["state_names"], told["action_names"])
    n_read, n_actions = policy.observation_space.shape[0], policy.action_space.shape[0]
    if equations is None:
        reads, acts = (int(number) for number in arrays["model.shape"])
        n_states = len(sample_dimensions(arrays))
    else:
        require(names == (list(equations["formulas"]), equations["actions"]), "its names are not those of its formulas")
        known = [*equations["formulas"], *equations["actions"], *equations["disturbances"], *equations["parameters"]]
        require(len(set(known)) == len(known), "two of its names are the same")
        n_states, acts = len(equations["formulas"]), len(equations["actions"])
        reads = len(equations.get("sensors") or equations["formulas"])
        require(1 <= equations["substeps"] <= MOST_SUBSTEPS, "its equations have too many substeps")
    require(n_states == len(names[0]) == n, "its model has other states than its cells")
    require(
        (reads, acts, len(names[1])) == (n_read, n_actions, n_actions), "its model has other states than the policy"
    )

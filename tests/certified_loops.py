"""Small closed loops whose certificates are known or quick to find."""

import numpy as np
from gymnasium.spaces import Box

import policyforest as pf
from policyforest._support.tensor_files import write_tensors
from policyforest.certification.certificate_container import content_digest, read_certificate_file
from policyforest.certification.digests import model_digest


def linear_policy(gains, box, limit=1.0, periodic=None):
    """clip(gains · s, -limit, limit), as a tree of one linear leaf."""
    box = np.asarray(box, dtype=float)
    forest = pf.Forest.from_arrays(
        feature=np.array([-1], dtype=np.int32),
        split=np.zeros(1),
        child=np.zeros(1, dtype=np.int32),
        node_offsets=np.array([0, 1]),
        coefficients=np.array([[*gains, 0.0]], dtype=float),
        box=box,
    )
    observed = Box(box[:, 0], box[:, 1], dtype=np.float64)
    return pf.Policy((forest,), observed, Box(-limit, limit, (1,), np.float64), periodic or {})


def grown_policy(gains, box, limit=1.0, trees=5, seed=0, n=2000, leaf=60, periodic=None):
    """The same learned by a forest from noisy actions."""
    box = np.asarray(box, dtype=float)
    rng = np.random.default_rng(seed)
    states = box[:, 0] + rng.random((n, len(box))) * (box[:, 1] - box[:, 0])
    actions = np.clip(states @ np.asarray(gains), -limit, limit) + 0.02 * limit * rng.standard_normal(n)
    forest = pf.grow_forest(
        states, actions, n_estimators=trees, min_samples_leaf=leaf, leaf_model="linear", box=box, random_state=seed,
        periodic=periodic,
    )  # fmt: skip
    observed = Box(box[:, 0], box[:, 1], dtype=np.float64)
    return pf.Policy((forest,), observed, Box(-limit, limit, (1,), np.float64), periodic or {})


LINE = [[-1.0, 1.0]]
PLANE = [[-1.0, 1.0], [-1.0, 1.0]]
SHRINKING = pf.Equations({"x": "0.5*x + 0*u + w"}, ("u",), ("w",))
CAR = pf.Equations({"p": "p + 0.2*v", "v": "v + 0.2*u + w"}, ("u",), ("w",))
"""A car on a line"""
CAR_GAINS = (-1.5, -2.0)


def car_certificate(**more):
    settings = {"box": PLANE, "disturbance": 0.02, "tolerance": 0.02} | more
    return pf.certify(grown_policy(CAR_GAINS, PLANE), CAR, **settings)


def resealed(path, to, change):
    """A copy of a certificate whose text and arrays were changed by `change(content, arrays)`, with right digests."""
    content, arrays = read_certificate_file(path)
    arrays = {name: np.array(array) for name, array in arrays.items()}
    change(content, arrays)
    content["model_digest"] = model_digest(content["model"], arrays)
    write_tensors(to, arrays, content | {"digest": content_digest(arrays, content)})
    return to

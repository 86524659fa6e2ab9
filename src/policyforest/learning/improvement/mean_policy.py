"""The mean of several policies of forests, as one policy of forests.

Candidates that the ensemble cannot distinguish have different errors: a regulator ignores curvature, a Fitted Policy
Forest has the noise of its Q function, and a plan on a grid exploits the errors of the model. Their mean keeps what
they agree on. Near the best policy the value is concave in the actions, so that the mean is worth more than one of the
candidates picked at random.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from policyforest._support.arguments import Floats
from policyforest.data.transitions import Transitions
from policyforest.forest.forest import Forest
from policyforest.learning.improvement.simple_policies import make_policy, one_leaf
from policyforest.policy.policy import Policy


def mean_policy(data: Transitions, policies: Sequence[Policy]) -> Policy:
    """The policy whose actions are the means of theirs, before they are clipped to the action box."""
    forests = [mean_forest([policy.forests[j] for policy in policies]) for j in range(len(policies[0].forests))]
    return make_policy(data, forests, "mean")


def mean_forest(forests: Sequence[Forest]) -> Forest:
    """The mean of forests over the same box, each with the same weight, whatever the number of its trees.

    A forest of a single leaf is a linear function: it is added to the leaves of the others, and takes no time.
    """
    leaves = [forest for forest in forests if forest.n_leaves == 1]
    grown = [forest for forest in forests if forest.n_leaves > 1]
    linear = sum((_leaf_models(leaf)[0] for leaf in leaves), np.zeros(forests[0].n_inputs + 1)) / len(forests)
    if not grown:
        return one_leaf(forests[0].box, linear)
    n_trees = sum(len(forest) for forest in grown)
    return Forest.join([_moved(forest, n_trees / (len(forests) * len(forest)), linear) for forest in grown])


def _moved(forest: Forest, factor: float, linear: Floats) -> Forest:
    """factor * F(x) + w·x + c."""
    arrays = forest.arrays
    return Forest.from_arrays(
        feature=arrays["feature"],
        split=np.where(arrays["feature"] < 0, 0.0, arrays["split"]),
        child=arrays["child"],
        node_offsets=arrays["node_offsets"],
        box=arrays["box"],
        coefficients=factor * _leaf_models(forest) + linear,
    )


def _leaf_models(forest: Forest) -> Floats:
    """(w…, c) of each leaf, also where leaves are constants."""
    arrays = forest.arrays
    if forest.leaf_model == "linear":
        return np.asarray(arrays["coefficients"])
    models = np.zeros((forest.n_leaves, forest.n_inputs + 1))
    # A leaf's number counts within its tree.
    tree = np.searchsorted(arrays["node_offsets"], np.arange(len(arrays["feature"])), side="right") - 1
    is_leaf = arrays["feature"] < 0
    models[arrays["leaf_offsets"][tree[is_leaf]] + arrays["child"][is_leaf], -1] = arrays["split"][is_leaf]
    return models

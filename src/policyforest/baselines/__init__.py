"""What the paper compares with: least-squares policy iteration, Binary Action Search, and a finite set of actions."""

from policyforest.baselines.bases import Basis, PolynomialBasis, RadialBasis
from policyforest.baselines.binary_action_search import BinaryActionSearch, BinarySearchPolicy
from policyforest.baselines.discrete_fqi import DiscreteFQI, DiscretePolicy
from policyforest.baselines.forest_binary_search import ForestBinaryActionSearch, ForestBinarySearchPolicy
from policyforest.baselines.lspi import LSPI, LSPIPolicy
from policyforest.baselines.problem_settings import binary_action_search_for

__all__ = [
    "LSPI",
    "Basis",
    "BinaryActionSearch",
    "BinarySearchPolicy",
    "DiscreteFQI",
    "DiscretePolicy",
    "ForestBinaryActionSearch",
    "ForestBinarySearchPolicy",
    "LSPIPolicy",
    "PolynomialBasis",
    "RadialBasis",
    "binary_action_search_for",
]

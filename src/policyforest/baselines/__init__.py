"""The methods that the paper compares with: least-squares policy iteration, Binary Action Search, and a finite set of
actions.

May import: `_support`, `data`, `forest`, `environments`, `policy`, `learning`, `exploration`.
"""

from policyforest.baselines import policy_kinds as policy_kinds  # makes their policies loadable
from policyforest.baselines.bases import Basis, PolynomialBasis, RadialBasis
from policyforest.baselines.binary_action_search import BinaryActionSearch, BinarySearchPolicy
from policyforest.baselines.discrete_fqi import DiscreteFQI, DiscretePolicy
from policyforest.baselines.forest_binary_search import ForestBinaryActionSearch, ForestBinarySearchPolicy
from policyforest.baselines.lspi import LSPI, LSPIPolicy
from policyforest.baselines.problem_settings import binary_action_search_for
from policyforest.learning.methods import register_baseline

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

register_baseline(
    "bas",
    lambda how: binary_action_search_for(how.problem, how.gamma, random_state=how.seed, n_jobs=how.n_jobs),
)
register_baseline("fqi-discrete", lambda how: DiscreteFQI(discount=how.gamma, random_state=how.seed, n_jobs=how.n_jobs))

"""The improved Extra-Trees of the paper as a scikit-learn estimator (see `policyforest.forest.estimator`)."""

from policyforest.forest.estimator import ForestRegressor

__all__ = ["ForestRegressor"]

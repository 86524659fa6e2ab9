"""Training curves for TensorBoard (see `policyforest.report.tensorboard`)."""

from policyforest.report.tensorboard import TensorBoard

__all__ = ["TensorBoard"]

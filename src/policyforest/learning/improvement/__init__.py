"""Policy improvement by rollouts in the learned model."""

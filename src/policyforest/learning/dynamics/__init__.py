"""The learned model of a system: structure, dynamics, reward, ends, noise."""

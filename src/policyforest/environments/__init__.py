"""Systems to learn on: the benchmark problems, playing episodes, collecting samples, evaluating policies.

May import: `_support`, `data`, `forest`.
"""

"""Certificates for closed loops: sets of states that a policy provably never leaves, and their independent checker.

The search (`search.py`, and `core/src/certify`) and the checker (`checker`) share no code except for reading policies,
equations and files. May import: `_support`, `data`, `forest`, `environments`, `policy`, `learning`, `exploration`,
`baselines`, `report`, `export`.
"""

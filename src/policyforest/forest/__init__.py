"""Regression forests: growing, predicting, converting, the best action, knownness, and where work on them runs.

May import: `_support`, `data`.
"""

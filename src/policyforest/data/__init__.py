"""Samples: `Transitions`, their files, and the readers that make them from logs.

May import: `_support`.
"""

"""The checker of certificates: plain NumPy, one idea per file, and no code of the search.

`forms.py` has the arithmetic, `successors.py` the bounds of a move, `cover.py` what the cells cover, `check.py` the
questions that a certificate must answer.
"""

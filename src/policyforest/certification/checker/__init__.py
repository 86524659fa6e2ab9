"""The checker of certificates: plain NumPy, one idea per file, and no code of the search.

`forms.py` has the arithmetic, `successors.py` the bounds of a move, `cover.py` the check that cells cover boxes, and
`check.py` the conditions that a certificate must meet.
"""

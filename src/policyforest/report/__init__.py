"""Pictures and pages about what was learned. matplotlib is imported when a picture is made.

May import: `_support`, `data`, `forest`, `environments`, `policy`, `learning`, `exploration`, `baselines`.
"""

"""Code that all packages share: argument checks, spaces, files, formulas, settings, labels, optional imports.

May import: nothing of this project.
"""

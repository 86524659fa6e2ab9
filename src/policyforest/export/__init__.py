"""Policies outside of Python: C99 for anything with a compiler, ONNX for everything else.

May import: `_support`, `data`, `forest`, `environments`, `policy`, `learning`, `exploration`, `baselines`, `report`.
"""

from policyforest.export.c import CExport, export_c
from policyforest.export.onnx import export_onnx
from policyforest.export.program import Precision, Style

__all__ = ["CExport", "Precision", "Style", "export_c", "export_onnx"]

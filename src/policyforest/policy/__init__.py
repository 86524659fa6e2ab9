"""Policies: acting, files, single precision, inspection, explanation, timing.

May import: `_support`, `data`, `forest`, `environments`. `Policy` reaches `learning` (distil) and `export` (export_c,
export_onnx) when those methods are called; these are the only imports against the order.
"""

"""From samples to policies: Fitted Q Iteration, Fitted Policy Forest, the learned model, distillation,
offline evaluation.

May import: `_support`, `data`, `forest`, `environments`, `policy`.
"""

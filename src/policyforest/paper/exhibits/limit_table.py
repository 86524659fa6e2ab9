"""The limits: the returns of planning with the true equations, compared with the paper's best and ours."""

from __future__ import annotations

from policyforest.paper.finished_cells import Cells

COLUMNS = ("problem", "limit", "steps", "the paper", "our best policy")
# For each problem, the result that the paper states as its best, and our studies in the same row.
BESIDE = {
    "inverted-pendulum-6kg": ("-128 (online)", ("pendulum-6kg", "pendulum-online-ours")),
    "inverted-pendulum": ("-", ("pendulum-8kg",)),
    "double-integrator": ("-", ("double-integrator",)),
    "car-on-the-hill": ("20 to 25 steps", ("car-on-the-hill",)),
    "swing-up": ("-", ("swing-up-ours",)),
    "cart-pole-swing-up": ("-", ()),
    "acrobot": ("-", ()),
}


def rows(cells: Cells) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    made: list[tuple[str, ...]] = []
    for result in cells.results("limits"):
        said, studies = BESIDE[result["problem"]]
        made.append(
            (
                result["problem"],
                f"{result['return']:.4g}",
                f"{result['steps']:.0f}",
                said,
                _best(cells, result["problem"], studies),
            )
        )
    return COLUMNS, made


def _best(cells: Cells, problem: str, studies: tuple[str, ...]) -> str:
    if problem == "car-on-the-hill":
        steps = cells.values("car-on-the-hill", "fpf-pwl", "steps")
        return f"{steps.min():.0f} steps" if len(steps) else "-"
    returns = [
        *(x for study in studies for x in cells.values(study, "fpf-pwl")),
        *(x for study in studies for x in cells.policy_returns(study)),
    ]
    return f"{max(returns):.4g}" if returns else "-"

"""``policyforest show``: what is in a policy file, and a picture of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from policyforest.cli.evaluate import PolicyFile
from policyforest.cli.output import Json, note, print_json, print_pairs
from policyforest.policy_files import load
from policyforest.report.labels import labels_for
from policyforest.report.state_slice import state_box
from policyforest.spaces import bounds


def show(
    policy: PolicyFile,
    picture: Annotated[
        Path | None, typer.Option(help="Where the picture goes.  [default: beside the policy, .png]")
    ] = None,
    no_picture: Annotated[bool, typer.Option("--no-picture", help="Words alone.")] = False,
    dims: Annotated[
        tuple[int, int] | None, typer.Option(help="The two state dimensions of the picture.  [default: 0 1]")
    ] = None,
    at: Annotated[
        str | None,
        typer.Option(help="A state '0, 0.5, …' whose other entries the picture holds.  [default: middle of the box]"),
    ] = None,
    json: Json = False,
) -> None:
    """Show what a policy is, and draw it.

    Prints its spaces, its size, the bound on its time and how it was learned; draws the action over two state
    dimensions. The picture of a policy that is greedy in a Q forest has Q and V too."""
    if picture is not None and picture.suffix != ".png":
        raise ValueError(f"--picture: is {picture}, must end in .png")
    learned = load(policy)
    report = describe(learned)
    if not no_picture:
        drawn = _draw(learned, picture, policy.with_suffix(".png"), dims, at)
        report |= {"picture": None if drawn is None else str(drawn)}
    if json:
        print_json({"policy": str(policy)} | report)
    else:
        print_pairs(str(policy), _lines(report))


def describe(policy: Any) -> dict[str, Any]:
    """Plain data about a policy: what it maps to what, how large it is, and how it was learned."""
    info = policy.info
    report: dict[str, Any] = {
        "kind": policy.kind,
        "method": info.method,
        "problem": info.problem,
        "observation_space": bounds(policy.observation_space).tolist(),
        "action_space": bounds(policy.action_space).tolist(),
        "learned_on": _known_states(policy),
        "periodic": {str(d): list(turn) for d, turn in getattr(policy, "periodic", {}).items()},
        "samples": info.n_samples,
        "settings": dict(info.settings),
        "software": info.software,
        "created": info.created,
    }
    forests = getattr(policy, "forests", None) or ([policy.forest] if hasattr(policy, "forest") else [])
    if forests:
        report |= {
            "trees": [len(forest) for forest in forests],
            "leaves": [forest.n_leaves for forest in forests],
            "depth": [forest.depth for forest in forests],
            "leaf_model": forests[0].leaf_model,
        }
    if hasattr(policy, "worst_case_comparisons"):
        report["worst_case_comparisons"] = policy.worst_case_comparisons
    return report


def _known_states(policy: Any) -> list[list[float]]:
    try:
        box = state_box(policy)
    except ValueError:  # a box without bounds can be told, if not drawn
        box = bounds(policy.observation_space)
    return [[float(lo), float(hi)] for lo, hi in box]


def _draw(policy: Any, wanted: Path | None, beside: Path, dims: Any, at: str | None) -> Path | None:
    from policyforest.report.plots import policy_figure, save_png

    try:
        state = None if at is None else [float(number) for number in at.replace(",", " ").split()]
    except ValueError:
        raise ValueError(f"--at: is {at!r}, must be numbers with commas between them") from None
    try:
        figure = policy_figure(policy, dims, state)
    except ImportError as error:
        if wanted is not None:
            raise
        note(f"no picture: {error}")
        return None
    save_png(figure, wanted or beside)
    return wanted or beside


def _lines(report: Mapping[str, Any]) -> dict[str, str]:
    labels = labels_for(report["problem"], len(report["observation_space"]), len(report["action_space"]))
    known = zip(labels.states, report["learned_on"], strict=True)
    lines = {
        "method": f"{report['method']} ({report['kind']})",
        "problem": report["problem"] or "not named",
        "states": ", ".join(f"{name} in {_range(sides)}" for name, sides in known),
        "actions": ", ".join(
            f"{name} in {_range(sides)}" for name, sides in zip(labels.actions, report["action_space"], strict=True)
        ),
    }
    if report["periodic"]:
        lines["angles"] = ", ".join(labels.states[int(d)] for d in report["periodic"])
    if "trees" in report:
        count = "+".join(map(str, report["trees"]))
        lines["size"] = f"{count} trees, {sum(report['leaves']):,} {report['leaf_model']} leaves"
    if "worst_case_comparisons" in report:
        lines["bound"] = f"at most {report['worst_case_comparisons']} comparisons an action"
    settings = ", ".join(f"{name} {value}" for name, value in report["settings"].items() if name != "q")
    lines |= {"learned from": f"{report['samples']:,} samples", "settings": settings}
    if "q" in report["settings"]:
        lines["Q settings"] = str(report["settings"]["q"]).strip("{}").replace("'", "")
    lines["made by"] = ", ".join(text for text in (report["software"], report["created"]) if text)
    if report.get("picture"):
        lines["picture"] = report["picture"]
    return lines


def _range(sides: list[float]) -> str:
    return f"[{sides[0]:.4g}, {sides[1]:.4g}]"

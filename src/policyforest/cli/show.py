"""``policyforest show``: what is in a policy file, a picture of it, and an interactive page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from policyforest._support.labels import ACTION_NAMES, STATE_NAMES, labels_told
from policyforest._support.spaces import bounds
from policyforest.certification.certificate import Certificate
from policyforest.certification.certificate_files import load_certificate
from policyforest.certification.checker.check import check_certificate
from policyforest.certification.digests import policy_digest
from policyforest.certification.set_pictures import certificate_blocks, certificate_figure
from policyforest.cli.learn_report import print_candidates
from policyforest.cli.option_groups import with_option_groups
from policyforest.cli.output import Json, note, one_line, print_json, print_pairs
from policyforest.cli.output_files import require_output
from policyforest.cli.policy_argument import PolicyFile, read_policy
from policyforest.data.transition_files import load_transitions
from policyforest.data.transitions import Transitions
from policyforest.policy.model_card import MOST_DIMENSIONS
from policyforest.policy.policy import Policy
from policyforest.report.candidates import COMPARISON, WORDS, comparison_of
from policyforest.report.state_slice import UnboundedStatesError, state_box


@dataclass(frozen=True)
class DrawingOptions:
    """What is drawn, and where it is saved."""

    picture: Annotated[
        Path | None, typer.Option(help="Where to write the picture.  [default: next to the policy, .png]")
    ] = None
    page: Annotated[
        Path | None,
        typer.Option(help="Where to write the page with sliders and an episode.  [default: next to the policy, .html]"),
    ] = None
    no_picture: Annotated[bool, typer.Option("--no-picture", help="Print the text only, without a picture.")] = False
    data: Annotated[
        Path | None,
        typer.Option(
            help="The samples that the policy was learned from. The picture then shows them and the edge of the data, "
            "and the page shows how well each state was known."
        ),
    ] = None
    certificate: Annotated[
        Path | None, typer.Option(help="A .pfcert file of this policy: draw its set over the map and on the page.")
    ] = None
    dims: Annotated[
        tuple[int, int] | None, typer.Option(help="The two state dimensions of the picture.  [default: 0 1]")
    ] = None
    at: Annotated[
        str | None,
        typer.Option(help="A state '0, 0.5, …': values of the other dimensions.  [default: middle of the box]"),
    ] = None

    def samples(self) -> Transitions | None:
        return None if self.data is None else load_transitions(self.data)

    def check(self) -> None:
        for option, path, ending in (("--picture", self.picture, ".png"), ("--page", self.page, ".html")):
            if path is not None:
                require_output(option, path, ending)


@with_option_groups
def show(
    policy: PolicyFile,
    *,
    drawing: DrawingOptions,
    explain: Annotated[
        str | None,
        typer.Option(help="A state '0, 0.5, …': explain the action there in words, by the conditions that lead to it."),
    ] = None,
    json: Json = False,
) -> None:
    """Describe a policy, and draw it.

    Prints its spaces, its size, the bound on its time and how it was learned; draws the action over two state
    dimensions. For the greedy policy of a Q forest, the picture also shows Q and V. The page is one HTML file that
    needs no network, with maps, sliders and an animated episode."""
    drawing.check()
    learned = read_policy(policy)
    report = describe(learned) | inspect(learned)
    proved = None if drawing.certificate is None else _proved(learned, drawing.certificate)
    if proved is not None:
        report["certificate"] = proved.statement()
    if explain is not None:
        report["explanation"] = _explained(learned, explain)
    if not drawing.no_picture:
        at = None if drawing.at is None else _numbers("at", drawing.at)
        drawn = _draw(learned, drawing, policy.with_suffix(".png"), at, proved)
        report["picture"] = None if drawn is None else str(drawn)
        written = _write_page(learned, report, drawing, policy.with_suffix(".html"), at, proved)
        report["page"] = None if written is None else str(written)
    if json:
        print_json({"policy": str(policy)} | report)
    else:
        print_pairs(str(policy), _lines(report))
        print_candidates(report["settings"])
        print(*report.get("explanation", ()), sep="\n", end="" if explain is None else "\n")


def describe(policy: Any) -> dict[str, Any]:
    """Plain data about a policy: its inputs and outputs, its size, and how it was learned."""
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


def inspect(policy: Any) -> dict[str, Any]:
    """The exact ranges of the actions over all states the policy knows; empty if computing them could take long."""
    if policy.kind != "forest" or len(policy.state_box) > MOST_DIMENSIONS or not np.isfinite(policy.state_box).all():
        return {}
    reached = policy.range()
    changes = [policy.sensitivity(d).at_most.tolist() for d in range(len(policy.state_box))]
    return {"reaches": np.stack([reached.low, reached.high], axis=1).tolist(), "sensitivity": changes}


def _explained(policy: Any, state: str) -> list[str]:
    if policy.kind != "forest":
        raise ValueError(f"--explain: the policy is of kind {policy.kind!r}, must be a forest")
    return [str(told) for told in policy.explain(_numbers("explain", state))]


def _numbers(option: str, text: str) -> list[float]:
    try:
        return [float(number) for number in text.replace(",", " ").split()]
    except ValueError:
        raise ValueError(f"--{option}: is {text!r}, must be numbers separated by commas") from None


def _known_states(policy: Any) -> list[list[float]]:
    try:
        box = state_box(policy)
    except UnboundedStatesError:  # an unbounded box can be printed, but not drawn
        box = bounds(policy.observation_space)
    return [[float(lo), float(hi)] for lo, hi in box]


def _proved(policy: Any, path: Path) -> Certificate:
    """The certificate, after a check that it belongs to this policy and that its proof holds."""
    found = load_certificate(path)
    if not isinstance(policy, Policy) or policy_digest(policy, found.precision) != found.policy_digest:
        raise ValueError(f"--certificate: {path} belongs to another policy")
    checked = check_certificate(path, policy) if found else None
    if checked is not None and not checked:
        raise ValueError(f"--certificate: {path} is rejected: {checked.reason}")
    return found


def _draw(
    policy: Any, drawing: DrawingOptions, beside: Path, at: list[float] | None, proved: Certificate | None
) -> Path | None:
    """Draws the picture and returns its path; None without matplotlib or a finite box, unless the picture was
    requested."""
    from policyforest.report.plots import policy_figure, save_png

    try:
        if proved is not None and proved.n_states >= 2:
            figure = certificate_figure(proved, policy, drawing.dims, at)
        else:
            samples = drawing.samples()
            figure = policy_figure(policy, drawing.dims, at, None if samples is None else samples.states)
    except (ImportError, UnboundedStatesError) as error:
        if drawing.picture is not None:
            raise
        note(f"no picture: {error}")
        return None
    path = drawing.picture or beside
    save_png(figure, path)
    return path


def _write_page(
    policy: Any,
    report: Mapping[str, Any],
    drawing: DrawingOptions,
    beside: Path,
    at: list[float] | None,
    proved: Certificate | None,
) -> Path | None:
    """Writes the page and returns its path; None if it cannot be written, unless the page was requested."""
    from policyforest.report.policy_page import write_policy_page

    if policy.observation_space.shape[0] < 2:
        if drawing.page is not None:
            raise ValueError("--page: the policy has one state dimension, a page needs at least two")
        return None
    facts = [(name, words) for name, words in _lines(report).items() if name != "picture"]
    path = drawing.page or beside
    try:
        more = [] if proved is None else certificate_blocks(proved, policy)
        write_policy_page(path, policy, facts, samples=drawing.samples(), dims=drawing.dims, at=at, more=more)
    except (ImportError, UnboundedStatesError) as error:
        if drawing.page is not None:
            raise
        note(f"no page: {error}")
        return None
    return path


def _lines(report: Mapping[str, Any]) -> dict[str, str]:
    told = report["settings"]
    labels = labels_told(report["problem"], told, len(report["observation_space"]), len(report["action_space"]))
    known = zip(labels.states, report["learned_on"], strict=True)
    lines = {
        "method": f"{WORDS.get(report['method'], report['method'])} ({report['kind']})",
        "problem": report["problem"] or "not named",
        "states": ", ".join(f"{name} in {_range(sides)}" for name, sides in known),
        "actions": ", ".join(
            f"{name} in {_range(sides)}" for name, sides in zip(labels.actions, report["action_space"], strict=True)
        ),
    }
    if report["periodic"]:
        lines["angles"] = ", ".join(labels.states[int(d)] for d in report["periodic"])
    if "reaches" in report:
        reached = zip(labels.actions, report["reaches"], strict=True)
        lines["reaches"] = ", ".join(f"{name} in {_range(sides)} over all of these states" for name, sides in reached)
        moved = zip(labels.states, report["sensitivity"], strict=True)
        lines["sensitivity"] = ", ".join(
            f"{name} alone changes it by at most {', '.join(f'{change:.4g}' for change in changes)}"
            for name, changes in moved
        )
    if "trees" in report:
        count = "+".join(map(str, report["trees"]))
        lines["size"] = f"{count} trees, {sum(report['leaves']):,} {report['leaf_model']} leaves"
    if "worst_case_comparisons" in report:
        lines["bound"] = f"at most {report['worst_case_comparisons']} comparisons per action"
    comparison = comparison_of(told)
    if comparison is not None:
        lines["chosen"] = comparison.summary() + (f"; {comparison.note}" if comparison.note else "")
    apart = ("q", STATE_NAMES, ACTION_NAMES, *(COMPARISON if comparison is not None else ()))
    settings = ", ".join(f"{name} {value}" for name, value in told.items() if name not in apart)
    lines |= {"learned from": f"{report['samples']:,} samples", "settings": settings}
    if "q" in report["settings"]:
        lines["Q settings"] = str(report["settings"]["q"]).strip("{}").replace("'", "")
    lines["made by"] = ", ".join(text for text in (report["software"], report["created"]) if text)
    lines |= {name: report[name] for name in ("certificate", "picture", "page") if report.get(name)}
    return {name: one_line(text) for name, text in lines.items()}


def _range(sides: list[float]) -> str:
    return f"[{sides[0]:.4g}, {sides[1]:.4g}]"

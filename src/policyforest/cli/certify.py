"""``policyforest certify``: a set of states that the closed loop provably never leaves, and its check."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from policyforest.certification.certificate import Certificate
from policyforest.certification.certificate_files import load_certificate
from policyforest.certification.certificate_words import box_words
from policyforest.certification.certified_model import CertifiedModel, model_to_certify
from policyforest.certification.checker.check import check_certificate
from policyforest.certification.equations import Equations
from policyforest.certification.modest_numbers import percent
from policyforest.certification.search import SearchRound
from policyforest.certification.search import certify as search
from policyforest.cli.certificate_options import SetOptions, SystemOptions
from policyforest.cli.log_options import LogOptions
from policyforest.cli.option_groups import with_option_groups
from policyforest.cli.output import Jobs, Json, ProgressDisplay, Seed, note, print_json, print_pairs, progress
from policyforest.cli.output_files import require_output
from policyforest.cli.policy_argument import PolicyFile, read_policy
from policyforest.policy.policy import Policy


@dataclass(frozen=True)
class CertificateFiles:
    """Where certificates and pictures are read and written."""

    check: Annotated[
        Path | None, typer.Option(help="Check this .pfcert file against the policy instead of searching.")
    ] = None
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Where to write the certificate.  [default: next to the policy]"),
    ] = None
    picture: Annotated[Path | None, typer.Option(help="Also draw the set over the policy's map, .png.")] = None

    def require(self, policy: Policy, beside: Path) -> None:
        """Refuses, before the search begins, files that cannot be written at its end."""
        if self.picture is not None and policy.observation_space.shape[0] < 2:
            raise ValueError(f"--picture: is '{self.picture}', must be left out for a policy of one state")
        require_output("--output", self.output or beside, ".pfcert")
        if self.picture is not None:
            require_output("--picture", self.picture, ".png")


@with_option_groups
def certify(
    policy: PolicyFile,
    *,
    system: SystemOptions,
    wanted: SetOptions,
    logs: LogOptions,
    files: CertificateFiles,
    seed: Seed = 0,
    jobs: Jobs = 1,
    json: Json = False,
) -> None:
    """Prove that a policy keeps a system in a set, or check a proof.

    Searches for a set that no trajectory ever leaves under any disturbance of the given size, and writes it to a
    .pfcert file. If the set is empty, or --check rejects the proof, the reason is printed and the exit code is 1.
    Ctrl-C ends the search and keeps what has been proved so far."""
    learned = read_policy(policy)
    if files.check is not None:
        _check(policy, learned, files.check, _named_model(learned, policy, system, logs, seed, jobs), json)
        return
    if not isinstance(learned, Policy):
        raise ValueError(f"POLICY: {policy} is of the kind {learned.kind!r}, must be a policy of forests")
    files.require(learned, policy.with_suffix(".pfcert"))
    boxes = wanted.boxes()
    model = system.system(learned, policy, logs)
    arguments = wanted.arguments(learned, model, boxes) | system.arguments()
    with progress(quiet=json) as shown:
        found = search(learned, model, random_state=seed, n_jobs=jobs, progress=_teller(shown), **arguments)
    if written := (files.output or policy.with_suffix(".pfcert")) if found else None:
        found.save(written)
    _report(policy, learned, found, written, files.picture, json)
    if not found:
        raise typer.Exit(1)


def _teller(shown: ProgressDisplay) -> Callable[[SearchRound], None]:
    def tell(done: SearchRound) -> None:
        shown.stage(
            f"round {done.number}, {done.cells:,} cells, {100 * done.proved:.2f}% proved, "
            f"{100 * done.undecided:.2f}% undecided"
        )

    return tell


def _report(
    path: Path, policy: Policy, found: Certificate, written: Path | None, picture: Path | None, json: bool
) -> None:
    report = found.summary() | {"certificate": None if written is None else str(written)}
    if picture is not None and found:
        from policyforest.certification.set_pictures import certificate_figure
        from policyforest.report.plots import save_png

        save_png(certificate_figure(found, policy), picture)
        report["picture"] = str(picture)
    if json:
        print_json({"policy": str(path)} | report)
    else:
        print_pairs(f"{path} in a closed loop", certificate_lines(found, report))


def certificate_lines(found: Certificate, report: dict[str, Any]) -> dict[str, str]:
    """The lines of the table that describes a certificate."""
    names, lines = found.model.state_names, {"proved": report["statement"]}
    whole = np.array_equal(found.start, found.box)
    if found:
        lines["set"] = f"{len(found.cells):,} cells, {percent(found.share)} of the {'' if whole else 'start '}box"
    lines["box"] = box_words(names, found.box)
    if not whole:
        lines["start"] = box_words(names, found.start)
    rest = found.rest
    lines["not proved"] = f"{100 * rest.ruled_out:.2f}% ruled out, {100 * rest.undecided:.2f}% undecided; {rest.reason}"
    if rest.nearest_cell is not None:
        lines["nearest cell"] = box_words(names, np.array(rest.nearest_cell))
    if rest.counterexample is not None:
        state = ", ".join(f"{name} {x:.6g}" for name, x in zip(names, rest.counterexample, strict=True))
        lines["counterexample"] = f"from {state} a trajectory leaves the box after {rest.counterexample_steps} steps"
    lines["policy"] = f"{found.precision}, SHA-256 {found.policy_digest[:16]}…"
    lines["model"] = f"{found.model.kind}, SHA-256 {found.model.digest()[:16]}…"
    return lines | {name: report[name] for name in ("certificate", "picture") if report.get(name)}


def _check(path: Path, policy: Any, file: Path, model: CertifiedModel | None, json: bool) -> None:
    result = check_certificate(file, policy, model)
    proved = load_certificate(file).statement() if result else None
    if json:
        about = {"policy": str(path), "certificate": str(file), "accepted": result.accepted, "reason": result.reason}
        print_json(about | {"cells": result.cells, "model_compared": model is not None, "statement": proved})
    else:
        lines = {"rejected": result.reason}
        if proved is not None:
            lines = {"accepted": result.reason, "cells": f"{result.cells:,}", "proved": proved}
        print_pairs(f"{file} for {path}", lines)
    if not result:
        raise typer.Exit(1)
    if model is None:
        note("the model in the file was used; give --problem, --equations or --data to compare it with yours")


def _named_model(
    policy: Any, path: Path, system: SystemOptions, logs: LogOptions, seed: int, jobs: int
) -> CertifiedModel | None:
    """The model that the options name; None if they name none."""
    if not (system.problem or system.equations or system.data):
        return None
    model, arguments = system.system(policy, path, logs), system.arguments()
    if isinstance(model, Equations) and arguments["disturbance"] is None:
        arguments["disturbance"] = dict.fromkeys(model.disturbances, (0.0, 0.0)) or None
    return model_to_certify(model, random_state=seed, n_jobs=jobs, **arguments)

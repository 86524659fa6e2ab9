"""The statement of a certificate, in sentences that claim no more than was shown."""

from __future__ import annotations

from typing import Any

from policyforest._support.arguments import Floats
from policyforest.certification.certificate import Certificate
from policyforest.certification.modest_numbers import at_least, at_most


def statement(certificate: Certificate) -> str:
    """The statement of a certificate that has a cell."""
    return " ".join([_staying(certificate), *_visited(certificate), *_reaching(certificate), *_about(certificate)])


def _staying(certificate: Certificate) -> str:
    model = certificate.model
    who = "every trajectory"
    if model.kind == "learned":
        bounds = _plus_minus(model.state_names, model.error)
        who = f"every trajectory whose one-step model errors stay within {bounds}"
    elif len(model.disturbance):
        names = model.equations.disturbances if model.equations is not None else ()
        pairs = zip(names, model.disturbance.tolist(), strict=True)
        ranges = [f"{name} in [{at_least(lo)}, {at_most(hi)}]" for name, (lo, hi) in pairs]
        who = f"every trajectory with {', '.join(ranges)}"
    where = "stays in the set for ever"
    if certificate.target is not None:
        where = "stays in the box for ever"
    elif certificate.steps > 1:
        where = f"is in the set after every {certificate.steps} control steps, and in the box between them, for ever"
    first = f"Started in the set, {who} {where}"
    if model.kind != "learned":
        return first + "."
    if model.clause is None:
        return first + "; this bound was given, and no held-out data was compared with it."
    return f"{first}; {model.clause.words()}."


def _visited(certificate: Certificate) -> list[str]:
    """With moves of k steps, the set that is invariant at every step is S together with the states reached from it
    within k - 1 steps."""
    if certificate.steps == 1 or certificate.target is not None:
        return []
    return ["The states that such trajectories visit form a set inside of the box that is never left."]


def _reaching(certificate: Certificate) -> list[str]:
    if certificate.target is None:
        return []
    target = box_words(certificate.model.state_names, certificate.target)
    after = f"after at most {certificate.most_steps} control steps"
    if certificate.steps > 1:
        return [f"It is in the target ({target}) {after} and at every {certificate.steps}th step from then on."]
    return [f"It reaches the target ({target}) {after} and stays there."]


def _about(certificate: Certificate) -> list[str]:
    what = {
        "equations": "the equations, in exact arithmetic",
        "learned": "the learned model",
    }[certificate.model.kind]
    said = [f"The policy is the one that runs in {certificate.precision}; the system is {what}."]
    if certificate.interrupted:
        said.append("The search was interrupted; a longer one may prove more.")
    return said


def summary(certificate: Certificate) -> dict[str, Any]:
    """Plain data: the statement, its numbers, and what is not proved."""
    model, rest, clause = certificate.model, certificate.rest, certificate.model.clause
    return {
        "statement": certificate.statement(),
        "cells": len(certificate.cells),
        "share": certificate.share,
        "steps": certificate.steps,
        "most_steps": certificate.most_steps if certificate.target is not None else None,
        "precision": certificate.precision,
        "model": model.kind,
        "box": certificate.box.tolist(),
        "start": certificate.start.tolist(),
        "target": None if certificate.target is None else certificate.target.tolist(),
        "disturbance": model.disturbance.tolist(),
        "error": model.error.tolist(),
        "held_out": None
        if clause is None
        else {"within": clause.within, "steps": clause.steps, "share": clause.share, "confidence": clause.confidence},
        "undecided": rest.undecided,
        "ruled_out": rest.ruled_out,
        "nearest_cell": None if rest.nearest_cell is None else [list(side) for side in rest.nearest_cell],
        "reason": rest.reason,
        "counterexample": None if rest.counterexample is None else list(rest.counterexample),
        "counterexample_steps": rest.counterexample_steps,
        "policy_digest": certificate.policy_digest,
        "model_digest": model.digest(),
        "interrupted": certificate.interrupted,
    }


def box_words(names: tuple[str, ...], box: Floats) -> str:
    """A box as text, rounded outwards: ``theta in [-0.1, 0.1], omega in [-0.3, 0.3]``."""
    pairs = zip(names, box.tolist(), strict=True)
    return ", ".join(f"{name} in [{at_most(lo)}, {at_least(hi)}]" for name, (lo, hi) in pairs)


def _plus_minus(names: tuple[str, ...], error: Floats) -> str:
    return ", ".join(f"{name} ± {at_most(bound)}" for name, bound in zip(names, error.tolist(), strict=True))

"""Certificates in files: ``.pfcert``, a safetensors file with arrays and a JSON text, never code.

| key | |
|---|---|
| `format`, `version` | "policyforest certificate", 1 |
| `policy_digest`, `precision` | SHA-256 of the policy's numbers, and the precision in which it runs |
| `model`, `model_digest` | formulas or names of the model's columns, and the SHA-256 of all of its numbers |
| `clause` | the result on held-out steps, or null |
| `horizon`, `steps`, `rest`, `interrupted` | as in `Certificate` |
| `software`, `created` | the origin of the file |
| `digest` | SHA-256 of all arrays and of the rest of the text |

Arrays: `cells`, `successors`, `ranks`, `box`, `start`, `target` (no rows without one), `disturbance`, `error`, `slack`,
and `model.…` of a learned model.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from policyforest._support.arguments import Array
from policyforest._support.tensor_files import write_tensors
from policyforest.certification.certificate import Certificate, UnprovedStates
from policyforest.certification.certificate_container import (
    FORMAT,
    SUFFIX,
    VERSION,
    content_digest,
    read_certificate_file,
)
from policyforest.certification.certified_model import CertifiedModel
from policyforest.certification.equations import Equations
from policyforest.certification.learned_step import LearnedStep
from policyforest.certification.model_error import ErrorClause


def save_certificate(certificate: Certificate, path: str | os.PathLike[str]) -> None:
    """Writes a certificate; the path must end in .pfcert."""
    if Path(path).suffix != SUFFIX:
        raise ValueError(f"path: is {os.fspath(path)!r}, must end in {SUFFIX}")
    arrays = {name: np.ascontiguousarray(array) for name, array in _arrays(certificate).items()}
    model = certificate.model
    content = {
        "format": FORMAT,
        "version": VERSION,
        "policy_digest": certificate.policy_digest,
        "precision": certificate.precision,
        "model": model.settings(),
        "model_digest": model.digest(),
        "clause": None if model.clause is None else asdict(model.clause),
        "horizon": certificate.horizon,
        "steps": certificate.steps,
        "rest": asdict(certificate.rest),
        "interrupted": certificate.interrupted,
        "software": certificate.software,
        "created": certificate.created,
    }
    content = json.loads(json.dumps(content))
    write_tensors(path, arrays, content | {"digest": content_digest(arrays, content)})


def _arrays(certificate: Certificate) -> dict[str, Array]:
    model, n = certificate.model, certificate.n_states
    target = np.empty((0, 2)) if certificate.target is None else certificate.target
    return {
        "cells": certificate.cells.reshape(-1, 2 * n),
        "successors": certificate.successors.reshape(-1, 2 * n),
        "ranks": certificate.ranks.astype(np.int64),
        "box": certificate.box,
        "start": certificate.start,
        "target": target,
        "disturbance": model.disturbance,
        "error": model.error,
        "slack": certificate.slack,
        **model.arrays(),
    }


def load_certificate(path: str | os.PathLike[str]) -> Certificate:
    """Reads a certificate. This does not check what it claims: `check_certificate` does."""
    content, arrays = read_certificate_file(path)
    try:
        return _certificate(content, arrays)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ValueError(f"{path}: is not a certificate that can be read ({error})") from error


def _certificate(content: Mapping[str, Any], arrays: Mapping[str, Array]) -> Certificate:
    told = content["model"]
    equations = None if told["equations"] is None else Equations.from_settings(told["equations"])
    learned = LearnedStep.from_arrays(arrays) if equations is None else None
    clause = None if content["clause"] is None else ErrorClause(**content["clause"])
    names = tuple(told["state_names"]), tuple(told["action_names"])
    model = CertifiedModel(equations, learned, arrays["disturbance"].reshape(-1, 2), arrays["error"], clause, *names)
    rest = dict(content["rest"])
    for name in ("nearest_cell", "counterexample"):
        if rest[name] is not None:
            rest[name] = tuple(tuple(x) if isinstance(x, list) else x for x in rest[name])
    target = arrays["target"].reshape(-1, 2)
    return Certificate(
        content["policy_digest"], content["precision"], model, arrays["box"], arrays["start"],
        target if len(target) else None, content["horizon"], content["steps"], arrays["slack"], arrays["cells"],
        arrays["successors"], arrays["ranks"], UnprovedStates(**rest), content["interrupted"], content["software"],
        content["created"],
    )  # fmt: skip

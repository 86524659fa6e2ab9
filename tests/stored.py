"""Cells of studies, written as a finished study would have."""

import json
from pathlib import Path
from typing import Any

from policyforest.paper import STUDIES

NUMBERS = {"return": -1.0, "steps": 1.0, "action_us": 1.0, "q_seconds": 1.0, "policy_seconds": 1.0}


def write_cell(out: Path, study: str, seed: int, result: dict[str, Any], scale: str = "paper") -> Path:
    """Keeps a result; methods and numbers of methods that it lacks are filled in."""
    whole, kind = dict(result), STUDIES[study].kind
    if kind in ("returns", "times", "plans"):
        whole = {method: NUMBERS | result.get(method, {}) for method in (*STUDIES[study].methods, *result)}
    return write_line(out, study, json.dumps({"study": study, "seed": seed, "result": whole}), scale)


def write_line(out: Path, study: str, line: str, scale: str = "paper") -> Path:
    """Adds a line to the study's file, whatever it is."""
    file = STUDIES[study].file(out, scale)
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a") as lines:
        lines.write(line + "\n")
    return file

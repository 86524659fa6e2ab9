"""Numbers in the prose of the docs, quoted from the finished cells.

    the mean is <!-- quote: swing-up-mre mean .1f -->-57.2<!-- end -->

The first comment names a study, a result of the study, and the number format. A page does not show comments;
`policyforest.paper.readme` rewrites the text between the two comments, and a test compares it with the cells. The
result can be a method (the quote is then the mean of its cells), a number that a cell holds, or one of `WHAT`; "p
against STUDY" is the p-value of the permutation test of the means of two studies' trials.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np

from policyforest._support.arguments import Floats
from policyforest.paper import STUDIES
from policyforest.paper.finished_cells import Cells
from policyforest.paper.statistics import permutation

QUOTE = re.compile(r"<!-- quote: (?P<study>\S+) (?P<what>[^>]+?) (?P<format>\.\d[fg]) -->[^<]*<!-- end -->")
AGAINST = "p against "
WHAT: dict[str, Callable[[Cells, str], Floats | float]] = {
    "worst policy": lambda cells, study: cells.policy_returns(study).min(),
    "best policy": lambda cells, study: cells.policy_returns(study).max(),
    "worst trial": lambda cells, study: cells.values(study, "mean").min(),
    "best trial": lambda cells, study: cells.values(study, "mean").max(),
    "worst chosen": lambda cells, study: cells.values(study, "chosen").min(),
    "cells": lambda cells, study: float(len(cells.results(study))),
    "last return": lambda cells, study: np.mean([result["curve"][-1]["return"] for result in cells.results(study)]),
}


def with_quotes(text: str, out: Path) -> str:
    """The text with every quote regenerated; a `ValueError` names a quote that the cells cannot fill."""
    cells = Cells(out)

    def quoted(found: re.Match[str]) -> str:
        study, what, digits = found["study"], found["what"], found["format"]
        return f"<!-- quote: {study} {what} {digits} -->{_number(cells, study, what):{digits}}<!-- end -->"

    made = QUOTE.sub(quoted, text)
    if len(QUOTE.findall(made)) != made.count("<!-- quote:"):
        raise ValueError("text: has a quote that is not of the form <!-- quote: STUDY WHAT .1f -->number<!-- end -->")
    if begins := re.search(r"^\s*(<!-- quote:.*?-->)", made, re.MULTILINE):
        raise ValueError(
            f"text: a line begins with {begins[1]}, must not, since Markdown would end the paragraph there"
        )
    return made


def _number(cells: Cells, study: str, what: str) -> float:
    if what == "limit":
        limit = cells.limit(study)
        if limit is None:
            raise ValueError(f"quote: the limit of {study!r} is not stored")
        return limit
    other = what.removeprefix(AGAINST) if what.startswith(AGAINST) else study
    for name in (study, other):
        if name not in STUDIES or not cells.results(name):
            raise ValueError(f"quote: {name!r} is not a study with finished cells")
    try:
        if other != study:
            return permutation(cells.values(study, "mean"), cells.values(other, "mean"))
        return float(WHAT[what](cells, study) if what in WHAT else _values(cells, study, what).mean())
    except (KeyError, ValueError) as error:
        raise ValueError(f"quote: {study} has no {what!r}") from error


def _values(cells: Cells, study: str, what: str) -> Floats:
    held = [result.get(what) for result in cells.results(study)]
    if all(isinstance(value, int | float) for value in held):
        return np.array(held, dtype=np.float64)
    if not cells.rows(study, what):
        raise KeyError(what)
    return cells.values(study, what)

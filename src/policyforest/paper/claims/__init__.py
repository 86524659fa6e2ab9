"""The paper's claims, each with the cells and the test that decide it (see `policyforest.paper.verdicts`)."""

from policyforest.paper.claims import car, online, performance, times
from policyforest.paper.exhibits.cells import Cells
from policyforest.paper.verdicts import Verdict, judge

CLAIMS = (*performance.CLAIMS, *car.CLAIMS, *times.CLAIMS, *online.CLAIMS)


def verdicts(cells: Cells) -> list[Verdict]:
    """One for each claim, in the paper's order."""
    return [judge(claim, cells) for claim in CLAIMS]

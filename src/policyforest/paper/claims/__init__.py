"""The paper's claims, each with the cells and the test that decide it (see `policyforest.paper.verdicts`)."""

from policyforest.paper.claims import car_claims, online_claims, return_claims, time_claims
from policyforest.paper.finished_cells import Cells
from policyforest.paper.verdicts import Verdict, judge

CLAIMS = (*return_claims.CLAIMS, *car_claims.CLAIMS, *time_claims.CLAIMS, *online_claims.CLAIMS)


def verdicts(cells: Cells) -> list[Verdict]:
    """One verdict per claim, in the order of the paper."""
    return [judge(claim, cells) for claim in CLAIMS]

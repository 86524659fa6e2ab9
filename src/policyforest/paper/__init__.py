"""The paper's results and our own beside them: studies by name, run by ``policyforest reproduce``."""

from policyforest.paper import batch, compare, limits, online, portraits, times
from policyforest.paper.cells import Study, run_studies

STUDIES: dict[str, Study] = {
    name: study for room in (batch, online, times, limits, portraits, compare) for name, study in room.STUDIES.items()
}

__all__ = ["STUDIES", "Study", "run_studies"]

"""The paper's results and our own beside them: studies by name, run by ``policyforest reproduce``.

May import: `_support`, `data`, `forest`, `environments`, `policy`, `learning`, `exploration`, `baselines`, `report`,
`export`, `ros`.
"""

from policyforest.paper import batch, compare, engines, limits, online, portraits, times
from policyforest.paper.cells import Study, run_studies

ROOMS = (batch, online, engines, times, limits, portraits, compare)
STUDIES: dict[str, Study] = {name: study for room in ROOMS for name, study in room.STUDIES.items()}
"""All studies by their names."""

__all__ = ["STUDIES", "Study", "run_studies"]

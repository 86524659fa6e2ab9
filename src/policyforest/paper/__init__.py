"""The paper's results compared with our own: studies by name, run by ``policyforest reproduce``.

May import: `_support`, `data`, `forest`, `environments`, `policy`, `learning`, `exploration`, `baselines`, `report`,
`export`, `certification`, `ros`.
"""

from policyforest.paper import (
    batch_studies,
    certificate_studies,
    engine_studies,
    exploration_rivals,
    exploration_studies,
    limit_studies,
    online_studies,
    planning_studies,
    portrait_studies,
    real_system_studies,
    sac_studies,
    time_studies,
)
from policyforest.paper.studies import Study, run_studies

ROOMS = (
    batch_studies,
    online_studies,
    engine_studies,
    time_studies,
    limit_studies,
    portrait_studies,
    sac_studies,
    planning_studies,
    real_system_studies,
    exploration_studies,
    exploration_rivals,
    certificate_studies,
)
STUDIES: dict[str, Study] = {name: study for room in ROOMS for name, study in room.STUDIES.items()}
"""All studies by their names."""

__all__ = ["STUDIES", "Study", "run_studies"]

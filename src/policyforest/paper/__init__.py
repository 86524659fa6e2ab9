"""The paper's results and our own beside them: studies by name, run by ``policyforest reproduce``."""

from policyforest.paper.batch import STUDIES
from policyforest.paper.cells import Study, run_studies

__all__ = ["STUDIES", "Study", "run_studies"]

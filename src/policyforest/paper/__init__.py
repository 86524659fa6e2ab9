"""The paper's results and our own beside them: studies by name, run by ``policyforest reproduce``."""

from policyforest.paper import batch, limits, online, portraits, times
from policyforest.paper.cells import Study, run_studies

STUDIES = batch.STUDIES | online.STUDIES | times.STUDIES | limits.STUDIES | portraits.STUDIES

__all__ = ["STUDIES", "Study", "run_studies"]

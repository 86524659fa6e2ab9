"""Fixtures of the tests of exploration."""

from __future__ import annotations

import pytest

from policyforest.exploration import ensemble_judge, model_planner
from policyforest.learning.improvement import trajectories, trajectory_policy
from policyforest.learning.improvement.trajectory_policy import Effort


@pytest.fixture
def small_plans(monkeypatch):
    """Plans of a tenth of their size: what is tested here does not depend on how good they are."""
    sizes = {
        model_planner: {"USUAL": Effort(1), "FINAL": Effort(1), "MEMBERS": 2},
        ensemble_judge: {"MEMBERS": 2, "JUDGED_STARTS": 6},
        trajectories: {"SEQUENCES": 80},
        trajectory_policy: {
            "STARTS": 4,
            "AGGREGATED": 6,
            "OBSERVED": 3,
            "TREES": 5,
            "SEARCHES": (4,),
            "SLOW_SEARCHES": (4,),
            "FEW_SEARCHES": (4,),
        },
    }
    for module, numbers in sizes.items():
        for name, number in numbers.items():
            monkeypatch.setattr(module, name, number)

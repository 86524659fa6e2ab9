"""These tests need libraries that are large: `make test-ecosystem` installs them in a venv of their own."""

import os

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if os.environ.get("POLICYFOREST_ECOSYSTEM") != "1":
        reason = "needs Stable-Baselines3 and PyTorch; run `make test-ecosystem`"
        for item in items:
            if "ecosystem" in item.path.parts:
                item.add_marker(pytest.mark.skip(reason=reason))

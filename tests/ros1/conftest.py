"""A network for each test that asks for one; without ROS these tests are left out, and say why."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ros_network import HAS_ROS, Network

REASON = "ROS 1 is not installed (tests/ros1/install_tools.sh installs it from Debian's packages)"


@pytest.fixture
def network(tmp_path: Path) -> Iterator[Network]:
    if not HAS_ROS:
        pytest.skip(REASON)
    made = Network(tmp_path)
    try:
        made.start_master()
        yield made
    finally:
        made.close()

"""Fixtures of the tests of the ROS node."""

from __future__ import annotations

import copy
import tomllib

import pytest

from loopback import EXAMPLE


@pytest.fixture
def content():
    return copy.deepcopy(tomllib.loads(EXAMPLE.read_text()))

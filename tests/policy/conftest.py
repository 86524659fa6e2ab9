"""Fixtures of the tests of policies."""

import pytest

from policies import POLICIES


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """The bytes of the files of all policies."""
    path = tmp_path_factory.mktemp("saved") / "policy.pforest"

    def content(make):
        make().save(path)
        return path.read_bytes()

    return {name: content(make) for name, make in POLICIES.items()}

"""`doctor` lists the packages that PolicyForest itself declares, and how to get those that are missing."""

from __future__ import annotations

import importlib
import json
import tomllib
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from policyforest.cli import main

PROJECT = Path(__file__).parents[2] / "pyproject.toml"
# The name of the module is also that of the function in it.
doctor: Any = importlib.import_module("policyforest.cli.doctor")
REQUIREMENTS = [
    "numpy>=2.0",
    "no-such-reader[fast]>=0.10; extra == 'rosbags'",
    "policyforest[rosbags]; extra == 'ros'",
    'no-such-checker>=2.4; python_version >= "3.11" and extra == "ros"',
    'no-such-screen>=2.5; python_version < "3.11" and extra == "render"',
    'no-such-window>=2.5; python_version >= "3.99" and extra == "render"',
    "pytest>=8; extra == 'test'",
]


@pytest.fixture(autouse=True)
def no_checks_of_the_core(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "self_check", list)


def run(*options: str) -> str:
    result = CliRunner().invoke(main, ["doctor", *options])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_the_packages_are_those_of_the_metadata(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "requires", lambda package: REQUIREMENTS)
    report = json.loads(run("--json"))
    assert list(report["versions"]) == ["policyforest", "numpy"]
    assert list(report["extras"]) == ["no-such-reader", "no-such-checker", "lightgbm", "xgboost"]
    assert report["versions"]["numpy"]
    assert report["extras"]["no-such-checker"] is None


def test_a_missing_package_comes_with_the_extra_that_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "requires", lambda package: REQUIREMENTS)
    shown = run()
    assert "missing (for recordings of robots): pip install 'policyforest[rosbags]'" in shown
    assert "missing (for the configuration of robots): pip install 'policyforest[ros]'" in shown


def test_a_package_that_is_not_installed_has_no_metadata_to_list(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(package: str) -> list[str]:
        raise PackageNotFoundError(package)

    monkeypatch.setattr(doctor, "requires", refuse)
    report = json.loads(run("--json"))
    assert list(report["versions"]) == ["policyforest"]


def test_a_module_of_a_package_with_another_name_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pairwise_trees.py").touch()
    (tmp_path / "lonely_trees.py").touch()
    metadata = tmp_path / "pairwise_trees_cpu-1.2.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: pairwise-trees-cpu\nVersion: 1.2\n")
    (metadata / "top_level.txt").write_text("pairwise_trees\n")
    monkeypatch.syspath_prepend(tmp_path)
    separate = dict.fromkeys(("pairwise_trees", "lonely_trees", "no_such_trees"), "trees")
    monkeypatch.setattr(doctor, "SEPARATE", separate)
    extras = json.loads(run("--json"))["extras"]
    assert [extras[name] for name in separate] == ["1.2", "installed", None]


def test_every_extra_of_the_project_has_a_purpose() -> None:
    declared = tomllib.loads(PROJECT.read_text())["project"]["optional-dependencies"]
    assert set(declared) - set(doctor.EXTRAS) == set(doctor.DEVELOPMENT_EXTRAS)

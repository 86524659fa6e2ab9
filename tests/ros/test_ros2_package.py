"""The ROS 2 package policyforest_ros: what colcon and ros2 look for, and that its programs are our commands."""

from __future__ import annotations

import importlib.util
import sys
import xml.etree.ElementTree as ElementTree
from configparser import ConfigParser
from pathlib import Path

import pytest

import policyforest.cli

PACKAGE = Path(__file__).parents[2] / "ros2"
COMMANDS = ("run", "explore", "simulate")


@pytest.fixture
def programs():
    spec = importlib.util.spec_from_file_location("policyforest_ros", PACKAGE / "policyforest_ros" / "__init__.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_it_is_an_ament_python_package_under_one_name():
    root = ElementTree.parse(PACKAGE / "package.xml").getroot()
    assert root.findtext("name") == "policyforest_ros"
    assert root.findtext("export/build_type") == "ament_python"
    assert {"rclpy", "sensor_msgs", "std_srvs"} <= {entry.text for entry in root.findall("exec_depend")}
    settings = ConfigParser(interpolation=None)
    settings.read(PACKAGE / "setup.cfg")
    assert settings["install"]["install_scripts"] == "$base/lib/policyforest_ros"  # where `ros2 run` looks
    assert settings["build_scripts"]["executable"] == "/usr/bin/env python3"  # that of the environment that is active
    assert (PACKAGE / "resource" / "policyforest_ros").is_file()


@pytest.mark.parametrize("command", COMMANDS)
def test_its_programs_are_our_commands(monkeypatch, programs, command):
    called = []
    monkeypatch.setattr(policyforest.cli, "main", called.append)
    monkeypatch.setattr(sys, "argv", [command, "--seconds", "1", "--ros-args", "-p", "policy:=a.pforest"])
    getattr(programs, command)()
    more = ["--transport", "ros2"] if command == "simulate" else []
    assert called == [["ros", command, *more, *sys.argv[1:]]]
    assert f'"{command}"' in (PACKAGE / "setup.py").read_text()


def test_without_policyforest_the_error_names_python_and_the_remedy(monkeypatch, programs):
    monkeypatch.setitem(sys.modules, "policyforest.cli", None)
    with pytest.raises(SystemExit, match=r"not installed for Python 3\.\d+; run `pip install 'policyforest\[ros\]'`"):
        programs.run()

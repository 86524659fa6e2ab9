"""``ros2 run policyforest_ros run | explore | simulate``: the commands ``policyforest ros …`` as programs of ROS 2.

The policy and the configuration can be parameters of the node: ``--ros-args -p policy:=FILE -p config:=FILE``.
"""

from __future__ import annotations

import sys


def run() -> None:
    """A policy that drives a robot."""
    _command("run")


def explore() -> None:
    """An agent that learns on a robot."""
    _command("explore")


def simulate() -> None:
    """The swing-up as a robot, over ROS 2 unless another transport is asked for."""
    transport = [] if any(argument.startswith("--transport") for argument in sys.argv) else ["--transport", "ros2"]
    _command("simulate", *transport)


def _command(name: str, *before: str) -> None:
    try:
        from policyforest.cli import main
    except ImportError as error:
        python = f"{sys.version_info.major}.{sys.version_info.minor}"
        install = "run `pip install 'policyforest[ros]'`"
        sys.exit(f"error: policyforest is not installed for Python {python}; {install} ({error})")
    main(["ros", name, *before, *sys.argv[1:]])

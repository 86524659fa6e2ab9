"""The tutorial of docs/ros.md, as it is printed but for shorter episodes and fewer of them."""

from __future__ import annotations

import pytest

import policyforest as pf
from ros_network import HAS_ROS, free_port, run_tutorial

SHORTER = {
    "robot.toml\n": "robot.toml\nsed -i 's/steps = 100/steps = 12/' robot.toml\n",
    "--episodes 100 --agent disagreement": "--episodes 3 --agent mre --policies 1",
    "--seconds 10": "--seconds 2",
    "policyforest learn": ": learned elsewhere",
}


@pytest.mark.skipif(not HAS_ROS, reason="ROS 1 is not installed (tests/ros1/install_tools.sh)")
def test_the_tutorial_runs_as_it_is_printed(tmp_path):
    port = str(free_port())  # a port of our own
    shorter = SHORTER | {"11311": port, "roscore &": f"roscore -p {port} &"}
    done = run_tutorial("ros.md", shorter, tmp_path, {"ROS_HOME": str(tmp_path / "ros")})
    assert done.returncode == 0, done.stderr
    assert len(pf.Transitions.load(tmp_path / "explored.npz")) == 36
    assert (tmp_path / "run.mcap").is_file()
    assert "decisions" in done.stdout

"""The page "ROS 2 in ten minutes", as it is printed but for shorter episodes and fewer of them."""

from __future__ import annotations

import policyforest as pf
from ros_network import Network, require_transport, run_tutorial

SHORTER = {
    "> robot.toml\n": "> robot.toml\nsed -i 's/steps = 100/steps = 12/' robot.toml\n",
    "--episodes 100 --agent disagreement": "--episodes 3 --agent mre --policies 1",
    "--seconds 10": "--seconds 4",
    "policyforest learn": ": learned elsewhere",
}


def test_the_page_runs_as_it_is_printed(tmp_path):
    require_transport("ros2")
    network = Network(tmp_path)
    env = {"ROS_DOMAIN_ID": network.env["ROS_DOMAIN_ID"], "ROS_LOG_DIR": str(tmp_path / "ros")}
    try:
        done = run_tutorial("tutorials/ros2_in_ten_minutes.md", SHORTER, tmp_path, env)
    finally:
        network.close()
    assert done.returncode == 0, done.stderr
    assert len(pf.Transitions.load(tmp_path / "explored.npz")) == 36
    assert (tmp_path / "run.mcap").is_file()
    assert "decisions" in done.stdout

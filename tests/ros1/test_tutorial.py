"""The tutorial of docs/ros.md, as it is printed but for shorter episodes and fewer of them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from ros_network import HAS_ROS, free_port

import policyforest as pf

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"<!-- tutorial -->\n```sh\n(.*?)```", re.DOTALL)
SHORTER = {
    "11311": "",  # a port of our own
    "roscore &": "",
    "robot.toml\n": "robot.toml\nsed -i 's/steps = 100/steps = 12/' robot.toml\n",
    "--episodes 100 --agent disagreement": "--episodes 3 --agent mre --policies 1",
    "--seconds 10": "--seconds 2",
    "policyforest learn": ": learned elsewhere",
}


@pytest.mark.skipif(not HAS_ROS, reason="ROS 1 is not installed (tests/ros1/install_tools.sh)")
def test_the_tutorial_runs_as_it_is_printed(tmp_path):
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    blocks = BLOCK.findall((ROOT / "docs" / "ros.md").read_text())
    script = "".join(blocks)
    port = str(free_port())
    for text, shorter in (SHORTER | {"11311": port, "roscore &": f"roscore -p {port} &"}).items():
        assert text in script, text
        script = script.replace(text, shorter, 1)
    env = os.environ | {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "ROS_HOME": str(tmp_path / "ros"),
    }
    # What runs in the background is stopped by its process id, whatever happens.
    script = f"trap 'kill -INT $(jobs -p); wait' EXIT\n{script}"
    command = ["bash", "-euc", script]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    assert len(pf.Transitions.load(tmp_path / "explored.npz")) == 36
    assert (tmp_path / "run.mcap").is_file()
    assert "decisions" in done.stdout

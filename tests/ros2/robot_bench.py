"""A node and a scripted robot on a network of their own, and what they say."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from loopback import EXAMPLE
from ros_network import Network, require_transport, wait_until

SAFE = 0.125
GOOD = {"names": ["other", "pivot"], "position": [9.0, 0.5], "velocity": [9.0, -1.0]}
ANSWER = 0.5
"""What the policy commands for GOOD"""
COMMAND, STATES = "/pendulum/pivot_controller/command", "/pendulum/joint_states"


class Bench:
    """A node (`table_node.py`) and its robot (`scripted_robot.py`)."""

    def __init__(self, folder: Path, node: str, robot: str, **more: Any) -> None:
        self.network, self.transport = Network(folder), node
        self.config = folder / "robot.toml"
        self.config.write_text(configuration(node, **more))
        self._transports = node, robot

    def start(self) -> None:
        if "ros1" in self._transports:
            self.network.start_master()
        self.node = self.network.python("table_node.py", str(self.config))

    def start_robot(self, commands: str = "commands.txt", **more: Any) -> Any:
        return self.network.python("scripted_robot.py", self._transports[1], commands, json.dumps(more))

    def tell(self, robot: Any, state: Any) -> None:
        robot.stdin.write(json.dumps(state) + "\n")
        robot.stdin.flush()

    @property
    def notes(self) -> str:
        return self.network.log("table_node.py")

    def torques(self, commands: str = "commands.txt") -> list[float]:
        path = self.network.folder / commands
        rows = path.read_text().splitlines() if path.is_file() else []
        return [float(row.split()[1]) for row in rows if row.count(" ") == 2]

    def wait_for(self, torque: float, commands: str = "commands.txt") -> None:
        begin = len(self.torques(commands))
        wait_until(lambda: torque in self.torques(commands)[begin:], f"{torque}; the node says:\n{self.notes}")

    def wait_for_note(self, text: str) -> None:
        wait_until(lambda: text in self.notes, f"{text!r}; the node says:\n{self.notes}")

    def close(self) -> None:
        self.network.close()


def configuration(transport: str, keys: str = "", tables: str = "", speed_scale: float = 1.0) -> str:
    """The example without its episode, with further keys of [robot] and further tables."""
    text = EXAMPLE.read_text().partition("[episode]")[0].replace("safe = 0.0", f"safe = {SAFE}")
    text = text.replace('transport = "ros1"', f'transport = "{transport}"').replace("max_age = 0.5", "max_age = 1.0")
    text = text.replace('field = "velocity"', f'field = "velocity"\nscale = {speed_scale}')
    return text.replace('rate = "state"', f'rate = "state"\n{keys}\n') + tables


@contextmanager
def bench(folder: Path, node: str, robot: str | None = None, **more: Any) -> Iterator[Bench]:
    require_transport(node, robot or node)
    made = Bench(folder, node, robot or node, **more)
    try:
        made.start()
        yield made
    finally:
        made.close()

"""A real cluster on this machine: a head without processors and nodes of one each, all of them separate processes.

It listens on the loopback alone, has small object stores and no dashboard, reports nothing, and is stopped by process
id.
"""

import os
import shutil
import signal
import tempfile
from contextlib import suppress
from pathlib import Path

FOLDER = tempfile.mkdtemp(prefix="pf-")  # Ray keeps sockets there, whose paths must be short
os.environ |= {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_AUTH_MODE": "disabled",
    "RAY_TMPDIR": FOLDER,
    "RAY_raylet_start_wait_time_s": "60",
    "RAY_worker_register_timeout_seconds": "300",
    "PYTHONPATH": str(Path(__file__).parents[1]),  # workers import the tasks of these tests
}

import pytest  # noqa: E402

pytest.importorskip("ray")

from ray.cluster_utils import Cluster  # noqa: E402

from policyforest.forest.executors import Ray  # noqa: E402

STORE = 100_000_000
# Ray takes 127.0.0.1 for the address that other machines see; this one it leaves alone.
LOOPBACK = "127.0.0.2"
COMMON = {"object_store_memory": STORE, "node_ip_address": LOOPBACK}


class Nodes:
    """The cluster, and its nodes that can be killed."""

    def __init__(self, n: int) -> None:
        quick = {"health_check_initial_delay_ms": 0, "health_check_period_ms": 500, "health_check_failure_threshold": 4}
        head = COMMON | {"num_cpus": 0, "include_dashboard": False, "_system_config": quick}
        self.cluster = Cluster(initialize_head=True, head_node_args=head)
        self.nodes = [self.add() for _ in range(n)]
        self.killed = 0

    @property
    def address(self) -> str:
        return self.cluster.address

    def executor(self, **how) -> Ray:
        return Ray(self.address, _node_ip_address=LOOPBACK, **how)

    def add(self, **how):
        """Another node. Ray gives one up whose helpers take more than half a minute to start, as on a busy machine."""
        for _ in range(4):
            with suppress(Exception):
                return self.cluster.add_node(num_cpus=1, **COMMON, **how)
        return self.cluster.add_node(num_cpus=1, **COMMON, **how)

    def kill_one(self) -> None:
        """Ends the oldest node by the process ids of all that belongs to it, and starts another."""
        node = self.nodes.pop(0)
        for processes in node.all_processes.values():
            for info in processes:
                os.kill(info.process.pid, signal.SIGKILL)
        self.killed += 1
        self.nodes.append(self.add())
        self.cluster.remove_node(node, allow_graceful=False)


@pytest.fixture(scope="session")
def nodes():
    running = Nodes(3)
    yield running
    running.cluster.shutdown()
    shutil.rmtree(FOLDER, ignore_errors=True)

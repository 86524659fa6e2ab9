"""Many machines: a Ray cluster.

Shared inputs go once into the object store, where all workers of a node read them without a copy; tasks and results are
Ray's own. If a worker or a node dies, Ray runs its tasks again elsewhere: a task depends only on its block and the
shared inputs, so this costs time and never changes a bit. If the driver dies, the shared inputs are lost with it; with
`checkpoint_dir` of the learner, learning can be resumed.

The cluster is checked when the executor is created, before any work is done.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from policyforest._support.arguments import threads, whole_number
from policyforest._support.extras import import_extra
from policyforest.forest.executors.interface import Block, Executor, Result
from policyforest.forest.executors.sharing import Label, put_together, taken_apart

# How long, in seconds, an address may take to answer, and a node to start a worker.
ANSWER_SECONDS, WORKER_SECONDS = 5.0, 120.0
# The fraction of an object store that inputs may take; results need room too.
STORE_SHARE = 0.9
# A task is given up after this many of its workers died, because then the task itself is the cause.
MOST_DEATHS = 50


class SharedObject(NamedTuple):
    """An input in the object store."""

    label: Label
    reference: Any


class Ray(Executor):
    """A Ray cluster, or a local one that starts with this object and ends with it.

    Args:
        address: The head of the cluster as "host:port", for use on a machine of the cluster; "auto": the cluster that
            runs on this machine; None: the cluster of ``ray.init`` or of RAY_ADDRESS if there is one, else a new local
            one.
        n_jobs: The threads, and processors, of one task.
        options: More arguments of ``ray.init``, such as `num_cpus` and `object_store_memory` of a new local cluster.
    """

    _entered = 0
    """How many executors use the cluster that the first of them entered"""

    def __init__(self, address: str | None = None, *, n_jobs: int = 1, **options: Any) -> None:
        self.n_jobs = threads(n_jobs)
        if not (address is None or isinstance(address, str)):
            raise TypeError(f"address: is {address!r}, must be host:port, 'auto' or None")
        for name in ("num_cpus", "object_store_memory"):
            if options.get(name) is not None:
                whole_number(name, options[name], at_least=1)
        self._ray = import_extra("ray", "ray")
        self._enter(address, options)
        try:
            self.workers = self._count_workers()
            _require_this_version(self._ray)
        except BaseException:
            self.close()
            raise
        self.bytes_shared = 0
        run = self._ray.remote(_run)
        self._remote = run.options(num_cpus=self.n_jobs, max_retries=MOST_DEATHS)

    def _enter(self, address: str | None, options: dict[str, Any]) -> None:
        """Joins a cluster, or stays in the one that this process is in; the last executor to leave disconnects."""
        self._open, self._ours = True, not self._ray.is_initialized() or Ray._entered > 0
        if not self._ray.is_initialized():
            Ray._entered = 0
            _connect(self._ray, address, options)
        else:
            _require_the_same(self._ray, address, options)
        Ray._entered += self._ours

    def _require_open(self) -> None:
        if not self._open:
            raise RuntimeError("executor: is closed; create a new one")

    def _count_workers(self) -> int:
        """The number of workers. A task runs on one node: processors left over on several nodes cannot be combined."""
        cpus = [int(node["Resources"].get("CPU", 0)) for node in _living(self._ray)]
        workers = sum(number // self.n_jobs for number in cpus)
        if not workers:
            raise ValueError(
                f"n_jobs: is {self.n_jobs}, must be at most {max(cpus, default=0)}, the processors of a node"
            )
        return workers

    def require(self, n_bytes: int) -> None:
        """Refuses inputs that do not fit: every node needs them in its own store, beginning with the driver's."""
        self._require_open()
        needed = whole_number("n_bytes", n_bytes, at_least=0)
        for node in _living(self._ray):
            room = int(node["Resources"].get("object_store_memory", 0))
            if needed > STORE_SHARE * room:
                raise ValueError(
                    f"executor: the object store of node {node['NodeManagerAddress']} has {room:,} bytes, the shared "
                    f"inputs need about {needed / STORE_SHARE:,.0f}; start Ray with a larger --object-store-memory"
                )

    def share(self, name: str, value: Any) -> SharedObject:
        """Puts the value into the object store of the cluster."""
        label, text, arrays = taken_apart(name, value, self._ray.cloudpickle.dumps)
        n_bytes = len(text) + sum(array.nbytes for array in arrays)
        self.require(n_bytes)
        self.bytes_shared += n_bytes
        stored = [np.frombuffer(array, np.uint8) for array in arrays]
        return SharedObject(label, self._ray.put((text, stored)))

    def map(
        self, task: Callable[..., Result], blocks: Sequence[Block], *shared: SharedObject
    ) -> Iterator[tuple[int, Result]]:
        """Yields the number of each block and its result as tasks finish. If a task fails, the others are cancelled."""
        self._require_open()
        labels, references = [s.label for s in shared], [s.reference for s in shared]
        waiting = {
            self._remote.remote(task, block, self.n_jobs, labels, *references): i for i, block in enumerate(blocks)
        }
        try:
            while waiting:
                for done in self._ray.wait(list(waiting), num_returns=1)[0]:
                    yield waiting.pop(done), self._ray.get(done)
        except self._ray.exceptions.RayTaskError as error:
            raise error.cause from None
        finally:
            for reference in waiting:
                self._ray.cancel(reference, force=True)

    def close(self) -> None:
        """Leaves the cluster, unless it had been entered before this object was made."""
        if self._open and self._ours:
            Ray._entered -= 1
            if not Ray._entered and self._ray.is_initialized():
                self._ray.shutdown()
        self._open = False

    def __repr__(self) -> str:
        return f"Ray({self.workers} workers, n_jobs={self.n_jobs})"


def _run(task: Callable[..., Result], block: Any, n_jobs: int, labels: list[Label], *stored: Any) -> Result:
    inputs = (
        put_together(label, text, lambda arrays=arrays: arrays)  # type: ignore[misc]
        for label, (text, arrays) in zip(labels, stored, strict=True)
    )
    return task(block, n_jobs, *inputs)


def _require_the_same(ray: Any, address: str | None, options: dict[str, Any]) -> None:
    """Refuses arguments for another cluster, because a process is in one cluster at a time."""
    here = str(ray.get_runtime_context().gcs_address)
    if address not in (None, "auto") and _place(str(address)) != _place(here):
        raise ValueError(f"address: is {address!r}, must be {here!r} or None: this process is already in that cluster")
    if options:
        raise ValueError(
            f"{next(iter(options))}: is given, must be left out: this process is already in the cluster {here}"
        )


def _place(address: str) -> tuple[str, str]:
    """Host and port; the host as an IP address if it has one."""
    host, _, port = address.rpartition(":")
    try:
        return socket.gethostbyname(host), port
    except OSError:
        return host, port


def _connect(ray: Any, address: str | None, options: dict[str, Any]) -> None:
    address = address or os.environ.get("RAY_ADDRESS")
    if address is None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # no reports to Ray's makers
        ray.init(**{"address": "local", "include_dashboard": False, "log_to_driver": False} | options)
        return
    _require_answer(address)
    os.environ.setdefault("RAY_gcs_server_port_wait_time_s", "1")  # one attempt, 40 s: Ray's default is 15 minutes
    try:
        ray.init(**{"address": address, "log_to_driver": False} | options)
    except (ConnectionError, RuntimeError, TimeoutError, ValueError) as error:
        raise ConnectionError(f"address: is {address!r}, cannot connect to a Ray cluster there ({error})") from error


def _require_answer(address: str | None) -> None:
    """Raises an error if no cluster answers; Ray itself would try for a minute, and then end the process."""
    host, colon, port = (address or "").rpartition(":")
    if not colon:
        return
    if "//" in host:
        raise ValueError(
            f"address: is {address!r}, must be host:port of the head; run this on a machine of the cluster"
        )
    try:
        socket.create_connection((host, int(port)), ANSWER_SECONDS).close()
    except (OSError, ValueError, OverflowError) as error:
        raise ConnectionError(f"address: is {address!r}, no Ray cluster answers there ({error})") from error


def _living(ray: Any) -> list[dict[str, Any]]:
    return [node for node in ray.nodes() if node["Alive"]]


def _require_this_version(ray: Any) -> None:
    """Requires the version of this process on every node that runs tasks."""
    from policyforest._support.version import __version__

    def installed() -> str:  # goes to the workers unchanged, whatever they have installed
        try:
            import policyforest

            return str(policyforest.__version__)
        except ImportError as error:
            return f"none ({error})"

    nodes = [node for node in _living(ray) if node["Resources"].get("CPU", 0) >= 1]
    strategy = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy
    asked = [
        ray.remote(installed).options(num_cpus=0, scheduling_strategy=strategy(node["NodeID"], soft=True)).remote()
        for node in nodes
    ]
    for node, reference in zip(nodes, asked, strict=True):
        where = f"{node['NodeManagerAddress']} ({node['NodeID'][:8]})"
        try:
            found = ray.get(reference, timeout=WORKER_SECONDS)
        except ray.exceptions.GetTimeoutError:
            raise ConnectionError(
                f"executor: node {where} has not started a worker within {WORKER_SECONDS:g} s"
            ) from None
        if found != __version__:
            raise ValueError(
                f"executor: node {where} has policyforest {found}, must have {__version__}, as this process has"
            )

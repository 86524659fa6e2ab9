"""The node: a policy that drives a robot, at a fixed rate or on each state."""

from __future__ import annotations

import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

import numpy as np

from policyforest.ros.commands import Commands
from policyforest.ros.config import RobotConfig
from policyforest.ros.control import Controller, Decision, acting, require_fit
from policyforest.ros.network_watch import NetworkWatch
from policyforest.ros.state_reader import require_fields
from policyforest.ros.transport import Sample, Transport

# Without states, nothing else wakes the node. It checks this many times within the largest age of a state.
LOOKS = 4
# Seconds for which Python lets one thread run while others wait. With the default of 5 ms, the recording thread would
# delay the thread that has just received a state for that long.
TURN = 1e-4


class DecisionLog(Protocol):
    """The interface of a log of decisions."""

    def decision(self, decision: Decision) -> None: ...


@dataclass
class NodeReport:
    """Counts and times of the decisions of a node."""

    decisions: int = 0
    safe: int = 0
    """The number of decisions for the safe action"""
    late: int = 0
    """Ticks of a fixed rate that were missed"""
    seconds: deque[float] = field(default_factory=lambda: deque(maxlen=10_000))
    """The latest times in seconds from the arrival of a state to its action"""

    def as_dict(self) -> dict[str, Any]:
        times = np.array(self.seconds) if self.seconds else np.zeros(1)
        return {
            "decisions": self.decisions,
            "safe": self.safe,
            "late": self.late,
            "median_ms": float(np.median(times)) * 1e3,
            "worst_ms": float(times.max()) * 1e3,
        }


class Node:
    """Runs a policy on a robot until it is stopped; the last thing that it publishes is the safe action.

    If it acts on each state, the thread that receives a message also decides and publishes, so no thread waits for
    another. A second thread checks whether states still arrive, and publishes the safe action while they do not. A
    lifecycle node that is deactivated publishes the safe action once, and then nothing.
    """

    def __init__(
        self,
        policy: Any,
        config: RobotConfig,
        transport: Transport,
        *,
        log: DecisionLog | None = None,
        warn: Callable[[str], None] = lambda line: None,
    ) -> None:
        require_fit(policy, config)
        require_fields(config, transport)
        self._config, self._transport, self._log = config, transport, log
        act = acting(policy, config)
        self._controller = Controller(act, config, clock=time.monotonic, wall=transport.now, warn=warn)
        self._commands = Commands(config, transport)
        self._network = NetworkWatch(config, transport, warn)
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self.report = NodeReport()
        self._first = next(iter(config.sources))
        self._active = transport.on_activity(self._on_activity)
        for topic, kind in config.sources.items():
            transport.subscribe(topic, kind, partial(self._on_sample, topic))

    def run(self, seconds: float | None = None) -> NodeReport:
        """Acts until `stop` is called, or for some seconds."""
        end = None if seconds is None else time.monotonic() + seconds
        turn = sys.getswitchinterval()
        sys.setswitchinterval(TURN)
        self._network.start()
        try:
            if self._config.rate is None:
                self._watch(end)
            else:
                self._tick(1.0 / self._config.rate, end)
        finally:
            sys.setswitchinterval(turn)
            self._stopped.set()
            self._network.stop()
            with self._lock:
                if self._active:
                    self._commands.send(self._config.safe_action)
        return self.report

    def stop(self) -> None:
        """Ends `run`, from any thread.

        It takes no lock, because a signal handler may have interrupted `run` while `run` held the lock."""
        self._stopped.set()

    def _on_sample(self, topic: str, sample: Sample) -> None:
        with self._lock:
            if self._stopped.is_set() or not self._active:
                return
            self._controller.receive(sample, topic)
            if self._config.rate is None and topic == self._first:
                self._decide()

    def _on_activity(self, active: bool) -> None:
        with self._lock:
            if self._active and not active and not self._stopped.is_set():
                self._commands.send(self._config.safe_action)
            self._active = active
            self._controller.forget()

    def _watch(self, end: float | None) -> None:
        while not self._stopped.wait(self._config.max_age / LOOKS) and not _over(end):
            with self._lock:
                fresh = self._controller.age() <= self._config.max_age
                if self._active and (not fresh or not self._transport.connected()):
                    self._decide()

    def _tick(self, period: float, end: float | None) -> None:
        due = time.monotonic()
        while not self._stopped.wait(max(0.0, due - time.monotonic())) and not _over(end):
            with self._lock:
                if self._active:
                    self._decide()
            due += period
            missed = max(0, int((time.monotonic() - due) / period))
            self.report.late += missed
            due += missed * period

    def _decide(self) -> None:
        decision = self._controller.decide(self._transport.connected())
        self._commands.send(decision.action, decision.stamp)
        self.report.decisions += 1
        self.report.safe += bool(decision.fault)
        if decision.sample is not None and not decision.fault:
            self.report.seconds.append(time.monotonic() - decision.sample.arrived)
        if self._log is not None:
            self._log.decision(decision)


def _over(end: float | None) -> bool:
    return end is not None and time.monotonic() >= end

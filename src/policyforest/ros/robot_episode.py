"""A robot to learn on: bring it back, observe it, act, wait, and observe the result."""

from __future__ import annotations

import threading
import time
from functools import partial

import numpy as np

from policyforest._support.arguments import Floats
from policyforest.ros.commands import Commands
from policyforest.ros.config import EpisodeSettings, RobotConfig
from policyforest.ros.network_watch import network_problems
from policyforest.ros.newest_samples import NewestSamples
from policyforest.ros.state_reader import FaultError, StateReader, require_fields
from policyforest.ros.transport import Sample, Transport


class RobotLostError(ConnectionError):
    """The robot does not answer; the safe action was published."""


class Robot:
    """The robot of a configuration, one control step at a time.

    If there is one action for each state, or in lock-step, a step ends with the first state after its action. At a
    fixed rate, a step ends one period after its action, with the newest state."""

    def __init__(self, config: RobotConfig, episode: EpisodeSettings, transport: Transport) -> None:
        require_fields(config, transport)
        self._config, self._episode, self._transport = config, episode, transport
        self._read = StateReader(config)
        self._news = threading.Condition()
        self._newest = NewestSamples(config, clock=time.monotonic, wall=transport.now)
        self._first = next(iter(config.sources))
        self._count = 0
        self._due = 0.0
        self._commands = Commands(config, transport)
        self._reset = None if episode.reset_topic is None else transport.publisher(episode.reset_topic, "numbers")
        self._sending = threading.RLock()
        self._active = threading.Event()
        if transport.on_activity(self._on_activity):
            self._active.set()
        for topic, kind in config.sources.items():
            transport.subscribe(topic, kind, partial(self._on_sample, topic))

    @property
    def newest(self) -> NewestSamples:
        """The latest messages."""
        return self._newest

    def wait_until_heard(self, timeout: float) -> None:
        """Waits until the robot listens to its actions, because earlier messages are lost."""
        end = time.monotonic() + timeout
        publishers = [*self._commands.publishers, *([] if self._reset is None else [self._reset])]
        while any(publisher.listeners() == 0 for publisher in publishers):
            if time.monotonic() > end:
                topics = ", ".join(dict.fromkeys(action.topic for action in self._config.action))
                reasons = "".join(f"; {problem}" for problem in network_problems(self._config, self._transport))
                raise RobotLostError(f"robot: no node listens to {topics} after {timeout:g} s{reasons}")
            time.sleep(0.02)

    def wait_until_active(self) -> None:
        """Waits until a lifecycle node is activated, however long that takes."""
        self._active.wait()

    def bring_back(self) -> Floats:
        """Asks for a reset, and returns the first state after the robot has settled."""
        before = self._count
        if self._episode.reset_service is not None:
            self._transport.call(self._episode.reset_service, self._episode.reset_timeout)
        else:
            assert self._reset is not None
            self._reset.send(self._episode.reset_values)
        if not self._episode.lock_step:
            time.sleep(self._episode.settle)
            before = self._count  # messages on their way are from before the reset
        self._wait_for(before, self._episode.reset_timeout)
        with self._news:
            self._newest.accept_jump()
        return self.state()

    def state(self) -> Floats:
        """The newest state.

        Raises a RobotLostError if the state is too old or broken, or if time has jumped back within an episode."""
        if not self._transport.connected():
            raise RobotLostError("robot: the master does not answer")
        try:
            with self._news:
                self._newest.require_all()
                if not self._episode.lock_step:  # a simulator that waits for an action: its last state stays valid
                    self._newest.require_fresh()
                return self._read(self._newest.by_topic)
        except FaultError as fault:
            raise RobotLostError(f"robot: {fault}") from fault

    def step(self, action: Floats, stamp: float | None = None) -> Floats:
        """Acts, and returns the state at the end of the control step; `stamp` is the time in a command's header."""
        before = self._count
        if not self.send(action, stamp):
            raise RobotLostError("robot: the node is not active")
        if self._config.rate is None or self._episode.lock_step:
            self._wait_for(before, self._config.max_age)
        else:
            period = 1.0 / self._config.rate
            self._due = max(self._due + period, time.monotonic())
            time.sleep(max(0.0, self._due - time.monotonic()))
        return self.state()

    def begin(self) -> None:
        """Begins to count the control steps of an episode."""
        self._due = time.monotonic()

    def send(self, action: Floats, stamp: float | None = None) -> bool:
        """Publishes an action, unless this is a lifecycle node that is not active; returns whether it was published."""
        with self._sending:
            if self._active.is_set():
                self._commands.send(action, stamp)
            return self._active.is_set()

    def rest(self) -> None:
        """Sends the safe action, except to a simulator in lock-step: any action would move it."""
        if not self._episode.lock_step:
            self.send(np.array(self._config.safe_action))

    def _on_activity(self, active: bool) -> None:
        with self._sending:
            if self._active.is_set() and not active and not self._episode.lock_step:
                self._commands.send(np.array(self._config.safe_action))
            if active:
                self._active.set()
            else:
                self._active.clear()

    def _on_sample(self, topic: str, sample: Sample) -> None:
        with self._news:
            self._newest.receive(sample, topic)
            self._count += topic == self._first
            self._news.notify_all()

    def _wait_for(self, before: int, timeout: float) -> None:
        with self._news:
            if not self._news.wait_for(lambda: self._count > before, timeout):
                raise RobotLostError(f"robot: no state has arrived within {timeout:g} s")

"""A robot as something to learn on: bring it back, see it, act, wait, see what came of it."""

from __future__ import annotations

import threading
import time

import numpy as np

from policyforest._support.arguments import Floats
from policyforest.ros.config import EpisodeSettings, RobotConfig
from policyforest.ros.control import FaultError, StateReader
from policyforest.ros.transport import JointSample, Transport


class RobotLostError(ConnectionError):
    """The robot does not answer; the safe action was published."""


class Robot:
    """The robot of a configuration, one control step at a time.

    On each state, or in lock-step: a step ends with the first state after its action. At a fixed rate: it ends a period
    after the action, with the newest state."""

    def __init__(self, config: RobotConfig, episode: EpisodeSettings, transport: Transport) -> None:
        self._config, self._episode, self._transport = config, episode, transport
        self._read = StateReader(config)
        self._news = threading.Condition()
        self._sample: JointSample | None = None
        self._count = 0
        self._due = 0.0
        self._publishers = [transport.publisher(action.topic, "number", keep=100) for action in config.action]
        self._reset = None if episode.reset_topic is None else transport.publisher(episode.reset_topic, "numbers")
        transport.subscribe(config.joint_states, "joints", self._on_sample)

    @property
    def sample(self) -> JointSample | None:
        """The latest message."""
        return self._sample

    def wait_until_heard(self, timeout: float) -> None:
        """Waits until the robot listens to its actions, since what is published before is lost."""
        end = time.monotonic() + timeout
        publishers = [*self._publishers, *([] if self._reset is None else [self._reset])]
        while any(publisher.listeners() == 0 for publisher in publishers):
            if time.monotonic() > end:
                topics = ", ".join(action.topic for action in self._config.action)
                raise RobotLostError(f"robot: nobody listens to {topics} after {timeout:g} s")
            time.sleep(0.02)

    def bring_back(self) -> Floats:
        """Asks for a reset, and returns the first state after it has settled."""
        before = self._count
        if self._episode.reset_service is not None:
            self._transport.call(self._episode.reset_service, self._episode.reset_timeout)
        else:
            assert self._reset is not None
            self._reset.send(self._episode.reset_values)
        if not self._episode.lock_step:
            time.sleep(self._episode.settle)
            before = self._count  # what was on its way is of before the reset
        self._wait_for(before, self._episode.reset_timeout)
        return self.state()

    def state(self) -> Floats:
        """The newest state; RobotLostError if it is too old or broken."""
        if not self._transport.connected():
            raise RobotLostError("robot: the master does not answer")
        sample = self._sample
        if sample is None:
            raise RobotLostError("robot: no state has arrived")
        age = time.monotonic() - sample.arrived
        # A simulator in lock-step waits for an action: its last state stays valid.
        if not self._episode.lock_step and age > self._config.max_age:
            raise RobotLostError(f"robot: the state is {age:.3f} s old, at most {self._config.max_age:g} s are allowed")
        try:
            return self._read(sample)
        except FaultError as fault:
            raise RobotLostError(f"robot: {fault}") from fault

    def step(self, action: Floats) -> Floats:
        """Acts, and returns the state at the end of the control step."""
        before = self._count
        self.send(action)
        if self._config.rate is None or self._episode.lock_step:
            self._wait_for(before, self._config.max_age)
        else:
            period = 1.0 / self._config.rate
            self._due = max(self._due + period, time.monotonic())
            time.sleep(max(0.0, self._due - time.monotonic()))
        return self.state()

    def begin(self) -> None:
        """The control steps of an episode are counted from here."""
        self._due = time.monotonic()

    def send(self, action: Floats) -> None:
        for publisher, value in zip(self._publishers, action, strict=True):
            publisher.send(float(value))

    def rest(self) -> None:
        """Sends the safe action, except to a simulator in lock-step: any action would move it."""
        if not self._episode.lock_step:
            self.send(np.array(self._config.safe_action))

    def _on_sample(self, sample: JointSample) -> None:
        with self._news:
            self._sample, self._count = sample, self._count + 1
            self._news.notify_all()

    def _wait_for(self, before: int, timeout: float) -> None:
        with self._news:
            if not self._news.wait_for(lambda: self._count > before, timeout):
                raise RobotLostError(f"robot: no state has arrived within {timeout:g} s")

"""From the newest message to an action: the action of the policy, or the safe action and the reason for it.

Everything that a robot does is decided here, independently of ROS: the input consists of messages and times, and the
output of decisions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from policyforest._support.arguments import Floats
from policyforest._support.signal_buffer import SignalBuffer
from policyforest._support.spaces import bounds
from policyforest.ros.config import RobotConfig
from policyforest.ros.newest_samples import NewestSamples
from policyforest.ros.state_reader import FaultError, StateReader
from policyforest.ros.transport import Sample


class HistoryPolicy:
    """A policy with signals: keeps the history, and has no action while the history fills.

    A fault breaks the history: it fills again, and meanwhile the safe action is commanded."""

    def __init__(self, policy: Any, safe: Floats) -> None:
        self._policy, self._safe = policy, safe
        self._buffer = SignalBuffer(policy.signals, bounds(policy.action_space))
        self.forget()

    def forget(self) -> None:
        """Forgets the history."""
        self._buffer.reset(before=self._safe)
        self._filled = 0

    def __call__(self, measured: Floats) -> Floats:
        """The action for a measurement; raises a FaultError while the history fills."""
        state = self._buffer.measure(measured)
        if state is None:
            self._buffer.act(self._safe)
            self._filled += 1
            needed = self._policy.signals.warm_up + 1
            raise FaultError(f"filling: the history has {self._filled} of {needed} rows")
        action: Floats = self._buffer.act(np.asarray(self._policy.act(state), dtype=np.float64))
        return action


@dataclass(frozen=True, slots=True)
class Decision:
    """A decision, and the inputs that it was based on."""

    time: float
    """Seconds of the monotonic clock"""
    action: Floats
    state: Floats | None
    """The state that the policy acted on; None with a fault"""
    fault: str
    """The reason for the safe action; empty if the action is the policy's"""
    sample: Sample | None
    """The newest message of the first topic, even if it was faulty"""
    others: Mapping[str, Sample] = field(default_factory=dict)
    """The newest messages of further topics"""
    stamp: float = 0.0
    """Seconds of the clock of the robot's stamps"""


class Controller:
    """Runs a policy under the rules of a configuration.

    Args:
        act: The policy's function from a state to an action.
        warn: Called with a line when a fault begins, changes its kind or ends.
        clock: The monotonic clock by which ages are measured.
        wall: The clock with which the robot's stamps are compared; it may jump in a simulation.
    """

    def __init__(
        self,
        act: Callable[[Floats], Any],
        config: RobotConfig,
        *,
        clock: Callable[[], float],
        wall: Callable[[], float],
        warn: Callable[[str], None],
    ) -> None:
        self._act = act
        self._clock, self._wall, self._warn = clock, wall, warn
        self._read = StateReader(config)
        self._safe = np.array(config.safe_action)
        self._newest = NewestSamples(config, clock=clock, wall=wall)
        self._kind = ""

    def receive(self, sample: Sample, topic: str | None = None) -> None:
        """Takes a message, of the first topic unless another is named; the next decision uses it."""
        self._newest.receive(sample, topic)

    def forget(self) -> None:
        """Forgets all earlier messages."""
        self._newest.forget()
        self._read.forget()
        if isinstance(self._act, HistoryPolicy):
            self._act.forget()

    def age(self) -> float:
        """Seconds since the oldest of the newest messages."""
        return self._newest.age()

    def decide(self, connected: bool = True) -> Decision:
        """Decides which action to take now."""
        now, sample, others = self._clock(), self._newest.first, self._newest.others
        try:
            if not connected:
                raise FaultError("lost: the master does not answer")
            state = self._fresh_state()
            action = self._checked(state)
        except FaultError as fault:
            if isinstance(self._act, HistoryPolicy) and not str(fault).startswith("filling"):
                self._act.forget()
            self._tell(str(fault))
            return Decision(now, self._safe.copy(), None, str(fault), sample, others, self._wall())
        self._tell("")
        return Decision(now, action, state, "", sample, others, self._wall())

    def _fresh_state(self) -> Floats:
        self._newest.require_all()
        self._newest.require_fresh()
        try:
            return self._read(self._newest.by_topic)
        except FaultError as fault:
            raise FaultError(f"bad: {fault}") from None

    def _checked(self, state: Floats) -> Floats:
        try:
            action = np.array(self._act(state), dtype=np.float64).reshape(-1)
        except FaultError:
            raise
        except Exception as error:  # whatever goes wrong in a policy, the robot needs an action
            raise FaultError(f"policy: it has failed at the state {state.tolist()} ({error})") from error
        if len(action) != len(self._safe) or not np.isfinite(action).all():
            raise FaultError(f"policy: its action at the state {state.tolist()} is {action.tolist()}")
        return action

    def _tell(self, fault: str) -> None:
        """Warns when a fault begins, changes its kind or ends, and not at every decision."""
        kind = fault.partition(":")[0]
        if kind == self._kind:
            return
        self._kind = kind
        self._warn(f"safe action, {fault}" if fault else "states are back, the policy acts")


def acting(policy: Any, config: RobotConfig) -> Callable[[Floats], Any]:
    """The function from a measurement to an action."""
    if getattr(policy, "signals", None) is None:
        act: Callable[[Floats], Any] = policy.act
        return act
    return HistoryPolicy(policy, np.array(config.safe_action))


def require_fit(policy: Any, config: RobotConfig) -> None:
    """Refuses a policy whose states or actions are not those of the configuration."""
    signals = getattr(policy, "signals", None)
    n_state = policy.observation_space.shape[0] if signals is None else len(signals.measured)
    n_action = policy.action_space.shape[0]
    if n_state != len(config.state):
        raise ValueError(f"state: the configuration has {len(config.state)} dimensions, but the policy has {n_state}")
    if n_action != len(config.action):
        raise ValueError(
            f"action: the configuration has {len(config.action)} dimensions, but the policy has {n_action}"
        )
    for i, action in enumerate(config.action):
        low, high = float(policy.action_space.low[i]), float(policy.action_space.high[i])
        if low < action.low or high > action.high:
            allowed = f"[{action.low}, {action.high}]"
            raise ValueError(f"action[{i}]: the policy acts in [{low}, {high}], the configuration allows {allowed}")

"""The state of a configuration from the newest messages, or the reason why there is none."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from policyforest._support.arguments import Floats
from policyforest.ros.config import RobotConfig, StateDimension
from policyforest.ros.message_fields import FieldError, FieldPath, type_of
from policyforest.ros.transport import JointSample, MessageSample, Sample, Transport


class FaultError(Exception):
    """Why there is no state to act on."""


def require_fields(config: RobotConfig, transport: Transport) -> None:
    """Refuses a path that the messages of its topic do not have. The standard messages were checked when the
    configuration was read; only the transport knows those of other packages."""
    for i, dimension in enumerate(config.state):
        if dimension.joint is None:
            kind = config.sources[config.topic_of(dimension)]
            problem = FieldPath(dimension.field).missing_in(transport.empty(kind))
            if problem is not None:
                raise ValueError(f"state[{i}].field: is {dimension.field!r}, {type_of(kind)} lacks it ({problem})")


class StateReader:
    """Reads each dimension from its message: joints by their names, in whatever order they come, other numbers by path.

    An array must keep the length that it had first, because another length means another layout."""

    def __init__(self, config: RobotConfig) -> None:
        self._dimensions = [(d, config.topic_of(d), FieldPath(d.field)) for d in config.state]
        self._lengths: dict[tuple[str, str], int] = {}

    def forget(self) -> None:
        """From here on, arrays may have another length."""
        self._lengths.clear()

    def __call__(self, newest: Mapping[str, Sample]) -> Floats:
        """The state; raises a FaultError if a joint or a field is missing, or if a number is not finite."""
        state = np.empty(len(self._dimensions))
        for i, (dimension, topic, path) in enumerate(self._dimensions):
            sample = newest[topic]
            raw = (
                self._joint(dimension, sample) if isinstance(sample, JointSample) else self._field(topic, path, sample)
            )
            if not math.isfinite(raw):
                raise FaultError(f"{dimension.source} is {raw}")
            try:
                state[i] = dimension.value(raw)
            except OverflowError:  # a number that large no longer determines an angle
                state[i] = math.inf
            if not math.isfinite(state[i]):
                raise FaultError(f"{dimension.source} is {raw}, too large to be scaled")
        return state

    def _joint(self, dimension: StateDimension, sample: JointSample) -> float:
        try:
            joint = sample.names.index(dimension.joint)
        except ValueError:
            raise FaultError(f"joint {dimension.joint!r} is missing, there are {list(sample.names)}") from None
        values = getattr(sample, dimension.field)
        if joint >= len(values):
            raise FaultError(f"joint {dimension.joint!r} has no {dimension.field}")
        if len(values) != len(sample.names):
            raise FaultError(f"{dimension.field} has {len(values)} entries for {len(sample.names)} joints")
        return float(values[joint])

    def _field(self, topic: str, path: FieldPath, sample: MessageSample) -> float:
        try:
            raw = path(sample.message)
        except FieldError as error:
            raise FaultError(str(error)) from None
        length = path.length(sample.message)
        if length is not None:
            array = path.text.partition("[")[0]
            first = self._lengths.setdefault((topic, array), length)
            if length != first:
                raise FaultError(f"{array} of {topic} has {length} entries, it had {first} before")
        return raw

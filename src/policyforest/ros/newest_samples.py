"""The newest message of each topic of a state: whether all have arrived, how old they are, and whether time jumped
back."""

from __future__ import annotations

import math
from collections.abc import Callable

from policyforest.ros.config import RobotConfig
from policyforest.ros.state_reader import FaultError
from policyforest.ros.transport import JointSample, Sample


class NewestSamples:
    """The messages that have arrived, by topic.

    Args:
        clock: The monotonic clock by which ages are measured.
        wall: The clock with which the robot's stamps are compared; it may jump in a simulation.
    """

    def __init__(self, config: RobotConfig, *, clock: Callable[[], float], wall: Callable[[], float]) -> None:
        self._max_age, self._by_stamp = config.max_age, config.age_by == "stamp"
        self._clock, self._wall = clock, wall
        self._topics = list(config.sources)
        self._jumped = ""
        self.by_topic: dict[str, Sample] = {}

    @property
    def first(self) -> Sample | None:
        """The latest message of the first topic."""
        return self.by_topic.get(self._topics[0])

    @property
    def others(self) -> dict[str, Sample]:
        """The latest messages of further topics."""
        return {topic: self.by_topic[topic] for topic in self._topics[1:] if topic in self.by_topic}

    def receive(self, sample: Sample, topic: str | None = None) -> None:
        """Takes a message, of the first topic unless another is named."""
        topic = topic or self._topics[0]
        before = self.by_topic.get(topic)
        back = 0.0 if before is None else before.stamp - sample.stamp  # without stamps both are 0
        if back > self._max_age:  # a simulation that was reset, or a robot that has restarted
            self._jumped = f"the stamps have jumped back by {back:.3f} s"
        self.by_topic[topic] = sample

    def forget(self) -> None:
        """Forgets all earlier messages."""
        self.by_topic.clear()
        self.accept_jump()

    def accept_jump(self) -> None:
        """Accepts that the stamps have jumped back, because a reset may set the time back."""
        self._jumped = ""

    def age(self) -> float:
        """The age in seconds of the oldest among the newest messages of all topics.

        An age counts from the arrival. With ages by stamp, it counts from the stamp, if this gives a higher age; a
        message type without a stamp always counts from its arrival."""
        if len(self.by_topic) < len(self._topics):
            return math.inf
        ages = [self._clock() - sample.arrived for sample in self.by_topic.values()]
        if self._by_stamp:
            now = self._wall()
            ages += [now - stamp for stamp in self._stamps()]
        return max(ages)

    def require_all(self) -> None:
        """Raises a FaultError if a topic has no message yet, and once after the stamps have jumped back."""
        missing = [topic for topic in self._topics if topic not in self.by_topic]
        if missing:
            which = "" if len(self._topics) == 1 else f" on {', '.join(missing)}"
            raise FaultError(f"none: no state has arrived yet{which}")
        if self._jumped:
            jumped = self._jumped
            self.accept_jump()
            raise FaultError(f"time: {jumped}")

    def require_fresh(self) -> None:
        """Raises a FaultError if a message is too old, or if its age cannot be determined."""
        age, most = self.age(), self._max_age
        if not age <= most:
            raise FaultError(f"old: the state is {age:.3f} s old, at most {most:g} s are allowed")
        stamps = self._stamps() if self._by_stamp else []
        ahead = max(stamps) - self._wall() if stamps else 0.0
        if ahead > most:  # the age of a state is unknown with such a clock
            raise FaultError(f"bad: the stamp is {ahead:.3f} s ahead of this clock, at most {most:g} s are allowed")

    def _stamps(self) -> list[float]:
        """The stamps of messages that have one; joints always do."""
        samples = self.by_topic.values()
        return [sample.stamp for sample in samples if isinstance(sample, JointSample) or sample.stamp != 0.0]

"""A transport without a network: whoever publishes calls those who have subscribed, in the same thread."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from policyforest.ros.message_fields import known_types, type_of
from policyforest.ros.recorded_messages import recorded_message
from policyforest.ros.transport import TopicEnd, TopicEnds

EXAMPLE = Path(__file__).parents[1] / "docs" / "examples" / "pendulum.toml"
"""The configuration of the tutorial"""


class Loopback:
    """Both ends of a robot in one process; `whole` False is a lost master."""

    def __init__(self) -> None:
        self.subscribers: dict[str, list[Callable[[Any], None]]] = defaultdict(list)
        self.services: dict[str, Callable[[], None]] = {}
        self.whole = True

    def subscribe(self, topic: str, kind: str, callback: Callable[[Any], None]) -> None:
        self.subscribers[topic].append(callback)

    def publisher(self, topic: str, kind: str, *, keep: int = 1, latch: bool = False) -> LoopbackPublisher:
        return LoopbackPublisher(self.subscribers[topic])

    def empty(self, kind: str) -> Any:
        return recorded_message(known_types(), type_of(kind), None)

    def serve(self, service: str, callback: Callable[[], None]) -> None:
        self.services[service] = callback

    def call(self, service: str, timeout: float) -> None:
        if service not in self.services:
            raise ConnectionError(f"service {service}: is not available")
        self.services[service]()

    def connected(self) -> bool:
        return self.whole

    def now(self) -> float:
        return time.time()

    def ends(self, topic: str) -> TopicEnds:
        return TopicEnds(subscribers=tuple(TopicEnd(f"/listener{i}") for i in range(len(self.subscribers[topic]))))

    def on_activity(self, callback: Callable[[bool], None]) -> bool:
        return True

    def close(self) -> None:
        self.subscribers.clear()


class LoopbackPublisher:
    def __init__(self, subscribers: list[Callable[[Any], None]]) -> None:
        self._subscribers = subscribers

    def send(self, value: Any) -> None:
        for callback in self._subscribers:
            callback(value)

    def check(self, value: Any) -> None:
        pass

    def listeners(self) -> int:
        return len(self._subscribers)

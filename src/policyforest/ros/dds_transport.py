"""DDS, the wire of ROS 2, by `cyclonedds`: experimental.

Topics and types carry the names that ROS 2 gives them on the wire: ``/a/b`` is ``rt/a/b``, std_msgs/Float64 is
``std_msgs::msg::dds_::Float64_``. It was tested between processes and with DDS's own types, never against a ROS 2 node.
There are no services (ROS 2 makes them of pairs of topics with headers of its own): use a reset topic.

Everything stays on the loopback interface unless CYCLONEDDS_URI says otherwise.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from typing import Any

from policyforest._support.extras import import_extra
from policyforest.ros.transport import MessageKind

LOOPBACK = """<CycloneDDS><Domain>
<General><Interfaces><NetworkInterface name="lo"/></Interfaces><AllowMulticast>false</AllowMulticast></General>
<Discovery><Peers><Peer address="localhost"/></Peers><ParticipantIndex>auto</ParticipantIndex></Discovery>
</Domain></CycloneDDS>"""
HIGHEST_DOMAIN = 232
WAKE = 200_000_000
"""Nanoseconds after which a reading thread looks whether it is to end"""


class DdsTransport:
    """Topics of ROS 2, reliable, the last hundred messages kept."""

    def __init__(self, domain: int | None = None) -> None:
        from policyforest.ros import dds_messages

        os.environ.setdefault("CYCLONEDDS_URI", LOOPBACK)
        self._dds = {name: import_extra(f"cyclonedds.{name}", "dds") for name in ("core", "domain", "topic", "util")}
        self._dds |= {name: import_extra(f"cyclonedds.{name}", "dds") for name in ("pub", "sub", "qos")}
        self._messages = dds_messages
        number = _domain() if domain is None else domain
        try:
            self._participant = self._dds["domain"].DomainParticipant(number)
        except self._dds["core"].DDSException as error:
            raise ConnectionError(f"DDS: domain {number} cannot be joined, see CYCLONEDDS_URI ({error})") from error
        self._ended = threading.Event()
        self._threads: list[threading.Thread] = []

    def subscribe(self, topic: str, kind: MessageKind, callback: Callable[[Any], None]) -> None:
        reader = self._dds["sub"].DataReader(self._participant, self._topic(topic, kind), qos=self._qos(latch=False))
        read = self._messages.READERS[kind]
        thread = threading.Thread(
            target=self._read, args=(reader, lambda m: callback(read(m)), topic), name=topic, daemon=True
        )
        self._threads.append(thread)
        thread.start()

    def publisher(self, topic: str, kind: MessageKind, *, keep: int = 1, latch: bool = False) -> _DdsPublisher:
        writer = self._dds["pub"].DataWriter(self._participant, self._topic(topic, kind), qos=self._qos(latch))
        return _DdsPublisher(writer, self._messages.WRITERS[kind])

    def serve(self, service: str, callback: Callable[[], None]) -> None:
        raise ValueError(f"service {service}: there are none over DDS, use a reset_topic")

    def call(self, service: str, timeout: float) -> None:
        raise ValueError(f"service {service}: there are none over DDS, use a reset_topic")

    def connected(self) -> bool:
        """There is no master that could be lost."""
        return True

    def close(self) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()

    def _topic(self, name: str, kind: MessageKind) -> Any:
        return self._dds["topic"].Topic(self._participant, "rt/" + name.lstrip("/"), self._messages.TYPES[kind])

    def _qos(self, latch: bool) -> Any:
        # Readers are volatile, as in ROS 2: they take what any writer offers, and miss what a latched one sent before.
        policy = self._dds["qos"].Policy
        durable = policy.Durability.TransientLocal if latch else policy.Durability.Volatile
        return self._dds["qos"].Qos(
            policy.Reliability.Reliable(max_blocking_time=0), policy.History.KeepLast(100), durable
        )

    def _read(self, reader: Any, callback: Callable[[Any], None], topic: str) -> None:
        core = self._dds["core"]
        waiting = core.WaitSet(self._participant)
        condition = core.ReadCondition(reader, core.ViewState.Any | core.InstanceState.Any | core.SampleState.NotRead)
        waiting.attach(condition)
        while not self._ended.is_set():
            waiting.wait(WAKE)
            for message in reader.take(100):
                if not getattr(message.sample_info, "valid_data", True):
                    continue
                try:
                    callback(message)
                except Exception:  # one message must not make this process deaf to the next; rospy does the same
                    logging.getLogger(__name__).exception("a message of %s has failed", topic)


def _domain() -> int:
    """The domain of ROS 2; the ports of higher ones would not exist."""
    given = os.environ.get("ROS_DOMAIN_ID", "0")
    if not given.isdecimal() or int(given) > HIGHEST_DOMAIN:
        raise ValueError(f"ROS_DOMAIN_ID: is {given!r}, must be a whole number from 0 to {HIGHEST_DOMAIN}")
    return int(given)


class _DdsPublisher:
    def __init__(self, writer: Any, write: Callable[[Any], Any]) -> None:
        self._writer, self._write = writer, write

    def send(self, value: Any) -> None:
        self._writer.write(self._write(value))

    def listeners(self) -> int:
        return len(self._writer.get_matched_subscriptions())

"""DDS, the network protocol under ROS 2, through `cyclonedds`.

It is for machines without ROS that communicate with robots with ROS 2.

Topics and types carry the names that ROS 2 gives them on the wire: ``/a/b`` is ``rt/a/b``, std_msgs/Float64 is
``std_msgs::msg::dds_::Float64_``. There are no services, because the middlewares of ROS 2 implement them differently;
use a reset topic instead. ``ros2 node list`` does not show this process.

The environment variables of ROS 2 determine which nodes are found (`dds_discovery`).
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from policyforest._support.extras import import_extra
from policyforest.ros.dds_discovery import domain_number, join_domain
from policyforest.ros.message_codec import MessageCodec
from policyforest.ros.message_fields import type_of
from policyforest.ros.transport import MessageKind, Qos, TopicEnd, TopicEnds, whole_topic

WAKE = 200_000_000
"""Nanoseconds after which a reading thread checks whether it must end"""
MOST_ENDS = 10_000
NO_SERVICES = "DDS has no services, use a reset_topic"


class DdsTransport:
    """Topics of ROS 2: reads whatever is offered, and publishes reliably, unless `qos` specifies something else."""

    def __init__(
        self, domain: int | None = None, *, node: str = "policyforest", qos: Mapping[str, Qos] | None = None
    ) -> None:
        from policyforest.ros import dds_messages

        parts = ("core", "domain", "topic", "util", "pub", "sub", "qos", "builtin")
        self._dds = {name: import_extra(f"cyclonedds.{name}", "dds") for name in parts}
        self._messages, self._codec = dds_messages, MessageCodec(dds_messages.empty_message)
        self._given = dict(qos or {})
        number = domain_number() if domain is None else domain
        name = self._dds["qos"].Policy.EntityName(node)
        try:
            join_domain(self._dds["domain"].Domain, number)
            self._participant = self._dds["domain"].DomainParticipant(number, qos=self._dds["qos"].Qos(name))
        except self._dds["core"].DDSException as error:
            raise ConnectionError(f"DDS: domain {number} cannot be joined, see CYCLONEDDS_URI ({error})") from error
        self._known = _KnownEnds(self._dds, self._participant)
        self._ended = threading.Event()
        self._threads: list[threading.Thread] = []

    def subscribe(self, topic: str, kind: MessageKind, callback: Callable[[Any], None]) -> None:
        qos = self._qos(kind, self._wanted(topic).for_reading())
        reader = self._dds["sub"].DataReader(self._participant, self._topic(topic, kind), qos=qos)
        read = self._codec.reader(kind)
        arguments = (reader, lambda m: callback(read(m)), topic)
        thread = threading.Thread(target=self._read, args=arguments, name=topic, daemon=True)
        self._threads.append(thread)
        thread.start()

    def publisher(self, topic: str, kind: MessageKind, *, keep: int = 1, latch: bool = False) -> _DdsPublisher:
        qos = self._qos(kind, self._wanted(topic).for_publishing(keep, latch))
        writer = self._dds["pub"].DataWriter(self._participant, self._topic(topic, kind), qos=qos)
        return _DdsPublisher(writer, self._codec.writer(kind))

    def empty(self, kind: MessageKind) -> Any:
        return self._codec.empty(kind)

    def serve(self, service: str, callback: Callable[[], None]) -> None:
        raise ValueError(f"service {service}: {NO_SERVICES}")

    def call(self, service: str, timeout: float) -> None:
        raise ValueError(f"service {service}: {NO_SERVICES}")

    def connected(self) -> bool:
        """Always true, because there is no master that could be lost."""
        return True

    def now(self) -> float:
        return time.time()

    def ends(self, topic: str) -> TopicEnds:
        return self._known.of(_wire_name(topic))

    def on_activity(self, callback: Callable[[bool], None]) -> bool:
        return True

    def close(self) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()

    def _wanted(self, topic: str) -> Qos:
        return self._given.get(whole_topic(topic), Qos())

    def _topic(self, name: str, kind: MessageKind) -> Any:
        return self._dds["topic"].Topic(self._participant, _wire_name(name), self._messages.dds_type(type_of(kind)))

    def _qos(self, kind: MessageKind, wanted: Qos) -> Any:
        policy = self._dds["qos"].Policy
        reliable, durable = wanted.reliability == "reliable", wanted.durability == "transient_local"
        return self._dds["qos"].Qos(
            policy.Reliability.Reliable(max_blocking_time=0) if reliable else policy.Reliability.BestEffort,
            policy.Durability.TransientLocal if durable else policy.Durability.Volatile,
            policy.History.KeepLast(wanted.depth),
            policy.Userdata(self._messages.user_data(type_of(kind))),
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
                except Exception:  # after an error in one message, the next must still be read; rospy does the same
                    logging.getLogger(__name__).exception("a message of %s has failed", topic)


class _KnownEnds:
    """The publishers and subscribers that the built-in topics of DDS list."""

    def __init__(self, dds: dict[str, Any], participant: Any) -> None:
        builtin, self._policy = dds["builtin"], dds["qos"].Policy
        self._own, self._here = participant.guid, dds["core"].InstanceState.Alive
        reader = builtin.BuiltinDataReader
        self._participants = reader(participant, builtin.BuiltinTopicDcpsParticipant)
        self._publications = reader(participant, builtin.BuiltinTopicDcpsPublication)
        self._subscriptions = reader(participant, builtin.BuiltinTopicDcpsSubscription)
        self._lock = threading.Lock()

    def of(self, wire_topic: str) -> TopicEnds:
        with self._lock:
            names = {p.key: self._name(p.qos) for p in self._alive(self._participants)}
            sides = [self._alive(side) for side in (self._publications, self._subscriptions)]
        publishers, subscribers = (
            tuple(self._end(end, names.get(end.participant_key)) for end in side if end.topic_name == wire_topic)
            for side in sides
        )
        return TopicEnds(publishers, subscribers)

    def _alive(self, reader: Any) -> list[Any]:
        """The ends that still exist; the reader also returns those that have gone."""
        return [end for end in reader.read(MOST_ENDS) if end.sample_info.instance_state == self._here]

    def _name(self, qos: Any) -> str | None:
        return str(qos[self._policy.EntityName].name) if self._policy.EntityName in qos else None

    def _end(self, end: Any, name: str | None) -> TopicEnd:
        from policyforest.ros.dds_messages import type_name_of

        qos, policy = end.qos, self._policy
        reliable = qos[policy.Reliability] != policy.Reliability.BestEffort
        durable = qos[policy.Durability] != policy.Durability.Volatile
        return TopicEnd(
            f"{name or 'participant'} ({end.participant_key})",
            type_name_of(end.type_name),
            "reliable" if reliable else "best_effort",
            "transient_local" if durable else "volatile",
            own=end.participant_key == self._own,
        )


class _DdsPublisher:
    def __init__(self, writer: Any, write: Callable[[Any], Any]) -> None:
        self._writer, self._write = writer, write

    def send(self, value: Any) -> None:
        self._writer.write(self._write(value))

    def check(self, value: Any) -> None:
        self._write(value)

    def listeners(self) -> int:
        return len(self._writer.get_matched_subscriptions())


def _wire_name(topic: str) -> str:
    return "rt" + whole_topic(topic)

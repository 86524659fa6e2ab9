"""Problems of a network that messages do not show: commands without a subscriber, two commanding nodes, and publishers
and subscribers that do not fit.

In ROS 2, a publisher and a subscriber whose quality of service does not fit are not connected, and there is no error.
By the rules of DDS, a reader must not request more than the writer offers. Reliable is more than best effort, and
transient local is more than volatile.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

from policyforest.ros.commands import command_topics
from policyforest.ros.config import RobotConfig
from policyforest.ros.message_fields import full_type, type_of
from policyforest.ros.transport import TopicEnd, TopicEnds, Transport

GRACE = 2.0
"""Seconds for publishers and subscribers to find one another; until then, nothing counts as missing"""
BEAT = 1.0
"""Seconds between two checks"""


def network_problems(config: RobotConfig, transport: Transport) -> Iterator[str]:
    """One line for each present problem."""
    for command in command_topics(config):
        ends = transport.ends(command.topic)
        name = _shown(command.topic, ends)
        own = [end for end in ends.publishers if end.own]
        others = [end for end in ends.subscribers if not end.own]
        if not others:
            yield f"{name}: no subscriber takes the commands"
        commanders = sorted({end.node for end in ends.publishers})
        if len(ends.publishers) > 1:
            both = (
                " and ".join(commanders)
                if len(commanders) > 1
                else f"{len(ends.publishers)} nodes named {commanders[0]}"
            )
            yield f"{name}: is commanded by {both}, the robot obeys the latest command"
        for writer in own[:1]:
            for reader in others:
                yield from _misfits(name, command.type, writer, reader, "it gets no commands")
    for topic, kind in config.sources.items():
        ends = transport.ends(topic)
        for reader in [end for end in ends.subscribers if end.own][:1]:
            for writer in (end for end in ends.publishers if not end.own):
                yield from _misfits(_shown(topic, ends), type_of(kind), writer, reader, "no state arrives from it")


def _shown(topic: str, ends: TopicEnds) -> str:
    """A topic of the configuration, and its name on the network if that differs."""
    return f"{topic} (remapped to {ends.network_name})" if ends.network_name else topic


def _misfits(topic: str, expected: str, writer: TopicEnd, reader: TopicEnd, outcome: str) -> Iterator[str]:
    """Why a writer and a reader are not connected."""
    other = reader if writer.own else writer
    if other.type and full_type(other.type) != expected:
        yield f"{topic}: is {full_type(other.type)} at {other.node}, {expected} here: {outcome}"
    if writer.reliability == "best_effort" and reader.reliability == "reliable":
        yield _misfit(topic, "reliability", writer, reader, outcome)
    if writer.durability == "volatile" and reader.durability == "transient_local":
        yield _misfit(topic, "durability", writer, reader, outcome)


def _misfit(topic: str, policy: str, writer: TopicEnd, reader: TopicEnd, outcome: str) -> str:
    offered, asked = getattr(writer, policy), getattr(reader, policy)
    ends = f"{writer.node} offers {policy} {offered}, {reader.node} asks for {asked}"
    return f"{topic}: {ends}: {outcome}; set {policy} in [[qos]]"


class NetworkWatch:
    """Checks the network once a second, in a separate thread, and warns of each problem when it begins."""

    def __init__(self, config: RobotConfig, transport: Transport, warn: Callable[[str], None]) -> None:
        self._config, self._transport, self._warn = config, transport, warn
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="network", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Stops checking; a check that is under way may still finish."""
        self._ended.set()

    def _watch(self) -> None:
        told: set[str] = set()
        wait = GRACE
        while not self._ended.wait(wait):
            wait = BEAT
            try:
                problems = set(network_problems(self._config, self._transport))
            except Exception as error:  # a master that has gone, or a network that closes; the node itself reports this
                problems = {f"network: cannot be checked ({error})"} if self._transport.connected() else set()
            for line in sorted(problems - told):
                if not self._ended.is_set():
                    self._warn(line)
            told = problems

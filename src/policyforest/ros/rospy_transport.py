"""ROS 1, by `rospy` from Debian's packages.

Data goes from process to process, so a lost master does not stop it. But no process can join any more, and a robot
without a master is usually being shut down. A thread therefore checks twice a second whether the master answers. When a
master is back (the same or a new one), all topics and services are announced to it again; rospy itself does so only
once. Existing connections remain.

rospy allows one node per process, so all transports of a process share it.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xmlrpc import client as xml_rpc

from policyforest.ros.message_codec import MessageCodec
from policyforest.ros.message_fields import full_type, type_of
from policyforest.ros.transport import READ_DEPTH, MessageKind, TopicEnd, TopicEnds

DEBIAN = Path("/usr/lib/python3/dist-packages")
BEAT = 0.5
"""Seconds between two questions to the master"""
WAIT = 5.0
"""Seconds for which a master may still be starting"""
PATIENCE = 2.0
"""Seconds after which a master that does not answer is lost"""


class RospyTransport:
    """Topics and services of ROS 1."""

    def __init__(self, node: str) -> None:
        self._ros = _rospy()
        self._node = _join_network(self._ros, node)
        self._codec = MessageCodec(lambda type_name: message_class(type_name)())
        self._ends: list[Any] = []

    def subscribe(self, topic: str, kind: MessageKind, callback: Callable[[Any], None]) -> None:
        read, kind_class = self._codec.reader(kind), message_class(type_of(kind))
        end = self._ros.rospy.Subscriber(
            topic,
            kind_class,
            lambda message: callback(read(message)),
            queue_size=READ_DEPTH,
            tcp_nodelay=True,
        )
        self._ends.append(end)

    def publisher(self, topic: str, kind: MessageKind, *, keep: int = 1, latch: bool = False) -> _RospyPublisher:
        kind_class = message_class(type_of(kind))
        end = self._ros.rospy.Publisher(topic, kind_class, queue_size=keep, tcp_nodelay=True, latch=latch)
        self._ends.append(end)
        return _RospyPublisher(end, self._codec.writer(kind))

    def empty(self, kind: MessageKind) -> Any:
        return self._codec.empty(kind)

    def serve(self, service: str, callback: Callable[[], None]) -> None:
        def answer(request: Any) -> Any:
            try:
                callback()
            except Exception as error:  # reported to the caller of the service
                return self._ros.trigger._response_class(success=False, message=str(error))
            return self._ros.trigger._response_class(success=True, message="")

        self._ends.append(_Service(self._ros.rospy.Service(service, self._ros.trigger, answer)))

    def call(self, service: str, timeout: float) -> None:
        rospy = self._ros.rospy
        try:
            rospy.wait_for_service(service, timeout)
            answer = _within(timeout, lambda: rospy.ServiceProxy(service, self._ros.trigger)())
        except rospy.ServiceException as error:
            raise ConnectionError(f"service {service}: has failed ({error})") from error
        except rospy.ROSException as error:
            raise ConnectionError(f"service {service}: is not available ({error})") from error
        if not answer.success:
            raise ConnectionError(f"service {service}: refused the request ({answer.message})")

    def connected(self) -> bool:
        return self._node.connected

    def now(self) -> float:
        """The time; simulated time if the parameter /use_sim_time is true."""
        return float(self._ros.rospy.get_time())

    def ends(self, topic: str) -> TopicEnds:
        return self._node.ends(self._ros.rospy.resolve_name(topic))

    def on_activity(self, callback: Callable[[bool], None]) -> bool:
        return True

    def close(self) -> None:
        for end in self._ends:
            end.unregister()
        self._ends.clear()


class _RospyPublisher:
    def __init__(self, end: Any, write: Callable[[Any], Any]) -> None:
        self._end, self._write = end, write

    def send(self, value: Any) -> None:
        self._end.publish(self._write(value))

    def check(self, value: Any) -> None:
        self._write(value)

    def listeners(self) -> int:
        return int(self._end.get_num_connections())


class _Service:
    """A service that is closed by `unregister`, as a topic is."""

    def __init__(self, service: Any) -> None:
        self._service = service

    def unregister(self) -> None:
        self._service.shutdown("closed")


class _Node:
    """This process as a node, and a thread that watches the master."""

    def __init__(self, ros: SimpleNamespace) -> None:
        self._ros = ros
        self.uri = ros.rosgraph.get_master_uri()
        self._master = xml_rpc.ServerProxy(self.uri, transport=ImpatientTransport())
        self._pid = self._ask()
        self.connected = self._pid is not None
        threading.Thread(target=self._watch, name="master", daemon=True).start()

    def _ask(self) -> int | None:
        try:
            return int(self._master.getPid(self._ros.rospy.get_name())[2])  # type: ignore[index,arg-type]
        except Exception:  # any error means that the master does not answer
            return None

    def ends(self, topic: str) -> TopicEnds:
        """The publishers and subscribers that the master knows."""
        name = self._ros.rospy.get_name()
        master: Any = xml_rpc.ServerProxy(self.uri, transport=ImpatientTransport())
        types = dict(master.getTopicTypes(name)[2])
        sides = [dict(side).get(topic, []) for side in master.getSystemState(name)[2][:2]]
        kind = full_type(types[topic]) if "/" in types.get(topic, "") else ""
        publishers, subscribers = (tuple(TopicEnd(node, kind, own=node == name) for node in nodes) for nodes in sides)
        return TopicEnds(publishers, subscribers)

    def _watch(self) -> None:
        while not self._ros.rospy.is_shutdown():
            time.sleep(BEAT)
            pid = self._ask()
            if pid is not None and (pid != self._pid or not self.connected):
                try:
                    self._announce()
                except Exception:  # the master has gone again; the next check tries once more
                    pid = None
            self._pid, self.connected = pid or self._pid, pid is not None

    def _announce(self) -> None:
        """Tells a new master all that this process publishes, subscribes to and serves."""
        name, uri = self._ros.rospy.get_name(), self._ros.rospy.get_node_uri()
        managers = self._ros.registration
        own = xml_rpc.ServerProxy(uri, transport=ImpatientTransport())
        master: Any = self._master
        for topic, kind in managers.get_topic_manager().get_publications():
            master.registerPublisher(name, topic, kind, uri)
        for topic, kind in managers.get_topic_manager().get_subscriptions():
            publishers = master.registerSubscriber(name, topic, kind, uri)[2]
            own.publisherUpdate("/master", topic, publishers)
        for service, service_uri in managers.get_service_manager().get_services():
            master.registerService(name, service, service_uri, uri)


class ImpatientTransport(xml_rpc.Transport):
    """XML-RPC that does not wait for ever."""

    def make_connection(self, host: Any) -> Any:
        connection = super().make_connection(host)
        connection.timeout = PATIENCE
        return connection


_joined: list[tuple[str, _Node]] = []
_joining = threading.Lock()


def _join_network(ros: SimpleNamespace, name: str) -> _Node:
    """Makes this process a node, or returns its existing node."""
    with _joining:
        if _joined:
            return _joined[0][1]
        uri, end = ros.rosgraph.get_master_uri(), time.monotonic() + WAIT
        while not ros.rosgraph.is_master_online() and time.monotonic() < end:
            time.sleep(0.1)  # if everything is started at once, this process may start before the master is ready
        if not ros.rosgraph.is_master_online():
            raise ConnectionError(f"ROS_MASTER_URI: there is no master at {uri}; start `roscore`")
        ros.rospy.init_node(name, anonymous=True, disable_signals=True, disable_rosout=True)
        _joined.append((name, _Node(ros)))
        return _joined[0][1]


def _rospy() -> SimpleNamespace:
    """rospy and its messages; from Debian's folder if this Python does not have them."""
    try:
        import_module("rospy")
    except ImportError as error:
        if not (DEBIAN / "rospy").is_dir():
            packages = "python3-rospy python3-std-msgs python3-sensor-msgs python3-std-srvs"
            raise ImportError(f"rospy is not installed; run `apt-get install {packages}`") from error
        # At the end, so that modules of this environment are found first.
        sys.path.append(str(DEBIAN))
    services = import_module("std_srvs.srv")
    os.environ.setdefault("ROS_IP", "127.0.0.1")
    return SimpleNamespace(
        rospy=import_module("rospy"),
        rosgraph=import_module("rosgraph"),
        registration=import_module("rospy.impl.registration"),
        trigger=services.Trigger,
    )


def message_class(type_name: str) -> Any:
    """The class of a message, from the package that has it."""
    package, _, name = full_type(type_name).split("/")
    try:
        found = getattr(import_module(f"{package}.msg"), name, None)
    except ImportError as error:
        debian = "python3-" + package.replace("_", "-")
        raise ValueError(f"type: {type_name} is not installed; {debian} may have it ({error})") from None
    if found is None:
        raise ValueError(f"type: {type_name} is not known, {package} has no {name}")
    return found


def _within(timeout: float, call: Callable[[], Any]) -> Any:
    """The result of a call that may hang; a TimeoutError after `timeout` seconds."""
    result: list[Any] = []
    failure: list[BaseException] = []

    def run() -> None:
        try:
            result.append(call())
        except BaseException as error:  # raised again where it was called
            failure.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(timeout)
    if failure:
        raise failure[0]
    if not result:
        raise TimeoutError(f"no answer within {timeout:g} s")
    return result[0]

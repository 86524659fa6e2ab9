"""ROS 2, by the `rclpy` of a sourced installation (Humble, Jazzy or later).

Each transport has a context of its own and a thread that runs its callbacks; signals stay with the program. The node's
clock follows simulated time if the parameter ``use_sim_time`` is true. Names can be remapped and put into a namespace
by ``--ros-args``.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from policyforest.ros.message_codec import MessageCodec
from policyforest.ros.message_fields import type_of
from policyforest.ros.rclpy_modules import lifecycle_node, message_class, rclpy_modules
from policyforest.ros.transport import MessageKind, Qos, TopicEnd, TopicEnds, whole_topic

WAKE = 0.2
"""Seconds after which the thread of the callbacks checks whether it must end"""
POLL = 0.01
SERVICES = ("std_srvs/srv/Trigger", "std_srvs/srv/Empty")
NO_NODE = ("", "_NODE_NAME_UNKNOWN_", "_CREATED_BY_BARE_DDS_APP_")
"""The name that rclpy reports as the node of a publisher or a subscriber without a node"""


class RclpyTransport:
    """Topics and services of ROS 2."""

    def __init__(
        self,
        node: str,
        *,
        qos: Mapping[str, Qos] | None = None,
        arguments: Sequence[str] = (),
        lifecycle: bool = False,
        parameters: Mapping[str, str] | None = None,
    ) -> None:
        self._ros = ros = rclpy_modules()
        self._given = dict(qos or {})
        self._context = ros.context.Context()
        self._activity: list[Callable[[bool], None]] = []
        self._active = not lifecycle
        try:
            no_handlers = ros.signals.SignalHandlerOptions.NO
            ros.rclpy.init(args=list(arguments), context=self._context, signal_handler_options=no_handlers)
            made = lifecycle_node(ros, self._set_active) if lifecycle else ros.node.Node
            self.node = made(node, context=self._context)
        except Exception as error:  # rclpy has a separate error for each mistake in --ros-args
            raise ValueError(f"--ros-args: cannot start a node with {list(arguments)} ({error})") from error
        for name, value in (parameters or {}).items():
            self.parameter(name, value)
        self._codec = MessageCodec(lambda type_name: message_class(type_name)())
        self._executor = ros.executors.SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self.node)
        self._clients: dict[str, Any] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._spin, name="rclpy", daemon=True)
        self._thread.start()

    def subscribe(self, topic: str, kind: MessageKind, callback: Callable[[Any], None]) -> None:
        read = self._codec.reader(kind)

        def received(message: Any) -> None:
            try:
                callback(read(message))
            except Exception:  # after an error in one message, the next must still be read; rospy does the same
                logging.getLogger(__name__).exception("a message of %s has failed", topic)

        qos = self._profile(self._wanted(topic).for_reading())
        self.node.create_subscription(message_class(type_of(kind)), topic, received, qos)

    def publisher(self, topic: str, kind: MessageKind, *, keep: int = 1, latch: bool = False) -> _RclpyPublisher:
        qos = self._profile(self._wanted(topic).for_publishing(keep, latch))
        return _RclpyPublisher(
            self.node.create_publisher(message_class(type_of(kind)), topic, qos), self._codec.writer(kind)
        )

    def empty(self, kind: MessageKind) -> Any:
        return self._codec.empty(kind)

    def serve(self, service: str, callback: Callable[[], None]) -> None:
        def answer(request: Any, response: Any) -> Any:
            try:
                callback()
                response.success = True
            except Exception as error:  # reported to the caller of the service
                response.success, response.message = False, str(error)
            return response

        self.node.create_service(message_class(SERVICES[0], "srv"), service, answer)

    def call(self, service: str, timeout: float) -> None:
        end = time.monotonic() + timeout
        client = self._client(service, end)
        future, answered = client.call_async(client.srv_type.Request()), threading.Event()
        future.add_done_callback(lambda _: answered.set())
        if not answered.wait(max(0.0, end - time.monotonic())):
            client.remove_pending_request(future)
            raise TimeoutError(f"service {service}: no answer within {timeout:g} s")
        answer = future.result()
        if not getattr(answer, "success", True):
            raise ConnectionError(f"service {service}: refused the request ({answer.message})")

    def connected(self) -> bool:
        """Whether the context of rclpy is valid; there is no master that could be lost."""
        return bool(self._context.ok())

    def now(self) -> float:
        return float(self.node.get_clock().now().nanoseconds * 1e-9)

    def ends(self, topic: str) -> TopicEnds:
        publishers = self.node.get_publishers_info_by_topic(topic)
        subscribers = self.node.get_subscriptions_info_by_topic(topic)
        name = self.node.resolve_topic_name(topic)
        remapped = "" if name == whole_topic(topic) else name
        return TopicEnds(tuple(map(self._end, publishers)), tuple(map(self._end, subscribers)), remapped)

    def on_activity(self, callback: Callable[[bool], None]) -> bool:
        self._activity.append(callback)
        return self._active

    def parameter(self, name: str, default: str) -> str:
        """A parameter of the node, from the command line or a launch file."""
        try:
            return str(self.node.declare_parameter(name, default).value)
        except Exception as error:  # rclpy has its own errors, for instance for a number instead of text
            raise ValueError(f"--ros-args: parameter {name} must be text ({error})") from error

    def close(self) -> None:
        self._ended.set()
        self._thread.join()
        self._executor.shutdown()
        self.node.destroy_node()
        self._ros.rclpy.shutdown(context=self._context)

    def _spin(self) -> None:
        while not self._ended.is_set() and self._context.ok():
            try:
                self._executor.spin_once(timeout_sec=WAKE)
            except Exception:  # a callback of rclpy itself; ours do not raise
                if not self._ended.is_set():
                    logging.getLogger(__name__).exception("a callback of the node has failed")

    def _set_active(self, active: bool) -> None:
        self._active = active
        for callback in self._activity:
            callback(active)

    def _client(self, service: str, end: float) -> Any:
        """Waits for a service, and returns a client of the type that the service has, one of two."""
        name = self.node.resolve_service_name(service)
        types: list[str] = []
        while time.monotonic() < end:
            types = dict(self.node.get_service_names_and_types()).get(name, [])
            if types and name not in self._clients:
                found = next((kind for kind in SERVICES if kind in types), None)
                if found is None:
                    raise ConnectionError(f"service {service}: is {', '.join(types)}, must be {' or '.join(SERVICES)}")
                self._clients[name] = self.node.create_client(message_class(found, "srv"), service)
            if types and self._clients[name].service_is_ready():
                return self._clients[name]
            time.sleep(POLL)
        raise ConnectionError(f"service {service}: is not available")

    def _wanted(self, topic: str) -> Qos:
        return self._given.get(whole_topic(topic), Qos())

    def _profile(self, wanted: Qos) -> Any:
        qos = self._ros.qos
        assert wanted.reliability is not None
        assert wanted.durability is not None
        return qos.QoSProfile(
            history=qos.HistoryPolicy.KEEP_LAST,
            depth=wanted.depth,
            reliability=qos.ReliabilityPolicy[wanted.reliability.upper()],
            durability=qos.DurabilityPolicy[wanted.durability.upper()],
        )

    def _end(self, info: Any) -> TopicEnd:
        no_node = info.node_name in NO_NODE
        name = "a program without a node" if no_node else f"{info.node_namespace.rstrip('/')}/{info.node_name}"
        reliable = info.qos_profile.reliability == self._ros.qos.ReliabilityPolicy.RELIABLE
        durable = info.qos_profile.durability == self._ros.qos.DurabilityPolicy.TRANSIENT_LOCAL
        return TopicEnd(
            name,
            info.topic_type,
            "reliable" if reliable else "best_effort",
            "transient_local" if durable else "volatile",
            own=name == self.node.get_fully_qualified_name(),
        )


def read_parameters(names: Sequence[str], arguments: Sequence[str]) -> dict[str, str]:
    """Parameters that a node would have by its ``--ros-args``; empty if none is given."""
    transport = RclpyTransport("policyforest", arguments=arguments)
    try:
        return {name: transport.parameter(name, "") for name in names}
    finally:
        transport.close()


class _RclpyPublisher:
    def __init__(self, end: Any, write: Callable[[Any], Any]) -> None:
        self._end, self._write = end, write

    def send(self, value: Any) -> None:
        self._end.publish(self._write(value))

    def check(self, value: Any) -> None:
        self._write(value)

    def listeners(self) -> int:
        return int(self._end.get_subscription_count())

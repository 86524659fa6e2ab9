"""A program of somebody else's, in plain rclpy: a reset by std_srvs/Empty, or a change of a node's life cycle.

``services.py serve`` is a robot in lock-step with a reset; ``services.py change NODE TRANSITION`` changes a life cycle.
"""

from __future__ import annotations

import signal
import sys
import threading

import rclpy
from lifecycle_msgs.srv import ChangeState
from rclpy.executors import SingleThreadedExecutor
from std_srvs.srv import Empty

from policyforest.ros.simulator import SimulatedPendulum
from policyforest.ros.transport import open_transport

TRANSITIONS = {"configure": 1, "activate": 3, "deactivate": 4}


def serve() -> None:
    stop = threading.Event()
    signal.signal(signal.SIGINT, lambda number, frame: stop.set())
    network = open_transport("ros2", "pendulum")
    pendulum = SimulatedPendulum(network, services=False)

    def reset(request: Empty.Request, response: Empty.Response) -> Empty.Response:
        pendulum._on_place([-3.0, 0.0])
        return response

    network.node.create_service(Empty, "/pendulum/reset", reset)  # type: ignore[attr-defined]
    pendulum.run_in_lock_step(stop)
    network.close()


def change(node: str, transition: str) -> None:
    rclpy.init()
    asking = rclpy.create_node("asking")
    client = asking.create_client(ChangeState, f"{node}/change_state")
    assert client.wait_for_service(60.0), f"{node} has no life cycle"
    request = ChangeState.Request()
    request.transition.id = TRANSITIONS[transition]
    future = client.call_async(request)
    executor = SingleThreadedExecutor()
    executor.add_node(asking)
    executor.spin_until_future_complete(future, 60.0)
    sys.exit(0 if future.result().success else 1)


serve() if sys.argv[1] == "serve" else change(*sys.argv[2:])

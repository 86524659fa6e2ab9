"""A node whose policy is known and can fail: the torque is the angle, and not a number where the speed is above 5."""

from __future__ import annotations

import signal
import sys
import threading
from types import SimpleNamespace

import numpy as np
from gymnasium.spaces import Box

from policyforest.ros.config import load_config
from policyforest.ros.node import Node
from policyforest.ros.transport import open_transport

config = load_config(sys.argv[1])
spaces = {"observation_space": Box(-9, 9, (2,)), "action_space": Box(-15, 15, (1,))}
policy = SimpleNamespace(act=lambda state: np.array([np.nan if state[1] > 5 else state[0]]), **spaces)
network = open_transport(config.transport, config.name, qos=config.qos_by_topic, lifecycle=config.lifecycle)
node = Node(policy, config, network, warn=lambda line: print(line, flush=True))
for kind in (signal.SIGINT, signal.SIGTERM):
    signal.signal(kind, lambda number, frame: threading.Thread(target=node.stop).start())
node.run()
threading.Event().wait(0.1)  # what was published last is on its way
network.close()

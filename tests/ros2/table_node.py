"""A node whose policy is known and can fail: each action is a state, not a number where the second state is above 5,
and an error where it is below -5."""

from __future__ import annotations

import signal
import sys
import threading
from types import SimpleNamespace

import numpy as np
from gymnasium.spaces import Box

from policyforest._support.arguments import Floats
from policyforest.ros.config import load_config
from policyforest.ros.node import Node
from policyforest.ros.transport import open_transport

config = load_config(sys.argv[1])
n = len(config.action)
spaces = {"observation_space": Box(-9, 9, (len(config.state),)), "action_space": Box(-15, 15, (n,))}


def act(state: Floats) -> Floats:
    if state[1] < -5:
        raise RuntimeError("no action for this state")
    return np.where(state[1] > 5, np.nan, np.resize(state, n))


policy = SimpleNamespace(act=act, **spaces)
options = {"qos": config.qos_by_topic, "arguments": sys.argv[2:], "lifecycle": config.lifecycle}
network = open_transport(config.transport, config.name, **options)
node = Node(policy, config, network, warn=lambda line: print(line, flush=True))
for kind in (signal.SIGINT, signal.SIGTERM):
    signal.signal(kind, lambda number, frame: threading.Thread(target=node.stop).start())
node.run()
threading.Event().wait(0.1)  # what was published last is on its way
network.close()

"""ROS bags and MCAP: fields of topics become states and actions at the steps of a controller."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rosbags.rosbag1 import Writer as Writer1
from rosbags.rosbag2 import StoragePlugin
from rosbags.rosbag2 import Writer as Writer2
from rosbags.typesys import Stores, get_typestore

import policyforest as pf

STATE = ["theta=/joint_states.position[hinge]", "omega=/joint_states.velocity[1]"]
ACTION = ["torque=/cmd.data"]
PERIOD = 0.1


def joint_states(store: Any, time: float, theta: float, omega: float) -> Any:
    types = store.types
    stamp = types["builtin_interfaces/msg/Time"](sec=int(time), nanosec=0)
    extra = {"seq": 0} if "seq" in types["std_msgs/msg/Header"].__dataclass_fields__ else {}
    header = types["std_msgs/msg/Header"](stamp=stamp, frame_id="", **extra)
    return types["sensor_msgs/msg/JointState"](
        header=header,
        name=["wheel", "hinge"],
        position=np.array([9.0, theta]),
        velocity=np.array([8.0, omega]),
        effort=np.array([]),
    )


def messages(n: int, silent: range = range(0), delay: float = 0.002) -> list[tuple[float, str, tuple[float, ...]]]:
    """State k is (k, -k), at 0.1 k seconds; its torque is 10 k, a moment later."""
    sent: list[tuple[float, str, tuple[float, ...]]] = []
    for k in range(n):
        if k not in silent:
            sent += [(PERIOD * k, "/joint_states", (k, -k)), (PERIOD * k + delay, "/cmd", (10 * k,))]
    return sent


def write_bag(path: Path, sent: list[tuple[float, str, tuple[float, ...]]]) -> Path:
    ros1 = path.suffix == ".bag"
    store = get_typestore(Stores.ROS1_NOETIC if ros1 else Stores.ROS2_HUMBLE)
    kinds = {"/joint_states": "sensor_msgs/msg/JointState", "/cmd": "std_msgs/msg/Float64"}
    plugin = StoragePlugin.MCAP if path.suffix == ".mcap" else StoragePlugin.SQLITE3
    folder = path.with_suffix("") if path.suffix == ".mcap" else path
    with Writer1(path) if ros1 else Writer2(folder, version=9, storage_plugin=plugin) as writer:
        connections = {topic: writer.add_connection(topic, kind, typestore=store) for topic, kind in kinds.items()}
        for time, topic, values in sent:
            if topic == "/cmd":
                message = store.types["std_msgs/msg/Float64"](data=float(values[0]))
            else:
                message = joint_states(store, time, float(values[0]), float(values[1]))
            raw = store.serialize_ros1(message, kinds[topic]) if ros1 else store.serialize_cdr(message, kinds[topic])
            writer.write(connections[topic], round((100 + time) * 1e9), raw)
    return next(folder.glob("*.mcap")) if path.suffix == ".mcap" else path


def read(path: Path, **options: Any) -> pf.Log:
    return pf.read_log(path, **({"state": STATE, "action": ACTION, "reward": "-theta"} | options))


@pytest.mark.parametrize("name", ["log.bag", "folder", "log.mcap"])
@pytest.mark.parametrize("period", [None, PERIOD])
def test_states_and_the_actions_they_were_answered_with_come_back(
    tmp_path: Path, name: str, period: float | None
) -> None:
    log = read(write_bag(tmp_path / name, messages(20)), period=period)
    data = log.transitions
    assert data.states[:, 0].tolist() == list(range(19))
    assert data.states[:, 1].tolist() == [-float(k) for k in range(19)]
    assert data.actions[:, 0].tolist() == [10.0 * k for k in range(19)]
    assert data.next_states[:, 0].tolist() == list(range(1, 20))
    assert data.rewards.tolist() == [-float(k) for k in range(19)]
    assert data.n_episodes == 1


def test_a_longer_period_takes_every_second_state(tmp_path: Path) -> None:
    data = read(write_bag(tmp_path / "log.bag", messages(21)), period=2 * PERIOD).transitions
    assert data.states[:, 0].tolist() == list(range(0, 20, 2))


@pytest.mark.parametrize("period", [None, PERIOD])
def test_silence_splits_episodes(tmp_path: Path, period: float | None) -> None:
    log = read(write_bag(tmp_path / "log.bag", messages(40, silent=range(10, 25))), period=period)
    assert log.transitions.n_episodes == 2
    assert (log.transitions.next_states[:, 0] - log.transitions.states[:, 0] <= 1).all()


def test_a_number_that_is_not_finite_is_malformed(tmp_path: Path) -> None:
    sent = messages(10)
    sent[6] = (sent[6][0], "/joint_states", (float("nan"), 0.0))
    path = write_bag(tmp_path / "log.bag", sent)
    with pytest.raises(ValueError, match=r"1 row is malformed: log.bag, message 7: /joint_states.position is nan"):
        read(path)
    assert read(path, on_error="skip").description.n_malformed == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"state": ["/joints.position[0]"]}, "has no topic /joints; it has /cmd .std_msgs/msg/Float64."),
        ({"state": ["/joint_states.angle[0]"]}, "^/joint_states has no field 'angle'"),
        ({"state": ["/joint_states.position"]}, "^/joint_states.position is a list, choose an entry"),
        ({"state": ["/joint_states.position[elbow]"]}, "has no 'elbow' among its names wheel, hinge"),
        ({"state": ["/joint_states.position[7]"]}, "out of bounds"),
        ({"state": ["theta"]}, "'theta': must be a topic and a field"),
        ({"state": None}, "must name topics and fields"),
    ],
)
def test_what_is_not_in_the_bag_is_told_with_what_is(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    path = write_bag(tmp_path / "log.bag", messages(5))
    with pytest.raises(ValueError, match=message):
        read(path, **{"reward": "1 + 0"} | options)


def test_damaged_bags_are_refused(tmp_path: Path) -> None:
    whole = write_bag(tmp_path / "log.mcap", messages(30)).read_bytes()
    for name, content in (("a.mcap", whole[: len(whole) // 2]), ("b.mcap", b"no"), ("c.bag", b"#ROSBAG V2.0\nrest")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ValueError, match=name):
            read(tmp_path / name)


@pytest.mark.parametrize("name", ["log.bag", "folder", "log.mcap"])
@pytest.mark.parametrize("options", [{}, {"state": None, "action": None}], ids=["columns", "recording"])
def test_bags_with_wrong_bytes_are_read_or_refused(tmp_path: Path, name: str, options: dict[str, Any]) -> None:
    path = write_bag(tmp_path / name, messages(20))
    file = next(path.glob("*.db3")) if path.is_dir() else path
    whole, rng = file.read_bytes(), np.random.default_rng(0)
    refused = 0
    for _ in range(25):
        damaged = bytearray(whole)
        for place in rng.integers(len(damaged), size=8):
            damaged[place] = rng.integers(256)
        file.write_bytes(damaged)
        try:
            read(path, **options)
        except ValueError:
            refused += 1
    assert refused > 5


@pytest.mark.parametrize("name", ["log.bag", "log.mcap"])
def test_recordings_of_our_own_node_tell_their_columns(tmp_path: Path, name: str) -> None:
    """Two episodes, the first of which ends in a terminal state: topics and stamps as the node writes them."""
    problem = {
        "format": "policyforest recording",
        "version": 1,
        "states": ["theta", "omega"],
        "actions": ["tau"],
        "action_limits": [[-15, 15]],
        "state_limits": [["-inf", "inf"]] * 2,
        "periodic": {"0": [-np.pi, np.pi]},
    }
    lists, number = "std_msgs/msg/Float64MultiArray", "std_msgs/msg/Float64"
    sent: list[tuple[int, str, str, Any]] = [(0, "problem", "std_msgs/msg/String", json.dumps(problem))]
    stamp, expected = 10**6, []
    before: list[float] = []
    for episode, steps in enumerate((4, 3)):
        for k in range(steps + 1):
            stamp += 10**8
            state = [0.1 * k + episode, -0.2 * k]
            sent += [(stamp, "state", lists, state), (stamp, "episode", "std_msgs/msg/Int64", episode)]
            if k:
                end = episode == 0 and k == steps
                sent += [
                    (stamp - 1_000, "reward", number, -float(k)),
                    (stamp - 1_000, "terminal", "std_msgs/msg/Bool", end),
                ]
                expected.append((before, -float(k), state, end, episode))
            if k < steps:
                sent.append((stamp, "action", lists, [float(k)]))
            before = state
    path = write_recording(tmp_path / name, sorted(sent, key=lambda m: m[0]))
    data = pf.read_log(path).transitions
    assert data.states.tolist() == [row[0] for row in expected]
    assert data.rewards.tolist() == [row[1] for row in expected]
    assert data.next_states.tolist() == [row[2] for row in expected]
    assert data.terminals.tolist() == [row[3] for row in expected]
    assert data.actions[:, 0].tolist() == [0, 1, 2, 3, 0, 1, 2]
    assert data.n_episodes == 2
    assert data.action_space.high.tolist() == [15]
    assert data.periodic == {0: (-np.pi, np.pi)}
    other = pf.read_log(path, reward="-abs(theta)", terminal="theta > 9").transitions
    assert other.rewards.tolist() == [-abs(row[0][0]) for row in expected]


def write_recording(path: Path, sent: list[tuple[int, str, str, Any]]) -> Path:
    ros1 = path.suffix == ".bag"
    store = get_typestore(Stores.ROS1_NOETIC if ros1 else Stores.ROS2_HUMBLE)
    folder = path.with_suffix("")
    layout = store.types["std_msgs/msg/MultiArrayLayout"](dim=[], data_offset=0)
    writer: Any = Writer1(path) if ros1 else Writer2(folder, version=9, storage_plugin=StoragePlugin.MCAP)
    with writer:
        kinds = {topic: kind for _, topic, kind, _ in sent}
        topics = {t: writer.add_connection(f"/policyforest/{t}", k, typestore=store) for t, k in kinds.items()}
        for stamp, topic, kind, value in sent:
            more = {"layout": layout} if isinstance(value, list) else {}
            message = store.types[kind](data=np.array(value) if more else value, **more)
            raw = store.serialize_ros1(message, kind) if ros1 else store.serialize_cdr(message, kind)
            writer.write(topics[topic], 10**18 + stamp, raw)
    return path if ros1 else next(folder.glob("*.mcap"))

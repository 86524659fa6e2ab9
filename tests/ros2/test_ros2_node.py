"""The commands over ROS 2 and its wire: a simulated pendulum and the node are processes of their own."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import numpy as np
import pytest
from gymnasium.spaces import Box
from robot_bench import ANSWER, COMMAND, GOOD, SAFE, STATES, bench, configuration

import policyforest as pf
from loopback import EXAMPLE
from policies import forest_policy
from policyforest.ros.recording_reader import read_recording
from ros_network import PATIENCE, Network, require_transport, stop, wait_until

TRANSPORTS = ("dds", "ros2")


@pytest.fixture
def network(tmp_path):
    made = Network(tmp_path)
    try:
        yield made
    finally:
        made.close()


def pumping_policy() -> pf.Policy:
    """Pushes the pendulum along with up to 10 N m, and slows it down above 6 rad/s, so that it never stands still."""
    box = np.array([[-np.pi, np.pi], [-10.0, 10.0]])
    states = np.random.default_rng(0).uniform(box[:, 0], box[:, 1], (400, 2))
    torques = np.where(states[:, 1] < 0, -1, 1) * (9 - 1.5 * np.abs(states[:, 1])) + np.sin(states[:, 0])
    forest = pf.grow_forest(
        states, torques, n_estimators=5, leaf_model="linear", box=box, periodic={0: (-np.pi, np.pi)}, random_state=0
    )
    made = forest_policy(periodic={0: (-np.pi, np.pi)})
    return pf.Policy((forest,), made.observation_space, Box(-10.0, 10.0, (1,), np.float64), made.periodic, made.info)


@pytest.fixture
def policy(tmp_path) -> pf.Policy:
    made = pumping_policy()
    made.save(tmp_path / "policy.pforest")
    return made


def no_reward(state: object, action: object, after: object) -> tuple[float, bool]:
    return 0.0, False


def run(network: Network, *more: str):
    return network.policyforest("ros", "run", "policy.pforest", "--config", "robot.toml", "--json", *more)


def report(network: Network, name: str = "run") -> dict[str, object]:
    return json.loads(network.log(name)[network.log(name).index("{") :])


def commands(folder: Path) -> np.ndarray:
    rows = (folder / "commands.txt").read_text().splitlines() if (folder / "commands.txt").is_file() else []
    return np.array([[float(x) for x in row.split()] for row in rows if row.count(" ") == 2]).reshape(-1, 3)


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_round_trips_take_less_than_a_millisecond_and_none_of_3000_is_lost(tmp_path, network, policy, transport):
    require_transport(transport)
    (tmp_path / "robot.toml").write_text(configuration(transport))
    running = run(network, "--record", "run.mcap")
    pendulum = network.python("pendulum_robot.py", transport, "100.0", "3000", "commands.txt")
    assert pendulum.wait(PATIENCE) == 0, network.log("pendulum_robot.py")
    assert stop(running) == 0, network.log("run")
    answers = commands(tmp_path)
    answered = answers[answers[:, 1] != SAFE]
    times = 1e3 * np.quantile(answered[:, 0], [0.01, 0.5, 0.99])
    print(f"\n{transport}: {len(answered)} answers, round trip of 1%, 50%, 99% in ms:", *times.round(3))
    assert len(answered) == 3000
    assert times[0] < 1.0
    assert times[1] < 10.0  # the period: at 100 Hz it keeps up
    recorded = read_recording(tmp_path / "run.mcap", no_reward)
    np.testing.assert_array_equal(policy.act_batch(recorded.states), recorded.actions)
    np.testing.assert_array_equal(recorded.actions[:, 0], answered[: len(recorded), 1])


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_in_lock_step_every_action_is_the_policy_s_to_the_bit(tmp_path, network, policy, transport):
    require_transport(transport)
    (tmp_path / "robot.toml").write_text(configuration(transport))
    network.policyforest("ros", "simulate", "--transport", transport, "--lock-step")
    running = run(network, "--seconds", "5", "--record", "run.mcap")
    assert running.wait(PATIENCE) == 0, network.log("run")
    recorded, told = read_recording(tmp_path / "run.mcap", no_reward), report(network)
    distinct = len(np.unique(recorded.actions))
    print(f"\n{transport}: {len(recorded)} steps in 5 s, {distinct} actions, median {told['median_ms']:.3f} ms")
    assert distinct > 100  # a pendulum that hangs still would show nothing
    np.testing.assert_array_equal(policy.act_batch(recorded.states), recorded.actions)
    np.testing.assert_array_equal(recorded.states[1:], recorded.next_states[:-1])


def test_learning_brings_the_robot_back_by_a_service(tmp_path, network):
    require_transport("ros2")
    text = EXAMPLE.read_text().replace('"ros1"', '"ros2"').replace("steps = 100", "steps = 12")
    (tmp_path / "robot.toml").write_text(text)
    network.policyforest("ros", "simulate", "--transport", "ros2", "--lock-step")
    explore = ("ros", "explore", "--config", "robot.toml", "--run-dir", "run", "--episodes", "3", "--json")
    done = network.policyforest(*explore, "--record", "explored.mcap")
    assert done.wait(PATIENCE) == 0, network.log("explore")
    assert report(network, "explore")["samples"] == 36
    assert len(read_recording(tmp_path / "explored.mcap")) == 36


def test_a_reset_service_may_be_of_the_type_empty(tmp_path, network):
    require_transport("ros2")
    text = EXAMPLE.read_text().replace('"ros1"', '"ros2"').replace("steps = 100", "steps = 5")
    (tmp_path / "robot.toml").write_text(text)
    network.python("services.py", "serve")
    explore = ("ros", "explore", "--config", "robot.toml", "--run-dir", "run", "--episodes", "2", "--json")
    done = network.policyforest(*explore, "--agent", "random", "--record", "explored.mcap")
    assert done.wait(PATIENCE) == 0, network.log("explore")
    assert (read_recording(tmp_path / "explored.mcap").states[:, 0] == -3.0).sum() == 2


def test_names_are_remapped_and_the_files_are_parameters(tmp_path, network, policy):
    require_transport("ros2")
    (tmp_path / "robot.toml").write_text(configuration("ros2"))
    network.policyforest(
        *("ros", "simulate", "--transport", "ros2", "--rate", "50"),
        *("--ros-args", "-r", f"{STATES}:=/left/states", "-r", f"{COMMAND}:=/left/command"),
    )
    running = network.policyforest(
        *("ros", "run", "--seconds", "6", "--json", "--ros-args", "-p", "policy:=policy.pforest"),
        *("-p", "config:=robot.toml", "-r", "__ns:=/left", "-r", f"{STATES}:=states", "-r", f"{COMMAND}:=command"),
    )
    assert running.wait(PATIENCE) == 0, network.log("run")
    told = report(network)
    assert told["decisions"] - told["safe"] > 50, network.log("run")
    assert "no subscriber" not in network.log("run")


def test_a_note_about_a_remapped_topic_has_both_of_its_names(tmp_path, network):
    require_transport("ros2")
    (tmp_path / "robot.toml").write_text(configuration("ros2"))
    network.python("table_node.py", "robot.toml", "--ros-args", "-r", "__ns:=/left", "-r", f"{COMMAND}:=command")
    note = f"{COMMAND} (remapped to /left/command): no subscriber takes the commands"
    wait_until(lambda: note in network.log("table_node.py"), note)


def test_simulated_time_is_the_clock_of_stamps_and_may_jump_back(tmp_path, network):
    require_transport("ros2")
    (tmp_path / "robot.toml").write_text(configuration("ros2", 'age_by = "stamp"'))
    network.python("table_node.py", "robot.toml", "--ros-args", "-p", "use_sim_time:=true")
    robot = network.python("clock_robot.py", "commands.txt", "1000.0")
    wait_until(lambda: ANSWER in commands(tmp_path)[:, 1], "the policy to act in simulated time")
    begin = len(commands(tmp_path))
    robot.stdin.write("5.0\n")
    robot.stdin.flush()
    wait_until(lambda: SAFE in commands(tmp_path)[begin:, 1], "the safe action after the jump")
    wait_until(lambda: "safe action, time: the stamps have jumped back by" in network.log("table_node.py"), "a note")
    after = len(commands(tmp_path))
    wait_until(lambda: ANSWER in commands(tmp_path)[after:, 1], "the policy to act after the jump")


def test_a_lifecycle_node_acts_while_it_is_active_and_leaves_the_safe_action(tmp_path):
    with bench(tmp_path, "ros2", keys="lifecycle = true") as made:
        robot = made.start_robot()
        made.tell(robot, GOOD)

        def change(transition: str) -> None:
            asked = made.network.python("services.py", "change", "/pendulum_controller", transition)
            assert asked.wait(PATIENCE) == 0, made.network.log("services.py")

        change("configure")
        assert made.torques() == []
        change("activate")
        made.wait_for(ANSWER)
        change("deactivate")
        heard = made.torques()
        assert heard[-1] == SAFE
        assert made.torques() == heard  # and nothing more
        change("activate")
        made.wait_for(ANSWER)
        assert stop(made.node, signal.SIGTERM) == 0, made.notes
        stop(robot)
        assert made.torques()[-1] == SAFE


def test_a_type_that_is_not_there_is_refused_before_anything_is_published(tmp_path, network, policy):
    require_transport("ros2")
    kind = 'type = "std_msgs/Int33"\nfield = "data"\nsafe ='
    (tmp_path / "robot.toml").write_text(configuration("ros2").replace("safe =", kind))
    assert run(network).wait(PATIENCE) == 2
    assert "error: type: std_msgs/msg/Int33 is not known, std_msgs has no Int33" in network.log("run")


def test_a_parameter_that_is_no_text_is_named(network):
    require_transport("ros2")
    done = network.policyforest("ros", "run", "--ros-args", "-p", "policy:=5", "-p", "config:=robot.toml")
    assert done.wait(PATIENCE) == 2
    assert "error: --ros-args: parameter policy must be text" in network.log("run")


def test_a_service_of_another_type_and_one_that_is_not_there_are_named(tmp_path, network):
    require_transport("ros2")
    text = EXAMPLE.read_text().replace('"ros1"', '"ros2"').replace("reset_timeout = 10.0", "reset_timeout = 2.0")
    explore = ("ros", "explore", "--config", "robot.toml", "--run-dir", "run", "--agent", "random")
    network.policyforest("ros", "simulate", "--transport", "ros2", "--lock-step")
    for service, problem in (
        ("/pendulum/get_parameters", "must be std_srvs/srv/Trigger or"),
        ("/none", "is not available"),
    ):
        (tmp_path / "robot.toml").write_text(text.replace("/pendulum/reset", service))
        done = network.policyforest(*explore)
        assert done.wait(PATIENCE) == 2, network.log("explore")
        assert f"error: service {service}: " in network.log("explore")
        assert problem in network.log("explore")

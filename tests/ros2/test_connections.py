"""Who is connected to whom over ROS 2 and its wire: quality of service, other middlewares' ends, two who command."""

from __future__ import annotations

import signal

import pytest
from robot_bench import ANSWER, COMMAND, GOOD, SAFE, STATES, bench

from ros_network import stop, wait_until

PAIRS = [("dds", "dds"), ("ros2", "ros2"), ("dds", "ros2"), ("ros2", "dds")]
"""Transports of the node and of its robot"""


@pytest.fixture(params=PAIRS, ids="-".join)
def pair(request):
    return request.param


def test_a_robot_with_sensor_data_qos_is_heard_and_commanded(tmp_path, pair):
    with bench(tmp_path, *pair) as made:
        robot = made.start_robot(qos={STATES: {"reliability": "best_effort"}, COMMAND: {"reliability": "reliable"}})
        made.tell(robot, GOOD)
        made.wait_for(ANSWER)
        assert "type hash" not in made.network.log("scripted_robot.py")


def test_a_subscriber_that_asks_for_more_is_named_with_both_policies(tmp_path, pair):
    with bench(tmp_path, *pair) as made:
        made.start_robot(qos={COMMAND: {"durability": "transient_local"}})
        made.wait_for_note("offers durability volatile")
        line = next(line for line in made.notes.splitlines() if "durability" in line)
        assert line.startswith(f"{COMMAND}: ")
        assert "pendulum_controller" in line
        assert "asks for transient_local: it gets no commands; set durability in [[qos]]" in line


def test_that_subscriber_is_served_where_the_configuration_offers_it(tmp_path, pair):
    tables = f'\n[[qos]]\ntopic = "{COMMAND}"\ndurability = "transient_local"\n'
    with bench(tmp_path, *pair, tables=tables) as made:
        robot = made.start_robot(qos={COMMAND: {"durability": "transient_local"}})
        made.tell(robot, GOOD)
        made.wait_for(ANSWER)
        assert "durability" not in made.notes


def test_a_publisher_that_offers_less_is_named_with_both_policies(tmp_path, pair):
    tables = f'\n[[qos]]\ntopic = "{STATES}"\nreliability = "reliable"\n'
    with bench(tmp_path, *pair, tables=tables) as made:
        robot = made.start_robot(qos={STATES: {"reliability": "best_effort"}})
        made.tell(robot, GOOD)
        made.wait_for_note("offers reliability best_effort")
        line = next(line for line in made.notes.splitlines() if "reliability" in line)
        assert line.startswith(f"{STATES}: ")
        assert "asks for reliable: no state arrives from it" in line
        assert ANSWER not in made.torques()


@pytest.mark.parametrize("transport", ["ros1", "dds", "ros2"])
def test_nobody_who_listens_and_two_who_command_are_told(tmp_path, transport):
    with bench(tmp_path, transport) as made:
        made.wait_for_note(f"{COMMAND}: no subscriber takes the commands")
        robot = made.start_robot()
        made.tell(robot, GOOD)
        made.wait_for(ANSWER)
        assert "is commanded by" not in made.notes
        made.start_robot("other.txt", name="joystick", commander=True)
        made.wait_for_note(f"{COMMAND}: is commanded by ")
        line = next(line for line in made.notes.splitlines() if "is commanded by" in line)
        assert "joystick" in line
        assert "pendulum_controller" in line


def test_a_killed_robot_gets_the_safe_action_and_a_new_one_the_policy(tmp_path, pair):
    with bench(tmp_path, *pair) as made:
        first = made.start_robot()
        made.tell(first, GOOD)
        made.wait_for(ANSWER)
        stop(first, signal.SIGKILL)
        made.wait_for_note("safe action, old")
        second = made.start_robot("second.txt")
        wait_until(lambda: SAFE in made.torques("second.txt"), "the safe action")
        made.tell(second, GOOD)
        made.wait_for(ANSWER, "second.txt")
        assert "states are back" in made.notes.partition("safe action, old")[2]

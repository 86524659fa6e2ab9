"""The table of faults in docs/ros.md, over every transport: a node and a robot in processes of their own."""

from __future__ import annotations

import math
import re
import signal
from pathlib import Path

import pytest
from robot_bench import ANSWER, GOOD, SAFE, bench

from ros_network import LACKS, stop

TRANSPORTS = ("ros1", "dds", "ros2")
PAGE = Path(__file__).parents[2] / "docs" / "ros.md"
ROWS = {
    "a NaN": ("bad", GOOD | {"position": [9.0, math.nan]}),
    "an infinity": ("bad", GOOD | {"velocity": [9.0, -math.inf]}),
    "a number too large for its scale": ("bad", GOOD | {"velocity": [9.0, -1e308]}),
    "a joint that is missing": ("bad", GOOD | {"names": ["other", "elbow"]}),
    "a field that is missing": ("bad", GOOD | {"velocity": []}),
    "an array of the wrong length": ("bad", GOOD | {"position": [9.0, 0.5, 1.0]}),
    "a policy that answers with a NaN": ("policy", GOOD | {"velocity": [9.0, 6.0]}),
    "a policy that fails": ("policy", GOOD | {"velocity": [9.0, -6.0]}),
    "silence": ("old", None),
}


@pytest.fixture(scope="module", params=TRANSPORTS)
def running(request, tmp_path_factory):
    with bench(tmp_path_factory.mktemp(request.param), request.param, speed_scale=2.0) as made:
        made.robot = made.start_robot()
        made.wait_for(SAFE)
        made.none = made.notes
        made.tell(made.robot, GOOD)
        made.wait_for(ANSWER)
        yield made


def test_without_a_state_it_gets_the_safe_action(running):
    assert "safe action, none: no state has arrived yet" in running.none
    assert "states are back, the policy acts" in running.notes


@pytest.mark.parametrize("row", ROWS)
def test_each_fault_gets_the_safe_action_and_a_note_and_ends(running, row):
    kind, told = ROWS[row]
    before = running.notes.count(f"safe action, {kind}:")
    running.tell(running.robot, told)
    running.wait_for(SAFE)
    assert running.notes.count(f"safe action, {kind}:") == before + 1
    running.tell(running.robot, GOOD)
    running.wait_for(ANSWER)
    assert running.notes.rstrip().splitlines()[-1] == "states are back, the policy acts"


def test_time_that_jumps_back_gets_one_safe_action_and_a_note(running):
    running.tell(running.robot, GOOD | {"stamp": 5_000.0})
    running.wait_for_note("safe action, time: the stamps have jumped back")
    running.wait_for(ANSWER)
    assert SAFE in running.torques()
    running.tell(running.robot, GOOD)
    running.wait_for(ANSWER)


def test_joints_in_another_order_are_read_by_their_names(running):
    names, position, velocity = (list(reversed(GOOD[key])) for key in ("names", "position", "velocity"))
    begin = len(running.torques())
    running.tell(running.robot, {"names": names, "position": position, "velocity": velocity})
    running.wait_for(ANSWER)
    assert set(running.torques()[begin:]) == {ANSWER}
    running.tell(running.robot, GOOD)


def test_a_lost_master_gets_the_safe_action_until_it_is_back(running):
    if running.transport != "ros1":
        pytest.skip(f"{running.transport} has no master")
    running.network.stop_master()
    running.wait_for(SAFE)
    assert "safe action, lost: the master does not answer" in running.notes
    running.network.start_master()
    running.wait_for(ANSWER)


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_what_is_published_last_is_the_safe_action(tmp_path, transport):
    with bench(tmp_path, transport) as made:
        robot = made.start_robot()
        made.wait_for(SAFE)
        made.tell(robot, GOOD)
        made.wait_for(ANSWER)
        assert stop(made.node, signal.SIGTERM) == 0, made.notes
        stop(robot)
        assert made.torques()[-1] == SAFE


def test_the_table_of_the_docs_has_the_notes_that_are_tested():
    table = PAGE.read_text().partition("| what happens |")[2].partition("\n\n")[0]
    notes = set(re.findall(r"`(\w+):`", table))
    assert notes == {"none", "lost", *(kind for kind, _ in ROWS.values()), "time"}
    assert set(LACKS) == set(TRANSPORTS)

"""Exports that cannot be: clear errors, and nothing left behind."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import policyforest as pf
from policies import INFO, POLICIES, STATES, actions_box, forest_policy, grown


def stump(split: float, box: list[list[float]], more: float | None = None) -> pf.Forest:
    """One split of dimension 0, or two: the second in the upper child."""
    if more is None:
        return pf.Forest.from_arrays(
            feature=[0, -1, -1], split=[split, 0.1, 0.2], child=[1, 0, 1], node_offsets=[0, 3], box=box
        )
    return pf.Forest.from_arrays(
        feature=[0, -1, 0, -1, -1],
        split=[split, 0.1, more, 0.2, 0.3],
        child=[1, 0, 3, 1, 2],
        node_offsets=[0, 5],
        box=box,
    )


def of(forest: pf.Forest) -> pf.Policy:
    return pf.Policy((forest,), STATES, actions_box(1), {}, INFO)


@pytest.mark.parametrize(
    "name", ["", "1st", "my-policy", "a b", "été", "int", "main", "_x", "a" * 41, "x;", "../x", "a\n"]
)
def test_a_name_that_is_no_identifier(name: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"name: is .* must be a C identifier"):
        forest_policy().export_c(tmp_path / "c", name=name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("argument", "value"), [("precision", "float16"), ("style", "loops"), ("max_bytes", 0)])
def test_arguments_name_what_is_allowed(argument: str, value: object, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=f"{argument}: is"):
        forest_policy().export_c(tmp_path / "c", **{argument: value})
    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_cannot_be_written(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(ValueError, match="is a file"):
        forest_policy().export_c(file)
    with pytest.raises(OSError, match="directory"):
        forest_policy().export_c(tmp_path / "missing" / "c")
    with pytest.raises(OSError, match="directory: /proc/policy cannot be written"):
        forest_policy().export_c("/proc/policy")
    assert list(tmp_path.iterdir()) == [file]


def test_a_file_that_is_in_the_way_leaves_the_directory_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "examples").write_text("mine")
    with pytest.raises(OSError, match="cannot be written"):
        forest_policy().export_c(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["examples"]


def test_other_files_of_a_directory_stay(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    forest_policy().export_c(tmp_path)
    forest_policy().export_c(tmp_path, "float32")
    assert (tmp_path / "mine.txt").read_text() == "mine"
    assert "float policy_real" in (tmp_path / "policy.h").read_text()
    assert not [p for p in tmp_path.iterdir() if p.name.startswith(".")]


def test_int16_needs_a_bounded_box(tmp_path: Path) -> None:
    forest = stump(0.5, [[-1.0, 1.0], [-1.0, np.inf]])
    with pytest.raises(ValueError, match=r"state dimension 1 has the box \[-1.0, inf\]; it must be finite"):
        of(forest).export_c(tmp_path / "c", "int16")
    of(forest).export_c(tmp_path / "c", "float32")


def test_int16_tells_which_thresholds_fall_together(tmp_path: Path) -> None:
    forest = stump(0.5, [[-1e6, 1e6], [-1.0, 1.0]], more=0.75)
    with pytest.raises(ValueError, match="1 of 2 splits of state dimension 0 cannot be distinguished in 65536 steps"):
        of(forest).export_c(tmp_path / "c", "int16")
    assert list(tmp_path.iterdir()) == []
    of(stump(0.5, [[-1.0, 1.0], [-1.0, 1.0]], more=0.75)).export_c(tmp_path / "c", "int16")


@pytest.mark.parametrize("style", ["table", "branches"])
def test_a_policy_too_large_for_the_target(style: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"max_bytes: is 400, but the policy takes .* bytes; simplify"):
        forest_policy().export_c(tmp_path / "c", style=style, max_bytes=400)
    assert list(tmp_path.iterdir()) == []


def test_branches_cannot_nest_without_end(tmp_path: Path) -> None:
    n = 150
    feature = [0, -1] * n + [-1]
    split = [value for i in range(n) for value in (i / n, 0.0)] + [1.0]
    child = [index for i in range(n) for index in (2 * i + 1, i)] + [n]
    forest = chain(feature, split, child)
    with pytest.raises(ValueError, match="for a tree of depth 150, at most 120 is allowed; use 'table'"):
        of(forest).export_c(tmp_path / "c", style="branches")
    of(forest).export_c(tmp_path / "c")


def chain(feature: list[int], split: list[float], child: list[int]) -> pf.Forest:
    """A split whose lower child is a leaf and whose upper one is the next split, and so on."""
    return pf.Forest.from_arrays(
        feature=feature, split=split, child=child, node_offsets=[0, len(feature)], box=[[0.0, 1.0], [0.0, 1.0]]
    )


def test_numbers_beyond_float32(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="beyond float32"):
        of(stump(1e60, [[-1e70, 1e70], [-1.0, 1.0]])).export_c(tmp_path / "c", "float32")


@pytest.mark.parametrize("kind", ["greedy", "lspi", "binary action search"])
def test_other_kinds_of_policies(kind: str, tmp_path: Path) -> None:
    from policyforest.export import export_c

    with pytest.raises(TypeError, match="must be a Policy of forests"):
        export_c(POLICIES[kind](), tmp_path / "c")


def test_text_of_a_stranger_s_file_stays_in_its_comment(tmp_path: Path) -> None:
    info = pf.PolicyInfo(
        "*/ int evil; /*", {"random_state": "??/\n*/"}, 1, "a\\\nb */ #include <x>", "soft\u2028ware", "now"
    )
    policy = pf.Policy((grown(0),), STATES, actions_box(1), {}, info)
    policy.export_c(tmp_path / "c")
    header = (tmp_path / "c" / "policy.h").read_text()
    assert header.count("*/") == header.count("/*")
    from policyforest.export.host import HostPolicy

    states = np.zeros((1, 2))
    assert HostPolicy(tmp_path / "c").act_batch(states) == policy.act_batch(states)
    assert "#include" not in header.split("*/", 1)[1]


def test_float32_policies_say_what_they_take() -> None:
    single = forest_policy(2).astype("float32")
    assert single.act(np.zeros(2)).dtype == np.float32
    with pytest.raises(ValueError, match=r"state: has shape \(3,\), must have shape \(2,\)"):
        single.act(np.zeros(3))
    with pytest.raises(ValueError, match="must have 2 columns"):
        single.act_batch(np.zeros((1, 3)))
    with pytest.raises(ValueError, match="not finite in float32"):
        single.act(np.array([1e39, 0.0]))
    with pytest.raises(ValueError, match="precision: is 'int8'"):
        forest_policy().astype("int8")
    assert forest_policy().astype("float64").act(np.zeros(2)).dtype == np.float64

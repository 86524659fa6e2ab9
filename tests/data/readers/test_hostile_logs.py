"""Logs that are damaged, strange or meant to do harm: each gives samples or one clear error; none ends the process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest

import policyforest as pf
from policyforest._support.formulas import Expression
from policyforest.data import transition_files
from policyforest.data.parquet_process import ParquetProcess

COLUMNS: dict[str, Any] = {"state": ["x", "v"], "action": ["u"], "reward": "-(x**2)"}
HEADER = "x,v,u\n"


def some_rows(n: int = 20) -> str:
    return "".join(f"{x},{v},{u}\n" for x, v, u in np.random.default_rng(0).normal(size=(n, 3)))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ((HEADER + some_rows()).encode("utf-16"), "is UTF-16, must be UTF-8"),
        ((HEADER + some_rows()).replace("\n", "\r").encode(), "carriage return alone"),
        (b"x;v;u\n" + some_rows().replace(",", ";").replace(".", ",").encode(), "write a decimal point"),
        ((HEADER + some_rows(3) + '1,"2,3\n' + some_rows(4)).encode(), "line 5: .* goes on to line 9: is a quote"),
        ((HEADER + some_rows(3) + "1,\0,3\n").encode(), "line 5"),
    ],
)
def test_a_strange_csv_is_refused_with_what_is_strange_about_it(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "log.csv").write_bytes(content)
    with pytest.raises(ValueError, match=message):
        pf.read_log(tmp_path / "log.csv", **COLUMNS)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"state": [1, 2]}, TypeError, "state: is 1"),
        ({"reward": 5}, TypeError, "reward: is 5"),
        ({"episode": 3}, TypeError, "episode: is 3"),
        ({"action_bounds": 5}, ValueError, "action_bounds: is 5"),
        ({"action_bounds": {"u": ("a", "b")}}, ValueError, "action_bounds: is"),
        ({"format": "rosbag"}, ValueError, "'x': must be a topic and a field"),
    ],
)
def test_a_wrong_option_is_named(tmp_path: Path, options: dict[str, Any], error: type[Exception], message: str) -> None:
    (tmp_path / "log.csv").write_text(HEADER + some_rows())
    with pytest.raises(error, match=message):
        pf.read_log(tmp_path / "log.csv", **(COLUMNS | options))


def test_a_file_that_is_named_twice_counts_once_in_any_spelling(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(HEADER + some_rows())
    paths = [tmp_path / "a.csv", f"{tmp_path}/*.csv", f"{tmp_path}/../{tmp_path.name}/a.csv"]
    assert len(pf.read_log(paths, **COLUMNS).transitions) == 19
    assert len(pf.read_log(tmp_path.glob("*.csv"), **COLUMNS).transitions) == 19
    for wrong in (3, None, b"a.csv"):
        with pytest.raises(TypeError, match="path: is"):
            pf.read_log(wrong, **COLUMNS)  # type: ignore[arg-type]


def test_files_with_other_columns_than_the_first_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("state_0,action_0,reward\n" + some_rows())
    (tmp_path / "b.csv").write_text("state_0,action_0,money\n" + some_rows())
    (tmp_path / "c.csv").write_text("state_0,action_0,state_1\n" + some_rows())
    for names in (["a", "b"], ["b", "a"]):
        with pytest.raises(ValueError, match=r"b\.csv: has no reward and .*a\.csv has one"):
            pf.read_log([tmp_path / f"{name}.csv" for name in names])
    with pytest.raises(ValueError, match=r"c\.csv: its state is state_0, state_1, that of .*b\.csv is state_0"):
        pf.read_log([tmp_path / "b.csv", tmp_path / "c.csv"])


def test_endings_are_known_in_capitals_too(tmp_path: Path) -> None:
    (tmp_path / "LOG.CSV").write_text(HEADER + some_rows())
    assert len(pf.read_log(tmp_path, **COLUMNS).transitions) == 19
    table = np.zeros(5, dtype=[("state_0", "f8"), ("action_0", "f8"), ("reward", "f8")])
    with (tmp_path / "TABLE.NPY").open("wb") as file:
        np.save(file, table)
    assert len(pf.read_log(tmp_path / "TABLE.NPY").transitions) == 4


@pytest.mark.parametrize("text", ["[" + "-" * 980 + "x]", "x**" + "-" * 980 + "1", "(" * 150 + "x.y" + ")" * 150])
def test_formulas_that_are_nested_too_deep_to_be_shown_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="expression: "):
        Expression(text)


def test_damaged_numpy_archives_are_refused(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    arrays = {"observations": rng.normal(size=(10, 2)), "actions": rng.normal(size=10), "rewards": np.ones(10)}
    np.savez(tmp_path / "log.npz", **arrays)
    whole = (tmp_path / "log.npz").read_bytes()
    refused = 0
    for _ in range(150):
        damaged = bytearray(whole[: rng.integers(1, len(whole) + 1)] if rng.random() < 0.3 else whole)
        for place in rng.integers(len(damaged), size=rng.integers(1, 6)):
            damaged[place] = rng.integers(256)
        (tmp_path / "log.npz").write_bytes(damaged)
        try:
            pf.read_log(tmp_path / "log.npz")
        except ValueError:
            refused += 1
    assert refused > 50


def parquet_contents(path: Path) -> tuple[bytes, bytes]:
    """A Parquet file, and the same file with two wrong bytes, which make this version of polars ask for 2 exabytes and
    abort."""
    rng = np.random.default_rng(0)
    table = {name: rng.normal(size=2_000) for name in ("x", "v", "u")}
    table |= {"e": np.repeat(np.arange(20), 100), "name": np.array([f"n{i % 7}" for i in range(2_000)])}
    table |= {"done": rng.random(2_000) < 0.01}
    polars.DataFrame(table).write_parquet(path, row_group_size=500, compression="snappy")
    aborting = bytearray(path.read_bytes())
    aborting[14], aborting[63] = 247, 43
    return path.read_bytes(), bytes(aborting)


def test_damaged_parquet_files_never_end_the_process(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Some wrong bytes make polars abort or panic."""
    rng = np.random.default_rng(0)
    whole, aborting = parquet_contents(tmp_path / "log.parquet")
    refused = 0
    with ParquetProcess() as process:
        for i in range(40):
            damaged = bytearray(whole)
            damaged[rng.integers(4, 64)] = rng.integers(256)
            damaged[-8 - rng.integers(900)] = rng.integers(256)
            (tmp_path / "log.parquet").write_bytes(aborting if i == 20 else damaged[: len(whole) - i % 2])
            try:
                process.names(tmp_path / "log.parquet")
                process.table(tmp_path / "log.parquet", [polars.col(name) for name in ("x", "v", "u")])
            except ValueError:
                refused += 1
    assert refused >= 20
    assert capfd.readouterr().err == ""


def test_a_sealed_file_that_aborts_polars_does_not_end_the_process(tmp_path: Path) -> None:
    """Anyone can compute the seal of a file of transitions, so it proves nothing about the origin of a file."""
    path = tmp_path / "log.parquet"
    path.write_bytes(transition_files._sealed(parquet_contents(path)[1]))
    for load in (pf.Transitions.load, pf.read_transitions):
        with pytest.raises(ValueError, match=r"log\.parquet: is not a Parquet file that can be read"):
            load(path)


def test_a_process_that_is_killed_is_told_of_and_replaced(tmp_path: Path) -> None:
    polars.DataFrame({"x": [1.0, 2.0]}).write_parquet(tmp_path / "log.parquet")
    with ParquetProcess() as process:
        assert process.names(tmp_path / "log.parquet") == ["x"]
        assert process._process is not None
        process._process.kill()
        with pytest.raises(ValueError, match="signal SIGKILL"):
            process.names(tmp_path / "log.parquet")
        assert process.table(tmp_path / "log.parquet", [polars.col("x")])["x"].to_list() == [1.0, 2.0]

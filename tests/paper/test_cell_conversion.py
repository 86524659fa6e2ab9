"""Cells of the old layout, one file per cell, are converted to one file per study: all of them, or none."""

from __future__ import annotations

import json
import multiprocessing
import os
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from policyforest.cli import main
from policyforest.paper import STUDIES, Study
from policyforest.paper.cell_conversion import convert_old_layout
from policyforest.paper.studies import Short

GOOD = {"fpf-pwl": {"return": -1.25, "steps": 3.0}}
KILLED = 9


def square(seed: int) -> dict[str, Any]:
    return {"fqi": {"return": float(seed**2), "steps": 0.1 + seed}}


NUMBER = {"quick": 2, "paper": 3}
SQUARES = (
    Study("squares", "Squares", square, NUMBER, 1.0, methods=("fqi",)),
    Study("more", "More squares", square, NUMBER, 1.0, methods=("fqi",), short=Short(square, 0.1)),
)
FOLDERS = ("squares", "more", "more-quick")


def write_old(out: Path, folder: str, seeds: range) -> None:
    study = folder.removesuffix("-quick")
    (out / folder).mkdir(parents=True, exist_ok=True)
    for seed in seeds:
        content = {"study": study, "seed": seed, "date": f"2020-01-0{seed + 1}", "result": square(seed)}
        (out / folder / f"{seed:04}.json").write_text(json.dumps(content) + "\n")


def old_text(out: Path, folder: str) -> str:
    return "".join(file.read_text() for file in sorted((out / folder).glob("0*.json")))


def test_every_cell_is_kept_byte_for_byte_and_the_folders_are_deleted(tmp_path: Path) -> None:
    for folder in FOLDERS:
        write_old(tmp_path, folder, range(4))  # One more than the study has: it is kept too.
    expected = {folder: old_text(tmp_path, folder) for folder in FOLDERS}
    assert convert_old_layout(tmp_path, SQUARES) == 12
    assert {folder: (tmp_path / f"{folder}.jsonl").read_text() for folder in FOLDERS} == expected
    assert sorted(path.name for path in tmp_path.iterdir()) == [".lock", *sorted(f"{f}.jsonl" for f in FOLDERS)]
    assert convert_old_layout(tmp_path, SQUARES) == 0
    assert all(study.missing(tmp_path, scale) == [] for study in SQUARES for scale in NUMBER)


def test_cells_of_the_new_layout_stay(tmp_path: Path) -> None:
    write_old(tmp_path, "squares", range(0, 3, 2))
    SQUARES[0].keep({"study": "squares", "seed": 1, "result": square(1)}, tmp_path / "elsewhere")
    (tmp_path / "elsewhere" / "squares.jsonl").rename(tmp_path / "squares.jsonl")
    assert convert_old_layout(tmp_path, SQUARES) == 2
    assert SQUARES[0].by_seed(tmp_path) == {seed: square(seed) for seed in range(3)}


def die_at(limit: int, out: Path) -> None:
    """Converts, and ends without any cleaning up at the `limit`-th call that changes files."""
    calls = count(1)

    def mortal(change: Any) -> Any:
        def call(*arguments: Any, **options: Any) -> Any:
            if next(calls) == limit:
                os._exit(KILLED)
            return change(*arguments, **options)

        return call

    os.replace, os.fsync = mortal(os.replace), mortal(os.fsync)
    Path.unlink, Path.rmdir, Path.write_text = mortal(Path.unlink), mortal(Path.rmdir), mortal(Path.write_text)  # type: ignore[method-assign]
    convert_old_layout(out, SQUARES)


def test_killed_at_any_point_and_run_again_it_loses_nothing(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    for limit in count(1):
        out = tmp_path / str(limit)
        for folder in FOLDERS:
            write_old(out, folder, range(3))
        expected = {folder: old_text(out, folder) for folder in FOLDERS}
        process = context.Process(target=die_at, args=(limit, out))
        process.start()
        process.join(60)
        for folder in FOLDERS:
            new, old = out / f"{folder}.jsonl", out / folder
            assert expected[folder] == (new.read_text() if new.exists() else old_text(out, folder))
            assert not old.exists() or old_text(out, folder) in expected[folder]
        convert_old_layout(out, SQUARES)
        assert {folder: (out / f"{folder}.jsonl").read_text() for folder in FOLDERS} == expected
        assert sorted(path.name for path in out.iterdir()) == [".lock", *sorted(f"{f}.jsonl" for f in FOLDERS)]
        if process.exitcode == 0:
            break
        assert process.exitcode == KILLED
    assert limit > 20


def test_what_a_killed_writer_of_the_old_layout_left_is_deleted(tmp_path: Path) -> None:
    write_old(tmp_path, "squares", range(3))
    (tmp_path / "squares" / ".0003.json.0a1b2c3d").write_text('{"study": "squa')
    assert convert_old_layout(tmp_path, SQUARES) == 3
    assert not (tmp_path / "squares").exists()


def damage(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text)


def set_field(folder: Path, name: str, text: str) -> None:
    """Puts a JSON text into one field of a good cell."""
    file = folder / "0001.json"
    file.write_text(file.read_text().replace('"date": "2020-01-02"', f'"{name}": {text}'))


def move_away(folder: Path) -> None:
    """Leaves a symbolic link in the place of the folder."""
    folder.rename(folder.parent / "elsewhere")
    folder.symlink_to("elsewhere")


@pytest.mark.parametrize(
    ("harm", "told"),
    [
        (
            partial(damage, name="0001.json", text='{"study": "mo'),
            r"0001\.json: is not a finished cell of more \(Unterm",
        ),
        (
            partial(damage, name="0001.json", text="[" * 5_000),
            r"0001\.json: is not a finished cell of more \(.*recursion",
        ),
        (partial(damage, name="0001.json", text='{"study": "squares", "seed": 1}'), r"of the study 'squares'"),
        (partial(damage, name="0001.json", text='{"study": "more", "seed": 2}'), r"0001\.json: .*of the seed 2"),
        (partial(damage, name="0001.json", text='{"study": "more", "seed": 1, "result": {}}'), r"no method 'fqi'"),
        (partial(set_field, name="cpu_seconds", text="NaN"), r"0001\.json: is not a finished cell .*the number nan"),
        (partial(set_field, name="cpu_seconds", text="1e999"), r"0001\.json: is not a finished cell .*the number inf"),
        (partial(set_field, name="cpu_seconds", text="1" + "0" * 400), r"0001\.json: .*the number 1000+…"),
        (partial(set_field, name="cpu_seconds", text="true"), r"0001\.json: .*its 'cpu_seconds' is of another type"),
        (partial(set_field, name="date", text="3"), r"0001\.json: .*its 'date' is of another type"),
        (partial(set_field, name="notes", text='[{"a": -Infinity}]'), r"0001\.json: .*the number -inf"),
        (partial(damage, name="notes.txt", text="mine"), r"notes\.txt: is not a cell of more, must be moved elsewhere"),
        (lambda folder: (folder / "0007.json").mkdir(), r"0007\.json: is not a cell of more, must be moved elsewhere"),
        (move_away, r"more: is a symbolic link, must be replaced by the folder"),
    ],
)
def test_a_folder_that_is_damaged_or_has_other_files_is_refused_before_anything_changes(
    tmp_path: Path, harm: Any, told: str
) -> None:
    for folder in FOLDERS:
        write_old(tmp_path, folder, range(3))
    harm(tmp_path / "more")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(ValueError, match=told):
        convert_old_layout(tmp_path, SQUARES)
    assert [path for path in sorted(tmp_path.rglob("*")) if path.name != ".lock"] == before


def test_a_folder_in_the_place_of_a_new_file_is_named_before_anything_changes(tmp_path: Path) -> None:
    for folder in FOLDERS:
        write_old(tmp_path, folder, range(3))
    (tmp_path / "more.jsonl").mkdir()
    with pytest.raises(IsADirectoryError, match=r"more\.jsonl"):
        convert_old_layout(tmp_path, SQUARES)
    assert not (tmp_path / "squares.jsonl").exists()


def test_two_different_cells_of_one_seed_are_refused(tmp_path: Path) -> None:
    write_old(tmp_path, "squares", range(3))
    other = {"study": "squares", "seed": 1, "result": square(7)}
    (tmp_path / "squares.jsonl").write_text(json.dumps(other) + "\n")
    with pytest.raises(ValueError, match=r"0001\.json: differs from the cell with its seed in .*squares\.jsonl"):
        convert_old_layout(tmp_path, SQUARES)
    assert json.loads((tmp_path / "squares.jsonl").read_text()) == other
    assert len(list((tmp_path / "squares").iterdir())) == 3


def test_the_old_layout_is_not_taken_for_no_cells(tmp_path: Path) -> None:
    write_old(tmp_path, "squares", range(3))
    for read in (SQUARES[0].results, partial(SQUARES[0].missing, scale="paper")):
        with pytest.raises(ValueError, match=r"squares: holds cells in the old layout.*reproduce --list --out"):
            read(tmp_path)


def test_the_command_converts_and_says_so(tmp_path: Path) -> None:
    folder = STUDIES["pendulum-6kg"].old_folder(tmp_path)
    folder.mkdir()
    (folder / "0001.json").write_text(json.dumps({"study": "pendulum-6kg", "seed": 1, "result": GOOD}))
    listed = CliRunner().invoke(main, ["reproduce", "--list", "--json", "--out", str(tmp_path)])
    assert listed.exit_code == 0, listed.output
    assert "converted 1 cells" in listed.stderr
    progress = {study["name"]: study["done"] for study in json.loads(listed.stdout)["studies"]}
    assert progress["pendulum-6kg"] == "1/2"
    assert STUDIES["pendulum-6kg"].by_seed(tmp_path) == {1: GOOD}

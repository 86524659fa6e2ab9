"""Files that cannot be written are refused before the work begins; a disk that fills up meanwhile names the file."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from cli_runs import run
from policies import forest_policy
from policyforest._support.files import replacing
from policyforest.cli.output_files import require_output

EXPLORE = ("explore", "swing-up", "--agent", "random", "--episodes", "1", "--max-steps", "3", "--jobs", "1")
FEW = ("--policies", "1", "--validation-episodes", "1")
LEARN = ("learn", "double-integrator", "--episodes", "1")
OUTPUTS = [
    (EXPLORE, "--output", ".pforest"),
    (LEARN, "--output", ".pforest"),
    ((*LEARN, "-o", "/policy.pforest"), "--save-data", ".npz"),
    (("data", "missing.csv"), "--output", ".npz"),
    (("ros", "read", "missing.mcap"), "--output", ".npz"),
    (("ros", "explore", "--config", "missing.toml", "--run-dir", "run"), "--output", ".pforest"),
    (("show", "missing.pforest"), "--picture", ".png"),
    (("show", "missing.pforest"), "--page", ".html"),
]


@pytest.mark.parametrize(("command", "option", "ending"), OUTPUTS)
def test_an_output_that_cannot_be_written_is_refused_before_the_work_begins(
    command: tuple[str, ...], option: str, ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / f"taken{ending}").mkdir()
    taken = run(*command, option, f"taken{ending}", code=2)
    assert taken.stderr == f"error: {option}: is 'taken{ending}', must be a file, but it is a folder\n"
    missing = run(*command, option, f"none/x{ending}", code=2)
    assert missing.stderr == f"error: {option}: is 'none/x{ending}', must lie in a folder that exists\n"
    assert f"{option}: is 'x.pdf', must end in {ending}" in run(*command, option, "x.pdf", code=2).stderr
    monkeypatch.setattr(os, "access", lambda place, mode: Path(place) != Path())  # the superuser may write everywhere
    closed = run(*command, option, f"x{ending}", code=2)
    assert closed.stderr.startswith(f"error: {option}: is 'x{ending}', must be in a folder that can be written")
    assert [file.name for file in tmp_path.iterdir()] == [f"taken{ending}"]


def test_the_kind_of_the_error_is_that_of_the_operating_system(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        require_output("--output", tmp_path, "")
    with pytest.raises(FileNotFoundError):
        require_output("--output", tmp_path / "none" / "x.npz", ".npz")


def test_a_disk_that_fills_up_at_the_end_names_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    written = Path.write_bytes

    def write_bytes(self: Path, content: bytes) -> int:
        if ".best.pforest." in self.name:
            raise full
        return written(self, content)

    monkeypatch.setattr(Path, "write_bytes", write_bytes)
    done = run(*EXPLORE, *FEW, "-o", "best.pforest", code=2)
    assert done.stderr == "error: best.pforest: cannot be written: No space left on device\n"


def test_an_error_while_a_file_is_replaced_keeps_its_type_and_number_and_names_the_file(tmp_path: Path) -> None:
    target = tmp_path / "file.txt"
    with pytest.raises(PermissionError) as refused, replacing(target) as beside:
        raise PermissionError(errno.EACCES, "Permission denied", str(beside))
    assert (refused.value.errno, refused.value.filename) == (errno.EACCES, str(target))
    target.mkdir()
    with pytest.raises(IsADirectoryError) as refused_too, replacing(target) as beside:
        beside.write_text("text")
    assert refused_too.value.filename == str(target)
    assert [file.name for file in tmp_path.iterdir()] == ["file.txt"]


def test_an_error_about_another_file_is_left_as_it_is(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as other, replacing(tmp_path / "file.txt"):
        (tmp_path / "none.txt").read_text()
    assert other.value.filename == str(tmp_path / "none.txt")
    assert "cannot be written" not in str(other.value)


def test_folders_that_cannot_be_made_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda place, mode: False)
    done = run(*EXPLORE, "--tensorboard", tmp_path / "new" / "curves", code=2)
    assert f"--tensorboard: is '{tmp_path / 'new' / 'curves'}', must be in a folder that can be written" in done.stderr


def test_an_export_to_a_place_that_cannot_be_is_refused_by_the_name_of_the_option(tmp_path: Path) -> None:
    policy = tmp_path / "policy.pforest"
    forest_policy().save(policy)
    taken = run("export", policy, "-o", policy, code=2)
    assert taken.stderr.startswith(f"error: --output: is '{policy}', must be a folder, but {policy} is a file")
    missing = run("export", policy, "-o", tmp_path / "no" / "code", code=2)
    assert "--output: is " in missing.stderr
    assert "must lie in a folder that exists" in missing.stderr
    onnx = run("export", policy, "--to", "onnx", "-o", tmp_path / "p.txt", code=2)
    assert "must end in .onnx" in onnx.stderr
    for option in ("--precision", "--style"):
        assert run("export", policy, option, "x", code=2).stderr.startswith(f"error: {option}: is 'x', must be one of")

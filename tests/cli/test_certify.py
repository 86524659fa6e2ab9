"""``policyforest certify``: certificates and checks from the command line, their exit codes and their pictures."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import policyforest as pf
from certified_loops import CAR, CAR_GAINS, PLANE, grown_policy
from cli_runs import run

ROUGH = ("--tolerance", "0.05")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("certify")
    grown_policy(CAR_GAINS, PLANE).save(path / "car.pforest")
    (path / "car.json").write_text(json.dumps(CAR.settings()))
    run("certify", path / "car.pforest", "--equations", path / "car.json", "--disturbance", "0.02", *ROUGH)
    return path


def test_a_certificate_is_written_beside_the_policy(folder: Path) -> None:
    assert pf.load_certificate(folder / "car.pfcert").share > 0.5


def test_json_has_the_statement_and_its_numbers(folder: Path) -> None:
    done = run(
        "certify", folder / "car.pforest", "--equations", folder / "car.json", "--disturbance", "w=-0.02:0.02",
        "--precision", "int16", "-o", folder / "whole.pfcert", "--jobs", "2", "--json", *ROUGH,
    )  # fmt: skip
    report = json.loads(done.stdout)
    assert report["precision"] == "int16"
    assert report["share"] > 0.5
    assert report["statement"].startswith("Started in the set, every trajectory with w in [-0.02, 0.02] stays")
    assert report["certificate"].endswith("whole.pfcert")


def test_a_proof_is_checked_with_its_policy_and_model(folder: Path) -> None:
    checked = run(
        "certify", folder / "car.pforest", "--check", folder / "car.pfcert", "--equations", folder / "car.json"
    )
    assert "accepted" in checked.stdout
    assert "Started in the set, every trajectory with w in [-0.02, 0.02] stays" in " ".join(checked.stdout.split())
    alone = run("certify", folder / "car.pforest", "--check", folder / "car.pfcert", "--json")
    assert json.loads(alone.stdout)["model_compared"] is False


def test_a_proof_for_smaller_disturbances_than_those_that_are_named_is_rejected(folder: Path) -> None:
    named = ("--equations", folder / "car.json", "--disturbance", "w=-0.05:0.02", "--json")
    done = run("certify", folder / "car.pforest", "--check", folder / "car.pfcert", *named, code=1)
    assert json.loads(done.stdout)["reason"] == "it is proved for smaller disturbances than the model has"
    assert json.loads(done.stdout)["statement"] is None


def test_a_rejected_proof_ends_with_exit_code_1(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    heavier = CAR.settings() | {"formulas": {"p": "p + 0.2*v", "v": "v + 0.19*u + w"}}
    other.write_text(json.dumps(heavier))
    done = run("certify", folder / "car.pforest", "--check", folder / "car.pfcert", "--equations", other, code=1)
    assert "it belongs to another model" in done.stdout


def test_an_empty_set_is_an_answer_with_exit_code_1(folder: Path) -> None:
    arguments = ("certify", folder / "car.pforest", "--equations", folder / "car.json", "--disturbance", "5")
    done = run(*arguments, "-o", folder / "none.pfcert", *ROUGH, code=1)
    assert "Nothing is proved" in done.stdout
    assert "a trajectory leaves the box after" in done.stdout
    assert not (folder / "none.pfcert").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--box", "1,2"), "--box: is '1,2', must be 'lo:hi, lo:hi, …'"),
        (("--problem", "double-integrator", "--data", "x.csv"), "--problem: is given, must be left out with --data"),
        ((), "--problem: is missing"),
        (("--problem", "Pendulum-v1"), "--problem: is 'Pendulum-v1', must be a problem of this library"),
        (("--problem", "double-integer"), "--problem: is 'double-integer'"),
        (("-o", "x.txt", "--problem", "double-integrator"), "--output: is 'x.txt', must end in .pfcert"),
        (("-o", "no/x.pfcert"), "--output: is 'no/x.pfcert', must lie in a folder that exists"),
        (("--equations", "none.json"), "--equations: is 'none.json', must be a file"),
        (("--equations", __file__), "equations: must be a JSON object (Extra data"),
        (
            ("--problem", "double-integrator", "--disturbance", "w=1"),
            "--disturbance: is 'w=1', must be 'name=low:high', or one number",
        ),
        (("--check", "nothing.pfcert"), "path: is 'nothing.pfcert', must be a file"),
    ],
)
def test_what_is_wrong_is_one_line_and_exit_code_2(folder: Path, arguments: tuple[str, ...], message: str) -> None:
    done = run("certify", folder / "car.pforest", *arguments, code=2)
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_log_becomes_a_certificate_with_its_clause(folder: Path, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = ["episode,p,v,u"]
    for episode in range(40):
        p, v = rng.uniform(-0.9, 0.9, 2)
        for _ in range(15):
            u = rng.uniform(-1, 1)
            rows.append(f"{episode},{p:.6f},{v:.6f},{u:.6f}")
            p, v = p + 0.2 * v, v + 0.2 * u + rng.uniform(-0.02, 0.02)
    (tmp_path / "log.csv").write_text("\n".join(rows))
    done = run(
        "certify", folder / "car.pforest", "--data", tmp_path / "log.csv", "--state", "p,v", "--action", "u",
        "--episode", "episode", "--reward", "0*p", "--box", "-0.9:0.9, -0.9:0.9", "--tolerance", "0.1", "--json",
        "-o", tmp_path / "log.pfcert",
    )  # fmt: skip
    report = json.loads(done.stdout)
    assert report["model"] == "learned"
    assert report["held_out"]["within"] == report["held_out"]["steps"] > 100
    assert "whose one-step model errors stay within p ± " in report["statement"]
    assert pf.check_certificate(tmp_path / "log.pfcert", pf.load(folder / "car.pforest"))


def test_the_set_is_drawn_over_the_map_and_on_the_page(folder: Path, tmp_path: Path) -> None:
    run(
        "certify", folder / "car.pforest", "--equations", folder / "car.json", "--disturbance", "0.02", *ROUGH,
        "--picture", tmp_path / "set.png", "-o", tmp_path / "car.pfcert",
    )  # fmt: skip
    assert (tmp_path / "set.png").read_bytes().startswith(b"\x89PNG")
    page, map_ = tmp_path / "car.html", tmp_path / "car.png"
    shown = run(
        "show", folder / "car.pforest", "--certificate", folder / "car.pfcert", "--page", page, "--picture", map_
    )
    assert "certificate" in shown.stdout
    assert "What is proved" in page.read_text()
    assert map_.stat().st_size > 10_000
    grown_policy(CAR_GAINS, PLANE, seed=3).save(tmp_path / "other.pforest")
    found = pf.load_certificate(folder / "car.pfcert")
    replace(found, successors=0.99 * found.successors).save(tmp_path / "false.pfcert")
    false = run("show", folder / "car.pforest", "--certificate", tmp_path / "false.pfcert", code=2)
    assert "false.pfcert is rejected: cell" in " ".join(false.stderr.split())
    refused = run("show", tmp_path / "other.pforest", "--certificate", folder / "car.pfcert", code=2)
    assert "belongs to another policy" in refused.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
def test_ctrl_c_writes_the_best_set_so_far(folder: Path, tmp_path: Path) -> None:
    """The search has no end of its own. Its bar on a terminal tells when some of the box is proved."""
    import pty

    ours, theirs = pty.openpty()
    command = [
        sys.executable, "-m", "policyforest", "certify", folder / "car.pforest", "--equations", folder / "car.json",
        "--disturbance", "0.02", "--tolerance", "0", "--max-cells", "100000000", "-o", tmp_path / "some.pfcert",
    ]  # fmt: skip
    wide = os.environ | {"COLUMNS": "200", "TERM": "xterm"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, text=True, env=wide)
    os.close(theirs)
    shown, began = "", time.monotonic()
    while not re.search(r"[1-9]\d*\.\d\d% proved", shown) and time.monotonic() - began < 120:
        shown += os.read(ours, 4096).decode(errors="replace")
    process.send_signal(signal.SIGINT)
    told, _ = process.communicate(timeout=120)
    os.close(ours)
    assert process.returncode == 0
    assert "The search was interrupted; a longer one may prove more." in " ".join(told.split())
    found = pf.load_certificate(tmp_path / "some.pfcert")
    assert found.interrupted
    assert found.share > 0.01
    assert pf.check_certificate(tmp_path / "some.pfcert", pf.load(folder / "car.pforest"))

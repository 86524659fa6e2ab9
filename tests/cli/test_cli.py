"""The command line as a user meets it: what it prints, what it writes, and how it says no."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces import Box
from typer.testing import CliRunner

import policyforest as pf
from policyforest.cli import main
from policyforest.learning.methods import with_problem
from policyforest.paper import STUDIES
from policyforest.policy.policy_files import load
from stored import write_cell, write_line

PNG = b"\x89PNG\r\n\x1a\n"
# Ten iterations on about a hundred samples: everything happens, in a second.
QUICK = ["double-integrator", "--episodes", "20", "--preset", "paper", "--jobs", "1"]


def run(*arguments: str | Path, code: int = 0) -> Any:
    result = CliRunner().invoke(main, [str(a) for a in arguments])
    assert result.exit_code == code, result.output + result.stderr
    return result


def run_json(*arguments: str | Path) -> dict[str, Any]:
    content = json.loads(run(*arguments, "--json").stdout)
    assert isinstance(content, dict)
    return content


@pytest.fixture(scope="module")
def policy_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("cli") / "policy.pforest"
    run("learn", *QUICK, "-o", path)
    return path


@pytest.fixture(scope="module")
def greedy_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("cli") / "greedy.pforest"
    run("learn", *QUICK, "--method", "fqi", "-o", path)
    return path


def test_help_names_every_command() -> None:
    shown = run("--help").stdout
    for command in ("learn", "evaluate", "show", "export", "bench", "doctor"):
        assert command in shown
        assert "--json" in run(command, "--help").stdout


def test_version_is_the_package_s() -> None:
    assert run("--version").stdout.strip() == f"policyforest {pf.__version__}"


def test_learn_saves_a_policy_that_knows_where_it_comes_from(policy_file: Path) -> None:
    info = load(policy_file).info
    assert info.problem == "policyforest/DoubleIntegrator-v0"
    assert info.method == "fpf-pwl"
    assert info.settings["collected_episodes"] == 20
    assert info.settings["random_state"] == 0


def test_learn_prints_what_it_did(tmp_path: Path) -> None:
    shown = run("learn", *QUICK, "-o", tmp_path / "p.pforest").stdout
    assert "DoubleIntegrator" in shown
    assert "10 iterations" in shown
    assert "p.pforest" in shown


def test_learn_with_the_same_seed_gives_the_same_policy(policy_file: Path, tmp_path: Path) -> None:
    run("learn", *QUICK, "-o", tmp_path / "again.pforest")
    run("learn", *QUICK, "--seed", "1", "-o", tmp_path / "other.pforest")
    states = np.random.default_rng(0).uniform(-1, 1, (100, 2))
    first, again, other = (
        load(p).act_batch(states) for p in (policy_file, tmp_path / "again.pforest", tmp_path / "other.pforest")
    )
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_learn_reports_iterations_and_sizes_as_json(tmp_path: Path) -> None:
    report = run_json("learn", *QUICK, "-o", tmp_path / "p.pforest")
    assert report["problem"] == "policyforest/DoubleIntegrator-v0"
    assert len(report["iterations"]) == 10
    assert report["discount"] == 0.98
    assert report["worst_case_comparisons"] > 0
    assert report["samples"] >= report["episodes"] == 20


def test_learn_from_saved_data_equals_learning_from_the_environment(policy_file: Path, tmp_path: Path) -> None:
    data = tmp_path / "data.npz"
    run("learn", *QUICK, "-o", tmp_path / "p.pforest", "--save-data", data)
    run("learn", "double-integrator", "--data", data, "--preset", "paper", "-o", tmp_path / "q.pforest")
    states = np.random.default_rng(0).uniform(-1, 1, (100, 2))
    assert np.array_equal(load(tmp_path / "q.pforest").act_batch(states), load(policy_file).act_batch(states))


def test_learn_takes_data_without_a_problem(tmp_path: Path) -> None:
    data = pf.collect("policyforest/DoubleIntegrator-v0", episodes=3, seed=0)
    data.save(tmp_path / "data.npz")
    out = tmp_path / "p.pforest"
    report = run_json("learn", "--data", tmp_path / "data.npz", "--discount", "0.5", "-o", out)
    assert report["discount"] == 0.5
    assert report["problem"] == ""


def test_learn_draws_uniform_samples_for_the_car(tmp_path: Path) -> None:
    report = run_json(
        "learn", "car-on-the-hill", "--samples", "300", "--preset", "paper", "-o", tmp_path / "car.pforest"
    )
    assert report["samples"] == report["episodes"] == 300


def test_learn_works_on_any_gymnasium_environment(tmp_path: Path) -> None:
    out = tmp_path / "p.pforest"
    report = run_json("learn", "Pendulum-v1", "--steps", "150", "--discount", "0.5", "--method", "fpf-pwc", "-o", out)
    assert report["samples"] == 150
    assert run_json("evaluate", out, "--episodes", "2")["problem"] == "Pendulum-v1"


def test_learn_marks_angles(tmp_path: Path) -> None:
    out = tmp_path / "p.pforest"
    run("learn", "inverted-pendulum", "--episodes", "5", "--angle", "0", "--preset", "paper", "-o", out)
    assert load(out).periodic == {0: (-np.pi, np.pi)}


@pytest.mark.parametrize("method", ["bas", "fqi-discrete"])
def test_learn_has_the_baselines(method: str, tmp_path: Path) -> None:
    out = tmp_path / "p.pforest"
    run("learn", "double-integrator", "--episodes", "10", "--method", method, "--discount", "0.5", "-o", out)
    assert load(out).info.method == method
    assert run_json("evaluate", out, "--episodes", "2", "--max-steps", "20")["problem"].startswith("policyforest/")


def test_evaluate_prints_the_summary(policy_file: Path) -> None:
    shown = run("evaluate", policy_file, "double-integrator", "--episodes", "3").stdout
    for word in ("mean return", "95% interval", "worst", "best", "µs"):
        assert word in shown


def test_evaluate_agrees_with_the_library(policy_file: Path) -> None:
    report = run_json("evaluate", policy_file, "--episodes", "3", "--seed", "5")
    expected = pf.evaluate(load(policy_file), "policyforest/DoubleIntegrator-v0", episodes=3, seed=5)
    assert report["mean"] == expected.mean
    assert report["returns"] == expected.returns.tolist()
    assert 0.05 < report["action_microseconds"] < 1e4


def test_no_policy_makes_evaluate_or_show_import_a_module(policy_file: Path, tmp_path: Path) -> None:
    hostile = tmp_path / "hostile.pforest"
    with_problem(load(policy_file), "policyforest.never_imported:Env-v0").save(hostile)
    assert "would import a module" in run("evaluate", hostile, code=2).stderr
    run("show", hostile)
    assert "would import a module" in hostile.with_suffix(".html").read_text()


def test_evaluate_refuses_a_policy_of_another_problem(policy_file: Path) -> None:
    result = run("evaluate", policy_file, "car-on-the-hill", code=2)
    assert result.stderr.startswith("error: policy: it ")
    assert result.stdout == ""


def test_show_describes_and_draws(policy_file: Path, tmp_path: Path) -> None:
    picture = tmp_path / "policy.png"
    shown = run("show", policy_file, "--picture", picture).stdout
    assert "position p (m)" in shown
    assert "comparisons" in shown
    assert picture.read_bytes().startswith(PNG)


def test_show_draws_beside_the_policy_unless_told_otherwise(policy_file: Path) -> None:
    run("show", policy_file, "--no-picture")
    assert not policy_file.with_suffix(".png").exists()
    assert run_json("show", policy_file)["picture"] == str(policy_file.with_suffix(".png"))
    assert policy_file.with_suffix(".png").exists()


def test_show_writes_a_page_that_stands_alone(policy_file: Path, tmp_path: Path) -> None:
    page = tmp_path / "policy.html"
    assert run_json("show", policy_file, "--page", page, "--picture", tmp_path / "p.png")["page"] == str(page)
    text = page.read_text()
    assert 'class="episode"' in text
    assert "Plotly.newPlot" in text
    assert "--page" in run("show", policy_file, "--page", tmp_path / "p.pdf", code=2).stderr


def test_show_draws_q_and_v_of_a_greedy_policy(greedy_file: Path, policy_file: Path) -> None:
    wide = Path(run_json("show", greedy_file)["picture"]).read_bytes()
    narrow = Path(run_json("show", policy_file)["picture"]).read_bytes()
    assert png_width(wide) > 2.5 * png_width(narrow)


def test_show_says_everything_as_json(policy_file: Path) -> None:
    report = run_json("show", policy_file, "--no-picture")
    policy = load(policy_file)
    assert report["worst_case_comparisons"] == policy.worst_case_comparisons
    assert report["leaves"] == [forest.n_leaves for forest in policy.forests]
    assert report["action_space"] == [[-1.0, 1.0]]
    assert report["settings"]["leaf_model"] == "linear"


def test_export_writes_c_that_passes_its_own_test(policy_file: Path, tmp_path: Path) -> None:
    report = run_json("export", policy_file, "--precision", "int16", "--name", "cart", "-o", tmp_path / "c")
    assert report["name"] == "cart"
    assert report["error"]["largest"][0] <= report["error"]["bound"][0]
    assert (
        "as recorded"
        in subprocess.run(
            ["make", "-s", "-C", tmp_path / "c", "test"], capture_output=True, text=True, check=True
        ).stdout
    )
    shown = run("export", policy_file, "--max-leaves", "50", "--style", "branches", "-o", tmp_path / "tree").stdout
    for words in ("1 trees", "comparisons", "bit for bit", f"make -C {tmp_path / 'tree'} test"):
        assert words in shown


def test_export_distils_nearer_than_it_merges(policy_file: Path, tmp_path: Path) -> None:
    grown = run_json("export", policy_file, "--distil", "20", "-o", tmp_path / "grown")
    merged = run_json("export", policy_file, "--max-leaves", "20", "-o", tmp_path / "merged")
    for report in (grown, merged):
        assert report["n_trees"] == 1
        assert report["n_leaves"] == report["one_tree"]["n_leaves"] <= 20
    assert grown["one_tree"]["mean_change"][0] < merged["one_tree"]["mean_change"][0]
    samples = tmp_path / "samples.npz"
    pf.collect(gym.make("policyforest/DoubleIntegrator-v0"), episodes=2, seed=0).save(samples)
    shown = run("export", policy_file, "--distil", "20", "--data", samples, "-o", tmp_path / "near").stdout
    assert "actions change by" in shown
    assert "one_tree" not in run_json("export", policy_file, "-o", tmp_path / "whole")


def test_export_writes_onnx_beside_the_policy(policy_file: Path) -> None:
    report = run_json("export", policy_file, "--to", "onnx")
    assert report["file"] == str(policy_file.with_suffix(".onnx"))
    assert Path(report["file"]).stat().st_size > 1000


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--name", "1st"], "--name: is '1st'"),
        (["--data", "samples.npz"], "--data: is samples.npz, must be left out without --distil"),
        (["--distil", "20", "--max-leaves", "20"], "only one of them can be given"),
        (["--distil", "0"], "--distil: is 0"),
        (["--precision", "float16"], "--precision: is 'float16'"),
        (["--style", "loops"], "--style: is 'loops'"),
        (["--max-bytes", "100"], "--max-bytes: is 100"),
        (["--to", "onnx", "--precision", "int16"], "--precision"),
        (["-o", "no/such/folder"], "--output: is 'no/such/folder', must lie in a folder that exists"),
    ],
)
def test_export_refuses_what_cannot_be(
    options: list[str], words: str, policy_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run(
        "export", policy_file, *(options if "-o" in options or "onnx" in options else [*options, "-o", "c"]), code=2
    )
    assert result.stderr.startswith("error: ")
    assert words in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_bench_measures_python_and_c_and_knows_the_bound(policy_file: Path) -> None:
    report = run_json("bench", "--policy", policy_file)
    assert 0 < report["most_comparisons_seen"] <= report["worst_case_comparisons"]
    for place in ("python", "c"):
        assert 0 < report[place]["random"] < 1e-3
        assert report[place]["cold"] > report[place]["trajectory"] > 0
    if report["cortex_m4f"]:
        assert report["cortex_m4f"]["largest"] <= report["cortex_m4f"]["bound"]
    shown = run("bench", "--policy", policy_file, "--precision", "int16", "--style", "branches").stdout
    for words in ("comparisons", "from Python", "int16 branches", "with cold caches", "DoubleIntegrator"):
        assert words in shown


def test_export_refuses_policies_without_forests_for_actions(greedy_file: Path) -> None:
    assert "must be a policy of forests" in run("export", greedy_file, code=2).stderr


def test_doctor_finds_this_installation_healthy() -> None:
    report = run_json("doctor")
    assert report["healthy"]
    assert report["versions"]["policyforest"] == pf.__version__
    assert report["machine"]["SIMD path"]
    assert sum(check["seconds"] for check in report["checks"]) < 60


def test_doctor_fails_when_a_check_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    from policyforest.cli import self_check

    monkeypatch.setattr(self_check, "walk", lambda forest, x: 0.0)
    result = run("doctor", code=1)
    assert "FAILED" in result.stdout
    assert "differ" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["learn"], "PROBLEM"),
        (["learn", "no-such-problem"], "no-such-problem"),
        (["learn", "CartPole-v1"], "Discrete"),
        (["learn", "swing-up", "--preset", "paper"], "paper"),
        (["learn", "swing-up", "--preset", "mine"], "preset"),
        (["learn", "swing-up", "--method", "magic"], "fpf-pwl"),
        (["learn", "swing-up", "--episodes", "0"], "episodes"),
        (["learn", "swing-up", "--seed", "-1"], "seed"),
        (["learn", "swing-up", "--discount", "1"], "discount"),
        (["learn", "swing-up", "--jobs", "0", "--episodes", "1"], "--jobs"),
        (["learn", "swing-up", "--samples", "5", "--episodes", "5"], "--samples"),
        (["learn", "swing-up", "-o", "policy.pickle"], "--output"),
        (["learn", "swing-up", "-o", "no/such/folder/policy.pforest"], "--output"),
        (["learn", "swing-up", "--save-data", "data.csv"], "--save-data"),
        (["learn", "--data", "missing.npz"], "missing.npz"),
        (["learn", "--data", "missing.npz", "--episodes", "3"], "--episodes"),
        (["evaluate", "missing.pforest"], "missing.pforest"),
        (["show", "missing.pforest"], "missing.pforest"),
    ],
)
def test_errors_are_one_line_that_names_the_culprit(
    arguments: list[str], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run(*arguments, code=2)
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    assert words in result.stderr
    assert result.stdout == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("options", [["--dims", "0", "7"], ["--dims", "0", "0"], ["--at", "a,b"], ["--at", "1"]])
def test_show_refuses_a_slice_that_is_none(options: list[str], policy_file: Path) -> None:
    assert run("show", policy_file, *options, code=2).stderr.startswith("error: ")


def test_show_tells_of_a_policy_that_cannot_be_drawn(tmp_path: Path) -> None:
    box, path = np.array([[-np.inf, np.inf]]), tmp_path / "unbounded.pforest"
    forest = pf.grow_forest([[0.0], [1.0]], [0.0, 1.0], box=box)
    pf.Policy((forest,), Box(-np.inf, np.inf, (1,)), Box(-1, 1, (1,))).save(path)
    assert run_json("show", path, "--no-picture")["learned_on"] == [[None, None]]
    assert "no picture: policy: its states are [[-inf, inf]], a picture needs a finite box" in run("show", path).stderr


def test_show_draws_png_alone(policy_file: Path, tmp_path: Path) -> None:
    assert "--picture" in run("show", policy_file, "--picture", tmp_path / "p.svg", code=2).stderr
    assert list(tmp_path.iterdir()) == []


def test_reproduce_lists_its_studies_as_json(tmp_path: Path) -> None:
    studies = run_json("reproduce", "--list", "--out", tmp_path)["studies"]
    assert {"name": "limits", "done": "0/7"}.items() <= next(s for s in studies if s["name"] == "limits").items()


def test_reproduce_draws_what_it_is_asked_for_and_writes_a_report(tmp_path: Path) -> None:
    made = run_json("reproduce", "figure-tree-merge", "table-parameters", "--out", tmp_path)
    assert [Path(file).name for file in made["files"]] == [
        *("figure-tree-merge.png", "figure-tree-merge.svg", "table-parameters.md", "report.html"),
    ]
    assert all(Path(file).stat().st_size > 500 for file in made["files"])
    assert {verdict["ruling"] for verdict in made["verdicts"]} == {"undecided"}
    assert (tmp_path / "results.md").exists()


def test_reproduce_tells_of_figures_what_they_cost(tmp_path: Path) -> None:
    listed = run_json("reproduce", "--list", "--scale", "paper", "--out", tmp_path)
    exhibits = {exhibit["name"]: exhibit for exhibit in listed["exhibits"]}
    assert exhibits["figure-car-on-the-hill"]["done"] == "0/407"
    assert exhibits["figure-car-on-the-hill"]["one_core"].endswith("min")
    assert listed["missing_seconds"] > 3600
    assert "NAME" in run("reproduce", "figure-nothing", "--out", tmp_path, code=2).stderr


def test_reproduce_refuses_before_it_computes(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "--out: is" in run("reproduce", "limits", "--out", tmp_path / "file", code=2).stderr
    three = ("reproduce", "limits", "--executor", "threads", "--workers", "3", "--out", tmp_path / "out")
    assert "--workers: is 3" in run(*three, code=2).stderr
    write_line(tmp_path / "out", "pendulum-6kg", "{")
    refused = run("reproduce", "figure-tree-merge", "--out", tmp_path / "out", code=2)
    assert "pendulum-6kg.jsonl, line 1: is not a finished cell" in refused.stderr.replace("\n", " ")
    assert not (tmp_path / "out" / "figures").exists()


def test_reproduce_names_its_extra_before_it_computes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy", None)
    refused = run("reproduce", "double-integrator-paper", "--out", tmp_path, code=2)
    assert "pip install 'policyforest[paper]'" in refused.stderr.replace("\n", " ")
    assert list(tmp_path.iterdir()) == []
    assert run_json("reproduce", "--list", "--out", tmp_path)["studies"]


def test_stored_comparisons_are_drawn_without_their_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("policyforest.paper.studies.EXTRAS", {"compare": ("no_such_library",)})
    for seed in range(STUDIES["limits"].seeds["quick"]):
        write_cell(tmp_path, "limits", seed, {"problem": "swing-up", "return": -21.0, "steps": 100})
    costs = {"action_us": 1.0, "bytes": 9, "tree_action_us": 1.0, "tree_return": -9.0, "tree_bytes": 9}
    curve = [{"steps": 100, "return": -9.0, "train_seconds": 1.0}]
    for name in ("compare-forest-pendulum-v1", "compare-forest-pendulum-6kg"):
        write_cell(tmp_path, name, 0, {"curve": curve} | costs, "quick")
    made = run_json("reproduce", "figure-sac", "--out", tmp_path)
    assert "figure-sac.png" in [Path(file).name for file in made["files"]]
    assert len(made["comparisons"]) == 4


def test_a_limit_on_flash_is_none_on_onnx(policy_file: Path, tmp_path: Path) -> None:
    refused = run("export", policy_file, "--to", "onnx", "-o", tmp_path / "p.onnx", "--max-bytes", "10", code=2)
    assert "--max-bytes" in refused.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_policy_for_other_actions_is_refused(policy_file: Path) -> None:
    assert "policy: it acts in" in run("evaluate", policy_file, "inverted-pendulum", "--episodes", "1", code=2).stderr


def test_a_folder_that_is_missing_is_named(policy_file: Path, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"there/p\.pforest: cannot be written"):
        load(policy_file).save(tmp_path / "there" / "p.pforest")


def test_a_damaged_policy_is_an_error(policy_file: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.pforest"
    damaged.write_bytes(policy_file.read_bytes()[:-100])
    assert "damaged.pforest" in run("evaluate", damaged, code=2).stderr


def test_commands_are_quiet_in_a_pipe(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "policyforest", "learn", *QUICK, "-o", str(tmp_path / "p.pforest")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert "\x1b" not in done.stdout


def test_demo_writes_its_policies_and_a_report_that_stands_alone(tmp_path: Path) -> None:
    from policyforest.cli.demo import demo

    demo(tmp_path / "demo", episodes=20, evaluation_episodes=3)
    page = (tmp_path / "demo" / "report.html").read_text(encoding="utf-8")
    assert page.count("data:image/png;base64,") == 5
    assert "http" not in page
    for name in ("pendulum.pforest", "pendulum-tree.pforest"):
        assert load(tmp_path / "demo" / name).action_space.shape == (1,)
    subprocess.run(["make", "-s", "-C", tmp_path / "demo" / "pendulum-c", "test"], check=True, capture_output=True)


def png_width(content: bytes) -> int:
    assert content.startswith(PNG)
    return int.from_bytes(content[16:20], "big")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["learn", "--data", "x.csv", "--state", "a", "--state", "b"], "'--state': is given 2 times"),
        (["export", "p.pforest", "-o", "a", "--output", "b"], "'--output' / '-o': is given 2 times"),
        (["ros", "read", "r.bag", "--config", "a.toml", "--config", "b.toml"], "'--config' / '-c': is given 2 times"),
    ],
)
def test_an_option_given_twice_is_refused_where_the_last_would_win(arguments: list[str], words: str) -> None:
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 2
    assert words in result.stderr


def test_flags_and_lists_may_be_repeated() -> None:
    result = CliRunner().invoke(main, ["data", "none.csv", "--angle", "a", "--angle", "b", "--json", "--json"])
    assert "given" not in result.stderr
    assert "none.csv" in result.stderr


def test_learn_plans_with_a_model_by_name(tmp_path: Path) -> None:
    out = tmp_path / "planned.pforest"
    run("learn", "double-integrator", "--episodes", "20", "--method", "plan", "-o", out)
    policy = load(out)
    assert policy.info.settings["winner"] in ("improved", "fpf-pwl", "linear-quadratic", "constant")
    assert pf.evaluate(policy, "policyforest/DoubleIntegrator-v0", episodes=1, seed=3).mean > -10


def test_one_episode_of_one_step_is_told_in_the_singular(policy_file: Path) -> None:
    shown = run("evaluate", policy_file, "--episodes", "2", "--max-steps", "1").stdout
    assert "2 of 1 step, 0 reached a terminal state" in shown

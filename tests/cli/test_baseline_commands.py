"""The commands with a controller that is already there: what it may see, and the statement that a result comes with."""

import json

import numpy as np
import pytest

import policyforest as pf
from cli_runs import run

PENDULUM = "policyforest/InvertedPendulum6kg-v0"
LAW = "u = clip(120*theta + 35*omega, -50, 50)"
EXPLORE = ("explore", "inverted-pendulum-6kg", "--policies", "1", "--validation-episodes", "1", "--max-steps", "25",
           "--agent", "disagreement", "--noise", "5")  # fmt: skip
DERIVED = ("--derive", "rate = diff(theta, dt)", "--dt", "0.1")


def saved_run(folder):
    """The samples of a run, whose folder is unlocked again."""
    agent = pf.resume(folder)
    agent.run.close()
    return agent.transitions


def test_a_law_over_derived_signals_guards_an_exploring_agent(tmp_path):
    law = "u = clip(60*theta + 20*rate, -50, 50)"
    folder = tmp_path / "run"
    options = (*EXPLORE, *DERIVED, "--baseline", law, "--safe", "rate=-0.4:0.4", "--run-dir", folder)
    run(*options, "--episodes", "2", "-o", tmp_path / "p.pforest")
    data = saved_run(folder)
    assert data.plant.state_names == ("theta", "omega", "rate")
    theta, _, rate = data.states.T
    wanted = np.clip(60 * theta + 20 * rate, -50, 50)
    apart = np.abs(data.actions[:, 0] - wanted)
    safe = np.abs(rate) <= 0.4
    assert apart.max() <= 5.0 + 1e-4
    assert apart[safe].max() > 1.0
    assert apart[~safe].max() < 1e-4  # rounding of the commands
    resumed = run(*options, "--episodes", "3", "-o", tmp_path / "p.pforest")
    assert "holds 2 episodes; the run is resumed" in resumed.stderr
    assert saved_run(folder).n_episodes == 3


def test_a_delay_is_looked_for_under_a_law_over_past_actions(tmp_path):
    law = "u = clip(60*theta + 20*rate - 0.1*u_1, -50, 50)"
    options = (*EXPLORE, *DERIVED, "--baseline", law, "--history-actions", "1", "--delay", "auto")
    folder = tmp_path / "run"
    shown = run(*options, "--episodes", "1", "--run-dir", folder, "-o", tmp_path / "p.pforest")
    assert "commands act 0 steps late" in shown.stderr
    assert saved_run(folder).plant.state_names == ("theta", "omega", "rate", "u_1")


def test_names_that_no_state_has_are_refused_with_those_it_has(tmp_path):
    for options, words in (
        (("--baseline", "u = foo"), "baseline: 'u = foo' names foo, the known names are theta, omega, rate"),
        (("--baseline", "u = 0*theta", "--safe", "foo=1:2"), "with a name of theta, omega, rate"),
    ):
        refused = run(*EXPLORE, *DERIVED, *options, "-o", tmp_path / "p.pforest", code=2)
        assert words in refused.stderr


def test_exploring_from_a_controller_ends_with_a_statement(tmp_path):
    options = (*EXPLORE, "--baseline", LAW, "--safe", "theta=-0.3:0.3", "-o", tmp_path / "p.pforest")
    few = run(*options, "--episodes", "2")
    assert "2 episodes are too few to hold some of them out; at least 8 are needed" in few.stdout
    report = json.loads(run(*options, "--episodes", "8", "--json").stdout)
    assert report["compared"]["statement"] in ("better", "not shown to be better", "worse")
    assert report["compared"]["n_episodes"] == 8
    low, high = report["compared"]["interval"]
    assert low <= report["compared"]["gain"] <= high
    assert json.loads(run(*EXPLORE[:-2], "--episodes", "1", "--json", "-o", tmp_path / "p.pforest").stdout)[
        "compared"
    ] is None  # fmt: skip


def test_learning_takes_a_formula_as_baseline_and_ends_with_a_statement(tmp_path):
    out = tmp_path / "p.pforest"
    options = ("learn", "inverted-pendulum-6kg", "--episodes", "12", "--baseline", LAW, "-o", out)
    shown = run(*options).stdout
    assert "the given baseline" in shown
    assert any(line.startswith("baseline ") and "95% interval" in line for line in shown.splitlines())
    report = json.loads(run(*options, "--json").stdout)
    assert report["compared"]["statement"] in ("better", "not shown to be better", "worse")
    refused = run("learn", "inverted-pendulum-6kg", "--episodes", "3", "--baseline", "u = foo", "-o", out, code=2)
    assert "baseline: 'u = foo' names foo, the known names are theta, omega" in refused.stderr


def test_a_law_is_kept_in_a_file_with_its_signals(tmp_path):
    data = pf.collect(PENDULUM, episodes=3, seed=0, derive=["rate = diff(theta, dt)"], period=0.1, max_rate=20.0)
    spaces = (data.observation_space, data.action_space, data.plant.state_names, data.plant.action_names)
    law = pf.as_baseline("u = clip(60*theta + 20*rate - 0.1*u_1, -50, 50)", *spaces).with_signals(data.plant.signals)
    law.save(tmp_path / "law.pforest")
    loaded = pf.load(tmp_path / "law.pforest")
    assert np.array_equal(loaded.act_batch(data.states), law.act_batch(data.states))
    assert loaded.signals == law.signals
    here, there = (pf.evaluate(policy, PENDULUM, episodes=3, seed=1, max_steps=50).mean for policy in (law, loaded))
    assert here == there
    function = pf.as_baseline(lambda state: 0.0, *spaces)
    with pytest.raises(TypeError, match="policy: is <lambda>, must be a policy of forests or a law as a formula"):
        function.save(tmp_path / "function.pforest")
    with pytest.raises(ValueError, match="baseline: 'u = 1; u = 2' has two laws for u, must have one"):
        pf.as_baseline("u = 1; u = 2", *spaces)

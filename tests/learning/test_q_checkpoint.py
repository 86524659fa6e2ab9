"""Checkpoints of Fitted Q Iteration: a fit that was stopped, however, ends with the same bits."""

import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import policyforest as pf

PENDULUM = "policyforest/InvertedPendulum6kg-v0"


@pytest.fixture(scope="module")
def data():
    return pf.collect(PENDULUM, episodes=20, seed=0)


def learner(**how):
    return pf.FittedQIteration(**{"discount": 0.95, "horizon": 4, "n_estimators": 4, "resample": None} | how)


def same(a, b):
    histories = [[(it.iteration, it.drift, it.value, it.n_leaves) for it in q.history] for q in (a, b)]
    arrays = [q.forest.arrays for q in (a, b)]
    return histories[0] == histories[1] and all(np.array_equal(arrays[0][n], arrays[1][n]) for n in arrays[0])


class StopAfter:
    """Ctrl-C after some iterations."""

    def __init__(self, iterations):
        self.iterations = iterations

    def __call__(self, done):
        if done.iteration == self.iterations:
            raise KeyboardInterrupt


SETTLING = {"horizon": "auto", "discount": 0.5, "n_averaged": 3, "resample": 200}  # resamples, settles and averages


@pytest.mark.parametrize("how", [{}, SETTLING, {"random_state": None}], ids=["plain", "auto", "no seed"])
@pytest.mark.parametrize("stops", [[1], [2, 3], [1, 2, 3, 4]])
def test_an_interrupted_fit_goes_on_to_the_same_bits(data, tmp_path, how, stops):
    for stop in stops:
        with pytest.raises(KeyboardInterrupt):
            learner(checkpoint_dir=tmp_path / "q", callback=StopAfter(stop), **how).fit(data)
    seen = []
    resumed = learner(checkpoint_dir=tmp_path / "q", callback=lambda it: seen.append(it.iteration), **how).fit(data)
    if how.get("random_state", 0) is None:
        how = {"random_state": json.loads((tmp_path / "q" / "settings.json").read_text())["seed"]}
    assert same(resumed, learner(**how).fit(data))
    assert seen == list(range(stops[-1] + 1, len(resumed.history) + 1))


KILLED = """
import os, signal, sys
import policyforest as pf
data = pf.collect({problem!r}, episodes=20, seed=0)
def die(done):
    if done.iteration == 2:
        os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))  # on Windows, SIGTERM kills
learner = pf.FittedQIteration(discount=0.95, horizon=4, n_estimators=4, resample=None, checkpoint_dir=sys.argv[1],
                              **{{sys.argv[2]: die}})
learner.fit(data)
"""


@pytest.mark.parametrize(("hook", "left"), [("callback", [3, 4]), ("progress", [2, 3, 4])])
def test_a_killed_process_leaves_its_iterations(data, tmp_path, hook, left):
    script = [sys.executable, "-c", KILLED.format(problem=PENDULUM), str(tmp_path), hook]
    assert subprocess.run(script, check=False, capture_output=True).returncode in (-9, 15)
    seen = []
    q = learner(checkpoint_dir=tmp_path, callback=lambda it: seen.append(it.iteration)).fit(data)
    assert same(q, learner().fit(data))
    assert seen == left


def test_a_finished_fit_is_not_computed_again(data, tmp_path):
    first = learner(checkpoint_dir=tmp_path).fit(data)
    again = learner(checkpoint_dir=tmp_path, n_jobs=2, callback=lambda it: pytest.fail("computed again")).fit(data)
    assert same(first, again)
    assert len(list(tmp_path.glob("iteration-*"))) == 2


def test_other_settings_or_samples_are_refused_by_name(data, tmp_path):
    warm = learner(checkpoint_dir=tmp_path).fit(data)
    other = pf.collect(PENDULUM, episodes=20, seed=1)
    for changed, samples, words in (
        ({"discount": 0.9}, data, ["learner.discount is 0.95 there and 0.9 here"]),
        ({"random_state": 1, "horizon": 5}, data, ["learner.horizon is 4", "seed is 0 there and 1 here"]),
        ({}, other, ["samples is '"]),
        ({"warm_start": warm}, data, ["warm_start is None there"]),
    ):
        with pytest.raises(
            ValueError, match=r"checkpoint_dir: .* belongs to another fit, must belong to this one"
        ) as error:
            learner(checkpoint_dir=tmp_path, **changed).fit(samples)
        assert all(word in str(error.value) for word in words)
    with pytest.raises(ValueError, match="score: is a function"):
        learner(checkpoint_dir=tmp_path, score=np.abs).fit(data)


def test_another_version_of_the_package_resumes_the_fit(data, tmp_path, monkeypatch):
    with pytest.raises(KeyboardInterrupt):
        learner(checkpoint_dir=tmp_path, callback=StopAfter(3)).fit(data)
    assert json.loads((tmp_path / "settings.json").read_text())["policyforest"] == pf.__version__
    monkeypatch.setattr(pf, "__version__", "99.0.0")
    seen = []
    resumed = learner(checkpoint_dir=tmp_path, callback=lambda it: seen.append(it.iteration)).fit(data)
    assert same(resumed, learner().fit(data))
    assert seen == [4]


def test_a_setting_that_came_with_a_later_version_counts_as_its_default(data, tmp_path):
    first = learner(checkpoint_dir=tmp_path).fit(data)
    settings = json.loads((tmp_path / "settings.json").read_text())
    del settings["learner"]["max_leaves"]
    (tmp_path / "settings.json").write_text(json.dumps(settings))
    assert same(first, learner(checkpoint_dir=tmp_path).fit(data))
    with pytest.raises(ValueError, match=r"learner\.max_leaves is 50 there and 51 here"):
        learner(checkpoint_dir=tmp_path, max_leaves=51).fit(data)


def test_a_folder_of_version_0_1_keeps_its_rule_of_settling(data, tmp_path):
    how = {"horizon": "auto", "discount": 0.5, "n_averaged": 1}
    with pytest.raises(KeyboardInterrupt):
        learner(checkpoint_dir=tmp_path, callback=StopAfter(3), settling="sign", **how).fit(data)
    settings = json.loads((tmp_path / "settings.json").read_text())
    del settings["learner"]["settling"]
    (tmp_path / "settings.json").write_text(json.dumps(settings))
    assert same(learner(checkpoint_dir=tmp_path, **how).fit(data), learner(settling="sign", **how).fit(data))


def test_a_folder_that_names_the_search_is_the_same_fit(data, tmp_path):
    first = learner(checkpoint_dir=tmp_path, action_search="exact").fit(data)
    assert same(first, learner(checkpoint_dir=tmp_path).fit(data))
    with pytest.raises(ValueError, match=r"learner\.action_search is 'exact' there and 'merged' here"):
        learner(checkpoint_dir=tmp_path, action_search="merged").fit(data)


def test_a_model_counts_as_what_it_draws(data, tmp_path):
    model = pf.DynamicsForest(n_estimators=3).fit(data)
    with pytest.raises(KeyboardInterrupt):
        learner(checkpoint_dir=tmp_path, resample=model, callback=StopAfter(2)).fit(data)
    same_model = pf.DynamicsForest(n_estimators=3).fit(data)
    assert same(learner(checkpoint_dir=tmp_path, resample=same_model).fit(data), learner(resample=model).fit(data))
    other = pf.DynamicsForest(n_estimators=2, random_state=5).fit(data)
    for resample in (other, "auto"):
        with pytest.raises(ValueError, match=r"learner\.resample is 'model "):
            learner(checkpoint_dir=tmp_path, resample=resample).fit(data)


def test_another_format_version_is_refused(data, tmp_path):
    learner(checkpoint_dir=tmp_path).fit(data)
    settings = json.loads((tmp_path / "settings.json").read_text())
    (tmp_path / "settings.json").write_text(json.dumps(settings | {"version": 2}))
    with pytest.raises(ValueError, match="format or version is not supported"):
        learner(checkpoint_dir=tmp_path).fit(data)


@pytest.mark.parametrize(
    "damage",
    [lambda b: b[:-100], lambda b: b[:-1] + bytes([b[-1] ^ 1]), lambda b: b"", lambda b: b"\xff" * 100],
    ids=["cut", "flipped", "empty", "other"],
)
def test_a_damaged_file_costs_an_iteration(data, tmp_path, damage):
    with pytest.raises(KeyboardInterrupt):
        learner(checkpoint_dir=tmp_path, callback=StopAfter(3)).fit(data)
    newest = sorted(tmp_path.glob("iteration-*"))[-1]
    newest.write_bytes(damage(newest.read_bytes()))
    seen = []
    q = learner(checkpoint_dir=tmp_path, callback=lambda it: seen.append(it.iteration)).fit(data)
    assert same(q, learner().fit(data))
    assert seen == [3, 4]


def test_all_files_damaged_begins_anew(data, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        learner(checkpoint_dir=tmp_path, callback=StopAfter(3)).fit(data)
    for file in tmp_path.glob("iteration-*"):
        file.write_bytes(b"nothing")
    assert same(learner(checkpoint_dir=tmp_path).fit(data), learner().fit(data))


@pytest.mark.parametrize("text", ["", "{", "[]", "3", '{"format": "other", "version": 1}', '{"version": 1}'])
def test_a_folder_of_something_else_is_refused(data, tmp_path, text):
    (tmp_path / "settings.json").write_text(text)
    with pytest.raises(ValueError, match=r"checkpoint_dir: .*settings\.json is not the settings of a checkpoint"):
        learner(checkpoint_dir=tmp_path).fit(data)


def test_settings_that_are_numbers_of_numpy_count_too(data, tmp_path):
    learner = pf.FittedQIteration(horizon=2, resample=None, n_estimators=np.int64(3), discount=np.float32(0.5))
    replace(learner, checkpoint_dir=tmp_path).fit(data)
    for other in ({"n_estimators": np.int64(2)}, {"discount": np.float32(0.25)}):
        with pytest.raises(ValueError, match=next(iter(other))):
            replace(learner, checkpoint_dir=tmp_path, **other).fit(data)


def test_iterations_without_settings_are_refused_and_strange_names_left_alone(data, tmp_path):
    learner = pf.FittedQIteration(horizon=2, resample=None, n_estimators=2, checkpoint_dir=tmp_path)
    (tmp_path / "iteration-old.safetensors").touch()
    (tmp_path / "iteration-000009.safetensors").mkdir()
    q = learner.fit(data)
    assert len(q.history) == 2
    (tmp_path / "settings.json").unlink()
    with pytest.raises(ValueError, match=r"is incomplete \(settings\.json is missing\)"):
        replace(learner, discount=0.5).fit(data)


def test_a_folder_in_use_is_refused(data, tmp_path):
    def second(done):
        with pytest.raises(BlockingIOError, match=r"checkpoint_dir: .* is in use"):
            learner(checkpoint_dir=tmp_path).fit(data)

    learner(checkpoint_dir=tmp_path, horizon=1, callback=second).fit(data)


def test_progress_is_told_within_iterations(data):
    told = []
    replace(learner(), progress=told.append).fit(data)
    assert {(p.iteration, p.stage) for p in told} == {(h, stage) for h in range(1, 5) for stage in ("trees", "values")}
    parts = [p.iteration - 1 + p.done for p in told]
    assert parts == sorted(parts)
    assert parts[-1] == told[-1].most_iterations == 4
    assert told[-1].seconds_left == 0 < told[0].seconds_left < np.inf
    with pytest.raises(TypeError, match="progress: is 1, must be callable"):
        learner(progress=1)

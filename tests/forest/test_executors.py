"""Executors: whatever runs the blocks, and however they are cut, the result has the same bits."""

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

import policyforest as pf
from policyforest.forest import forest_blocks
from policyforest.forest.executors import Executor, Processes, Threads
from policyforest.forest.forest_blocks import SharedInputs, SharedStates


@pytest.fixture(scope="module")
def processes():
    with Processes(2) as executor:
        yield executor


@pytest.fixture(scope="module")
def pendulum():
    return pf.collect("policyforest/InvertedPendulum6kg-v0", episodes=30, seed=0)


def same(a: pf.Forest, b: pf.Forest) -> bool:
    return all(np.array_equal(a.arrays[name], b.arrays[name]) for name in a.arrays)


@pytest.fixture
def tiny_blocks(monkeypatch):
    monkeypatch.setattr(forest_blocks, "BLOCK_SAMPLES", 1)
    monkeypatch.setattr(forest_blocks, "BLOCK_STATES", 50)
    monkeypatch.setattr(forest_blocks, "LARGEST_BLOCK", 70)


def samples(n=300, dims=3, periodic=None, seed=0):
    rng = np.random.default_rng(seed)
    rows = np.round(rng.uniform(-1, 1, (n, dims)), 2)  # with ties in every column
    return rows, np.sin(3 * rows).sum(axis=1) + rng.normal(0, 0.1, n), np.array([[-1.0, 1.0]] * dims)


@pytest.mark.parametrize("leaf_model", ["constant", "linear"])
@pytest.mark.parametrize("score", [None, "asinh"])
@pytest.mark.parametrize("periodic", [{}, {0: (-1.0, 1.0)}, dict.fromkeys(range(3), (-1.0, 1.0))])
def test_trees_grown_in_blocks_join_to_the_forest(tiny_blocks, leaf_model, score, periodic):
    X, y, box = samples()
    how = {"n_estimators": 7, "leaf_model": leaf_model, "score": score, "random_state": 3}
    whole = pf.grow_forest(X, y, box=box, periodic=periodic, **how)
    told = []
    inputs = SharedInputs(Threads(2), "test", [*X.T], box, periodic)
    assert same(inputs.grow(y, tell=told.append, **how), whole)
    assert told == [2 / 4 / 2, 2 / 4, 3 / 4, 1.0]
    assert same(inputs.grow(y, **how), whole)  # the same inputs, again


@pytest.mark.parametrize("n_actions", [1, 2])
def test_best_actions_in_blocks_are_those_of_all_states(tiny_blocks, n_actions):
    X, y, box = samples(dims=2 + n_actions)
    forest = pf.grow_forest(X, y, box=box, n_estimators=4, min_samples_leaf=20)
    states = samples(dims=2, seed=1)[0]
    expected = forest.best_action(states)

    def maximise(rows, n_jobs):
        return forest.best_action(rows, n_jobs=n_jobs)

    shared = SharedStates(Threads(1), "test", states)
    assert np.array_equal(shared.values(maximise), expected.value)
    assert np.array_equal(shared.actions(maximise), expected.action)
    assert SharedStates(Threads(1), "test", states[:0]).values(maximise).shape == (0,)


@pytest.mark.parametrize("how", [{"resample": 500}, {"resample": None, "n_estimators": 5, "score": "asinh"}])
def test_learning_in_processes_gives_the_same_bits(processes, pendulum, how):
    learner = pf.FittedQIteration(discount=0.95, horizon=3, **how)
    q = learner.fit(pendulum)
    other = replace(learner, executor=processes).fit(pendulum)
    assert same(q.forest, other.forest)
    assert [it.drift for it in q.history] == [it.drift for it in other.history]
    policy = pf.FittedPolicyForest(n_states=500, n_estimators=6)
    assert same(policy.fit(q).forests[0], replace(policy, executor=processes).fit(q).forests[0])


def test_angles_and_several_actions_give_the_same_bits(processes, tiny_blocks):
    rng = np.random.default_rng(0)
    n = 120
    angles, actions = rng.uniform(-np.pi, np.pi, (n, 1)), rng.uniform(-1, 1, (n, 2))
    ahead = np.clip(angles + 0.1 * actions[:, :1], -np.pi, np.pi)
    space = gym.spaces.Box(-1.0, 1.0, (2,), np.float64)
    data = pf.Transitions(
        angles,
        actions,
        -(ahead[:, 0] ** 2),
        ahead,
        rng.random(n) < 0.1,
        action_space=space,
        periodic={0: (-np.pi, np.pi)},
    )
    learner = pf.FittedQIteration(horizon=2, n_estimators=4, min_samples_leaf=10)
    one, two = learner.fit(data), replace(learner, executor=processes).fit(data)
    assert same(one.forest, two.forest)
    policy = pf.FittedPolicyForest(n_states=60, n_estimators=3)
    three, four = policy.fit(one), replace(policy, executor=processes).fit(two)
    assert all(same(a, b) for a, b in zip(three.forests, four.forests, strict=True))


def test_final_policies_are_learned_several_at_once(processes):
    env = gym.make("policyforest/InvertedPendulum6kg-v0")
    agent = pf.MultiResolutionExploration(env, seed=0, horizon=2, max_steps=20).learn(episodes=2)
    here, there = agent.policies(2), agent.policies(2, executor=processes)
    assert all(same(a.forests[0], b.forests[0]) for a, b in zip(here, there, strict=True))
    assert not same(here[0].forests[0], here[1].forests[0])


def test_what_was_learned_in_processes_says_so_nowhere(processes, pendulum):
    learner = pf.FittedQIteration(horizon=1, resample=None, n_estimators=2)
    here, there = learner.fit(pendulum).policy(), replace(learner, executor=processes).fit(pendulum).policy()
    assert here.info.settings == there.info.settings
    assert "executor" not in here.info.settings


def fail(block, n_jobs):
    raise ValueError(f"block {block}: cannot be done")


def die(block, n_jobs):
    os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))  # on Windows, SIGTERM kills


def double(block, n_jobs, shared):
    return block * shared["factor"] + float(shared["numbers"].sum())


@pytest.mark.parametrize("executor", [Threads(2), Processes(1)], ids=repr)
def test_what_fails_in_a_task_is_raised_and_the_executor_goes_on(executor):
    with executor, pytest.raises(ValueError, match="block 7: cannot be done"):
        list(executor.map(fail, [7]))
    with executor:
        shared = executor.share("test", {"factor": 2, "numbers": np.arange(4.0), "none": np.empty(0)})
        assert dict(executor.map(double, [1, 5], shared)) == {0: 8.0, 1: 16.0}
        assert dict(executor.map(double, [1], executor.share("test", {"factor": 3, "numbers": np.ones(1)}))) == {0: 4.0}
        assert dict(executor.map(double, [], shared)) == {}


def test_a_process_that_is_killed_is_an_error_that_says_so():
    with Processes(1) as executor:
        with pytest.raises(RuntimeError, match="worker process died"):
            list(executor.map(die, [0]))
        assert dict(executor.map(double, [1], executor.share("x", {"factor": 1, "numbers": np.ones(2)}))) == {0: 3.0}


def weigh(block, n_jobs):
    return bytes(50_000_000)  # far more than a pipe holds: whoever is stopped is writing


STOP_WHILE_RESULTS_ARE_WRITTEN = """
import sys
sys.path.insert(0, sys.argv[1])
from policyforest.forest.executors import Processes
from test_executors import weigh
if __name__ == "__main__":
    for _ in range(3):
        executor = Processes(2)
        try:
            for _ in executor.map(weigh, range(8)):
                raise KeyboardInterrupt
        except KeyboardInterrupt:
            print("stopped", flush=True)
"""


def test_stopping_does_not_wait_for_results_that_are_half_written(tmp_path):
    script = tmp_path / "stop.py"
    script.write_text(STOP_WHILE_RESULTS_ARE_WRITTEN)
    command = [sys.executable, str(script), str(Path(__file__).parent)]
    ended = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120)
    assert ended.stdout.split() == ["stopped"] * 3


def test_a_wrong_number_of_workers_is_named():
    with pytest.raises(ValueError, match="workers: is 0"):
        Processes(0)


def test_shared_files_go_with_what_they_hold():
    shared = Processes(1).share("test", np.ones(1000))
    path = Path(shared.path)
    assert path.stat().st_size == 8000
    del shared
    assert not path.exists()


@pytest.mark.parametrize("learner", [pf.FittedQIteration, pf.FittedPolicyForest])
def test_what_is_no_executor_is_refused(learner):
    with pytest.raises(TypeError, match="executor: is 'ray', must be one of"):
        learner(executor="ray")
    assert issubclass(pf.executors.Ray, Executor)


def test_ray_that_is_not_installed_is_an_error_before_any_work(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    with pytest.raises(ImportError, match=r"ray is not installed; run `pip install 'policyforest\[ray\]'`"):
        pf.executors.Ray()

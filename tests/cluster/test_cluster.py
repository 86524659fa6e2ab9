"""The same bits on a Ray cluster, whoever dies; and what is wrong with a cluster is said before any work."""

import os
import re
import signal
import socket
import subprocess
import sys
import textwrap
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

import policyforest as pf
from policyforest.forest import forest_blocks
from policyforest.forest.executors import Ray
from policyforest.paper import STUDIES, Study, run_studies

KILLS = 10


@pytest.fixture(scope="module")
def data():
    return pf.sample_uniform("policyforest/DoubleIntegrator-v0", 6_000, seed=0)


@pytest.fixture(autouse=True)
def many_blocks(monkeypatch):
    monkeypatch.setattr(forest_blocks, "BLOCK_SAMPLES", 1)
    monkeypatch.setattr(forest_blocks, "BLOCK_STATES", 500)


def learner(**how) -> pf.FittedQIteration:
    return pf.FittedQIteration(**{"horizon": 4, "n_estimators": 12, "resample": None} | how)


def same(a: pf.Forest, b: pf.Forest) -> bool:
    return all(np.array_equal(a.arrays[name], b.arrays[name]) for name in a.arrays)


def test_learning_and_extracting_give_the_bits_of_one_machine(nodes, data):
    q = learner().fit(data)
    policy = pf.FittedPolicyForest(n_states=2_000, n_estimators=8)
    with nodes.executor() as executor:
        assert executor.workers == 3
        there = learner(executor=executor).fit(data)
        assert same(there.forest, q.forest)
        assert same(replace(policy, executor=executor).fit(there).forests[0], policy.fit(q).forests[0])
        moved = executor.bytes_shared
        learner(executor=executor, horizon=1, score=lambda y: np.arcsinh(y)).fit(data)
        per_fit = 8 * len(data) * 6
        assert executor.bytes_shared - moved > per_fit  # the samples once, targets, and one forest


def die_once(block, n_jobs, folder):
    path = Path(folder) / str(block)
    if not path.exists():
        path.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return block * block


def test_a_worker_that_dies_is_replaced(nodes, tmp_path):
    with nodes.executor() as executor:
        found = dict(executor.map(die_once, range(4), executor.share("folder", str(tmp_path))))
    assert found == {0: 0, 1: 1, 2: 4, 3: 9}


DRIVER = """
    import os, signal, sys
    import policyforest as pf
    from policyforest.forest import forest_blocks
    forest_blocks.BLOCK_SAMPLES, forest_blocks.BLOCK_STATES = 1, 500
    data = pf.sample_uniform("policyforest/DoubleIntegrator-v0", 6_000, seed=0)
    def die(progress):
        if progress.iteration == int(sys.argv[3]) and progress.done > 0.3:
            os.kill(os.getpid(), signal.SIGKILL)
    executor = pf.executors.Ray(sys.argv[1], _node_ip_address="127.0.0.2")
    pf.FittedQIteration(horizon=4, n_estimators=12, resample=None, executor=executor, checkpoint_dir=sys.argv[2],
                        progress=die).fit(data)
"""


def test_a_driver_that_dies_goes_on_from_its_checkpoint(nodes, data, tmp_path):
    for iteration in ("2", "3"):
        script = [sys.executable, "-c", textwrap.dedent(DRIVER), nodes.address, str(tmp_path), iteration]
        assert subprocess.run(script, check=False).returncode == -signal.SIGKILL
    seen = []
    with nodes.executor() as executor:
        left = learner(executor=executor, checkpoint_dir=tmp_path, callback=lambda it: seen.append(it.iteration))
        assert same(left.fit(data).forest, learner().fit(data).forest)
    assert seen == [3, 4]


def square(seed, base):
    return {"samples": 1, "fqi": {"return": float(base + seed**2), "steps": 1.0}}


def test_policies_and_studies_run_there_too(nodes, tmp_path):
    env = gym.make("policyforest/InvertedPendulum6kg-v0")
    agent = pf.MultiResolutionExploration(env, seed=0, horizon=2, max_steps=20).learn(episodes=2)
    study = Study("squares", "Squares", partial(square, base=1), {"quick": 4, "paper": 4}, 1.0)
    with nodes.executor() as executor:
        found = agent.policies(2, executor=executor)
        run_studies([study], tmp_path, scale="quick", executor=executor)
    assert all(same(a.forests[0], b.forests[0]) for a, b in zip(found, agent.policies(2), strict=True))
    assert [result["fqi"]["return"] for result in study.results(tmp_path)] == [1, 2, 5, 10]


def test_the_command_line_computes_cells_on_a_cluster(nodes, tmp_path):
    """The same cells as without a cluster, bit for bit."""
    study, found = STUDIES["double-integrator-paper"], []
    for where, executor in (("cluster", ["--executor", "ray", "--address", nodes.address]), ("here", [])):
        out = tmp_path / where
        command = [sys.executable, "-m", "policyforest", "reproduce", study.name, "--out", str(out), *executor]
        subprocess.run(command, check=True, capture_output=True)
        found.append(study.by_seed(out, "quick"))
    assert len(found[0]) == study.seeds["quick"]
    for seed, there in found[0].items():
        for method in ("fqi", "fpf-pwc", "fpf-pwl", "bas"):
            assert there[method]["return"] == found[1][seed][method]["return"]


def fail(block, n_jobs):
    raise ValueError(f"block {block}: cannot be done")


def test_what_fails_in_a_task_is_raised_as_it_is(nodes):
    with nodes.executor() as executor, pytest.raises(ValueError, match="block 7: cannot be done"):
        list(executor.map(fail, [7]))


def test_no_cluster_at_the_address_is_said_at_once():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    started = time.monotonic()
    for wrong in (address, "127.0.0.1:none", "no-such-host.invalid:6379", "127.0.0.1:99999"):
        with pytest.raises(ConnectionError, match=r"address: is .*, no Ray cluster answers there"):
            Ray(wrong)
    with pytest.raises(ValueError, match="must be host:port"):
        Ray("ray://127.0.0.1:10001")
    assert time.monotonic() - started < 30


def test_a_process_is_in_one_cluster_at_a_time(nodes):
    with nodes.executor() as executor:
        with Ray(nodes.address) as second, Ray() as third:
            assert second.workers == third.workers == executor.workers
        with pytest.raises(ValueError, match=r"address: is '127\.0\.0\.1:1', must be .* is already in that cluster"):
            Ray("127.0.0.1:1")
        with pytest.raises(ValueError, match="num_cpus: is given, must be left out"):
            Ray(num_cpus=2)
        # Those that came later have left, and the cluster is still there.
        assert dict(executor.map(square_block, [3])) == {0: 9}
    with pytest.raises(RuntimeError, match="executor: is closed"):
        list(executor.map(square_block, [3]))
    with pytest.raises(RuntimeError, match="executor: is closed"):
        executor.share("x", 1)


def square_block(block, n_jobs):
    return block * block


def test_tasks_larger_than_any_node_are_said_at_once(nodes):
    with pytest.raises(ValueError, match="n_jobs: is 2, must be at most 1, the processors of a node"):
        nodes.executor(n_jobs=2)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"address": 5}, "address: is 5"),
        ({"num_cpus": 0}, "num_cpus: is 0"),
        ({"num_cpus": "2"}, "num_cpus: is '2'"),
        ({"object_store_memory": -1}, "object_store_memory: is -1"),
    ],
)
def test_arguments_of_ray_are_checked_by_name(how, message):
    with pytest.raises((TypeError, ValueError), match=message):
        Ray(**how)


def test_something_else_at_the_address_is_no_cluster():
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        script = "import sys, policyforest as pf; pf.executors.Ray(sys.argv[1])"
        address = f"127.0.0.1:{other.getsockname()[1]}"
        ended = subprocess.run([sys.executable, "-c", script, address], check=False, capture_output=True, text=True)
    assert ended.returncode != 0
    assert "address" in ended.stderr


def test_an_object_store_too_small_is_said_before_any_work(nodes, data):
    with nodes.executor() as executor:
        with pytest.raises(ValueError, match=r"object store of node 127\.0\.0\.2 has 100,000,000 bytes, .* need about"):
            executor.require(95_000_000)
        big = pf.Transitions.concatenate([data] * 400)
        with pytest.raises(ValueError, match="start Ray with a larger --object-store-memory"):
            learner(executor=executor, progress=lambda _: pytest.fail("it has begun")).fit(big)


OTHER = """
import sys
sys.meta_path[:] = [finder for finder in sys.meta_path if "ScikitBuild" not in type(finder).__name__]
"""


def test_another_version_on_a_node_is_said_before_any_work(nodes, tmp_path):
    (tmp_path / "sitecustomize.py").write_text(OTHER)  # an editable installation would come first
    (tmp_path / "policyforest").mkdir()
    (tmp_path / "policyforest" / "__init__.py").write_text('__version__ = "0.0.9"\n')
    other = nodes.add(env_vars={"PYTHONPATH": str(tmp_path)})
    try:
        expected = r"node .* has policyforest 0\.0\.9, must have " + re.escape(pf.__version__)
        with pytest.raises(ValueError, match=expected):
            nodes.executor()
    finally:
        nodes.cluster.remove_node(other, allow_graceful=False)


def test_nodes_that_die_cost_time_and_no_bit(nodes, data):
    expected, told = learner(horizon=6).fit(data), []

    def kill(progress):
        told.append(progress)
        if len(told) % 12 == 5 and nodes.killed < KILLS:  # in the middle of growing or of maximising
            nodes.kill_one()

    with nodes.executor() as executor:
        q = learner(horizon=6, executor=executor, progress=kill).fit(data)
    assert same(q.forest, expected.forest)
    assert [it.value for it in q.history] == [it.value for it in expected.history]
    assert nodes.killed == KILLS

"""Hostile files of policies: sizes that lie, numbers that overflow, and thousands of random mutations."""

import contextlib
import json
import subprocess
import sys
import textwrap
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from gymnasium.spaces import Box

import policyforest as pf
from policies import POLICIES, actions_box
from policyforest.policy.policy_files import load
from tampering import CHANGED_HEADERS, MUTATIONS, joined, parted, refused, with_number, with_text

# --- Hostile sizes ---------------------------------------------------------------------------------------------------


def hostile_files(whole):
    header, numbers = parted(whole)
    yield (2**63).to_bytes(8, "little") + whole[8:]
    yield (2**64 - 1).to_bytes(8, "little") + whole[8:]
    yield (len(whole) - 7).to_bytes(8, "little") + whole[8:]
    for name in ("terabytes", "terabytes, elsewhere", "product that wraps around", "nothing, endlessly wide"):
        changed = json.loads(json.dumps(header))
        CHANGED_HEADERS[name](changed)
        yield joined(changed, numbers)
    yield joined(b"[" * 500_000, b"")
    yield joined(b'{"a":' * 200_000, b"")
    yield joined(b"[" + b"[]," * 300_000 + b"[]]", b"")
    yield joined(b"{" + b",".join(b'"%d":{}' % i for i in range(90_000)) + b"}", b"")
    yield joined(b"[" + b",".join(b"[" * 20 + b"]" * 20 for _ in range(20_000)) + b"]", b"")
    yield joined(b"[" + b"1e9," * 250_000 + b"1]", b"")
    yield joined(b'["' + b"\\ud83d\\ude00" + b"x" * 1_000_000 + b'"]', b"")
    yield joined(b"1" * 1_000_000, b"")
    yield with_text(whole, lambda c: c["info"].update(settings={"a": [[] for _ in range(200_000)]}))
    yield with_text(whole, lambda c: c["info"].update(method="\U0001f600" + "x" * 900_000))


def test_no_file_takes_more_than_ten_times_its_size(tmp_path, saved):
    path = tmp_path / "hostile.pforest"
    for content in hostile_files(saved["linear"]):
        path.write_bytes(content)
        tracemalloc.start()
        # Most are refused; a very long name is only odd.
        with contextlib.suppress(ValueError):
            load(path)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < max(10 * len(content), 1_000_000)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads the peak of memory where Linux tells it")
def test_a_large_policy_takes_less_than_ten_times_its_file(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (60_000, 2))
    forest = pf.grow_forest(X, rng.random(len(X)), n_estimators=6, min_samples_leaf=1, box=[[-1, 1]] * 2)
    path = tmp_path / "large.pforest"
    pf.Policy((forest,), Box(-1, 1, (2,), np.float64), actions_box(1)).save(path)
    script = """
        import sys
        from policyforest.policy.policy_files import load
        def most_resident():
            status = open("/proc/self/status").read()
            return 1024 * int(status.split("VmHWM:")[1].split()[0])
        before = most_resident()
        policy = load(sys.argv[1])
        print(most_resident() - before)
    """
    run = [sys.executable, "-c", textwrap.dedent(script), str(path)]
    grown_by = int(subprocess.run(run, capture_output=True, text=True, check=True).stdout)
    size = path.stat().st_size
    assert size < grown_by < 10 * size


# --- Thousands of mutations ------------------------------------------------------------------------------------------


def check_mutation(path, whole, mutate, rng):
    """A clean error, or a policy that acts in its box. Returns whether it was a policy."""
    path.write_bytes(mutate(whole, rng))
    message = None
    try:
        policy = load(path)
    except ValueError as error:
        message = str(error)
    if message is not None:
        assert path.name in message
        return False
    box = policy.action_space
    states = rng.standard_normal((3, policy.observation_space.shape[0])) * 3
    if getattr(policy, "outside", "nearest") == "raise":
        states = np.clip(states, *policy.state_box.T)
    for action in acting(policy, states):
        assert (box.low <= action).all()
        assert (action <= box.high).all()
    assert str(policy)
    return True


def acting(policy, states):
    """The actions at states. A linear policy may refuse a state that is far outside of its box, but none inside."""
    with np.errstate(all="ignore"):
        try:
            return [*policy.act_batch(states), policy.act(states[0])]
        except ValueError as error:
            if not hasattr(policy, "input_box") or "so large" not in str(error):
                raise
        inside = np.clip(states, *policy.input_box[: states.shape[1]].T)
        assert (inside != states).any()
        return [*policy.act_batch(inside), policy.act(inside[0])]


LINEAR = [name for name in POLICIES if name.startswith(("lspi", "binary"))]


@pytest.mark.parametrize("name", LINEAR)
@pytest.mark.parametrize(("index", "value"), [(1, 1.7e308), (3, np.inf)])
def test_a_linear_policy_that_overflows_in_its_own_box_is_refused(tmp_path, saved, name, index, value):
    wide = with_number(with_number(saved[name], "input_box", index, value), "input_box", index - 1, -1.7e308)
    assert "box" in refused(tmp_path / "wide.pforest", wide)


@pytest.mark.parametrize("name", LINEAR)
def test_a_linear_policy_with_a_tiny_box_acts_there_and_may_refuse_what_is_far_away(tmp_path, saved, name):
    tiny = with_number(with_number(saved[name], "input_box", 0, 0.0), "input_box", 1, 1e-300)
    (tmp_path / "tiny.pforest").write_bytes(tiny)
    for action in acting(load(tmp_path / "tiny.pforest"), np.array([[2.0, 1.0], [0.0, 1.0]])):
        assert abs(action[0]) <= 1 / 3


@pytest.mark.parametrize("name", POLICIES)
def test_no_mutation_does_harm(tmp_path, saved, name):
    assert len(POLICIES) * len(MUTATIONS) * 30 >= 2_000
    rng = np.random.default_rng(list(POLICIES).index(name))
    path = tmp_path / "mutated.pforest"
    whole = saved[name]
    policies = sum(check_mutation(path, whole, mutate, rng) for mutate in MUTATIONS for _ in range(30))
    assert 0 < policies < 30 * len(MUTATIONS)  # both outcomes were met

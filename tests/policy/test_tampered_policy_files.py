"""Files of policies that somebody changed: whatever they say, they are refused by name or they are policies."""

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
from tampering import MUTATIONS, TERABYTES, joined, parted, with_number, with_text


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """The bytes of the files of all policies."""
    path = tmp_path_factory.mktemp("saved") / "policy.pforest"

    def content(make):
        make().save(path)
        return path.read_bytes()

    return {name: content(make) for name, make in POLICIES.items()}


def refused(path, content):
    """The message with which the content is refused."""
    path.write_bytes(content)
    with pytest.raises(ValueError, match=path.name) as caught:
        load(path)
    return str(caught.value)


def test_a_newer_version_is_named(tmp_path, saved):
    newer = with_text(saved["linear"], lambda content: content.update(version=7, unheard_of=[1]))
    message = refused(tmp_path / "new.pforest", newer)
    assert "format version 7, which needs a newer policyforest" in message
    assert f"this one, {pf.__version__}, reads format version 2" in message


@pytest.mark.parametrize("name", ["linear", "greedy"])
def test_a_flipped_bit_anywhere_is_refused(tmp_path, saved, name):
    path, whole = tmp_path / "flipped.pforest", saved[name]
    key = whole.index(b'"sha256"')  # a digest of another name is none: then nothing else has changed
    rng = np.random.default_rng(0)
    places = {*range(0, len(whole), max(1, len(whole) // 400)), *rng.integers(len(whole), size=200).tolist()}
    for place in places - set(range(key, key + 8)):
        content = bytearray(whole)
        content[place] ^= 1 << int(rng.integers(8))
        if content[place : place + 1].isspace() and whole[place : place + 1].isspace():
            continue  # white space for white space around the JSON of the header
        refused(path, bytes(content))


def test_a_changed_number_that_makes_a_policy_is_refused_by_its_digest(tmp_path, saved):
    whole = saved["linear"]
    header, numbers = parted(whole)
    begin = header["forest0.split"]["data_offsets"][0]
    at = len(whole) - len(numbers) + begin
    content = bytearray(whole)
    content[at] ^= 1
    assert "it is damaged: its SHA-256 is not the one that it was saved with" in refused(
        tmp_path / "flipped.pforest", bytes(content)
    )
    (tmp_path / "old.pforest").write_bytes(joined(header, numbers))  # an older version wrote no digest
    assert load(tmp_path / "old.pforest").kind == load_bytes(tmp_path / "same.pforest", whole).kind
    forged = json.loads(json.dumps(header))
    forged["__metadata__"]["sha256"] = 7
    assert "SHA-256" in refused(tmp_path / "forged.pforest", joined(forged, numbers))


def load_bytes(path, content):
    path.write_bytes(content)
    return load(path)


CHANGED_TEXTS = {
    "another format": lambda c: c.update(format="transitions"),
    "version of text": lambda c: c.update(version="1"),
    "version zero": lambda c: c.update(version=0),
    "version true": lambda c: c.update(version=True),
    "unknown kind": lambda c: c.update(kind="neural"),
    "kind of another policy": lambda c: c.update(kind="greedy"),
    "kind is a list": lambda c: c.update(kind=["forest"]),
    "unknown key": lambda c: c.update(code="print(1)"),
    "missing key": lambda c: c.pop("info"),
    "settings are a list": lambda c: c.update(settings=[]),
    "unknown setting": lambda c: c["settings"].update(more=1),
    "missing setting": lambda c: c["settings"].pop("outside"),
    "outside": lambda c: c["settings"].update(outside="guess"),
    "too many states": lambda c: c["observation_space"].update(low=["0.0"] * 3, high=["1.0"] * 3),
    "too many actions": lambda c: c["action_space"].update(low=["0.0"] * 2, high=["1.0"] * 2),
    "no actions": lambda c: c["action_space"].update(low=[], high=[]),
    "a million actions": lambda c: c["action_space"].update(low=["0.0"] * 9000, high=["1.0"] * 9000),
    "unbounded actions": lambda c: c["action_space"].update(high=["inf"]),
    "NaN action": lambda c: c["action_space"].update(high=["nan"]),
    "actions upside down": lambda c: c["action_space"].update(low=["5.0"]),
    "integer actions": lambda c: c["action_space"].update(dtype="int64", low=["0.0"], high=["1.0"]),
    "dtype that is a program": lambda c: c["action_space"].update(dtype="(1,"),
    "dtype of objects": lambda c: c["observation_space"].update(dtype="O"),
    "numbers that do not fit": lambda c: c["observation_space"].update(dtype="float32"),
    "bounds as numbers": lambda c: c["action_space"].update(low=[0.0]),
    "bounds as an object": lambda c: c["action_space"].update(low={"0.0": 1}),
    "space is a text": lambda c: c.update(action_space="Box"),
    "periodic dimension": lambda c: c["settings"].update(periodic={"2": ["0.0", "1.0"]}),
    "negative dimension": lambda c: c["settings"].update(periodic={"-1": ["0.0", "1.0"]}),
    "periodic upside down": lambda c: c["settings"].update(periodic={"0": ["1.0", "0.0"]}),
    "period too long": lambda c: c["settings"].update(periodic={"0": ["-1.7e+308", "1.7e+308"]}),
    "periodic NaN": lambda c: c["settings"].update(periodic={"0": ["nan", "1.0"]}),
    "periodic one-sided": lambda c: c["settings"].update(periodic={"0": ["1.0"]}),
    "periodic list": lambda c: c["settings"].update(periodic=[]),
    "simplification": lambda c: c["settings"].update(simplification={"max_leaves": 1}),
    "method number": lambda c: c["info"].update(method=1),
    "method for terminals": lambda c: c["info"].update(method="\x1b]0;pwned\x07"),
    "half a character": lambda c: c["info"].update(method="\ud800"),
    "negative samples": lambda c: c["info"].update(n_samples=-1),
    "samples true": lambda c: c["info"].update(n_samples=True),
    "info setting NaN": lambda c: c["info"]["settings"].update(discount=float("nan")),
    "info setting infinite": lambda c: c["info"]["settings"].update(discount=float("inf")),
    "info settings list": lambda c: c["info"].update(settings=[]),
    "unknown info": lambda c: c["info"].update(author="x"),
    "deep": lambda c: c["info"].update(settings={"a": [[[[[[[[[[1]]]]]]]]]]}),
}


@pytest.mark.parametrize("name", CHANGED_TEXTS)
def test_a_changed_text_is_refused(tmp_path, saved, name):
    refused(tmp_path / "changed.pforest", with_text(saved["linear"], CHANGED_TEXTS[name]))


GREEDY_TEXTS = {
    "search": lambda c: c["settings"].update(action_search="guess"),
    "no leaves": lambda c: c["settings"].update(max_leaves=0),
    "too many leaves": lambda c: c["settings"].update(max_leaves=10**9),
    "leaves as a number with a point": lambda c: c["settings"].update(max_leaves=5.0),
    "one state": lambda c: c["observation_space"].update(low=["0.0"], high=["1.0"]),
}
SEARCH_TEXTS = {
    "resolution": lambda c: c["settings"].update(resolution=60),
    "another basis": lambda c: c["settings"].update(basis={"fourier": {}}),
    "two bases": lambda c: c["settings"]["basis"].update(polynomial={"degree": 2}),
    "huge degree": lambda c: c["settings"].update(basis={"polynomial": {"degree": 1999}}),
    "negative degree": lambda c: c["settings"].update(basis={"polynomial": {"degree": -1}}),
    "other degree": lambda c: c["settings"].update(basis={"polynomial": {"degree": 1}}),
    "huge grid": lambda c: c["settings"]["basis"]["radial"].update(n_centres=10**9),
    "grid of two": lambda c: c["settings"]["basis"]["radial"].update(n_centres=[3, 3]),
    "grid of texts": lambda c: c["settings"]["basis"]["radial"].update(n_centres=["3", "3", "3"]),
    "no width": lambda c: c["settings"]["basis"]["radial"].update(width=0.0),
    "no progress": lambda c: c["settings"].update(progress=None),
    "progress converged": lambda c: c["settings"]["progress"].update(converged=1),
}


@pytest.mark.parametrize(
    ("policy", "change"),
    [*(("greedy", c) for c in GREEDY_TEXTS.values()), *(("binary action search", c) for c in SEARCH_TEXTS.values())],
    ids=[*GREEDY_TEXTS, *SEARCH_TEXTS],
)
def test_a_changed_text_of_another_kind_is_refused(tmp_path, saved, policy, change):
    refused(tmp_path / "changed.pforest", with_text(saved[policy], change))


def entry(dtype, shape, begin, end):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


CHANGED_HEADERS = {
    "no text": lambda h: h.pop("__metadata__"),
    "text is a list": lambda h: h.update(__metadata__=[]),
    "text in text": lambda h: h["__metadata__"].update(policyforest=1),
    "text not JSON": lambda h: h["__metadata__"].update(policyforest="{"),
    "text a number": lambda h: h["__metadata__"].update(policyforest="7"),
    "missing array": lambda h: h.pop("forest0.split"),
    "renamed array": lambda h: h.update({"forest9.split": h.pop("forest0.split")}),
    "unknown empty array": lambda h: h.update(more=entry("F64", [0], 0, 0)),
    "no shape": lambda h: h["forest0.split"].pop("shape"),
    "unknown field": lambda h: h["forest0.split"].update(code=1),
    "entry is a list": lambda h: h.update({"forest0.split": []}),
    "dtype of objects": lambda h: h["forest0.split"].update(dtype="O"),
    "dtype is a list": lambda h: h["forest0.split"].update(dtype=["F64"]),
    "integers for floats": lambda h: h["forest0.split"].update(dtype="I64"),
    "floats for integers": lambda h: h["forest0.node_offsets"].update(dtype="F64"),
    "shape of text": lambda h: h["forest0.split"].update(shape=["1"]),
    "shape of truth": lambda h: h["forest0.node_offsets"].update(shape=[True]),
    "shape with a point": lambda h: h["forest0.node_offsets"].update(shape=[4.0]),
    "negative shape": lambda h: h["forest0.split"].update(shape=[-1]),
    "two negatives": lambda h: h["forest0.box"].update(shape=[-2, -2]),
    "scalar": lambda h: h["forest0.split"].update(shape=[]),
    "three dimensions": lambda h: h["forest0.box"].update(shape=[2, 2, 1]),
    "box transposed": lambda h: h["forest0.box"].update(shape=[1, 4]),
    "nothing, endlessly wide": lambda h: h.update(
        {"forest0.coefficients": entry("F64", [0, 10**30], 0, 0)} | {"forest0.split": h["forest0.split"]}
    ),
    "product that wraps around": lambda h: h["forest0.split"].update(shape=[2**32, 2**32]),
    "terabytes": lambda h: h["forest0.split"].update(shape=[TERABYTES // 8], data_offsets=[0, TERABYTES]),
    "terabytes, elsewhere": lambda h: h["forest0.split"].update(data_offsets=[TERABYTES, TERABYTES + 8]),
    "negative offsets": lambda h: h["forest0.split"].update(data_offsets=[-8, 0]),
    "offsets upside down": lambda h: h["forest0.split"]["data_offsets"].reverse(),
    "three offsets": lambda h: h["forest0.split"]["data_offsets"].append(8),
    "overlap": lambda h: h["forest0.box"].update(data_offsets=[0, 32]),
    "whole numbers of 4,000 digits": lambda h: h["forest0.split"].update(shape=[10**4000, 10**4000]),
}


@pytest.mark.parametrize("name", CHANGED_HEADERS)
def test_a_changed_header_is_refused(tmp_path, saved, name):
    header, numbers = parted(saved["linear"])
    CHANGED_HEADERS[name](header)
    refused(tmp_path / "changed.pforest", joined(header, numbers))


def test_bytes_too_few_or_too_many_are_refused(tmp_path, saved):
    whole = saved["linear"]
    for content in (whole[:-1], whole + b"\0", whole[: len(whole) // 2], whole[:8], whole[:100]):
        refused(tmp_path / "cut.pforest", content)


def test_a_name_that_comes_twice_is_refused(tmp_path, saved):
    header, numbers = parted(saved["linear"])
    text = json.dumps(header)
    twice = '{"forest0.split": ' + json.dumps(header["forest0.split"]) + ", " + text[1:]
    assert "twice" in refused(tmp_path / "twice.pforest", joined(twice.encode(), numbers))


# --- Trees that are none ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "index", "value"),
    [
        ("child", 0, 0),  # its own child
        ("child", 0, 2),  # shares a child
        ("child", 0, -1),
        ("child", 0, 2**31 - 1),
        ("child", 0, -(2**31)),
        ("child", 1, 0),  # back to the root
        ("child", -1, 0),  # a leaf with another's number
        ("feature", 0, 2),
        ("feature", 0, -2),
        ("feature", 0, 2**31 - 1),
        ("feature", -1, 0),  # a leaf that is none
        ("split", 0, np.nan),
        ("split", 0, np.inf),
        ("coefficients", 3, np.nan),
        ("coefficients", 0, -np.inf),
        ("node_offsets", 0, 1),
        ("node_offsets", 1, 0),
        ("node_offsets", 1, -5),
        ("node_offsets", 1, 2**62),
        ("node_offsets", -1, 2**62),
        ("box", 0, np.nan),
        ("box", 0, np.inf),
        ("box", 1, -np.inf),
        ("box", 0, 100.0),
    ],
)
def test_arrays_that_make_no_tree_are_refused(tmp_path, saved, name, index, value):
    refused(tmp_path / "tree.pforest", with_number(saved["linear"], f"forest0.{name}", index, value))


@pytest.mark.parametrize(
    ("name", "index", "value"),
    [
        ("box", 4, -np.inf),  # actions without bound
        ("split", -1, 1e200),  # a value that would overflow in sums
    ],
)
def test_a_forest_that_has_no_best_action_is_refused(tmp_path, saved, name, index, value):
    refused(tmp_path / "greedy.pforest", with_number(saved["greedy"], f"forest0.{name}", index, value))


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

"""Files of policies that somebody changed: texts, headers, bytes and trees are refused by name."""

import json

import numpy as np
import pytest

import policyforest as pf
from policyforest.policy.policy_files import load
from tampering import CHANGED_HEADERS, joined, parted, refused, with_number, with_text


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

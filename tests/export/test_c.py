"""Exported C gives the policy's actions, bit for bit, with every compiler at hand."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from gymnasium.spaces import Box

import policyforest as pf
from policies import INFO, POLICIES, STATE_BOX, STATES, actions_box, forest_policy, grown
from policyforest.export.error_bound import quantisation_error
from policyforest.export.host import HostPolicy
from policyforest.export.int16 import quantise
from policyforest.export.probing import probing_states, random_states

KINDS = ["constant", "three actions", "periodic", "simplified"]
WITH_CLANG = [("periodic", "clang")] if shutil.which("clang") else []
N_STATES = 100_000


def bits(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array).view(np.int64 if array.dtype == np.float64 else np.int32)


def expected(policy: pf.Policy, precision: str, states: np.ndarray) -> np.ndarray:
    if precision == "int16":
        return quantise(policy).act_batch(states)
    if precision == "float32":
        return policy.astype("float32").act_batch(states.astype(np.float32))
    return policy.with_outside("nearest").act_batch(states)


def check(policy: pf.Policy, precision: str, style: str, folder: Path, n: int = N_STATES, **options: object) -> None:
    policy.export_c(folder, precision, style)
    states = probing_states(policy, n, seed=1)
    found = HostPolicy(folder, **options).act_batch(states)
    assert np.array_equal(bits(found), bits(expected(policy, precision, states)))


@pytest.mark.parametrize("style", ["table", "branches"])
@pytest.mark.parametrize("precision", ["float64", "float32", "int16"])
@pytest.mark.parametrize(("kind", "compiler"), [*((kind, "gcc") for kind in KINDS), *WITH_CLANG])
def test_actions_are_the_policy_s_bit_for_bit(
    kind: str, precision: str, style: str, compiler: str, tmp_path: Path
) -> None:
    check(POLICIES[kind](), precision, style, tmp_path / "c", compiler=compiler)


@pytest.mark.parametrize("kind", ["linear", "raises outside", "single precision"])
def test_other_policies(kind: str, tmp_path: Path) -> None:
    check(POLICIES[kind](), "float64", "table", tmp_path / "c")


@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_fused_multiply_adds_are_kept_out(precision: str, tmp_path: Path) -> None:
    flags = ("-O3", "-march=haswell", "-std=gnu11")
    machine = Path("/proc/cpuinfo")
    if not machine.exists() or " fma " not in machine.read_text():
        pytest.skip("this processor has no fused multiply-add")
    for style in ("table", "branches"):
        check(forest_policy(2), precision, style, tmp_path / style, flags=flags)


@pytest.mark.parametrize("precision", ["float64", "float32", "int16"])
def test_trees_of_one_leaf_and_mixed_leaves(precision: str, tmp_path: Path) -> None:
    single = pf.Forest.from_arrays(feature=[-1], split=[0.25], child=[0], node_offsets=[0, 1], box=STATE_BOX)
    policy = pf.Policy((single, grown(1, leaf_model="linear")), STATES, actions_box(2), {}, INFO)
    for style in ("table", "branches"):
        check(policy, precision, style, tmp_path / style, n=2_000)


@pytest.mark.parametrize("dims", [1, 5, 33])
def test_any_number_of_states(dims: int, tmp_path: Path) -> None:
    box = np.tile([-1.0, 2.0], (dims, 1))
    space = Box(-np.inf, np.inf, (dims,), np.float64)
    for leaf_model in ("constant", "linear"):
        forest = grown(3, leaf_model=leaf_model, box=box, n=400)
        policy = pf.Policy((forest,), space, actions_box(1), {}, INFO)
        for precision in ("float64", "float32", "int16"):
            check(policy, precision, "table", tmp_path / f"{leaf_model}-{precision}", n=3_000)


def test_a_large_tree_gets_wide_heads(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(STATE_BOX[:, 0], STATE_BOX[:, 1], (6_000, 2))
    forest = pf.grow_forest(X, rng.random(6_000), n_estimators=1, min_samples_leaf=1, box=STATE_BOX, random_state=0)
    policy = pf.Policy((forest,), STATES, actions_box(1), {}, INFO)
    assert forest.n_leaves > 3_000
    check(policy, "float64", "table", tmp_path / "wide", n=20_000)
    coarse = pf.Policy((forest.prune(2_500),), STATES, actions_box(1), {}, INFO)
    check(coarse, "int16", "table", tmp_path / "int16", n=20_000)


def test_nan_and_infinity_give_actions_of_the_box(tmp_path: Path) -> None:
    for precision in ("float64", "float32", "int16"):
        policy = forest_policy(2, periodic={0: (-np.pi, np.pi)})
        policy.export_c(tmp_path / precision, precision)
        compiled = HostPolicy(tmp_path / precision)
        odd = [np.nan, -np.nan, np.inf, -np.inf, 1e300, 0.0]
        states = np.array([[a, b] for a in odd for b in odd])
        with np.errstate(over="ignore"):
            actions = compiled.act_batch(states)
        box = policy.action_space
        assert ((actions >= box.low) & (actions <= box.high)).all()


@pytest.mark.parametrize("kind", ["constant", "linear", "three actions", "periodic", "simplified"])
def test_int16_stays_within_its_bound(kind: str) -> None:
    policy = POLICIES[kind]()
    quantised = quantise(policy)
    error = quantisation_error(quantised)
    rng = np.random.default_rng(5)
    inside = random_states(policy, N_STATES // 2, rng)
    near = probing_states(policy, N_STATES, seed=6)
    box = policy.state_box
    near = near[((near >= box[:, 0]) & (near <= box[:, 1])).all(axis=1)]
    states = np.concatenate([inside, near]).astype(np.float32)
    states = np.clip(states, box[:, 0].astype(np.float32), box[:, 1].astype(np.float32))
    off = np.abs(quantised.act_batch(states) - policy.act_batch(states.astype(np.float64)))
    assert (off.max(axis=0) <= error.bound).all()
    assert (np.asarray(error.largest) <= error.bound).all()
    mean = off[: len(inside)].mean(axis=0)
    assert (mean <= 10 * np.asarray(error.mean)).all()  # few states lie in a cell with a threshold


def test_the_bound_of_int16_says_something() -> None:
    """Many small leaves: neighbours are alike, so no state can move the action far."""
    rng = np.random.default_rng(0)
    X = rng.uniform(STATE_BOX[:, 0], STATE_BOX[:, 1], (4_000, 2))
    forest = pf.grow_forest(
        X, np.sin(X).sum(axis=1), n_estimators=25, min_samples_leaf=5, box=STATE_BOX, random_state=0
    )
    policy = pf.Policy((forest,), STATES, Box(-2.0, 2.0, (1,), np.float64), {}, INFO)
    error = quantisation_error(quantise(policy))
    assert error.mean[0] < 1e-4
    assert error.largest[0] <= error.bound[0] < 0.5


def test_the_directory_is_ready_to_use(tmp_path: Path) -> None:
    folder = tmp_path / "controller"
    export = forest_policy(2, periodic={0: (-np.pi, np.pi)}).export_c(folder, "float32", name="pole")
    done = subprocess.run(["make", "-s", "-C", folder, "test"], capture_output=True, text=True, check=True)
    assert "of" in done.stdout
    assert "pole" in done.stdout
    written = sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.suffix not in (".o", ""))
    assert {"pole.c", "pole.h", "main.c", "README.md", "examples/pole_example/pole_example.ino"} <= set(written)
    assert set(export.files) == {*written, "Makefile"}
    assert len((folder / "README.md").read_text().splitlines()) == 10
    header = (folder / "pole.h").read_text()
    for words in ("an angle", "fpf-pwl", "12 samples", f"{export.comparisons} comparisons", "#define POLE_STATES 2"):
        assert words in header


def test_the_self_test_fails_when_a_number_is_changed(tmp_path: Path) -> None:
    forest_policy(1).export_c(tmp_path / "c", "float32")
    source = (tmp_path / "c" / "policy.c").read_text()
    begin = source.index("] IN_FLASH = {") + len("] IN_FLASH = {\n")
    numbers = source[begin:].split(",")
    numbers[1] = " 5"  # the first threshold
    (tmp_path / "c" / "policy.c").write_text(source[:begin] + ",".join(numbers))
    done = subprocess.run(["make", "-s", "-C", tmp_path / "c", "test"], capture_output=True, text=True, check=False)
    assert done.returncode != 0


def test_source_needs_no_library_and_has_no_variables(tmp_path: Path) -> None:
    for precision in ("float64", "float32", "int16"):
        policy = forest_policy(2, periodic={0: (-np.pi, np.pi)})
        policy.export_c(tmp_path / precision, precision)
        command = ["make", "-s", "-C", str(tmp_path / precision), "policy.o"]
        subprocess.run(command, check=True)
        symbols = subprocess.run(
            ["nm", tmp_path / precision / "policy.o"], capture_output=True, text=True, check=True
        ).stdout.splitlines()
        kinds = {line.split()[-2] for line in symbols}
        assert kinds <= {"T", "t", "r", "R"}, symbols  # no undefined symbol, no data that changes
        assert [line.split()[-1] for line in symbols if line.split()[-2] == "T"] == ["policy_act"]

"""Exported C on the processors it is meant for, in their emulators: the same bits, within the bounds.

`make test-embedded` installs what is needed and runs this; elsewhere a missing tool skips a test.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

import policyforest as pf
from policies import POLICIES
from policyforest.export.emulators import (
    AARCH64,
    ALL_TARGETS,
    ATMEGA328P,
    CORTEX_M4F,
    Target,
    build,
    exported,
    exported_controller,
    flash_bytes,
    ram_bytes,
    run,
)
from policyforest.export.int16 import quantise
from policyforest.export.probing import probing_states
from policyforest.export.timing import cortex_m4f_instructions

ARDUINO = Path("/usr/share/arduino/hardware/arduino/avr")
PENDULUM = "policyforest/InvertedPendulum6kg-v0"


def require(target: Target) -> None:
    missing = target.missing()
    if missing and os.environ.get("POLICYFOREST_EMBEDDED"):
        pytest.fail(f"not installed: {missing}")
    if missing:
        pytest.skip(f"not installed: {missing}")


def expected(policy: pf.Policy, precision: str, states: np.ndarray) -> np.ndarray:
    if precision == "int16":
        return quantise(policy).act_batch(states)
    return policy.astype(precision).act_batch(states)


@pytest.mark.parametrize("style", ["table", "branches"])
@pytest.mark.parametrize("precision", ["float64", "float32", "int16"])
@pytest.mark.parametrize("kind", ["constant", "three actions", "periodic"])
@pytest.mark.parametrize("target", ALL_TARGETS, ids=lambda target: target.name)
def test_actions_are_the_same_bits(target: Target, kind: str, precision: str, style: str, tmp_path: Path) -> None:
    require(target)
    if target is ATMEGA328P and precision == "float64":
        pytest.skip("its double has 32 bits; the next test sees that this is refused")
    policy = POLICIES[kind]()
    policy.export_c(tmp_path / "c", precision, style)
    states = probing_states(policy, 100 if target is ATMEGA328P else 3_000, seed=3)
    contender = exported(tmp_path / "c")
    trial = run(target, build(target, contender, states, tmp_path / "build"), contender)
    wanted = expected(policy, precision, states)
    assert trial.actions.dtype == wanted.dtype
    assert trial.actions.tobytes() == wanted.tobytes()


def test_a_double_of_32_bits_is_refused_when_it_is_compiled(tmp_path: Path) -> None:
    require(ATMEGA328P)
    POLICIES["constant"]().export_c(tmp_path / "c", "float64")
    contender = exported(tmp_path / "c")
    with pytest.raises(RuntimeError, match="needs_a_double_of_64_bits"):
        build(ATMEGA328P, contender, np.zeros((1, 2)), tmp_path / "build")


def test_the_self_test_runs_on_arm64(tmp_path: Path) -> None:
    require(AARCH64)
    POLICIES["periodic"]().export_c(tmp_path / "c")
    command = ["make", "-s", "-C", str(tmp_path / "c"), "self-test", f"CC={AARCH64.compiler}", "CFLAGS=-O3 -static"]
    subprocess.run(command, check=True)
    done = subprocess.run(["qemu-aarch64", tmp_path / "c" / "self-test"], capture_output=True, text=True, check=True)
    assert "as recorded" in done.stdout


@pytest.mark.parametrize("style", ["table", "branches"])
@pytest.mark.parametrize("precision", ["float32", "int16"])
def test_no_call_takes_more_instructions_than_the_bound(precision: str, style: str) -> None:
    require(CORTEX_M4F)
    count = cortex_m4f_instructions(POLICIES["constant"](), precision, style)
    assert 0 < count.mean <= count.largest <= count.bound


@pytest.fixture(scope="module")
def pendulum() -> pf.Policy:
    """FPF:PWL on the pendulum, as the demo learns it."""
    from policyforest.learning.methods import Learner

    data = pf.collect(PENDULUM, episodes=100, seed=0)
    policy = Learner("fpf-pwl", PENDULUM, seed=0, n_jobs=-1).fit(data).policy
    assert isinstance(policy, pf.Policy)
    return policy


def test_a_controller_with_history_filter_and_rate_limit_steps_as_in_python(tmp_path: Path) -> None:
    require(CORTEX_M4F)
    data = pf.collect(
        PENDULUM, episodes=20, seed=0, history=2, delay=2, max_rate=8.0, period=0.1, derive=["f = ema(omega, 0.3)"]
    )
    forest = pf.grow_forest(data.states, 90 * data.states[:, 0] + 20 * data.states[:, 2], n_estimators=4)
    policy = pf.Policy((forest,), data.observation_space, data.action_space, signals=data.plant.signals)
    policy.export_c(tmp_path / "c", "float32")
    rows = np.random.default_rng(0).uniform(-0.5, 0.5, (60, 2))
    contender = exported_controller(tmp_path / "c")
    trial = run(CORTEX_M4F, build(CORTEX_M4F, contender, rows, tmp_path / "build"), contender)
    python = policy.astype("float32").controller()
    python.reset()
    assert trial.actions.tobytes() == np.array([python.step(row.astype(np.float32)) for row in rows]).tobytes()
    policy.with_signals(None).export_c(tmp_path / "plain", "float32")
    with pytest.raises(ValueError, match="holds a policy without history, must hold one with policy_step"):
        exported_controller(tmp_path / "plain")


def test_the_pendulum_s_tree_fits_an_atmega_and_acts_in_a_millisecond(pendulum: pf.Policy, tmp_path: Path) -> None:
    require(ATMEGA328P)
    tree = pendulum.simplify(1_000)
    tree.export_c(tmp_path / "c", "float32")
    states = pf.collect(PENDULUM, tree, steps=150, seed=3).states
    contender = exported(tmp_path / "c")
    program = build(ATMEGA328P, contender, states, tmp_path / "build")
    assert flash_bytes(ATMEGA328P, program) < 32 * 1024
    assert ram_bytes(ATMEGA328P, program) < 2 * 1024 // 4  # the rest is the stack's
    trial = run(ATMEGA328P, program, contender)
    assert trial.actions.tobytes() == tree.astype("float32").act_batch(states).tobytes()
    assert trial.counts.max() < 16_000
    whole, simple = (pf.evaluate(p, PENDULUM, episodes=50, seed=1).mean for p in (pendulum, tree))
    assert abs(simple - whole) <= 0.05 * abs(whole)


@pytest.mark.parametrize("history", [False, True])
def test_the_arduino_sketch_builds_with_the_arduino_core(history: bool, tmp_path: Path) -> None:
    require(ATMEGA328P)
    core = ARDUINO / "cores" / "arduino"
    if not core.exists():
        if os.environ.get("POLICYFOREST_EMBEDDED"):
            pytest.fail("not installed: arduino-core-avr")
        pytest.skip("not installed: arduino-core-avr")
    library = tmp_path / "pole"
    policy = POLICIES["periodic"]()
    if history:
        n = policy.observation_space.shape[0]
        policy = policy.with_signals(pf.Signals(("x",), ("u",), history=n, actuators=pf.Actuators(quantum=(0.01,))))
    policy.export_c(library, "float32", name="pole")
    sketch = tmp_path / "sketch.cpp"
    text = (library / "examples" / "pole_example" / "pole_example.ino").read_text()
    sketch.write_text("#include <Arduino.h>\n" + text)
    # What the Arduino IDE passes, and a macro that Debian's older compiler has under another name.
    flags = ["-mmcu=atmega328p", "-DF_CPU=16000000L", "-DARDUINO=10819", "-DARDUINO_AVR_UNO", "-DARDUINO_ARCH_AVR"]
    flags += ["-Os", "-w", "-ffunction-sections", "-fdata-sections", "-DDECIMAL_DIG=__DECIMAL_DIG__"]
    flags += [f"-I{core}", f"-I{ARDUINO / 'variants' / 'standard'}", f"-I{library}"]
    objects = []
    for source in [*core.glob("*.c"), library / "pole.c", library / "main.c"]:
        objects.append(tmp_path / f"{source.name}.o")
        subprocess.run(["avr-gcc", "-std=gnu11", *flags, "-c", source, "-o", objects[-1]], check=True)
    program = tmp_path / "sketch.elf"
    command = ["avr-g++", "-std=gnu++11", "-fno-exceptions", "-fno-threadsafe-statics", *flags, "-Wl,--gc-sections"]
    subprocess.run([*command, sketch, *core.glob("*.cpp"), *objects, *core.glob("*.S"), "-o", program], check=True)
    assert 2_000 < flash_bytes(ATMEGA328P, program) < 32 * 1024

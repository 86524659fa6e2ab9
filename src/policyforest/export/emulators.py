"""Exported C on other processors: cross-compiled, run in an emulator, its actions and instructions counted.

| target | processor | emulator | one tick is |
|---|---|---|---|
| `cortex-m4f` | ARM Cortex-M4F (mps2-an386) | QEMU | 5/32 of an instruction |
| `atmega328p` | AVR at 16 MHz | simavr | 8 cycles |
| `aarch64` | 64-bit ARM, Linux | qemu-user | not counted |
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from policyforest.export.host import STRICT, require_tool, run_tool

TARGETS = Path(__file__).parent / "targets"
SECONDS = 120


@dataclass(frozen=True)
class Target:
    """How C is compiled to a program for a processor, and how that program is run."""

    name: str
    compiler: str
    packages: str
    flags: tuple[str, ...]
    files: tuple[str, ...]
    emulator: tuple[str, ...]
    """The command before the program"""
    emulator_package: str
    per_tick: float
    """Instructions (cortex-m4f) or cycles (atmega328p) per tick of its clock"""
    size: str = ""
    """The program that prints the size of another program"""

    def missing(self) -> list[str]:
        """Debian packages that are needed and not installed."""
        import shutil

        wanted = [(self.compiler, self.packages), (self.emulator[0], self.emulator_package)]
        return [package for tool, package in wanted if shutil.which(tool) is None]


CORTEX_M4F = Target(
    name="cortex-m4f",
    compiler="arm-none-eabi-gcc",
    packages="gcc-arm-none-eabi libnewlib-arm-none-eabi",
    flags=(
        *("-mcpu=cortex-m4", "-mthumb", "-mfpu=fpv4-sp-d16", "-mfloat-abi=hard"),
        *("-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections", "-nostartfiles", "-specs=nano.specs"),
        *("-T", str(TARGETS / "cortex_m4f.ld")),
    ),
    files=("cortex_m4f.c",),
    emulator=(
        *("qemu-system-arm", "-M", "mps2-an386", "-nographic", "-monitor", "none", "-serial", "none"),
        *("-semihosting-config", "enable=on,target=native", "-icount", "shift=8", "-kernel"),
    ),
    emulator_package="qemu-system-arm",
    per_tick=40 / 256,
    size="arm-none-eabi-size",
)
ATMEGA328P = Target(
    name="atmega328p",
    compiler="avr-gcc",
    packages="gcc-avr avr-libc",
    flags=("-mmcu=atmega328p", "-DF_CPU=16000000UL", "-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections"),
    files=("atmega328p.c",),
    emulator=("simavr", "-m", "atmega328p", "-f", "16000000"),
    emulator_package="simavr",
    per_tick=8.0,
    size="avr-size",
)
AARCH64 = Target(
    name="aarch64",
    compiler="aarch64-linux-gnu-gcc",
    packages="gcc-aarch64-linux-gnu libc6-dev-arm64-cross",
    flags=("-static",),
    files=("hosted.c",),
    emulator=("qemu-aarch64",),
    emulator_package="qemu-user",
    per_tick=0.0,
)
ALL_TARGETS = (CORTEX_M4F, ATMEGA328P, AARCH64)


@dataclass(frozen=True)
class Trial:
    """The results of a target for some states."""

    actions: NDArray[Any]
    counts: NDArray[np.float64]
    """Instructions (cortex-m4f) or cycles (atmega328p) of each call, net of a call of an empty function"""


@dataclass(frozen=True)
class Contender:
    """C code with a function from a state to an action, by this library or another one."""

    sources: tuple[Path, ...]
    header: str
    """The lines that declare the function"""
    function: str
    real: str
    n_states: int
    n_actions: int
    includes: tuple[Path, ...] = ()
    strict: bool = True


def exported(directory: Path, name: str = "policy") -> Contender:
    """A directory that `export_c` wrote."""
    header = (directory / f"{name}.h").read_text(encoding="utf-8")

    def number(of: str) -> int:
        return int(header.split(f"#define {name.upper()}_{of} ")[1].split()[0])

    real = "double" if f"typedef double {name}_real" in header else "float"
    declaration = f'#include "{name}.h"'
    sources = (directory / f"{name}.c",)
    return Contender(sources, declaration, f"{name}_act", real, number("STATES"), number("ACTIONS"), (directory,))


def exported_controller(directory: Path, name: str = "policy") -> Contender:
    """The same for a policy with a history: each call takes a measurement and is a control step of one episode."""
    whole = exported(directory, name)
    header = (directory / f"{name}.h").read_text(encoding="utf-8")
    mark = f"#define {name.upper()}_MEASURED "
    if mark not in header:
        raise ValueError(f"directory: {directory} holds a policy without history, must hold one with {name}_step")
    step = (
        f"static void trial_step(const {name}_real *observation, {name}_real *action)\n{{\n"
        f"  static int begun = 0;\n  if (!begun) {name}_reset();\n  begun = 1;\n"
        f"  {name}_step(observation, action);\n}}"
    )
    measured = int(header.split(mark)[1].split()[0])
    return replace(whole, header=f"{whole.header}\n{step}", function="trial_step", n_states=measured)


def build(target: Target, contender: Contender, states: NDArray[Any], folder: Path, optimise: str = "-Os") -> Path:
    """A program for the target that runs the contender on the states."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "trial_states.h").write_text(_states_header(contender, states), encoding="utf-8")
    program = folder / f"trial-{target.name}"
    compiler = require_tool(target.compiler, target.packages)
    includes = [f"-I{path}" for path in (folder, TARGETS, *contender.includes)]
    # Only the policy is compiled with the strict flags, because the harness accesses hardware.
    objects = []
    for number, source in enumerate(contender.sources):
        strict = STRICT if contender.strict else ("-std=gnu99", "-w")
        output = folder / f"source-{number}-{target.name}.o"
        run_tool([compiler, *strict, optimise, *_compile_flags(target), *includes, "-c", source, "-o", output])
        objects.append(output)
    harness = [TARGETS / "trial_main.c", *(TARGETS / name for name in target.files)]
    run_tool([compiler, "-std=gnu99", optimise, *target.flags, *includes, *harness, *objects, "-o", program])
    return program


def run(target: Target, program: Path, contender: Contender) -> Trial:
    """The actions and counts that the program prints in the target's emulator."""
    require_tool(target.emulator[0], target.emulator_package)
    command = [*target.emulator, str(program)]
    try:
        done = subprocess.run(command, capture_output=True, timeout=SECONDS, check=False, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired as error:
        raise RuntimeError(f"{target.emulator[0]}: did not end within {SECONDS} s") from error
    text = re.sub(r"\x1b\[[0-9;]*m", "", (done.stdout + done.stderr).decode(errors="replace"))
    words = 2 if contender.real == "double" else 1
    pattern = re.compile(rf"^((?:[0-9a-f]{{8}} ){{{1 + words * contender.n_actions}}})\.?\s*$", re.MULTILINE)
    rows = [[int(word, 16) for word in line.split()] for line in pattern.findall(text)]
    if not rows:
        raise RuntimeError(f"{target.emulator[0]}: printed no actions: {text[:500]!r}")
    table = np.array(rows, dtype=np.uint32)
    real = np.float64 if contender.real == "double" else np.float32
    actions: NDArray[Any] = np.ascontiguousarray(table[:, 1:]).view(real)
    # SysTick has 24 bits; shifted up and down again, a difference keeps its sign.
    counts = (table[:, 0] << 8).view(np.int32).astype(np.float64) / 256 * target.per_tick
    return Trial(actions, np.rint(counts))


def flash_bytes(target: Target, program: Path) -> int:
    """Bytes of the code, constants and initial values of a program."""
    text, data = run_tool([require_tool(target.size, target.packages), program]).splitlines()[1].split()[:2]
    return int(text) + int(data)


def ram_bytes(target: Target, program: Path) -> int:
    """Bytes of the variables of a program, without its stack."""
    _, data, bss = run_tool([require_tool(target.size, target.packages), program]).splitlines()[1].split()[:3]
    return int(data) + int(bss)


def _compile_flags(target: Target) -> Sequence[str]:
    """The flags that matter when nothing is linked."""
    flags = [flag for flag in target.flags if not flag.startswith(("-Wl", "-T", "-nostart", "-static", "-specs"))]
    return [flag for flag in flags if not flag.endswith(".ld")]


def _states_header(contender: Contender, states: NDArray[Any]) -> str:
    suffix = "" if contender.real == "double" else "f"
    kind = np.float64 if contender.real == "double" else np.float32

    def literal(number: np.floating) -> str:
        text = repr(float(number)) if contender.real == "double" else str(number)
        return (text if "." in text or "e" in text else f"{text}.0") + suffix

    rows = ",\n".join("  {" + ", ".join(map(literal, row)) + "}" for row in states.astype(kind))
    return (
        f"{contender.header}\n"
        f"typedef {contender.real} trial_real;\n"
        f"#define TRIAL_ACT {contender.function}\n"
        f"#define TRIAL_WIDTH {contender.n_states}\n"
        f"#define TRIAL_ACTIONS {contender.n_actions}\n"
        f"#define TRIAL_STATES {len(states)}u\n"
        f"static const trial_real trial_states[TRIAL_STATES][TRIAL_WIDTH] TRIAL_IN_FLASH = {{\n{rows}\n}};\n"
    )

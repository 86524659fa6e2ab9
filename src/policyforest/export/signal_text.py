"""The C text of signals: derived columns, history and actuators, in the order of `PolicyController`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from policyforest._support.arguments import Floats
from policyforest._support.signal_formulas import COSINE, HALF_PI, HIDING, SINE, Operation
from policyforest._support.signals import Signals
from policyforest.export.int16 import QuantisedPolicy
from policyforest.export.program import Program
from policyforest.policy.controller import PolicyController
from policyforest.policy.float32_policy import Float32Policy
from policyforest.policy.policy import Policy

# Steps of the recorded run of the self-test.
RECORDED_STEPS = 24
CELLS = 65_535
# Microseconds of a control step in the example sketch, if the policy does not know its own.
PERIOD_US = 100_000


def signal_facts(policy: Policy, program: Program, runner: Policy | Float32Policy | QuantisedPolicy) -> dict[str, Any]:
    """The contents of the templates that describe signals; `signals` is None for a policy whose states are its
    measurements."""
    signals = policy.signals
    if signals is None:
        return {"signals": None, "needs_floor": False, "period_us": PERIOD_US}
    box = np.array([[forest.action_lo, forest.action_hi] for forest in program.forests])
    lines, memory, saved, channels = _operations(signals, program)
    idle = np.clip(np.array(signals.idle or (0.0,) * len(box)), box[:, 0], box[:, 1])
    return {
        "signals": signals,
        "period_us": PERIOD_US if signals.period is None else round(1e6 * signals.period),
        "measured_lines": [f"[{d}] {name}" for d, name in enumerate(signals.measured)],
        "signal_lines": lines,
        "signal_saved": saved,
        "memory": memory,
        "channels": channels,
        "derived_channels": [v for v, i in zip(channels, signals.kept, strict=True) if i >= len(signals.measured)],
        "n_channels": len(signals.channel_names),
        "kept_actions": max(1, signals.history_actions),
        "wait": signals.program.warm_up,
        "idle": [program.literal(x) for x in idle],
        "recorded_run": _recorded_run(policy, signals, runner, program),
        **_helpers(signals, program, _limit_lines(signals, box, program), lines),
    }


def _helpers(signals: Signals, program: Program, limits: list[list[str]], lines: list[str]) -> dict[str, Any]:
    """The functions that the code needs, and their numbers; compilers would warn of unused functions."""
    columns = [*range(len(signals.measured)), *signals.program.outputs]
    used = _used(signals.program.operations, [columns[i] for i in signals.kept])
    operations = [signals.program.operations[k] for k in sorted(used)]
    words = {op.word for op in operations}
    short_ways = any(op.word == "diff" and len(op.numbers) == 3 for op in operations)
    floors = short_ways or bool(words & {"wrap", "sin", "cos"})
    return {
        "limits": limits,
        "needs_floor": floors or any("whole_below" in line for row in limits for line in row),
        "needs_held": bool(limits) or "clip" in words,
        "needs_known": any("known(" in line for line in lines),
        "signal_words": words,
        "short_ways": short_ways,
        "pi": np.pi,
        "circle_words": sorted(words & {"sin", "cos"}),
        "half_pi": [program.literal(x) for x in HALF_PI],
        "two_over_pi": program.literal(2 / np.pi),
        "sine": [program.literal(x) for x in SINE],
        "cosine": [program.literal(x) for x in COSINE],
    }


def require_resolution(policy: Policy, quantised: QuantisedPolicy) -> None:
    """Refuses rate limits that a 16-bit action cannot follow."""
    for j, rate in enumerate(policy.signals.actuators.max_rate if policy.signals else ()):
        smallest = float(quantised.action_hi[j] - quantised.action_lo[j]) / CELLS
        if rate < smallest:
            raise ValueError(
                f"max_rate[{j}]: is {rate:g}, below the resolution {smallest:g} of int16; must be at least that, or "
                "export for float32"
            )


def runner_controller(policy: Policy, runner: Policy | Float32Policy | QuantisedPolicy) -> PolicyController:
    """The controller that computes here what the exported code computes."""
    if not isinstance(runner, QuantisedPolicy):
        return runner.controller()
    assert policy.signals is not None
    return PolicyController(_OneRow(runner), policy.signals, np.float32)


class _OneRow:
    """A quantised policy for one state at a time."""

    def __init__(self, runner: QuantisedPolicy) -> None:
        from gymnasium.spaces import Box

        self._runner = runner
        self.action_space = Box(runner.action_lo, runner.action_hi, dtype=np.float32)

    def act(self, state: NDArray[Any]) -> NDArray[Any]:
        action: NDArray[Any] = self._runner.act_batch(state[None])[0]
        return action


def measured_rows(policy: Policy, n: int, rng: np.random.Generator) -> Floats:
    """A random walk of measurements over the range that the policy knows."""
    signals = policy.signals
    assert signals is not None
    box = np.clip(policy.state_box, -1e3, 1e3)
    known = {name: box[d] for d, name in enumerate(signals.channel_names)}
    sides = np.array([known.get(name, np.array([-1.0, 1.0])) for name in signals.measured])
    size = np.maximum(sides[:, 1] - sides[:, 0], 1e-3)
    walk = sides.mean(axis=1) + 0.1 * size * rng.normal(size=(n, len(sides))).cumsum(axis=0)
    inside: Floats = np.clip(walk, sides[:, 0] - 0.1 * size, sides[:, 1] + 0.1 * size)
    return inside


def _recorded_run(
    policy: Policy, signals: Signals, runner: Policy | Float32Policy | QuantisedPolicy, program: Program
) -> list[dict[str, str]]:
    real = np.float64 if program.precision == "float64" else np.float32
    controller = runner_controller(policy, runner)
    controller.reset()
    rows = []
    for row in measured_rows(policy, RECORDED_STEPS, np.random.default_rng(0)).astype(real):
        action = controller.step(row)
        texts = [", ".join(program.literal(x) for x in numbers) for numbers in (row, action)]
        rows.append({"state": texts[0], "action": texts[1]})
    return rows


def _operations(signals: Signals, program: Program) -> tuple[list[str], int, list[str], list[str]]:
    """Lines that compute values, the number of places in memory, lines that save values, and the channels' values."""
    lines, saved, waits, places = [], [], list[int](), 0
    operations = signals.program.operations
    for k, op in enumerate(operations):
        wait = max((waits[i] for i in op.operands), default=0)
        text = _expression(op, program, places, wait)
        if op.word in HIDING:
            text = _known(op, text, [i for i in op.operands if operations[i].word != "number"], program)
        lines.append(f"const real v{k} = {text};")
        if op.word in ("diff", "ema"):
            kept = f"v{op.operands[0]}" if op.word == "diff" else f"v{k}"
            saved.append(f"own.memory[{places}] = {kept};")
            places += 1
        waits.append(wait + (op.word == "diff"))
    columns = [*range(len(signals.measured)), *signals.program.outputs]
    used = _used(operations, [columns[i] for i in signals.kept])
    kept_lines = [line for k, line in enumerate(lines) if k in used]
    return kept_lines, places, [s for s in saved if _names_used(s, used)], [f"v{columns[i]}" for i in signals.kept]


def _known(op: Operation, text: str, doubtful: list[int], program: Program) -> str:
    """The text of an operation, whose value becomes NaN if an operand that matters is not finite."""
    yes, no = (program.literal(x) for x in (1.0, 0.0))
    match op.word:
        case "and" | "or":
            first, second = op.operands
            left = f"known(v{second}, v{second} != {no} ? {yes} : {no})"
            ends = f"{left} : {no}" if op.word == "and" else f"{yes} : {left}"
            return f"known(v{first}, v{first} != {no} ? {ends})"
        case "select":
            return f"known(v{op.operands[0]}, {text})"
        case "/":  # a numerator that is not finite stays so
            doubtful = [i for i in doubtful if i == op.operands[1]]
    for i in dict.fromkeys(doubtful):
        text = f"known(v{i}, {text})"
    return text


def _used(operations: tuple[Operation, ...], wanted: list[int]) -> set[int]:
    found, left = set[int](), list(wanted)
    while left:
        k = left.pop()
        if k not in found:
            found.add(k)
            left += operations[k].operands
    return found


def _names_used(line: str, used: set[int]) -> bool:
    return int(line.rpartition("v")[2].rstrip(";")) in used


def _expression(op: Operation, program: Program, place: int, wait: int) -> str:
    lit = program.literal
    v = [f"v{i}" for i in op.operands]
    match op.word:
        case "measured":
            return f"observation[{int(op.numbers[0])}]"
        case "number":
            return lit(op.numbers[0])
        case "negative":
            return f"-{v[0]}"
        case "abs" | "sign" | "wrap" | "sin" | "cos":
            return f"signal_{op.word}({v[0]})"
        case "min":
            return f"{v[1]} < {v[0]} ? {v[1]} : {v[0]}"
        case "max":
            return f"{v[1]} > {v[0]} ? {v[1]} : {v[0]}"
        case "clip":
            return f"held({', '.join(v)})"
        case "not":
            return f"{v[0]} != {lit(0.0)} ? {lit(0.0)} : {lit(1.0)}"
        case "and" | "or":
            joined = " && " if op.word == "and" else " || "
            return f"{joined.join(f'{x} != {lit(0.0)}' for x in v)} ? {lit(1.0)} : {lit(0.0)}"
        case "select":
            return f"{v[0]} != {lit(0.0)} ? {v[1]} : {v[2]}"
        case "diff":
            change = f"{v[0]} - own.memory[{place}]"
            if len(op.numbers) == 3:
                change = f"short_way({change}, {lit(op.numbers[2])} - {lit(op.numbers[1])})"
            return f"({change}) / {lit(op.numbers[0])}"
        case "ema":
            memory = f"own.memory[{place}]"
            return f"own.seen <= {wait}u ? {v[0]} : {memory} + {lit(op.numbers[0])} * ({v[0]} - {memory})"
        case "+" | "-" | "*" | "/":
            return f"{v[0]} {op.word} {v[1]}"
    return f"{v[0]} {op.word} {v[1]} ? {lit(1.0)} : {lit(0.0)}"


def _limit_lines(signals: Signals, box: Floats, program: Program) -> list[list[str]]:
    """For each action the statements that make an action `u` of a command, after the action `own.actions[0][j]`."""
    lit, found = program.literal, []
    for j, row in enumerate([] if signals.actuators.idle else signals.actuators.rows(box)):
        before, lines = f"own.actions[0][{j}]", []
        if row["dead"] > 0:
            lines.append(f"if (u < {lit(row['dead'])} && u > -{lit(row['dead'])}) u = {lit(0.0)};")
        if row["step"] > 0:
            ends = f"{lit(row['first'])}, {lit(row['last'])}"
            lines.append(f"u = held(whole_below(u / {lit(row['step'])} + {lit(0.5)}), {ends});")
            if row["rate"] > 0:
                was = f"whole_below({before} / {lit(row['step'])} + {lit(0.5)})"
                by = lit(row["steps"])
                lines.append(f"u = held(held(u, {was} - {by}, {was} + {by}), {ends});")
            lines.append(f"u = u * {lit(row['step'])};")
        elif row["rate"] > 0:
            lines.append(f"u = held(u, {before} - {lit(row['rate'])}, {before} + {lit(row['rate'])});")
        lines.append(f"u = held(u, {lit(row['low'])}, {lit(row['high'])});")
        found.append(lines)
    return found

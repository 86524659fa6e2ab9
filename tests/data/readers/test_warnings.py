"""What usually goes wrong with logs is told, each with what to do about it; a sound log has no warnings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import policyforest as pf

N = 60


def sound() -> dict[str, Any]:
    generator = np.random.default_rng(0)
    return {
        "episode": np.repeat(np.arange(4), N // 4),
        "time": np.tile(np.arange(N // 4) / 10, 4),
        "x": generator.normal(size=N),
        "theta": generator.uniform(-1, 1, N),
        "u": generator.uniform(-2, 2, N),
        "reward": generator.normal(size=N),
        "terminal": np.isin(np.arange(N), [14, 25, 44]).astype(int),
    }


def codes(tmp_path: Path, changes: dict[str, Any], **options: Any) -> list[str]:
    table = {name: column for name, column in (sound() | changes).items() if column is not None}
    lines = [",".join(table), *(",".join(str(v) for v in row) for row in zip(*table.values(), strict=True))]
    (tmp_path / "log.csv").write_text("\n".join(lines))
    given = {"state": ["x", "theta"], "action": ["u"], "action_bounds": {"u": (-2, 2)}} | options
    found = pf.read_log(tmp_path / "log.csv", **given).description.warnings
    assert all(w.text and w.what_to_do for w in found)
    return [w.code for w in found]


def test_a_sound_log_has_no_warnings(tmp_path: Path) -> None:
    assert codes(tmp_path, {}) == []


SPIN = np.linspace(0, 6 * np.pi, N) % (2 * np.pi)
LAST = np.arange(N) % 15 == 14


@pytest.mark.parametrize(
    ("changes", "options", "code"),
    [
        ({"u": np.full(N, 1.5)}, {}, "constant-action"),
        ({"u": np.arange(N) % 2}, {}, "discrete-action"),
        ({"x": np.zeros(N)}, {}, "constant-state"),
        ({"u": 0.3 * sound()["theta"]}, {}, "no-exploration"),
        ({"terminal": LAST.astype(int)}, {}, "time-limit"),
        ({"terminal": None}, {}, "no-terminal"),
        ({"terminal": np.zeros(N, dtype=int)}, {}, "never-terminal"),
        ({"terminal": None, "done": sound()["terminal"]}, {}, "done"),
        ({"theta": 170 * sound()["theta"]}, {}, "degrees"),
        ({"theta": SPIN}, {}, "angle"),
        ({"reward": np.zeros(N)}, {}, "constant-reward"),
        ({"reward": None}, {}, "no-reward"),
        ({"time": 1000 * sound()["time"]}, {}, "time-unit"),
        ({"time": np.tile(np.cumsum([0.05, 0.15] * 7 + [0.1]), 4)}, {}, "jitter"),
        ({"episode": None, "time": None, "terminal": None}, {}, "one-episode"),
        ({"episode": np.tile([0, 1], N // 2), "time": None, "terminal": LAST.astype(int)}, {}, "interleaved"),
        ({}, {"action_bounds": None}, "action-bounds"),
        ({"u": np.where(sound()["terminal"], 0, sound()["u"])}, {}, "terminal-state"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_each_trouble_is_told(tmp_path: Path, changes: dict[str, Any], options: dict[str, Any], code: str) -> None:
    if code == "interleaved":
        with pytest.raises(ValueError, match="has no samples"):  # every row is an episode of its own
            codes(tmp_path, changes | {"terminal": np.zeros(N, dtype=int)}, **options)
    assert code in codes(tmp_path, changes, **options)


def test_the_advice_helps(tmp_path: Path) -> None:
    assert "degrees" not in codes(tmp_path, {"theta": 170 * sound()["theta"]}, degrees=["theta"])
    assert "angle" not in codes(tmp_path, {"theta": SPIN}, angles=["theta"])
    assert "time-limit" not in codes(tmp_path, {"terminal": None, "truncated": LAST.astype(int)})
    assert "time-unit" not in codes(tmp_path, {"time": 1000 * sound()["time"]}, time_unit=1e-3)


def test_reading_transitions_warns(tmp_path: Path) -> None:
    codes(tmp_path, {})
    with pytest.warns(pf.LogWarning, match="limits of the actions were read off"):
        pf.read_transitions(tmp_path / "log.csv", state=["x", "theta"], action=["u"])
    codes(tmp_path, {"reward": None})
    with pytest.warns(pf.LogWarning), pytest.raises(ValueError, match="reward: is not given"):
        pf.read_transitions(tmp_path / "log.csv", state=["x", "theta"], action=["u"])

"""Exporters of trees, ours and others', given the same forest: each as C with `act(const float *, float *)`.

emlearn takes minutes for a forest of 6,500 leaves, so what peers generate is kept in a folder and used again for the
same forest; the versions are part of its name.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import warnings
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium.spaces import Box

import policyforest as pf
from policyforest.export.emulators import Contender, exported

# States in whole numbers of this range, as emlearn's int16 wants them.
RANGE = 30_000.0
HEADER = "void act(const float *state, float *action);"
EMPTY = HEADER + "\nvoid act(const float *state, float *action) { action[0] = state[0]; }\n"

M2CGEN = """
double score(double *input);
{header}
void act(const float *state, float *action)
{{
  double input[2];
  input[0] = state[0];
  input[1] = state[1];
  action[0] = (float)score(input);
}}
"""
TL2CGEN = """
#include "header.h"
{header}
void act(const float *state, float *action)
{{
  union Entry entry[2];
  double result[1] = {{0}};
  entry[0].fvalue = state[0];
  entry[1].fvalue = state[1];
  predict(entry, 0, result);
  action[0] = (float)result[0];
}}
"""
EMLEARN_INT16 = """
#include "model.h"
{header}
void act(const float *state, float *action)
{{
  int16_t features[2];
  features[0] = (int16_t)state[0];
  features[1] = (int16_t)state[1];
  action[0] = em_predict(features, 2);
}}
"""
EMLEARN_FLOAT = """
#include "model.h"
{header}
void act(const float *state, float *action) {{ action[0] = em_predict(state, 2); }}
"""


@dataclass(frozen=True)
class Shared:
    """One forest in all its forms."""

    leaves_a_tree: int
    model: Any
    """scikit-learn's"""
    policy: pf.Policy
    states: np.ndarray
    """Whole numbers, uniform over the box"""

    @property
    def key(self) -> str:
        arrays = self.policy.forests[0].arrays
        return hashlib.sha256(arrays["split"].tobytes() + arrays["feature"].tobytes()).hexdigest()[:12]


def shared_forest(leaves: int, n_samples: int = 20_000) -> Shared:
    """25 trees of about `leaves` constant leaves over two states, grown by scikit-learn and converted."""
    from sklearn.ensemble import ExtraTreesRegressor

    rng = np.random.default_rng(0)
    X = rng.uniform(-RANGE, RANGE, (n_samples, 2)).astype(np.float32).round()
    y = 10000 * np.sin(X[:, 0] / 9000) * np.cos(X[:, 1] / 7000) + 300 * rng.standard_normal(len(X))
    model = ExtraTreesRegressor(25, max_leaf_nodes=leaves, random_state=0).fit(X, y.round())
    box = np.tile([-RANGE, RANGE], (2, 1))
    space = Box(-RANGE, RANGE, (2,), np.float64)
    policy = pf.Policy((pf.Forest.from_sklearn(model, box),), space, Box(-12_000.0, 12_000.0, (1,), np.float64))
    states = rng.uniform(-RANGE, RANGE, (2_000, 2)).round()
    return Shared(leaves, model, policy, states)


def ours(shared: Shared, folder: Path) -> dict[str, Contender]:
    """Our exports."""
    made = {}
    for style in ("table", "branches"):
        for precision in ("int16", "float32"):
            where = folder / f"{precision}-{style}"
            shared.policy.export_c(where, precision, style)
            made[f"policyforest {precision} {style}"] = exported(where)
    return made


def empty(folder: Path) -> Contender:
    """A policy that does nothing."""
    (folder / "empty.c").write_text(EMPTY)
    return Contender((folder / "empty.c",), HEADER, "act", "float", 2, 1)


def peers(shared: Shared, cache: Path) -> dict[str, Contender]:
    """m2cgen, tl2cgen and emlearn in its modes."""
    made = {"m2cgen": _m2cgen(shared, cache), "tl2cgen": _tl2cgen(shared, cache)}
    for label, method, dtype in (
        ("emlearn table int16", "loadable", "int16_t"),
        ("emlearn inline int16", "inline", "int16_t"),
        ("emlearn inline float", "inline", "float"),
    ):
        made[label] = _emlearn(shared, cache, method, dtype)
    return made


def _folder(shared: Shared, cache: Path, package: str, mode: str = "") -> tuple[Path, bool]:
    """Where a peer's code goes, and whether it is there already."""
    folder = cache / f"{package}-{metadata.version(package)}{mode}-{shared.key}"
    done = folder / "done"
    fresh = not done.exists()
    folder.mkdir(parents=True, exist_ok=True)
    return folder, fresh


def _finished(folder: Path, adapter: str, sources: list[str], includes: tuple[Path, ...] = ()) -> Contender:
    (folder / "act.c").write_text(adapter.format(header=HEADER))
    (folder / "done").write_text("")
    files = tuple(folder / source for source in [*sources, "act.c"])
    return Contender(files, HEADER, "act", "float", 2, 1, (folder, *includes), strict=False)


def _m2cgen(shared: Shared, cache: Path) -> Contender:
    folder, fresh = _folder(shared, cache, "m2cgen")
    if fresh:
        import m2cgen

        (folder / "model.c").write_text(m2cgen.export_to_c(shared.model))
    return _finished(folder, M2CGEN, ["model.c"])


def _tl2cgen(shared: Shared, cache: Path) -> Contender:
    folder, fresh = _folder(shared, cache, "tl2cgen")
    if fresh:
        import tl2cgen
        import treelite

        with contextlib.redirect_stdout(io.StringIO()):
            tl2cgen.generate_c_code(treelite.sklearn.import_model(shared.model), dirpath=str(folder), params={})
    return _finished(folder, TL2CGEN, ["main.c"])


def _emlearn(shared: Shared, cache: Path, method: str, dtype: str) -> Contender:
    import emlearn

    folder, fresh = _folder(shared, cache, "emlearn", f"-{method}-{dtype}")
    if fresh:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            converted = emlearn.convert(shared.model, method=method, dtype=dtype)
            converted.save(name="em", file=str(folder / "model.h"), inference=[method])
    adapter = EMLEARN_FLOAT if dtype == "float" else EMLEARN_INT16
    return _finished(folder, adapter, [], (Path(str(emlearn.includedir)),))

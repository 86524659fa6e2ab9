"""Changed certificate files, and the answers of the checker.

There are two kinds of changes. In the first, a byte of a number or a text of the file is changed and nothing else, so
the digests must reveal the change. In the second, a number is changed and the file gets correct digests again. Such a
change may leave the proof valid (a successor that is larger and still covered). A simple test, which shares no code
with the checker, therefore looks for a gap first: a simulated state that leaves the successor of its cell, or a
successor that the cells do not cover. If this test finds a gap, the checker must reject the file.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium.spaces import Box

from policyforest._support.arguments import Floats
from policyforest.certification.certificate import Certificate, covered
from policyforest.certification.checker.check import check_certificate
from policyforest.certification.equations import Equations
from policyforest.certification.search import certify
from policyforest.forest.growing import grow_forest
from policyforest.policy.policy import Policy

CAR = Equations({"p": "p + 0.2*v", "v": "v + 0.2*u + w"}, ("u",), ("w",))
RESEALED = ("cells", "successors", "ranks", "disturbance", "error")
POINTS = 200


def small_car() -> tuple[Policy, Certificate]:
    """A small policy and its certificate, which is checked in a few milliseconds."""
    box = np.array([[-1.0, 1.0]] * 2)
    states = np.random.default_rng(0).uniform(-1.0, 1.0, (1_000, 2))
    labels = np.clip(states @ [-0.8, -1.4], -1.0, 1.0)
    forest = grow_forest(states, labels, n_estimators=3, min_samples_leaf=60, leaf_model="linear", box=box)
    policy = Policy((forest,), Box(-1.0, 1.0, (2,), np.float64), Box(-1.0, 1.0, (1,), np.float64))
    return policy, certify(policy, CAR, box=box, disturbance=0.02, tolerance=0.15)


def changed_files(whole: bytes, rng: np.random.Generator) -> Iterator[bytes]:
    """Copies of a file with one changed byte each; changes that leave all numbers and texts unchanged are left out."""
    length = 8 + int.from_bytes(whole[:8], "little")
    known = json.loads(whole[8:length])
    while True:
        content, at = bytearray(whole), int(rng.integers(8, len(whole)))
        content[at] = (content[at] + int(rng.integers(1, 256))) % 256
        if at >= length or not _same(bytes(content[8:length]), known):
            yield bytes(content)


def _same(text: bytes, known: Any) -> bool:
    """Whether a text has the known content; differences in white space do not count."""
    try:
        return bool(json.loads(text) == known)
    except ValueError:
        return False


def rejected_files(path: Path, policy: Policy, model: Any, number: int, rng: np.random.Generator) -> dict[str, int]:
    """Counts how many of `number` changed copies of a certificate file are rejected."""
    whole, rejected = path.read_bytes(), 0
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "changed.pfcert"
        for _, content in zip(range(number), changed_files(whole, rng), strict=False):
            copy.write_bytes(content)
            rejected += not check_certificate(copy, policy, model)
    return {"corruptions": number, "rejected": rejected}


def rejected_proofs(number: int, rng: np.random.Generator) -> dict[str, int]:
    """Counts certificates with one changed number and correct digests, with and without a gap, and how many are
    rejected."""
    policy, found = small_car()
    counts = dict.fromkeys(("gaps", "gaps_rejected", "others", "others_rejected"), 0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "resealed.pfcert"
        for _ in range(number):
            changed = with_one_change(found, rng)
            changed.save(path)
            kind = "gaps" if has_gap(changed, policy, rng) else "others"
            counts[kind] += 1
            counts[f"{kind}_rejected"] += not check_certificate(path, policy)
    return {"resealed": number} | counts


def with_one_change(certificate: Certificate, rng: np.random.Generator) -> Certificate:
    """A copy of a certificate in which one number is changed.

    A side of a cell or of a successor changes by 1e-4 to 1 of the box's width, a disturbance or an error by 1e-4 to 1,
    and a rank by 1 to 3."""
    name, by = str(rng.choice(RESEALED)), float(rng.choice([-1.0, 1.0]) * 10.0 ** rng.uniform(-4.0, 0.0))
    if name == "ranks":
        ranks = certificate.ranks.copy()
        ranks[rng.integers(len(ranks))] += int(rng.integers(1, 4))
        return replace(certificate, ranks=ranks)
    if name in ("disturbance", "error"):
        array = getattr(certificate.model, name).copy()
        array.flat[rng.integers(array.size)] += by
        return replace(certificate, model=replace(certificate.model, **{name: array}))
    array = getattr(certificate, name).copy()
    array.flat[rng.integers(array.size)] += 2.0 * by
    changed: dict[str, Any] = {name: array}
    return replace(certificate, **changed)


def has_gap(certificate: Certificate, policy: Policy, rng: np.random.Generator) -> bool:
    """Whether a simple test shows that the numbers are not a proof."""
    lo, hi = certificate.sides
    low, high = certificate.successors[:, :2], certificate.successors[:, 2:]
    model = certificate.model
    if (certificate.ranks != 0).any() or not (lo < hi).all() or (model.error < 0).any():
        return True
    if (lo < certificate.start[:, 0] - 1e-9).any() or (hi > certificate.start[:, 1]).any():
        return True
    if (model.disturbance[:, 0] > model.disturbance[:, 1]).any() or _goes_further(certificate, policy, rng):
        return True
    return not all(covered(a, b, lo, hi) for a, b in zip(low, high, strict=True))


def _goes_further(certificate: Certificate, policy: Policy, rng: np.random.Generator) -> bool:
    """Whether a simulated state leaves its cell's successor.

    The states include corners of cells, and the disturbances include the ends of their ranges."""
    lo, hi = (np.repeat(side, POINTS, axis=0) for side in certificate.sides)
    sides = certificate.successors.reshape(-1, 2, 2)
    low, high = (np.repeat(sides[:, k], POINTS, axis=0) for k in (0, 1))
    states = hi - _shares(rng, lo.shape) * (hi - lo) * (1 - 1e-12)
    model = certificate.model
    noise = model.disturbance[:, 0] + _shares(rng, (len(lo), 1)) * np.diff(model.disturbance, axis=1).T
    assert model.equations is not None
    after = model.equations.step(states, policy.act_batch(states), noise)
    off = (2.0 * _shares(rng, after.shape) - 1.0) * model.error
    return bool(((after + off < low) | (after + off > high)).any())


def _shares(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Random numbers in [0, 1]; about half of them are 0 or 1."""
    return np.where(rng.random(shape) < 0.5, rng.integers(0, 2, shape), rng.random(shape))

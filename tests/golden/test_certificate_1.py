"""Certificates of format version 1 are read, checked and written as they were.

The files are in `certificate_1.zip`. They were made once by ``python -m golden.test_certificate_1 FOLDER`` in `tests`,
and are not written again: a test that fails here shows a change of the format, which needs a version of its own.
"""

import json
import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from gymnasium.spaces import Box

import policyforest as pf
from certified_loops import LINE, PLANE, grown_policy, linear_policy
from policyforest.certification.digests import policy_digest

PI = float(np.pi)
NAMES = ("target", "int16", "angle", "learned")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("certificate_1")
    shutil.unpack_archive(Path(__file__).parent / "certificate_1.zip", path)
    return path


@pytest.mark.parametrize("name", NAMES)
def test_a_certificate_is_accepted_and_says_what_it_said(name: str, folder: Path) -> None:
    policy, found = pf.load(folder / f"{name}.pforest"), pf.load_certificate(folder / f"{name}.pfcert")
    result = pf.check_certificate(folder / f"{name}.pfcert", policy, found.model)
    assert result, result.reason
    before, now = json.loads((folder / f"{name}.json").read_text()), found.summary()
    # The numbers in words were rounded to the nearest, and now never say more than is known.
    words = [re.sub(r"\d+(\.\d+)?(e-\d+)?", "…", told.pop("statement")) for told in (before, now)]
    assert words[0] == words[1]
    assert now == before
    assert policy_digest(policy, found.precision) == found.policy_digest


@pytest.mark.parametrize("name", NAMES)
def test_a_certificate_is_written_byte_for_byte_as_before(name: str, folder: Path, tmp_path: Path) -> None:
    pf.load_certificate(folder / f"{name}.pfcert").save(tmp_path / "again.pfcert")
    assert (tmp_path / "again.pfcert").read_bytes() == (folder / f"{name}.pfcert").read_bytes()


def _made() -> dict[str, tuple[pf.Policy, pf.Certificate]]:
    """One small certificate of each kind."""
    line, car = linear_policy([-0.5], LINE), grown_policy((-1.5, -2.0), PLANE, trees=2, n=400, leaf=120)
    drift = pf.Equations({"x": "x + u + w"}, ("u",), ("w",))
    moves = pf.Equations({"p": "p + 0.2*v", "v": "v + 0.2*u"}, ("u",))
    limits = [[-1.0, 1.0], [-1.0, 1.0], [-8.0, 8.0]]
    wheel = linear_policy([0.0, -25.0, -7.0], limits, 40.0)
    rod = pf.Equations(
        {"theta": "omega", "omega": "9.8*sin(theta) + u"}, ("u",), method="runge-kutta", time_step=0.05,
        angles={"theta": (-PI, PI)}, sensors={"c": "cos(theta)", "s": "sin(theta)", "omega": "omega"},
    )  # fmt: skip
    upright = [[-0.5, 0.5], [-2.0, 2.0]]
    rng = np.random.default_rng(0)
    states, actions = rng.uniform([-1.0, -4.0], [1.0, 4.0], (300, 2)), rng.uniform(-40.0, 40.0, (300, 1))
    here, after = (
        np.stack([np.cos(x[:, 0]), np.sin(x[:, 0]), x[:, 1]], axis=1)
        for x in (states, rod.step(states, actions, np.empty((300, 0))))
    )
    log = pf.Transitions(
        here, actions, np.zeros(300), after, np.zeros(300, dtype=bool), np.arange(300) // 10,
        action_space=wheel.action_space, observation_space=Box(-9.0, 9.0, (3,), np.float64), outside="keep",
    )  # fmt: skip
    return {
        "target": (line, pf.certify(line, drift, box=LINE, disturbance=0.05, target=[[-0.25, 0.25]])),
        "int16": (car, pf.certify(car, moves, box=PLANE, tolerance=0.5, precision="int16")),
        "angle": (wheel, pf.certify(wheel, rod, box=upright, tolerance=0.6, precision="float32")),
        "learned": (wheel, pf.certify(wheel, log, box=upright, tolerance=0.6)),
    }


def write(folder: Path) -> None:
    folder.mkdir()
    for name, (policy, certificate) in _made().items():
        policy.save(folder / f"{name}.pforest")
        certificate.save(folder / f"{name}.pfcert")
        (folder / f"{name}.json").write_text(json.dumps(certificate.summary()))
    shutil.make_archive(str(folder), "zip", folder)


if __name__ == "__main__":
    write(Path(sys.argv[1]))

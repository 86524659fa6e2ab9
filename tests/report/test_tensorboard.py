"""Training curves: what TensorBoard's files hold is what the iterations said."""

import struct

import pytest

import policyforest as pf
from policyforest.report.tensorboard import TensorBoard

event_pb2 = pytest.importorskip("tensorboardX.proto.event_pb2")


def written(folder):
    """{scalar: [(step, value)]} of the one event file: records of length, checksum, event, checksum."""
    (file,) = folder.glob("events.*")
    content, curves = file.read_bytes(), {}
    while content:
        (length,) = struct.unpack("<Q", content[:8])
        event = event_pb2.Event.FromString(content[12 : 12 + length])
        content = content[16 + length :]
        for value in event.summary.value:
            curves.setdefault(value.tag, []).append((event.step, value.simple_value))
    return curves


def test_every_iteration_is_a_point_of_every_curve(tmp_path):
    data = pf.collect("policyforest/DoubleIntegrator-v0", episodes=5, seed=0)
    with TensorBoard(tmp_path) as curves:
        q = pf.FittedQIteration(horizon=3, resample=None, callback=curves).fit(data)
    found = written(tmp_path)
    assert found["train/n_leaves"] == [(it.iteration, it.n_leaves) for it in q.history]
    for name, field in (("q_change", "change"), ("q_drift", "drift"), ("q_mean", "value")):
        values = [value for _, value in found[f"train/{name}"]]
        assert values == pytest.approx([getattr(it, field) for it in q.history], rel=1e-6)
    elapsed = [seconds for _, seconds in found["time/time_elapsed"]]
    assert elapsed == sorted(elapsed)
    assert found["time/iterations"] == [(1, 1), (2, 2), (3, 3)]


def test_without_the_library_the_error_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "tensorboardX", None)
    with pytest.raises(ImportError, match=r"policyforest\[tensorboard\]"):
        TensorBoard(tmp_path)

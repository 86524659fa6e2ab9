"""Files of transitions: every bit comes back, and damaged or hostile files are refused."""

import contextlib
import io
import json
import pickle
import sys
import zipfile

import numpy as np
import pytest
from gymnasium.spaces import Box
from test_transitions import assert_same, fields, samples

from policyforest.data import transition_files
from policyforest.data.transitions import Transitions


@pytest.mark.parametrize("suffix", [".npz", ".parquet"])
def test_files_bring_back_every_bit(tmp_path, suffix):
    if suffix == ".parquet":
        pytest.importorskip("polars")
    space = Box(np.float32([-0.1, -np.inf]), np.float32([0.1, np.inf]), dtype=np.float32)
    states = fields(50)["states"] * 0.1
    data = samples(50, states=states, next_states=states, observation_space=space, periodic={0: (-0.1, 1 / 3)})
    path = tmp_path / f"data{suffix}"
    data.save(path)
    data.save(str(path))
    assert_same(Transitions.load(path), data)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_files_are_replaced_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "data.npz"
    samples().save(path)
    before = path.read_bytes()

    def fail(file, **arrays):
        file.write(b"half")
        raise OSError("no space left on device")

    monkeypatch.setattr(np, "savez", fail)
    with pytest.raises(OSError, match="no space"):
        samples(12).save(path)
    assert path.read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 1


def test_files_need_a_known_ending(tmp_path):
    with pytest.raises(ValueError, match=r"npz or \.parquet"):
        samples().save(tmp_path / "data.csv")
    with pytest.raises(ValueError, match=r"npz or \.parquet"):
        Transitions.load(tmp_path / "data")
    with pytest.raises(FileNotFoundError):
        Transitions.load(tmp_path / "absent.npz")


def test_parquet_names_the_extra_that_it_needs(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ImportError, match=r"policyforest\[parquet\]"):
        samples().save(tmp_path / "data.parquet")


@pytest.mark.parametrize("suffix", [".npz", ".parquet"])
def test_damaged_files_are_refused_or_still_valid(tmp_path, suffix):
    if suffix == ".parquet":
        pytest.importorskip("polars")
    path = tmp_path / f"data{suffix}"
    samples(20).save(path)
    whole = path.read_bytes()
    generator = np.random.default_rng(0)
    for trial in range(400):
        damaged = bytearray(whole)
        if trial % 2:
            damaged = damaged[: generator.integers(len(damaged))]
        else:
            for _ in range(generator.integers(1, 4)):
                damaged[generator.integers(len(damaged))] = generator.integers(256)
        path.write_bytes(damaged)
        with contextlib.suppress(ValueError):
            assert len(Transitions.load(path)) == 20


def npz(tmp_path, compression=zipfile.ZIP_STORED, **changes):
    """The archive of six samples, some of its members changed: to an array, to raw bytes, or to nothing."""
    source = tmp_path / "good.npz"
    samples().save(source)
    with np.load(source, allow_pickle=False) as archive:
        members = dict(archive) | changes
    path = tmp_path / "data.npz"
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in members.items():
            if isinstance(content, np.ndarray):
                file = io.BytesIO()
                np.save(file, content)
                content = file.getvalue()
            if content is not None:
                archive.writestr(f"{name}.npy", content)
    return path


def header(shape, descr="<f8"):
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": descr, "fortran_order": False, "shape": shape})
    return file.getvalue()


def metadata(tmp_path, **changes):
    source = tmp_path / "source.npz"
    samples().save(source)
    with np.load(source, allow_pickle=False) as archive:
        content = json.loads(str(archive["metadata"]))
    return np.array(json.dumps({**content, **changes}))


def test_a_file_in_column_order_is_read(tmp_path):
    path = npz(tmp_path, states=np.asfortranarray(samples().states))
    assert_same(Transitions.load(path), samples())


@pytest.mark.parametrize(
    "changes",
    [
        {"states": None},
        {"extra": np.zeros(3)},
        {"states": np.array([[{}]], dtype=object)},
        {"states": header((2**62, 2**62))},
        {"states": header((6, 2))},
        {"states": header((-6, -2)) + bytes(96)},
        {"states": header((6, 2), "|O") + bytes(96)},
        {"states": header((6, 2), "<c16") + bytes(192)},
        {"states": b"\x93NUMPY\x03\x00" + bytes(60)},
        {"states": b"nonsense"},
        {"states": np.full((6, 2), np.nan)},
        {"rewards": np.zeros(7)},
        {"terminals": np.zeros(6)},
        {"metadata": np.zeros(3)},
        {"metadata": np.array("not json")},
        {"metadata": np.array("[" * 100_000)},
        {"metadata": np.array(json.dumps({"format": "something else"}))},
        {"metadata": np.array("x" * 2_000_000)},
    ],
)
def test_hostile_archives_are_refused(tmp_path, changes):
    path = npz(tmp_path, **changes)
    with pytest.raises(ValueError, match="not a file of transitions"):
        Transitions.load(path)


@pytest.mark.parametrize(
    "changes",
    [
        {"version": 2},
        {"version": "1"},
        {"action_space": None},
        {"action_space": {"dtype": "float64", "low": ["0"], "high": ["-1"]}},
        {"action_space": {"dtype": "float64", "low": ["nan"], "high": ["1"]}},
        {"action_space": {"dtype": "object", "low": ["0"], "high": ["1"]}},
        {"action_space": {"dtype": "float64", "low": ["0", "0"], "high": ["1"]}},
        {"action_space": {"dtype": "float64", "low": 3, "high": 4}},
        {"state_limits": [["a", "b"], ["0", "1"]]},
        {"state_limits": 3},
        {"periodic": {"x": ["0", "1"]}},
        {"periodic": {"0": ["0"]}},
        {"periodic": [1]},
    ],
)
def test_hostile_metadata_is_refused(tmp_path, changes):
    path = npz(tmp_path, metadata=metadata(tmp_path, **changes))
    with pytest.raises(ValueError, match="not a file of transitions"):
        Transitions.load(path)


def test_compressed_archives_are_refused_before_they_are_unpacked(tmp_path):
    path = npz(tmp_path, zipfile.ZIP_DEFLATED, states=np.zeros((1_000_000, 2)))
    assert path.stat().st_size < 100_000
    with pytest.raises(ValueError, match="compressed"):
        Transitions.load(path)


def test_pickles_are_not_read(tmp_path):
    path = tmp_path / "data.npz"
    path.write_bytes(pickle.dumps(fields()))
    with pytest.raises(ValueError, match="not a file of transitions"):
        Transitions.load(path)


def test_foreign_parquet_files_are_refused(tmp_path):
    polars = pytest.importorskip("polars")
    path = tmp_path / "data.parquet"
    polars.DataFrame({"state_0": [1.0]}).write_parquet(path)
    with pytest.raises(ValueError, match="its checksum does not match"):
        Transitions.load(path)


def test_sealed_parquet_files_are_checked_too(tmp_path):
    polars = pytest.importorskip("polars")
    path = tmp_path / "data.parquet"
    samples().save(path)
    text = polars.read_parquet_metadata(path)["policyforest"]
    frame = polars.read_parquet(path)
    for other in (
        frame.drop("reward"),
        frame.with_columns(extra=1.0),
        frame.with_columns(reward=None),
        frame.rename({"state_0": "state_7"}),
        frame.with_columns(polars.col("state_0").cast(polars.String)),
        frame.head(0),
    ):
        file = io.BytesIO()
        other.write_parquet(file, metadata={"policyforest": text})
        path.write_bytes(transition_files._sealed(file.getvalue()))
        with pytest.raises(ValueError, match="not a file of transitions"):
            Transitions.load(path)

"""Transitions: what they accept, how they are cut and joined, and their files."""

import contextlib
import io
import json
import pickle
import sys
import warnings
import zipfile
from types import SimpleNamespace

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

import policyforest as pf
from policyforest.data import transition_files
from policyforest.data.transitions import Transitions

ACTIONS = Box(-1.0, 1.0, (1,), np.float64)
STATES = Box(np.array([-2.0, -np.inf]), np.array([2.0, np.inf]), dtype=np.float64)


def fields(n=6, seed=0):
    generator = np.random.default_rng(seed)
    return {
        "states": generator.uniform(-1, 1, (n, 2)),
        "actions": generator.uniform(-1, 1, (n, 1)),
        "rewards": generator.normal(size=n),
        "next_states": generator.uniform(-1, 1, (n, 2)),
        "terminals": np.arange(n) % 3 == 2,
        "episodes": np.arange(n) // 3,
    }


def samples(n=6, seed=0, **changes):
    spaces = {"action_space": ACTIONS, "observation_space": STATES}
    return Transitions(**{**fields(n, seed), **spaces, **changes})


def assert_same(a, b):
    for name in ("states", "actions", "rewards", "next_states", "terminals", "episodes", "state_limits"):
        left, right = getattr(a, name), getattr(b, name)
        assert left.dtype == right.dtype
        assert np.array_equal(left, right), name
    assert (a.observation_space, a.action_space, a.periodic) == (
        b.observation_space,
        b.action_space,
        b.periodic,
    )


def test_holds_what_it_was_given_and_lets_nobody_write():
    given = fields()
    data = Transitions(**given, action_space=ACTIONS)
    given["states"][:] = 7.0
    assert data.states.max() < 1.0
    assert data.observation_space == Box(-np.inf, np.inf, (2,), np.float64)
    for name in ("states", "actions", "rewards", "next_states", "terminals", "episodes", "state_limits"):
        with pytest.raises(ValueError):
            getattr(data, name)[...] = 0
    with pytest.raises(AttributeError):
        data.states = given["states"]
    assert len(data) == 6
    assert data.n_episodes == 2
    assert "6 samples in 2 episodes, 2 terminal" in repr(data)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"states": np.empty((0, 2))}, "states: .*empty"),
        ({"states": np.zeros(6)}, "states: .*dimensions"),
        ({"states": np.full((6, 2), np.nan)}, "states: .*nan"),
        ({"next_states": np.full((6, 2), np.inf)}, "next_states: .*inf"),
        ({"next_states": np.zeros((6, 3))}, "next_states: .*shape"),
        ({"next_states": np.full((6, 2), 2.5)}, "next_states: row 0 .*limits"),
        ({"states": np.full((6, 2), -2.5)}, "states: row 0 .*limits"),
        ({"actions": np.zeros((5, 1))}, "actions: .*shape"),
        ({"actions": np.full((6, 1), 1.5)}, r"actions: row 0 is \[1.5\].*action space"),
        ({"rewards": np.zeros(5)}, "rewards: .*shape"),
        ({"rewards": np.array([0, 0, np.nan, 0, 0, 0])}, r"rewards: .*nan at \(2,\)"),
        ({"terminals": np.zeros(5, dtype=bool)}, "terminals: .*shape"),
        ({"episodes": np.arange(6) - 1}, "episodes: .*-1"),
        ({"episodes": np.zeros(5, dtype=int)}, "episodes: .*shape"),
        ({"action_space": Discrete(3)}, "action_space: .*discrete"),
        ({"action_space": Box(-np.inf, np.inf, (1,))}, "action_space: .*bounded"),
        ({"action_space": Box(0, 9, (1,), np.int64)}, "action_space: .*real"),
        ({"action_space": None}, "action_space"),
        ({"observation_space": Box(0, 255, (8, 8, 3), np.uint8)}, "observation_space: .*images"),
        ({"observation_space": Box(-3, 3, (3,))}, "states: .*shape"),
        ({"state_limits": [[0, 1]]}, "state_limits: .*shape"),
        ({"state_limits": [[1, 0], [0, 1]]}, "state_limits: .*exceed"),
        ({"periodic": {2: (-1.0, 1.0)}}, "periodic"),
        ({"periodic": {0: (1.0, -1.0)}}, "periodic"),
        ({"periodic": {0: (-1.0, np.inf)}}, "periodic"),
        ({"periodic": {0: (-0.1, 0.1)}}, "states: .*angle 0"),
    ],
)
def test_refuses(changes, message):
    with pytest.raises(ValueError, match=message):
        samples(**changes, outside="raise")


def test_rounding_to_float32_is_within_the_box():
    low, high = np.float64(np.float32(-1.0000002)), np.float64(np.nextafter(np.float32(1.0), np.float32(2.0)))
    rows = np.column_stack([np.linspace(low, high, 6), np.zeros(6)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for outside in ("warn", "raise"):
            data = samples(states=rows, next_states=rows, state_limits=[[-1, 1], [-1, 1]], outside=outside)
            assert data.n_outside == 0
    assert data.states.tolist() == rows.tolist()
    assert data.state_box()[0].tolist() == [low, high]


def test_excursions_are_kept_and_counted_with_one_warning():
    rows = np.zeros((6, 2))
    rows[2, 1], rows[4, 1] = -2.5, 3.5
    with pytest.warns(pf.ObservationWarning, match=r"2 of 6 .*dimension 1 .*\[-1, 1\].* -2.5 to 3.5") as told:
        data = samples(states=rows, next_states=np.zeros((6, 2)), state_limits=[[-1, 1], [-1, 1]])
    assert len(told) == 1
    assert told[0].filename == __file__
    assert data.n_outside == 2
    assert data.states.tolist() == rows.tolist()
    assert data.state_box().tolist() == [[-1.0, 1.0], [-2.5, 3.5]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert data[:4].n_outside == 1
        assert (data + data).n_outside == 4


def test_excursions_survive_a_file_without_another_warning(tmp_path):
    with pytest.warns(pf.ObservationWarning):
        data = samples(states=np.full((6, 2), -2.5), state_limits=[[-1, 1], [-1, 1]])
    data.save(tmp_path / "data.npz")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Transitions.load(tmp_path / "data.npz").n_outside == 6


def test_angles_beyond_their_turn_are_moved_by_whole_turns():
    rows = np.zeros((6, 2))
    rows[:, 0] = [-0.3, -0.1, 0.0, 0.1, np.float32(0.1), 0.35]
    data = samples(states=rows, next_states=rows, periodic={0: (-0.1, 0.1)})
    assert data.states[:, 0] == pytest.approx([-0.1, -0.1, 0.0, 0.1, -0.1, -0.05])


def test_outside_must_be_a_known_word():
    with pytest.raises(ValueError, match="outside: is 'clip', must be one of 'warn', 'raise', 'keep'"):
        samples(outside="clip")


@pytest.mark.parametrize(
    "changes",
    [
        {"states": np.full((6, 2), "a")},
        {"rewards": np.zeros(6, dtype=complex)},
        {"terminals": np.zeros(6)},
        {"episodes": np.zeros(6)},
    ],
)
def test_refuses_numbers_of_another_kind(changes):
    with pytest.raises(TypeError, match=next(iter(changes))):
        samples(**changes)


def test_terminal_next_states_may_lie_outside_the_limits():
    next_states = np.where(fields()["terminals"][:, None], 9.0, 0.0) * np.ones(2)
    data = samples(next_states=next_states)
    assert data.next_states.max() == 9.0


def test_episodes_follow_from_the_states_where_they_are_not_given():
    states = np.array([[0.0], [1.0], [2.0], [0.0], [1.0], [5.0]])
    next_states = np.array([[1.0], [2.0], [3.0], [1.0], [2.0], [6.0]])
    terminals = np.array([False, False, True, False, False, False])
    data = Transitions(states, np.zeros((6, 1)), np.zeros(6), next_states, terminals, action_space=ACTIONS)
    assert data.episodes.tolist() == [0, 0, 0, 1, 1, 2]


def test_episodes_become_samples_whose_last_one_may_be_terminal():
    rng = np.random.default_rng(3)
    played = [
        SimpleNamespace(
            states=rng.uniform(-1, 1, (n + 1, 2)),
            actions=rng.uniform(-1, 1, (n, 1)),
            rewards=rng.normal(size=n),
            terminal=terminal,
        )
        for n, terminal in ((3, True), (1, False), (0, True), (2, True))
    ]
    limits = [[-1.0, 1.0], [-2.0, 2.0]]
    data = Transitions.from_episodes(played, action_space=ACTIONS, state_limits=limits, periodic={0: (-1.0, 1.0)})
    assert data.episodes.tolist() == [0, 0, 0, 1, 3, 3]
    assert data.terminals.tolist() == [False, False, True, False, False, True]
    steps = [(episode, t) for episode in played for t in range(len(episode.rewards))]
    for row, (episode, t) in enumerate(steps):
        assert data.states[row].tobytes() == episode.states[t].tobytes()
        assert data.actions[row].tobytes() == episode.actions[t].tobytes()
        assert data.rewards[row] == episode.rewards[t]
        assert data.next_states[row].tobytes() == episode.states[t + 1].tobytes()
    assert data.state_limits.tolist() == limits
    assert data.periodic == {0: (-1.0, 1.0)}
    with pytest.raises(ValueError, match="episodes: is empty"):
        Transitions.from_episodes([], action_space=ACTIONS)


def test_state_box_takes_limits_where_there_are_any_and_data_elsewhere():
    data = samples()
    alive = data.next_states[~data.terminals]
    seen = np.concatenate([data.states, alive])[:, 1]
    assert data.state_box().tolist() == [[-2.0, 2.0], [seen.min(), seen.max()]]
    assert data.unbounded == (1,)
    limited = samples(state_limits=[[-1.5, 1.5], [-3.0, np.inf]])
    assert limited.state_box().tolist() == [[-1.5, 1.5], [-3.0, seen.max()]]
    assert limited.unbounded == (1,)
    everything_ends = samples(terminals=np.ones(6, dtype=bool))
    assert everything_ends.state_box()[1].tolist() == [data.states[:, 1].min(), data.states[:, 1].max()]


def test_rows_are_chosen_by_slice_numbers_or_mask():
    data = samples(periodic={0: (-2.0, 2.0)})
    assert data[2:5].episodes.tolist() == [0, 1, 1]
    assert np.array_equal(data[[5, 0]].rewards, data.rewards[[5, 0]])
    assert np.array_equal(data[data.terminals].states, data.states[data.terminals])
    assert data[::2].periodic == data.periodic
    assert data[::2].observation_space == STATES


@pytest.mark.parametrize("rows", [0, 1.5, [0.5], [[0, 1]], "a", None])
def test_other_row_choices_are_refused(rows):
    with pytest.raises(TypeError, match="rows"):
        samples()[rows]


def test_choosing_nothing_is_refused():
    with pytest.raises(ValueError, match="empty"):
        samples()[:0]
    with pytest.raises(IndexError):
        samples()[[17]]


def test_joining_keeps_episodes_apart():
    a, b = samples(6), samples(3, seed=1)
    joined = a + b
    assert joined.episodes.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert np.array_equal(joined.states, np.concatenate([a.states, b.states]))
    three = Transitions.concatenate([b, a, b])
    assert three.n_episodes == 4
    assert_same(Transitions.concatenate([a]), a)


def test_joining_needs_the_same_problem():
    data = samples()
    others = {
        "action_space": Box(-1.5, 1.5, (1,), np.float64),
        "observation_space": Box(-3, 3, (2,), np.float64),
        "state_limits": [[-1.0, 1.0], [-1.0, 1.0]],
        "periodic": {0: (-2.0, 2.0)},
    }
    for name, value in others.items():
        with pytest.raises(ValueError, match=name):
            data + samples(**{name: value})
    with pytest.raises(ValueError, match="parts"):
        Transitions.concatenate([])
    with pytest.raises(TypeError):
        data + 1


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

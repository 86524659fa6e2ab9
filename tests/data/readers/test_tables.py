"""CSV, Parquet and NumPy logs: what they hold comes back, and what is wrong with them is told with its line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars
import pytest

import policyforest as pf
from policyforest.data.readers import EpisodeRecorder

HEADER = "episode,time,x,v,u,reward,terminal"


def write(path: Path, *lines: str, header: str = HEADER) -> Path:
    path.write_text("\n".join([header, *lines]) + "\n")
    return path


def read(path: Path | str | list[Path], **options: object) -> pf.Log:
    return pf.read_log(path, **({"state": ["x", "v"], "action": ["u"]} | options))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def collected() -> pf.Transitions:
    return pf.collect("policyforest/InvertedPendulum6kg-v0", episodes=10, seed=3)


def rows_of(data: pf.Transitions) -> list[str]:
    """Each episode with a last row for its final state, which has neither action nor reward."""
    lines = []
    for episode in np.unique(data.episodes):
        part = data[data.episodes == episode]
        steps = zip(part.states.tolist(), part.actions.tolist(), part.rewards.tolist(), part.terminals, strict=True)
        for i, ((x, v), (u,), r, end) in enumerate(steps):
            lines.append(f"{episode},{i / 10},{x!r},{v!r},{u!r},{r!r},{end}")
        x, v = part.next_states[-1].tolist()
        lines.append(f"{episode},{len(part) / 10},{x!r},{v!r},,,False")
    return lines


def same(a: pf.Transitions, b: pf.Transitions) -> bool:
    names = ("states", "actions", "rewards", "next_states", "terminals", "episodes")
    return all(np.array_equal(getattr(a, name), getattr(b, name)) for name in names)


def test_a_csv_gives_back_the_samples_that_were_written(tmp_path: Path, collected: pf.Transitions) -> None:
    log = read(write(tmp_path / "log.csv", *rows_of(collected)))
    assert same(log.transitions, collected)
    assert log.description.n_malformed == 0
    assert log.description.period == pytest.approx(0.1)


def test_csv_parquet_and_the_careful_reader_agree(tmp_path: Path, collected: pf.Transitions) -> None:
    clean = write(tmp_path / "log.csv", *rows_of(collected))
    polars.read_csv(clean).write_parquet(tmp_path / "log.parquet")
    blank = tmp_path / "blank.csv"  # a blank line sends it to the careful reader
    blank.write_text(clean.read_text().replace("\n", "\n\n", 3))
    semicolons = tmp_path / "semicolons.csv"
    semicolons.write_text(clean.read_text().replace(",", ";"))
    for other in (tmp_path / "log.parquet", blank, semicolons):
        assert same(read(other).transitions, collected), other


def test_malformed_rows_fail_with_their_lines_or_are_left_out_and_counted(tmp_path: Path) -> None:
    good = [f"0,{t / 10},{t},0,1,0,0" for t in range(8)]
    bad = [*good[:3], "0,0.3,oops,0,1,0,0", *good[4:6], "0,0.6,6,0", good[7]]
    path = write(tmp_path / "log.csv", *bad)
    with pytest.raises(ValueError, match=r"2 rows are malformed.*line 5: x: 'oops'.*line 8: has 4 fields instead of 7"):
        read(path)
    log = read(path, on_error="skip")
    assert log.description.n_malformed == 2
    assert any(w.code == "malformed" for w in log.description.warnings)
    # 0→1, 1→2 and 4→5: nothing is shifted over a row that was left out.
    assert log.transitions.states[:, 0].tolist() == [0, 1, 4]
    assert log.transitions.next_states[:, 0].tolist() == [1, 2, 5]
    assert log.transitions.n_episodes == 2


@pytest.mark.parametrize("cell", ["nan", "inf", "", "1_0", "0x10", "é", "1e999"])
def test_cells_that_are_no_finite_numbers_are_malformed(tmp_path: Path, cell: str) -> None:
    path = write(tmp_path / "log.csv", "0,0,0,0,1,0,0", f"0,0.1,{cell},0,1,0,0", "0,0.2,2,0,1,0,0")
    with pytest.raises(ValueError, match=r"log\.csv, line 3"):
        read(path)


def test_a_missing_action_is_malformed_unless_the_row_is_the_last_of_its_episode(tmp_path: Path) -> None:
    path = write(tmp_path / "log.csv", "0,0,0,0,,0,0", "0,0.1,1,0,1,0,0", "0,0.2,2,0,,,0")
    with pytest.raises(ValueError, match=r"line 2: action u is empty"):
        read(path)


def test_gaps_in_time_and_time_that_goes_back_begin_episodes(tmp_path: Path) -> None:
    times = [0.0, 0.1, 0.2, 0.9, 1.0, 0.0, 0.1]
    lines = [f"{t},{i},0,1,0,0" for i, t in enumerate(times)]
    log = read(write(tmp_path / "log.csv", *lines, header="time,x,v,u,reward,terminal"))
    assert log.transitions.states[:, 0].tolist() == [0, 1, 3, 5]
    assert log.transitions.n_episodes == 3
    assert log.description.n_gaps == 1
    joined = read(tmp_path / "log.csv", max_gap=1.0)
    assert joined.transitions.n_episodes == 2


def test_repeated_rows_are_left_out_and_two_rows_at_one_time_are_malformed(tmp_path: Path) -> None:
    lines = ["0,0,0,0,1,0,0", "0,0.1,1,0,1,0,0", "0,0.1,1,0,1,0,0", "0,0.2,2,0,1,0,0"]
    log = read(write(tmp_path / "log.csv", *lines))
    assert log.description.n_duplicates == 1
    assert log.transitions.next_states[:, 0].tolist() == [1, 2]
    assert log.transitions.n_episodes == 1
    lines[2] = "0,0.1,9,0,1,0,0"
    with pytest.raises(ValueError, match=r"line 4: has the time of the row before"):
        read(write(tmp_path / "log.csv", *lines))


def test_a_terminal_flag_marks_the_step_or_the_state(tmp_path: Path) -> None:
    path = write(
        tmp_path / "log.csv", "0,0,0,0,1,1,0", "0,0.1,1,0,1,2,0", "0,0.2,2,0,1,3,1", "1,0,5,0,1,4,0", "1,0.1,6,0,1,5,0"
    )
    steps = read(path).transitions
    assert steps.rewards.tolist() == [1, 2, 3, 4]
    assert steps.terminals.tolist() == [False, False, True, False]
    states = read(path, terminal_marks="state").transitions
    assert states.rewards.tolist() == [1, 2, 4]
    assert states.terminals.tolist() == [False, True, False]
    formula = read(path, terminal="x >= 2 and x < 3").transitions
    assert formula.terminals.tolist() == [False, True, False]


def test_a_truncated_row_ends_an_episode_that_could_have_gone_on(tmp_path: Path) -> None:
    header = "x,v,u,reward,truncated"
    path = write(tmp_path / "log.csv", "0,0,1,0,0", "1,0,1,0,1", "5,0,1,0,0", "6,0,1,0,0", header=header)
    data = read(path).transitions
    assert data.states[:, 0].tolist() == [0, 5]
    assert not data.terminals.any()


def test_rewards_may_be_formulas_with_next_states(tmp_path: Path) -> None:
    path = write(tmp_path / "log.csv", "0,0,1,0,2,0,0", "0,0.1,3,0,2,0,0", "0,0.2,4,0,2,0,0")
    data = read(path, reward="-(next_x**2) + u * time").transitions
    assert data.rewards.tolist() == pytest.approx([-9.0, -15.8])
    for role in ("reward", "terminal"):
        with pytest.raises(
            ValueError, match=rf"^{role}: is 'nope' and names 'nope', which is not a column; there are x, "
        ):
            read(path, **{"reward": "x", role: "nope"})
    with pytest.raises(ValueError, match="names 'y', which is not a column"):
        read(path, reward="y + 1")
    with pytest.raises(ValueError, match=r"reward: is .__import__"):
        read(path, reward="__import__('os')")


def test_columns_can_be_renamed_and_unknown_ones_are_refused_with_a_hint(tmp_path: Path) -> None:
    header = "Angle (deg),speed,Motor torque,reward"
    path = write(tmp_path / "log.csv", "180,0,1,0", "-90,1,1,0", "0,1,1,0", header=header)
    data = read(
        path, state=["a=Angle (deg)", "speed"], action=["u=Motor torque"], reward="a * u", degrees=["a"]
    ).transitions
    assert data.states[:, 0].tolist() == pytest.approx([np.pi, -np.pi / 2])
    assert data.rewards.tolist() == pytest.approx([np.pi, -np.pi / 2])
    with pytest.raises(ValueError, match=r"'sped', which is not a column .did you mean 'speed'"):
        read(path, state=["sped"])
    with pytest.raises(ValueError, match="state: is not given and no column is called state_0"):
        pf.read_log(path)


def test_rows_are_brought_to_a_control_period(tmp_path: Path) -> None:
    lines = [f"{t / 100},{t},0,{t // 10},1,{t == 57}" for t in range(58)]
    log = read(write(tmp_path / "log.csv", *lines, header="time,x,v,u,reward,terminal"), period=0.1)
    data = log.transitions
    assert data.states[:, 0].tolist() == [0, 10, 20, 30, 40, 50]
    assert data.actions[:, 0].tolist() == [0, 1, 2, 3, 4, 5]
    assert data.rewards.tolist() == [10, 10, 10, 10, 10, 8]
    assert data.terminals.tolist() == [False] * 5 + [True]


def test_several_files_and_patterns_are_joined_and_each_begins_an_episode(tmp_path: Path) -> None:
    for k in range(3):
        write(tmp_path / f"log{k}.csv", f"0,0,{k},0,1,0,0", f"0,0.1,{k + 1},0,1,0,0")
    data = read(str(tmp_path / "log*.csv")).transitions
    assert data.n_episodes == 3
    assert data.next_states[:, 0].tolist() == [1, 2, 3]
    assert same(read([tmp_path / f"log{k}.csv" for k in range(3)]).transitions, data)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "begins with an empty line"),
        (b"1,2,3\n4,5,6\n", "must hold the names"),
        (b"x,x,u\n1,2,3\n", "twice"),
        (b"x,v,u,reward\n", "has no samples"),
        (b"x,v,u,reward\n1,2,3,4\n", "has no samples"),
        (b"\xff\x00,v\n", "not a column"),
        (b"x,v,u,reward\n" + b"\x00" * 50 + b"\n1,2,3,4\n", "malformed"),
        (b'x,v,u,reward\n1,2,3,4\n"' + b"9" * 200_000 + b"\n", "malformed"),
    ],
)
def test_files_that_are_no_logs_are_refused(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "log.csv").write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read(tmp_path / "log.csv")


def test_damaged_parquet_and_numpy_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "log.parquet").write_bytes(b"PAR1 nothing of the kind PAR1")
    (tmp_path / "log.npz").write_bytes(b"PK\x03\x04 nothing")
    np.save(tmp_path / "objects.npy", np.array([{}, 1], dtype=object), allow_pickle=True)
    for name in ("log.parquet", "log.npz", "objects.npy"):
        with pytest.raises(ValueError, match="can be read"):
            read(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "no.csv")


def test_numpy_arrays_are_known_by_their_usual_names(tmp_path: Path, collected: pf.Transitions) -> None:
    np.savez(
        tmp_path / "log.npz",
        observations=collected.states,
        actions=collected.actions[:, 0],
        rewards=collected.rewards,
        terminals=collected.terminals,
        next_observations=collected.next_states,
        episodes=collected.episodes,
    )
    assert same(pf.read_log(tmp_path / "log.npz").transitions, collected)
    collected.save(tmp_path / "ours.npz")
    collected.save(tmp_path / "ours.parquet")
    assert same(pf.read_log(tmp_path / "ours.npz").transitions, collected)
    assert same(pf.read_log(tmp_path / "ours.parquet").transitions, collected)


def test_recorded_gymnasium_episodes_are_read_back(tmp_path: Path) -> None:
    import gymnasium as gym

    env = EpisodeRecorder(gym.make("Pendulum-v1", max_episode_steps=5), tmp_path)
    seen = []
    for episode in range(3):
        seen.append(env.reset(seed=episode)[0])
        for _ in range(5):
            seen.append(env.step(np.array([0.5], dtype=np.float32))[0])
    env.close()
    data = pf.read_log(tmp_path).transitions
    assert len(data) == 15
    assert data.n_episodes == 3
    assert not data.terminals.any()
    assert np.array_equal(data.next_states[4], seen[5].astype(np.float64))


def test_actions_get_the_bounds_that_are_given(tmp_path: Path) -> None:
    path = write(tmp_path / "log.csv", "0,0,0,0,1,0,0", "0,0.1,1,0,2,0,0", "0,0.2,1,0,2,0,0")
    assert read(path, action_bounds={"u": (-5, 5)}).transitions.action_space.high.tolist() == [5]
    with pytest.raises(ValueError, match="u goes from 1 to 2"):
        read(path, action_bounds={"u": (-5, 1.5)})
    with pytest.raises(ValueError, match="action_bounds: has 'w'"):
        read(path, action_bounds={"w": (0, 1)})

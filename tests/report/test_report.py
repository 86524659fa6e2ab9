"""Pictures and pages: what they show is the policy's, and they stand alone."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium.spaces import Box

import policyforest as pf
from policyforest._support.labels import labels_for, labels_told
from policyforest.learning.improvement.mean_policy import mean_policy
from policyforest.learning.improvement.simple_policies import constant_policy
from policyforest.policy.action_time import action_time
from policyforest.report import page
from policyforest.report.canvas import BLUE, ORANGE
from policyforest.report.data_edge import data_edge
from policyforest.report.plots import episode_figure, learning_figure, png_bytes, policy_figure, returns_figure
from policyforest.report.rollouts import rollouts_figure
from policyforest.report.state_slice import slice_of, state_box


def policy_of(n_states: int, n_actions: int) -> pf.Policy:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (300, n_states))
    forests = tuple(pf.grow_forest(X, X.sum(axis=1) * (j + 1), n_estimators=3) for j in range(n_actions))
    return pf.Policy(forests, Box(-2, 2, (n_states,), np.float64), Box(-3, 3, (n_actions,), np.float64))


COLORS = {"push": ORANGE, "rest": BLUE}


def test_a_slice_varies_two_dimensions_and_holds_the_others() -> None:
    plane = slice_of(policy_of(4, 1), dims=(2, 0), at=[0.0, 0.1, 0.0, 0.3], resolution=5)
    states = plane.states()
    assert states.shape == (25, 4)
    assert np.array_equal(np.unique(states[:, [1, 3]], axis=0), [[0.1, 0.3]])
    assert np.allclose(plane.shaped(states[:, 2])[0], plane.axes[0])
    assert np.allclose(plane.shaped(states[:, 0])[:, 0], plane.axes[1])


def test_a_slice_goes_through_the_middle_of_what_the_policy_was_learned_on() -> None:
    policy = policy_of(3, 1)
    plane = slice_of(policy)
    assert plane.dims == (0, 1)
    assert np.allclose(plane.fixed, policy.state_box.mean(axis=1))


@pytest.mark.parametrize(
    ("dims", "at", "named"),
    [((0, 3), None, "dims"), ((1, 1), None, "dims"), ((0, 1, 2), None, "dims"), (None, [0.0], "at")],
)
def test_slices_that_are_none_are_refused(dims: tuple[int, ...], at: list[float], named: str) -> None:
    with pytest.raises(ValueError, match=f"^{named}: "):
        slice_of(policy_of(3, 1), dims, at)


def test_a_picture_needs_a_finite_box() -> None:
    class Unbounded:
        observation_space = Box(-np.inf, np.inf, (2,), np.float64)

    with pytest.raises(ValueError, match="finite box"):
        state_box(Unbounded())


@pytest.mark.parametrize(("n_states", "n_actions"), [(1, 1), (2, 1), (3, 2), (2, 5)])
def test_policies_of_any_dimensions_are_drawn(n_states: int, n_actions: int) -> None:
    figure = policy_figure(policy_of(n_states, n_actions), samples=np.zeros((3, n_states)))
    panels = [axes for axes in figure.axes if axes.get_title(loc="left").startswith("Action")]
    assert len(panels) == n_actions
    assert png_bytes(figure).startswith(b"\x89PNG")


def test_a_picture_marks_the_edge_of_the_samples_and_pales_what_lies_beyond() -> None:
    samples = np.random.default_rng(1).uniform([-0.5, -0.2], [0.4, 0.3], (50, 2))
    axes = policy_figure(policy_of(2, 1), samples=samples).axes[0]
    edge = np.array(axes.lines[0].get_data())
    assert np.array_equal([edge.min(axis=1), edge.max(axis=1)], [samples.min(axis=0), samples.max(axis=0)])
    veil = np.asarray(axes.images[1].get_array())[..., 3]
    x, y = slice_of(policy_of(2, 1), resolution=len(veil)).axes
    assert np.array_equal(veil[:, np.abs(x).argmin()] > 0, (y < edge[1].min()) | (y > edge[1].max()))


def test_an_angle_that_wraps_around_has_no_edge() -> None:
    plane = slice_of(policy_of(2, 1))
    samples = np.array([[0.1, 0.2], [0.3, 0.1]])
    assert np.array_equal(data_edge(plane, samples, {0: (-1.0, 1.0)}), [plane.box[0], [0.1, 0.2]])
    with pytest.raises(ValueError, match=r"samples: have the shape \(2, 3\), must be rows of 2 numbers"):
        data_edge(plane, np.zeros((2, 3)), {})


def test_the_heading_of_a_picture_names_the_method_in_words() -> None:
    data = pf.collect("policyforest/DoubleIntegrator-v0", episodes=5, seed=0)
    policy = mean_policy(data, [constant_policy(data, np.zeros(1))])
    heading = policy_figure(policy).get_suptitle()
    assert "mean of candidates without a clear difference" in heading
    assert f"learned from {len(data)} samples" in heading


def test_the_colours_are_the_policy_s_actions() -> None:
    policy = policy_of(2, 1)
    image = policy_figure(policy).axes[0].images[0]
    values = np.asarray(image.get_array())
    x, y = slice_of(policy, resolution=len(values)).axes
    assert values[7, 200] == policy.act(np.array([x[200], y[7]]))[0]
    assert image.get_clim() == (-3.0, 3.0)


def test_a_greedy_policy_shows_its_q_and_its_values() -> None:
    data = pf.collect("policyforest/DoubleIntegrator-v0", episodes=5, seed=0)
    policy = pf.FittedQIteration(horizon=2, resample=None).fit(data).policy()
    titles = [axes.get_title(loc="left") for axes in policy_figure(policy).axes]
    assert any("V(s)" in title for title in titles)
    assert any("Q(s, a)" in title for title in titles)


def test_learning_episodes_and_returns_are_drawn() -> None:
    data = pf.collect("policyforest/DoubleIntegrator-v0", episodes=5, seed=0)
    q = pf.FittedQIteration(horizon=3, resample=None).fit(data)
    assert len(learning_figure(q.history).axes) == 2
    assert len(episode_figure(data, "policyforest/DoubleIntegrator-v0").axes) == 2
    legend = returns_figure(np.arange(10.0), {"paper": -3.0}).axes[0].get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["mean 4.5", "paper -3"]


def test_the_same_numbers_give_the_same_bytes() -> None:
    first, again = (png_bytes(returns_figure(np.arange(10.0))) for _ in range(2))
    assert first == again


def test_labels_know_problems_in_any_version_and_number_others() -> None:
    assert labels_for("Pendulum-v1", 3, 1).states[2] == "speed ω (rad/s)"
    assert labels_for("policyforest/SwingUp-v7", 2, 1).actions == ("torque τ (Nm)",)
    assert labels_for("policyforest/SwingUp-v0", 3, 1).states == ("state 0", "state 1", "state 2")
    assert labels_for("", 1, 2).actions == ("action 0", "action 1")


@pytest.mark.parametrize(
    "told", [["a"], ["a", 1], ["a", ""], ["a", "x\ny"], ["a", "<b>"], ["a", "$b"], ["a", "b" * 81], "ab", 7]
)
def test_names_of_a_file_that_cannot_be_shown_are_numbers(told: object) -> None:
    assert labels_told("", {"state_names": told}, 2, 1).states == ("state 0", "state 1")


def test_a_known_problem_has_its_names_and_others_those_they_were_learned_with() -> None:
    told = {"state_names": ["tilt", "rate"], "action_names": ["force"]}
    assert labels_told("", told, 2, 1).states == ("tilt", "rate")
    assert labels_told("Own-v0", told, 2, 1).actions == ("force",)
    assert labels_told("policyforest/SwingUp-v0", told, 2, 1).states[0] == "angle θ (rad)"


def test_a_page_escapes_what_it_is_given() -> None:
    text = page.page("<b>", [page.paragraph("a & b"), page.code("x < y"), page.table(["<"], [[">"]])])
    assert "<b>" not in text
    assert "a &amp; b" in text
    assert "x &lt; y" in text
    assert "<td>&gt;</td>" in text


def test_the_time_of_an_action_is_that_of_a_call() -> None:
    calls = []

    class Slow:
        def act(self, state: np.ndarray) -> np.ndarray:
            calls.append(state)
            end = np.float64(0)
            for _ in range(2_000):
                end += 1
            return np.array([end])

    seconds = action_time(Slow(), np.zeros((3, 2)), seconds=0.05)
    assert 1e-5 < seconds < 1e-1
    assert len(calls) > 3


def test_rollouts_are_drawn_up_to_the_edge_of_the_data() -> None:
    data = pf.collect("policyforest/DoubleIntegrator-v0", episodes=20, seed=0)
    model = pf.DynamicsForest().fit(data)
    pushed = {"push": constant_policy(data, np.ones(1)), "rest": constant_policy(data, np.zeros(1))}
    figure = rollouts_figure(
        model, pushed, discount=0.9, n_rollouts=2, n_steps=30, problem="policyforest/DoubleIntegrator-v0"
    )
    plane, time = figure.axes
    assert plane.get_xlabel() == "position p (m)"
    assert time.get_ylabel() == "velocity v (m/s)"
    assert [text.get_text() for text in figure.legends[0].get_texts()][1:4] == ["push", "rest", "edge of the data"]
    box, margin = model.edge(0.9).box, model.edge(0.9).margin
    longest = {name: [line for line in plane.lines if line.get_color() == color] for name, color in COLORS.items()}
    for lines in longest.values():
        for line in lines:
            inside = np.stack(line.get_data(), axis=1)
            assert (inside >= box[:, 0] - margin).all()
            assert (inside <= box[:, 1] + margin).all()
    # The pushed block leaves the data: each of its rollouts is cut short, and marked.
    assert sum(line.get_marker() == "X" for line in longest["push"]) == 2

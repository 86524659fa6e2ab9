"""What the search proves: sets that are known, targets, angles, threads, and answers where nothing can be proved."""

import gymnasium as gym
import numpy as np
import pytest

import policyforest as pf
from certified_loops import CAR, CAR_GAINS, LINE, PLANE, SHRINKING, car_certificate, grown_policy, linear_policy
from oracles.certification import covered, greatest_fixed_point
from policyforest.certification.certified_policy import acting_policy
from policyforest.certification.counterexamples import task_step

PI = float(np.pi)


def test_a_line_that_shrinks_more_than_it_is_pushed_is_proved_whole() -> None:
    found = pf.certify(linear_policy([0.0], LINE), SHRINKING, box=LINE, disturbance=0.4)
    assert found.share == pytest.approx(1.0)
    assert found.contains_box([[-1.0, 1.0]])


def test_a_push_that_no_set_can_take_gives_an_empty_answer_with_a_reason_and_a_state() -> None:
    found = pf.certify(linear_policy([0.0], LINE), SHRINKING, box=LINE, disturbance=0.6)
    assert not found
    assert found.rest.counterexample is not None
    assert found.statement().startswith("Nothing is proved: every state near the middle")


def test_the_largest_set_of_a_growing_line_is_found_up_to_the_tolerance() -> None:
    """s' = 2 s + u with u = clip(-2 s, -0.5, 0.5) keeps |s| <= 0.5 and no more."""
    grows = pf.Equations({"x": "2*x + u"}, ("u",))
    found = pf.certify(linear_policy([-2.0], LINE, 0.5), grows, box=LINE, tolerance=1e-3)
    lo, hi = found.sides
    assert -0.5 <= lo.min() < -0.499
    assert 0.499 < hi.max() <= 0.5


def test_no_simulated_trajectory_leaves_the_set() -> None:
    found = car_certificate()
    assert found.share > 0.5
    rng = np.random.default_rng(0)
    lo, hi = found.sides
    rows = rng.integers(len(lo), size=3000)
    here = lo[rows] + (hi[rows] - lo[rows]) * (1 - rng.random((3000, 2)))
    program, acting = found.model.program(), acting_policy(grown_policy(CAR_GAINS, PLANE), found.precision)
    for _ in range(60):
        here = task_step(found.model, program, acting, here, rng.choice([-0.02, 0.02], (3000, 1)))
        assert found.contains(here).all()


def test_the_search_proves_all_that_a_plain_fixed_point_proves() -> None:
    from policyforest.certification import search
    from policyforest.certification.certified_model import model_to_certify

    policy = grown_policy(CAR_GAINS, PLANE)
    model = model_to_certify(CAR, disturbance=0.02)
    task = search._task(policy, "float64", model, np.array(PLANE), None, None, None, None)
    native = task._native(400)
    while native.round(1):
        pass
    cells, successors, status = native.cells()
    expected = greatest_fixed_point(cells, successors)
    assert np.array_equal(status[:, 0] == 1, expected)
    assert 0 < expected.sum() < len(cells)


@pytest.mark.parametrize("jobs", [2, 5])
def test_the_result_has_the_same_bits_for_any_number_of_threads(jobs: int) -> None:
    one, more = car_certificate(n_jobs=1), car_certificate(n_jobs=jobs)
    assert np.array_equal(one.cells, more.cells)
    assert np.array_equal(one.successors, more.successors)


def test_a_target_is_reached_within_the_stated_steps_and_not_left() -> None:
    halving = pf.Equations({"x": "0.5*x + 0*u"}, ("u",))
    found = pf.certify(linear_policy([0.0], LINE), halving, box=LINE, target=[[-0.1, 0.1]], tolerance=1e-3)
    assert found.contains_box([[-0.99, 0.99]])
    assert 4 <= found.most_steps <= 6
    x = np.linspace(-0.99, 0.99, 101)
    assert (np.abs(x * 0.5**found.most_steps) <= 0.1).all()
    assert "reaches the target (x in [-0.1, 0.1]) after at most" in found.statement()


def test_a_horizon_leaves_out_what_takes_longer() -> None:
    halving = pf.Equations({"x": "0.5*x + 0*u"}, ("u",))
    found = pf.certify(linear_policy([0.0], LINE), halving, box=LINE, target=[[-0.1, 0.1]], horizon=2, tolerance=1e-3)
    assert found.most_steps == 2
    assert 0.3 < found.cells[:, 1].max() <= 0.4
    assert pf.certify(linear_policy([0.0], LINE), halving, box=LINE, target=[[-0.1, 0.1]]).cells[:, 1].max() > 0.9


def test_an_angle_has_no_seam() -> None:
    """A rod that is pulled to the angle pi, from a box around it that both ends of the turn cut."""
    pulled = pf.Equations({"theta": "theta - 0.3*sin(theta - pi) + 0*u"}, ("u",), angles={"theta": (-PI, PI)})
    policy = linear_policy([1.0], [[-PI, PI]], periodic={0: (-PI, PI)})
    found = pf.certify(policy, pulled, box=[[PI - 1, PI + 1]])
    assert found.share == pytest.approx(1.0)
    assert found.contains([[-PI + 0.5], [PI - 0.5], [3 * PI]]).all()
    assert not found.contains([[0.0]]).any()


def test_a_whole_turn_of_an_angle_is_never_left() -> None:
    turning = pf.Equations({"theta": "theta + 2.5 + 0*u"}, ("u",), angles={"theta": (-PI, PI)})
    policy = linear_policy([1.0], [[-PI, PI]], periodic={0: (-PI, PI)})
    assert pf.certify(policy, turning, box=[[-PI, PI]]).share == pytest.approx(1.0)


def test_several_steps_make_a_move_where_one_does_not_shrink_the_box() -> None:
    """A rotation by 0.4 rad with damping turns a box out of itself in one step, and into itself after some."""
    c, s = 0.9 * np.cos(0.4), 0.9 * np.sin(0.4)
    turning = pf.Equations({"x": f"{c}*x - {s}*y", "y": f"{s}*x + {c}*y", "z": "0.5*z + u"}, ("u",))
    space = [[-1.0, 1.0]] * 3
    inner = [[-0.4, 0.4]] * 3
    found = pf.certify(linear_policy([0.0, 0.0, 0.1], space), turning, box=space, start=inner)
    assert found.steps > 1
    assert found.contains_box(inner)
    assert f"after every {found.steps} control steps, and in the box between them" in found.statement()


def test_ctrl_c_keeps_what_is_proved() -> None:
    seen = []

    def stop(done: pf.SearchRound) -> None:
        seen.append(done.proved)
        if done.proved > 0.3:
            raise KeyboardInterrupt

    found = car_certificate(progress=stop)
    assert found.interrupted
    assert found.share == pytest.approx(seen[-1])
    assert "interrupted" in found.statement()


def test_limits_end_the_search_with_what_is_proved() -> None:
    few = car_certificate(max_cells=1000, tolerance=0.0)
    assert 0 < few.share < car_certificate().share
    assert few.rest.reason.endswith("max_cells was reached")
    none = car_certificate(max_seconds=0.0)
    assert not none
    assert none.rest.undecided == 1.0
    assert none.rest.reason == "the search ended before its first round; max_seconds was reached"


def test_the_reason_of_an_empty_set_claims_no_more_than_was_tried() -> None:
    """Positive states are driven out, negative ones stay where they are: no cell is proved, and not all leave."""
    line = linear_policy([0.0], LINE)
    some = pf.certify(line, pf.Equations({"x": "x + 0.5*max(x, 0) + 0*u"}, ("u",)), box=LINE, max_cells=200)
    every = pf.certify(line, pf.Equations({"x": "x + 0.7 + 0*u"}, ("u",)), box=LINE)
    assert not some
    assert not every
    assert some.rest.counterexample is not None
    assert some.rest.counterexample[0] > 0
    assert "every state" not in some.rest.reason
    assert "every state near the middle of the start box that was tried can be driven out" in every.rest.reason


@pytest.mark.parametrize("precision", ["float64", "float32", "int16"])
def test_a_policy_is_certified_in_the_arithmetic_it_runs_in(precision: str) -> None:
    found = car_certificate(precision=precision)
    assert found.share > 0.5
    assert found.precision == precision
    assert (
        found.policy_digest != car_certificate(precision="int16" if precision != "int16" else "float32").policy_digest
    )


def test_the_benchmark_problems_step_like_their_formulas() -> None:
    from policyforest.certification.problem_equations import problem_equations
    from policyforest.certification.step_compiler import compile_equations
    from policyforest.environments.problems import Acrobot, CarOnTheHill, CartPoleSwingUp, InvertedPendulum, SwingUp

    rng = np.random.default_rng(0)
    for problem in (
        pf.problems.DoubleIntegrator(),
        InvertedPendulum(6.0, 2.0),
        CarOnTheHill(),
        SwingUp(),
        CartPoleSwingUp(),
        Acrobot(),
    ):
        limits = np.array(problem.state_limits)
        if isinstance(problem, Acrobot):
            limits[2:] *= 0.2  # its speeds are clipped at their limits, which the formulas leave out
        states = limits[:, 0] + rng.random((50, len(limits))) * (limits[:, 1] - limits[:, 0])
        low, high = problem.action_space.low, problem.action_space.high
        actions = low + rng.random((50, 1)) * (high - low)
        noise = rng.uniform(-problem.noise, problem.noise, (50, problem.system.n_noise))
        expected, _, _ = problem.system.step_many(states, actions, noise)
        equations = problem_equations(problem)
        found = compile_equations(equations).run(np.ascontiguousarray(np.hstack([states, actions, noise])))
        apart = np.asarray(found) - expected
        for d in problem.periodic:
            apart[:, d] -= 2 * PI * np.round(apart[:, d] / (2 * PI))
        assert np.abs(apart).max() < 1e-9
        np.testing.assert_allclose(equations.step(states, actions, noise), found, rtol=0, atol=1e-9)


def test_what_is_contained_is_what_the_cells_cover() -> None:
    found = car_certificate()
    cells = list(zip(*found.sides, strict=True))
    for box in ([[-0.1, 0.1], [-0.1, 0.1]], [[-0.5, 0.5], [-0.5, 0.5]], [[-1, 1], [-1, 1]]):
        low, high = np.array(box, dtype=float).T
        assert found.contains_box(box) == covered(low, high, cells)


@pytest.mark.parametrize("problem", ["InvertedPendulum6kg", "SwingUp"])
def test_a_learned_step_is_the_model_s_own(problem: str) -> None:
    """Polynomials, sines of angles and forests with linear leaves, as the core's learned model computes them."""
    from policyforest.certification.learned_step import LearnedStep

    env = gym.make(f"policyforest/{problem}-v0")
    data = pf.collect(env, steps=500, seed=0)
    model = pf.DynamicsForest(n_estimators=5).fit(data)
    step = LearnedStep.of(model)
    again = LearnedStep.from_arrays(step.arrays())
    expected, _, _, _ = model.native.step(data.states, data.actions, None, False)
    for found in (step.step(data.states, data.actions), again.step(data.states, data.actions)):
        apart = found - np.asarray(expected)
        for d, (low, high) in data.periodic.items():
            apart[:, d] -= (high - low) * np.round(apart[:, d] / (high - low))
        assert np.abs(apart).max() < 1e-9


def test_slices_of_a_set_in_more_dimensions_are_drawn() -> None:
    from policyforest.certification.set_pictures import certificate_blocks, certificate_figure

    shrinking = pf.Equations({"x": "0.5*x", "y": "0.5*y", "z": "0.5*z + 0.1*u", "w": "0.5*w"}, ("u",))
    policy = linear_policy([0.1] * 4, [[-1.0, 1.0]] * 4)
    found = pf.certify(policy, shrinking, box=[[-1.0, 1.0]] * 4, steps=1)
    assert found.share == pytest.approx(1.0)
    assert len([axes for axes in certificate_figure(found, policy).axes if axes.get_title(loc="left")]) == 2
    assert "data:image/png" in "".join(certificate_blocks(found, policy))
    with pytest.raises(ValueError, match="dims: is"):
        certificate_figure(found, policy, dims=(0, 0))

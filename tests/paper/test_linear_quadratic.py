"""Random linear-quadratic systems: their optimum, their action box and their samples."""

from __future__ import annotations

import numpy as np
import pytest

from policyforest.paper import linear_quadratic
from policyforest.paper.linear_quadratic import LinearQuadratic

pytest.importorskip("scipy")
SIZES = [(n, m) for n in (2, 4, 6, 8) for m in (1, 2, 3)]


@pytest.mark.parametrize(("n", "m"), SIZES)
def test_a_system_has_its_size_and_its_spectral_radius(n: int, m: int) -> None:
    system = LinearQuadratic.draw(n, m, 3)
    assert system.a.shape == (n, n)
    assert system.b.shape == (n, m)
    assert np.abs(np.linalg.eigvals(system.a)).max() == pytest.approx(1.02)
    again, other = LinearQuadratic.draw(n, m, 3), LinearQuadratic.draw(n, m, 4)
    assert np.array_equal(system.a, again.a)
    assert not np.array_equal(system.b, other.b)


@pytest.mark.parametrize("n", [2, 8])
def test_no_other_linear_law_costs_less_than_the_optimum(n: int) -> None:
    rng = np.random.default_rng(0)
    for seed in range(3):
        system = LinearQuadratic.draw(n, 2, seed)
        least = system.cost(system.optimal)
        assert least < system.cost(system.nothing)
        for _ in range(20):
            other = system.gain * (1 + 0.05 * rng.standard_normal(system.gain.shape))
            assert system.cost(lambda states, gain=other: -states @ gain.T) > least  # type: ignore[misc]


def test_one_dimension_has_the_optimum_of_its_quadratic_equation() -> None:
    system = LinearQuadratic(np.array([[1.02]]), np.array([[0.3]]))
    a, b = np.sqrt(0.98) * 1.02, np.sqrt(0.98) * 0.3
    # p = 1 + a² p - (a b p)² / (0.1 + b² p), times its denominator
    p = np.roots([b**2, 0.1 - b**2 - 0.1 * a**2, -0.1]).max()
    assert system.gain[0, 0] == pytest.approx(a * b * p / (0.1 + b**2 * p))


@pytest.mark.parametrize(("n", "m"), SIZES)
def test_the_action_box_does_not_bind_at_the_optimum(n: int, m: int) -> None:
    rng = np.random.default_rng(1)
    for seed in range(5):
        system = LinearQuadratic.draw(n, m, seed)
        corners = rng.choice([-1.0, 1.0], (200, n))
        states, largest = np.concatenate([corners, rng.uniform(-1, 1, (200, n))]), np.zeros(m)
        for _ in range(linear_quadratic.JUDGED_STEPS):
            actions = system.optimal(states)
            largest = np.maximum(largest, np.abs(actions).max(axis=0))
            states, _ = system.step(states, actions)
        assert (largest <= system.largest_optimal_actions * (1 + 1e-9)).all()
        assert (largest < system.action_space.high).all()


def test_samples_are_steps_of_episodes_of_fifty() -> None:
    system = LinearQuadratic.draw(4, 2, 5)
    data = system.collect(120, 5)
    assert len(data) == 120
    assert np.bincount(data.episodes).tolist() == [50, 50, 20]
    first = np.unique(data.episodes, return_index=True)[1]
    assert np.abs(data.states[first]).max() <= 1
    goes_on = np.flatnonzero(np.diff(data.episodes) == 0)
    assert np.array_equal(data.next_states[goes_on], data.states[goes_on + 1])
    assert np.allclose(data.next_states, data.states @ system.a.T + data.actions @ system.b.T)
    assert np.allclose(-data.rewards, (data.states**2).sum(axis=1) + 0.1 * (data.actions**2).sum(axis=1))
    assert not data.terminals.any()
    assert np.array_equal(system.collect(120, 5).actions, data.actions)


@pytest.mark.parametrize(("n", "m", "name"), [(0, 1, "n"), (2, 0, "m")])
def test_sizes_below_one_are_refused(n: int, m: int, name: str) -> None:
    with pytest.raises(ValueError, match=f"^{name}"):
        LinearQuadratic.draw(n, m, 0)

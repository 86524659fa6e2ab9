"""Pictures of certified sets: what is drawn is in the set, and begins at its edge."""

import numpy as np
import pytest

import policyforest as pf
from certified_loops import CAR_GAINS, PLANE, car_certificate, grown_policy, linear_policy
from policyforest.certification.set_pictures import certificate_figure, edge_trajectories

POLICY = grown_policy(CAR_GAINS, PLANE)


def test_trajectories_begin_at_the_edge_of_the_set_and_stay_in_it() -> None:
    found = car_certificate()
    ways = edge_trajectories(found, POLICY)
    assert len(ways) == 8
    for way in ways:
        assert found.contains(way).all()
        near = way[0] + 1e-6 * np.array([[-1, -1], [-1, 1], [1, -1], [1, 1]])
        assert not found.contains(near).all()


def test_a_set_of_one_large_cell_is_left_from_its_corners() -> None:
    """The middle of its only cell is no edge."""
    still, space = linear_policy([0.0] * 3, [[-1.0, 1.0]] * 3), [[-1.0, 1.0]] * 3
    halving = pf.Equations({name: f"0.5*{name} + 0*u" for name in "xyz"}, ("u",))
    found = pf.certify(still, halving, box=space)
    assert len(found.cells) == 1
    starts = np.array([way[0] for way in edge_trajectories(found, still)])
    np.testing.assert_allclose(np.abs(starts), 1.0, atol=1e-8)
    assert found.contains(starts).all()


def test_a_picture_says_when_trajectories_are_in_the_set() -> None:
    found = car_certificate(start=[[-0.3, 0.3]] * 2, disturbance=0.01, steps=4, tolerance=0.2)
    assert found
    words = certificate_figure(found, POLICY).get_suptitle()
    assert words.endswith("trajectories are in it after every 4 control steps, and in the box between them")
    assert "control steps" not in certificate_figure(car_certificate(tolerance=0.2), POLICY).get_suptitle()


def test_slices_of_more_states_and_wrong_dimensions() -> None:
    still, space = linear_policy([0.0] * 4, [[-1.0, 1.0]] * 4), [[-1.0, 1.0]] * 4
    found = pf.certify(still, pf.Equations({name: f"0.5*{name} + 0*u" for name in "wxyz"}, ("u",)), box=space)
    assert [axes.get_xlabel() for axes in certificate_figure(found, still).axes[:2]] == ["w", "y"]
    assert certificate_figure(found, still, dims=(3, 1)).axes[0].get_ylabel() == "x"
    with pytest.raises(ValueError, match="dims: is"):
        certificate_figure(found, still, dims=(0, 4))
    with pytest.raises(ValueError, match="at: has 1 numbers, must have 4"):
        certificate_figure(found, still, at=[0.0])

"""The whole model: what cannot be predicted, what the user knows, its ensemble, and its score over several steps."""

from dataclasses import replace

import numpy as np
import pytest

import policyforest as pf
from circle import PI
from logged_systems import ACTIONS, disk, ending_line, line, logged, set_point, wheel
from policyforest.learning.dynamics.dynamics_model import DRAWN_SAMPLES


def fitted(data, **more):
    return pf.DynamicsForest(n_estimators=3, **more).fit(data)


def test_a_set_point_is_found_and_vetoes_nothing():
    data = set_point()
    model = fitted(data)
    assert model.exogenous == (1,)
    (evidence,) = model.exogenous_evidence
    assert (evidence.dimension, evidence.found) == (1, True)
    assert evidence.score == model.state_scores[1]
    assert str(evidence).startswith(f"{data.plant.state_names[1]}: exogenous (R² ")
    assert model.state_scores[0] > 0.999
    assert model.state_scores[1] < 0.5
    assert model.is_good
    assert model.recommended_samples() == DRAWN_SAMPLES - len(data)


def test_a_set_point_moves_as_it_did_in_the_data():
    data = set_point()
    drawn = fitted(data).sample(5000)
    moved, seen = (part.next_states[:, 1] != part.states[:, 1] for part in (drawn, data))
    assert moved.mean() == pytest.approx(seen.mean(), abs=0.05)


def test_what_is_declared_exogenous_is_drawn():
    data = line()
    model = fitted(data, exogenous=(0,))
    assert model.exogenous == (0,)
    assert str(model.choices[0].kind) == "none"
    assert fitted(set_point(), exogenous=()).exogenous == ()
    assert not fitted(set_point(), exogenous=()).is_good
    assert fitted(set_point(), exogenous=()).exogenous_evidence == ()


@pytest.mark.parametrize("bad", [2, -1])
def test_a_declared_dimension_must_exist(bad):
    with pytest.raises(ValueError, match=f"^exogenous: is {bad}, must be between 0 and 1$"):
        fitted(set_point(), exogenous=(bad,))


def test_a_model_that_predicts_no_dimension_is_not_good():
    rng = np.random.default_rng(0)
    states, actions = rng.uniform(-1, 1, (200, 1)), rng.uniform(-1, 1, (200, 1))
    ahead = rng.uniform(-1, 1, (200, 1))
    data = pf.Transitions(
        states, actions, actions[:, 0], ahead, np.zeros(200, bool), np.arange(200) // 10, action_space=ACTIONS
    )
    model = fitted(data)
    assert model.reward_score > 0.999
    assert not model.is_good
    assert model.recommended_samples() == 0


def cost(states, actions, next_states):
    return np.where(np.sin(40 * states[:, 0]) > 0, 1.0, -2.0) + actions[:, 0] * next_states[:, 0]


def test_known_functions_are_used_exactly():
    """A reward that no model learns, and an end that no sample shows."""
    data = line()
    model = fitted(data, reward=cost, terminal=lambda s, a, ahead: ahead[:, 0] > 0.9)
    assert model.reward_score == 1.0
    assert model.resampling(0).terminal_error == 0.0
    drawn = model.sample(2000)
    assert drawn.rewards.tolist() == cost(drawn.states, drawn.actions, drawn.next_states).tolist()
    assert drawn.terminals.any()
    assert drawn.terminals.tolist() == (drawn.next_states[:, 0] > 0.9).tolist()


def test_a_known_end_pays_the_learned_reward_where_no_end_was_seen():
    data = line()
    drawn = fitted(data, terminal=lambda s, a, ahead: ahead[:, 0] > 0.9).sample(2000)
    assert drawn.terminals.any()
    assert drawn.rewards == pytest.approx(-((drawn.states[:, 0] - 0.3) ** 2), abs=1e-4)


def test_known_functions_cannot_change_the_samples():
    def careless(states, actions, next_states):
        states *= 2
        return states[:, 0]

    with pytest.raises(ValueError, match=r"^reward: raised ValueError .*read-only"):
        fitted(line(), reward=careless)


def test_members_of_the_ensemble_differ_and_are_repeatable():
    data = line(noise=0.05)
    model, twin = fitted(data), fitted(data, n_jobs=2)
    states, actions = np.zeros((1, 1)), np.ones((1, 1))
    ahead = [model.member(b).step(states, actions, None, False)[0][0, 0] for b in range(4)]
    assert len(set(ahead)) == 4
    assert np.ptp(ahead) < 0.1
    assert [twin.member(b).step(states, actions, None, False)[0][0, 0] for b in range(4)] == ahead


def test_the_seed_changes_the_ensemble():
    data = line(noise=0.05)
    one, two = (fitted(data, random_state=seed).member(0) for seed in (0, 1))
    step = (np.zeros((1, 1)), np.ones((1, 1)), None, False)
    assert one.step(*step)[0][0, 0] != two.step(*step)[0][0, 0]


@pytest.mark.parametrize(
    "data", [line(noise=0.1), wheel(), disk(), ending_line()], ids=["line", "wheel", "disk", "ends"]
)
def test_threads_change_no_bit(data):
    one, two = fitted(data), fitted(data, n_jobs=2)
    assert one.residuals.tobytes() == two.residuals.tobytes()
    assert one.state_scores == two.state_scores
    for a, b in ((one.native, two.native), (one.member(1), two.member(1))):
        steps = (data.states, data.actions, np.arange(len(data), dtype=np.uint32), True)
        assert [part.tobytes() for part in a.step(*steps)] == [part.tobytes() for part in b.step(*steps)]


def test_members_of_episodes_that_all_end_have_a_reward():
    """One of ten episodes goes on; most draws of episodes do not hold it."""
    rng = np.random.default_rng(0)
    states, actions = rng.uniform(-1, 1, (10, 1)), rng.uniform(-1, 1, (10, 1))
    data = pf.Transitions(
        states, actions, states[:, 0], states + 3.0, np.arange(10) > 0, np.arange(10), action_space=ACTIONS
    )
    model = fitted(data)
    for b in range(6):
        assert np.isfinite(model.member(b).step(states, actions, None, True)[1]).all()


def test_one_sample_may_be_drawn_with_a_control_law():
    assert len(fitted(line()).sample(1, control_law=lambda states: states[:, :1])) == 1


def test_exact_dynamics_are_predicted_many_steps_ahead():
    for data in (line(), wheel()):
        assert min(fitted(data).multi_step_scores()) > 0.999


def test_multi_step_scores_of_one_step_are_nearly_the_scores_of_the_model():
    model = fitted(line(noise=0.1))
    assert model.multi_step_scores(1) == pytest.approx(model.state_scores, abs=0.02)


def test_errors_of_a_chaotic_system_grow_with_the_steps():
    """The logistic map in chaos, with a little noise: a parabola, which no model predicts ten steps ahead."""
    data = logged(
        lambda s, a, rng: np.clip(3.8 * s * (1 - s) + 0.001 * rng.standard_normal(1), 0, 1),
        lambda rng: rng.uniform(0.1, 0.9, 1),
        lambda s, a, ahead: s[0],
    )
    model = fitted(data)
    near, far = model.multi_step_scores(1)[0], model.multi_step_scores(14)[0]
    assert near > 0.999
    assert far < 0.8


def test_multi_step_scores_are_of_episodes_that_were_held_out():
    """A forest that saw the episodes would know where each went; nothing can be known of the others."""
    rng = np.random.default_rng(0)
    walks = rng.uniform(-1, 1, (20, 11, 1))
    n = 20 * 10
    data = pf.Transitions(
        walks[:, :-1].reshape(n, 1), rng.uniform(-1, 1, (n, 1)), np.zeros(n), walks[:, 1:].reshape(n, 1),
        np.zeros(n, bool), np.repeat(np.arange(20), 10), action_space=ACTIONS,
    )  # fmt: skip
    assert fitted(data).multi_step_scores(5)[0] < 0.6  # 0.5: the mean is the best prediction of the next state


def test_multi_step_scores_go_the_short_way_round_a_circle():
    data = logged(
        lambda s, a, rng: np.clip((s + a / 2 + PI) % (2 * PI) - PI, -PI, PI),
        lambda rng: rng.uniform(-PI, PI, 1),
        lambda s, a, ahead: np.cos(s[0]),
        periodic={0: (-PI, PI)},
    )
    assert fitted(data).multi_step_scores(10)[0] > 0.999


def test_multi_step_scores_need_steps_in_a_row():
    model = fitted(line(length=6))
    assert len(model.multi_step_scores(6)) == 1
    with pytest.raises(ValueError, match=r"^n_steps: is 7, must be at most .* can be held out has 6$"):
        model.multi_step_scores(7)
    with pytest.raises(ValueError, match=r"^n_steps: is 0, must be at least 1$"):
        model.multi_step_scores(0)
    with pytest.raises(ValueError, match=r"^transitions: holds 1 sample, must hold at least 2"):
        fitted(line()[:1]).multi_step_scores(1)


def test_terminal_steps_do_not_count_for_multi_step_scores():
    data = ending_line()
    model = fitted(data)
    assert model.multi_step_scores(1)[0] > 0.999
    every = np.ones(len(data), dtype=bool)
    ended = pf.Transitions(data.states, data.actions, data.rewards, data.next_states, every, action_space=ACTIONS)
    with pytest.raises(ValueError, match=r"^n_steps: is 1, must be at most .* can be held out has 0$"):
        fitted(ended).multi_step_scores(1)


def test_the_seed_draws_the_folds():
    model = fitted(line(noise=0.05))
    assert replace(model, seed=5).multi_step_scores(3) != model.multi_step_scores(3)

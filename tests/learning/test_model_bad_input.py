"""Samples, policies and functions that are no good: a clear error, or a finite result with the start policy kept."""

import time

import numpy as np
import pytest
from gymnasium.spaces import Box

import policyforest as pf
from logged_systems import ACTIONS, ending_line, line, logged
from policyforest.learning.improvement.simple_policies import constant_policy, middle_action

N = 60
RNG = np.random.default_rng(0)
STATES, MOVES = RNG.uniform(-1, 1, (N, 2)), RNG.uniform(-1, 1, (N, 1))
NOISE = RNG.standard_normal((N, 3))
AHEAD = 0.9 * STATES + 0.1 * MOVES
EPISODES = np.arange(N) // 6


def samples(states=STATES, actions=MOVES, rewards=STATES[:, 0], ahead=AHEAD, ends=None, episodes=EPISODES, rows=N):
    ends = np.zeros(N, dtype=bool) if ends is None else ends
    parts = (states, actions, rewards, ahead, ends, episodes)
    return pf.Transitions(*(part[:rows] for part in parts), action_space=ACTIONS)


# Where nothing can be gained, or nothing is known, the start policy must be kept.
NOTHING_TO_GAIN = {
    "one sample": lambda: samples(rows=1),
    "one terminal sample": lambda: samples(rows=1, ends=np.ones(N, bool)),
    "two samples": lambda: samples(rows=2),
    "constant states and rewards": lambda: samples(np.ones((N, 2)), ahead=np.ones((N, 2)), rewards=np.ones(N)),
    "constant rewards": lambda: samples(rewards=np.full(N, -1.0)),
    "states that never change": lambda: samples(ahead=STATES),
    "states that only drift": lambda: samples(ahead=STATES + 0.1),
    "an action without effect": lambda: samples(ahead=0.9 * STATES),
    "outputs that no model explains": lambda: samples(ahead=NOISE[:, :2], rewards=NOISE[:, 2]),
    "huge rewards of noise": lambda: samples(rewards=1e9 * NOISE[:, 2]),
    "the same sample again and again": lambda: samples(*(np.tile(part[:1], (N, 1)) for part in (STATES, MOVES)),
                                                       np.ones(N), np.tile(AHEAD[:1], (N, 1))),
}  # fmt: skip
ANYTHING = {
    "one episode": lambda: samples(episodes=np.zeros(N, dtype=int)),
    "constant states": lambda: samples(np.ones((N, 2)), ahead=np.ones((N, 2)), rewards=MOVES[:, 0]),
    "constant actions": lambda: samples(actions=np.zeros((N, 1))),
    "huge rewards": lambda: samples(rewards=1e9 * STATES[:, 0]),
    "tiny numbers": lambda: samples(1e-200 * STATES, MOVES, 1e-200 * STATES[:, 0], 1e-200 * AHEAD),
    "large states": lambda: samples(1e69 * STATES, ahead=1e69 * AHEAD),
    "terminal states only": lambda: samples(ahead=3 * AHEAD, ends=np.ones(N, bool)),
    "terminal states that look like the others": lambda: samples(ends=np.ones(N, bool)),
    "one state that goes on": lambda: samples(ahead=3 * AHEAD, ends=np.arange(N) > 0),
    "ends by chance": lambda: samples(ends=NOISE[:, 0] > 1.2),
    "one end": lambda: samples(ends=np.arange(N) == 5),
    "unstable dynamics": lambda: samples(ahead=3 * STATES + MOVES, rewards=-(STATES**2).sum(axis=1)),
    "very unstable dynamics": lambda: samples(ahead=1e6 * STATES, rewards=STATES[:, 1] ** 2),
}


def quick(**more):
    settings = {"n_rounds": 2, "n_states": 60, "n_members": 2, "n_estimators": 2} | more
    return pf.RolloutImprovement(**settings)


def start_policy(data):
    return constant_policy(data, middle_action(data))


def improved(data):
    """Model, start policy and result, all of it finite and soon there."""
    started = time.process_time()
    model = pf.DynamicsForest(n_estimators=3).fit(data)
    start = start_policy(data)
    result = quick().improve(model, start)
    assert np.isfinite([*model.state_scores, model.reward_score, model.end.error]).all()
    drawn = model.sample(50)
    assert np.isfinite(np.column_stack([drawn.states, drawn.next_states, drawn.rewards])).all()
    assert np.isfinite([result.gain, *(value for r in result.history for value in (r.gain, r.value))]).all()
    assert np.isfinite(result.policy.act_batch(data.states)).all()
    assert time.process_time() - started < 5.0
    return start, result


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("data", NOTHING_TO_GAIN.values(), ids=NOTHING_TO_GAIN.keys())
def test_the_start_policy_is_kept_where_nothing_can_be_gained(data):
    start, result = improved(data())
    assert not result.improved
    assert result.policy is start


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("data", ANYTHING.values(), ids=ANYTHING.keys())
def test_odd_samples_give_a_finite_result(data):
    start, result = improved(data())
    assert result.improved == (result.policy is not start)


def test_rollouts_of_diverging_dynamics_stay_in_the_data():
    data = ANYTHING["unstable dynamics"]()
    model = pf.DynamicsForest(n_estimators=3).fit(data)
    streams = np.arange(N, dtype=np.uint32)
    controller = start_policy(data).native
    values, visited, _ = model.native.rollouts(controller, data.states, None, streams, 200, 0.99, 0, True, 0.0, True, 1)
    box = model.edge(0.99).box
    assert np.isfinite(values).all()
    assert ((visited >= box[:, 0]) & (visited <= box[:, 1])).all()


@pytest.mark.parametrize("name", ["states", "next_states", "rewards"])
def test_numbers_whose_squares_overflow_are_refused(name):
    short = {"states": "states", "next_states": "ahead", "rewards": "rewards"}[name]
    huge = 1e200 * np.sign({"states": STATES, "next_states": AHEAD, "rewards": STATES[:, 0]}[name])
    with pytest.raises(ValueError, match=rf"^{name}: holds a number of size 1e\+200, at most 1e\+70 is allowed$"):
        pf.DynamicsForest().fit(samples(**{short: huge}))


def test_what_is_no_transitions_is_refused():
    with pytest.raises(TypeError, match=r"^transitions: is \[1, 2\], must be Transitions$"):
        pf.DynamicsForest().fit([1, 2])
    with pytest.raises(ValueError, match=r"^n_estimators: is 0, must be at least 1$"):
        pf.DynamicsForest(n_estimators=0).fit(samples())


def raises_at_large_states(states, actions, next_states):
    if (states[:, 0] > 0.9).any():
        raise RuntimeError("too far")
    return states[:, 0]


def at_large_states(value):
    return lambda states, actions, next_states: np.where(states[:, 0] > 0.9, value, 0.0)


BAD_REWARDS = {
    "nan": (at_large_states(np.nan), r"^reward: returned nan at the state \[0\.9"),
    "infinite": (at_large_states(np.inf), r"^reward: returned inf at the state \[0\.9"),
    "shape": (lambda s, a, ahead: s, r"^reward: returned an array of shape \(60, 2\) .* an array of shape \(60,\)$"),
    "one number": (lambda s, a, ahead: 1.0, r"^reward: returned an array of shape \(\) for 60 states from \["),
    "text": (lambda s, a, ahead: np.full(len(s), "x"), r"^reward: returned <U1, must return real numbers$"),
    "large": (lambda s, a, ahead: np.full(len(s), 1e80), r"^reward: returned 1e\+80 at .* at most 1e\+70 in size"),
    "exception": (raises_at_large_states, r"^reward: raised RuntimeError \(too far\) at the state \[0\.9"),
}  # fmt: skip


@pytest.mark.parametrize(("function", "message"), BAD_REWARDS.values(), ids=BAD_REWARDS.keys())
def test_a_bad_reward_function_is_told_where_it_failed(function, message):
    with pytest.raises(ValueError, match=message):
        pf.DynamicsForest(reward=function).fit(samples())


@pytest.mark.parametrize(("function", "message"), BAD_REWARDS.values(), ids=BAD_REWARDS.keys())
def test_a_bad_terminal_function_is_told_where_it_failed(function, message):
    with pytest.raises(ValueError, match=message.replace("reward", "terminal")):
        pf.DynamicsForest(terminal=function).fit(samples())


def test_a_reward_that_fails_beyond_the_data_names_the_state():
    """It knows the samples alone; states that the model draws are between them."""
    known = {tuple(state) for state in STATES}
    model = pf.DynamicsForest(
        n_estimators=2, reward=lambda s, a, ahead: np.array([0.0 if tuple(row) in known else np.nan for row in s])
    ).fit(samples())
    with pytest.raises(ValueError, match=r"^reward: returned nan at the state \["):
        model.sample(10)
    with pytest.raises(ValueError, match=r"^reward: returned nan at the state \["):
        quick().improve(model, start_policy(samples()))


@pytest.mark.parametrize("discount", [1.0, -0.1, 2.0, np.nan])
def test_a_discount_outside_of_its_range_is_refused(discount):
    with pytest.raises(ValueError, match=rf"^discount: is {discount}, must be finite and at least 0 and below 1$"):
        quick(discount=discount)


@pytest.mark.parametrize("name", ["n_rounds", "n_states", "n_members", "n_estimators"])
def test_numbers_of_things_must_be_positive(name):
    with pytest.raises(ValueError, match=f"^{name}: is 0, must be at least 1$"):
        quick(**{name: 0})


@pytest.mark.parametrize("settings", [{"discount": 0.0}, {"discount": 0.9999}, {"n_states": 1}, {"n_members": 1}])
def test_extreme_settings_give_a_finite_result(settings):
    data = ending_line()
    result = quick(**settings).improve(pf.DynamicsForest(n_estimators=2).fit(data), start_policy(data))
    assert np.isfinite(result.gain)


def test_model_and_policy_must_be_of_the_same_spaces():
    model = pf.DynamicsForest(n_estimators=2).fit(samples())
    with pytest.raises(ValueError, match=r"^policy: it observes Box.*; must observe Box"):
        quick().improve(model, start_policy(line()))
    wide = Box(-2.0, 2.0, (1,), np.float64)
    other = pf.Transitions(STATES, MOVES, STATES[:, 0], AHEAD, np.zeros(N, bool), action_space=wide)
    with pytest.raises(ValueError, match=r"^policy: it acts in Box.*; must act in Box"):
        quick().improve(model, start_policy(other))


def test_what_is_no_model_or_no_policy_is_refused():
    model = pf.DynamicsForest(n_estimators=2).fit(samples())
    with pytest.raises(TypeError, match=r"^model: is None, must be a DynamicsModel"):
        quick().improve(None, start_policy(samples()))
    with pytest.raises(TypeError, match=r"^policy: is None, must have act_batch"):
        quick().improve(model, None)


class Returns:
    """A policy that knows no spaces."""

    def __init__(self, act_batch):
        self.act_batch = act_batch


@pytest.mark.parametrize(
    ("act_batch", "message"),
    [
        (lambda s: np.full((len(s), 1), np.nan), r"^policy: returned \[nan\] at the state \[.*\], must return finite"),
        (lambda s: np.zeros(len(s)), r"^policy: returned float64 of shape \(\d+,\), must return .* \(\d+, 1\)$"),
        (lambda s: np.zeros((len(s), 2)), r"^policy: returned float64 of shape \(\d+, 2\), must return .* \(\d+, 1\)$"),
        (lambda s: np.full((len(s), 1), "left"), r"^policy: returned <U4 of shape \(\d+, 1\), must return real"),
    ],
)
def test_actions_that_are_none_are_refused(act_batch, message):
    model = pf.DynamicsForest(n_estimators=2).fit(samples())
    with pytest.raises(ValueError, match=message):
        quick().improve(model, Returns(act_batch))


def test_a_foreign_policy_can_be_improved_and_is_kept_where_it_is_best():
    data = logged(
        lambda s, a, rng: 0.8 * s + 0.2 * a, lambda rng: rng.uniform(-1, 1, 1), lambda s, a, ahead: -(a[0] ** 2)
    )
    model = pf.DynamicsForest(n_estimators=2).fit(data)
    worst, best = (Returns(lambda s, a=a: np.full((len(s), 1), a)) for a in (-1.0, 0.0))
    assert quick().improve(model, worst).improved
    kept = quick().improve(model, best)
    assert not kept.improved
    assert kept.policy is best

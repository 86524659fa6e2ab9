"""Evaluating policies: returns, intervals, and the kinds of policies that can be evaluated."""

import json
import math

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces import Box

from played_environments import IDS, Line, StepPolicy, Watched
from policyforest.environments.collection import collect
from policyforest.environments.evaluation import Evaluation, evaluate, interval_half_width, student_975


def rest(state):
    return np.zeros(1)


def evaluation(returns):
    n = len(returns)
    return Evaluation(np.array(returns), np.full(n, 10), np.zeros(n, dtype=bool))


@pytest.mark.parametrize("id", IDS)
def test_core_and_loop_evaluate_alike(id):
    high = float(gym.make(id).action_space.high[0])
    policy = StepPolicy(-0.5 * high, 0.75 * high)
    a = evaluate(policy, id, episodes=4, seed=3)
    b = evaluate(policy, Watched(gym.make(id)), episodes=4, seed=3)
    assert np.array_equal(a.returns, b.returns)
    assert np.array_equal(a.lengths, b.lengths)
    assert np.array_equal(a.terminals, b.terminals)


def test_returns_are_the_sums_of_the_collected_rewards():
    result = evaluate(rest, IDS[1], episodes=5, seed=9)
    data = collect(IDS[1], rest, episodes=5, seed=9)
    assert result.returns == pytest.approx([data.rewards[data.episodes == e].sum() for e in range(5)])
    assert result.lengths.tolist() == np.bincount(data.episodes).tolist()
    assert result.terminals.all()
    discounted = evaluate(rest, IDS[1], episodes=5, seed=9, discount=0.9)
    rewards = data.rewards[data.episodes == 0]
    assert discounted.returns[0] == pytest.approx(sum(r * 0.9**t for t, r in enumerate(rewards)))


def test_a_linear_law_parks_the_double_integrator_near_the_optimum():
    result = evaluate(lambda s: np.clip([-0.6 * s[0] - 1.2 * s[1]], -1, 1), IDS[2], episodes=2)
    assert -3.7 < result.mean < -3.42
    assert result.lengths.tolist() == [200, 200]
    assert not result.terminals.any()


def test_three_kinds_of_policies_are_played_alike():
    class Acts:
        def act(self, state):
            assert state.dtype == np.float64
            return np.array([0.25])

    class Predicts:
        def __init__(self):
            self.calls = []

        def predict(self, observation, state=None, episode_start=None, deterministic=False):
            assert observation.dtype == np.float32
            self.calls.append((state, bool(episode_start[0]), deterministic))
            return np.array([0.25]), (state or 0) + 1

    predicts = Predicts()
    results = [evaluate(p, Line(reward=1.5), episodes=2) for p in (Acts(), predicts, lambda o: [0.25])]
    assert [r.returns.tolist() for r in results] == [[10.5, 10.5]] * 3
    first = [(None, True, True)] + [(t, False, True) for t in range(1, 7)]
    assert predicts.calls == first * 2


def test_summary():
    result = evaluation([-1.0, -2.0, -3.0, -6.0])
    assert (result.mean, result.worst, result.best) == (-3.0, -6.0, -1.0)
    low, high = result.interval
    assert (low + high) / 2 == pytest.approx(-3.0)
    assert high - low == pytest.approx(2 * 3.182446 * np.std([1, 2, 3, 6], ddof=1) / 2, rel=1e-6)
    text = str(result)
    assert text == ("mean -3, 95% interval [-6.437, 0.4374], worst -6, best -1 (4 episodes of 10 steps)")
    assert json.loads(json.dumps(result.as_dict()))["returns"] == [-1, -2, -3, -6]


def test_one_episode_has_no_interval():
    result = evaluation([5.0])
    assert result.interval == (-math.inf, math.inf)
    assert "needs more than one episode" in str(result)
    assert json.loads(json.dumps(result.as_dict(), allow_nan=False))["interval"] is None


def test_students_quantile():
    known = {1: 12.706205, 2: 4.302653, 3: 3.182446, 9: 2.262157, 30: 2.042272, 199: 1.971957, 999: 1.962341}
    for degrees, quantile in known.items():
        assert student_975(degrees) == pytest.approx(quantile, abs=1e-6)
    quantiles = [student_975(n) for n in range(1, 1000)]
    assert quantiles == sorted(quantiles, reverse=True)


def test_the_interval_covers_the_mean_as_often_as_it_says():
    generator = np.random.default_rng(0)
    samples = generator.normal(3.0, 2.0, (4000, 8))
    covered = [abs(row.mean() - 3.0) <= interval_half_width(row) for row in samples]
    assert 0.94 < np.mean(covered) < 0.96


@pytest.mark.parametrize(
    ("spaces", "message"),
    [
        ({"observation_space": Box(-10, 10, (2,))}, "policy: it observes"),
        ({"observation_space": Box(-9, 10, (1,))}, "policy: it observes"),
        ({"action_space": Box(-1, 1, (2,))}, "policy: it acts"),
        ({"action_space": Box(-2, 1, (1,))}, "policy: it acts"),
    ],
)
def test_a_policy_for_other_spaces_is_refused(spaces, message):
    class Foreign:
        act = staticmethod(rest)

    for name, space in spaces.items():
        setattr(Foreign, name, space)
    with pytest.raises(ValueError, match=message):
        evaluate(Foreign(), Line(), episodes=1)
    with pytest.raises(ValueError, match=message):
        collect(Line(), Foreign(), episodes=1)


def test_a_policy_that_does_not_know_the_bounds_of_states_is_accepted():
    class Unbounded:
        act = staticmethod(rest)
        observation_space = Box(-np.inf, np.inf, (1,), np.float64)
        action_space = Box(-1.0, 1.0, (1,), np.float64)

    assert evaluate(Unbounded(), Line(), episodes=1).mean == 0


@pytest.mark.parametrize("reach", [0.5, 50.0])
def test_a_policy_with_other_actions_is_refused(reach):
    class Foreign:
        act = staticmethod(rest)
        action_space = Box(-reach, reach, (1,), np.float64)

    with pytest.raises(ValueError, match="policy: it acts in"):
        evaluate(Foreign(), Line(), episodes=1)


@pytest.mark.parametrize("arguments", [{"episodes": 0}, {"seed": -1}, {"max_steps": 0}, {"discount": 1.5}])
def test_refuses_bad_numbers(arguments):
    with pytest.raises(ValueError, match=next(iter(arguments))):
        evaluate(rest, IDS[2], **arguments)


@pytest.mark.parametrize("policy", [None, 3, "policy"])
def test_refuses_what_is_no_policy(policy):
    with pytest.raises(TypeError, match="policy"):
        evaluate(policy, IDS[2])

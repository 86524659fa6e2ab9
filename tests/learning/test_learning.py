"""Learning: from samples to Q, and from Q to a policy."""

from dataclasses import replace

import numpy as np
import pytest
from gymnasium.spaces import Box

import policyforest as pf
from circle import PI, circle_samples
from oracles.forest import Leaf, read_trees
from policyforest.learning import q_samples

ACTIONS = Box(-1.0, 1.0, (1,), np.float64)
LINE = Box(-2.0, 2.0, (1,), np.float64)


def line_samples(n=60, seed=0, terminal=0.2, noise=0.0):
    """A point on a line: s' = s + a / 2, which pays -s'²; a share of the steps ends the episode with -5."""
    rng = np.random.default_rng(seed)
    states, actions = rng.uniform(-1.5, 1.5, (n, 1)), rng.uniform(-1, 1, (n, 1))
    ahead = states + actions / 2 + noise * rng.standard_normal((n, 1))
    terminals = np.arange(n) % 5 < 5 * terminal
    rewards = np.where(terminals, -5.0, -(ahead[:, 0] ** 2))
    return pf.Transitions(
        states, actions, rewards, ahead, terminals, np.arange(n) // 5, action_space=ACTIONS, observation_space=LINE
    )


def two_action_samples(n=150, seed=0):
    """The best action is (s_0, -s_1 / 2), whatever comes next."""
    rng = np.random.default_rng(seed)
    states, actions = rng.uniform(-1, 1, (n, 2)), rng.uniform(-1, 1, (n, 2))
    wanted = states * [1.0, -0.5]
    rewards = -((actions - wanted) ** 2).sum(axis=1)
    return pf.Transitions(
        states,
        actions,
        rewards,
        states,
        np.zeros(n, dtype=bool),
        action_space=Box(-1, 1, (2,), np.float64),
        observation_space=Box(-1, 1, (2,), np.float64),
    )


def learner(**changes):
    """Small, and without anything that the samples do not contain."""
    return pf.FittedQIteration(**{"discount": 0.9, "horizon": 3, "n_estimators": 5, "resample": None, **changes})


def same_forest(a, b):
    return all(np.array_equal(a.arrays[name], b.arrays[name]) for name in a.arrays)


# --- Fitted Q Iteration ----------------------------------------------------------------------------------------------


def test_the_first_q_is_fitted_on_the_rewards_alone():
    data = line_samples()
    q = learner(horizon=1, min_samples_leaf=1, discount=0.99).fit(data)
    assert np.allclose(q.q(data.states, data.actions), data.rewards, atol=1e-12)


def test_the_second_adds_the_discounted_best_value_ahead_but_not_after_the_end():
    data = line_samples()
    settings = learner(min_samples_leaf=1)
    first, second = (replace(settings, horizon=h).fit(data) for h in (1, 2))
    expected = data.rewards + np.where(data.terminals, 0.0, 0.9 * first.value(data.next_states))
    assert np.allclose(second.q(data.states, data.actions), expected, atol=1e-12)
    assert not np.allclose(expected, data.rewards)


def test_the_end_of_an_episode_that_is_not_terminal_goes_on():
    """Time limits cut episodes; the value of the last state counts all the same."""
    data = line_samples(terminal=0.0)
    settings = learner(horizon=2, min_samples_leaf=1)
    last_of_episode = np.arange(len(data)) % 5 == 4
    ahead = replace(settings, horizon=1).fit(data).value(data.next_states)
    expected = data.rewards + 0.9 * ahead
    got = settings.fit(data).q(data.states, data.actions)
    assert np.allclose(got[last_of_episode], expected[last_of_episode], atol=1e-12)


def plain_best_value(trees, state, lo, hi):
    """max_a F(s, a), one action: tries a point of every interval between the thresholds that the trees hold."""

    def thresholds(tree):
        if isinstance(tree, Leaf):
            return []
        here = [tree.threshold] if tree.feature == len(state) else []
        return here + thresholds(tree.lower) + thresholds(tree.upper)

    def leaf(tree, x):
        while not isinstance(tree, Leaf):
            tree = tree.lower if x[tree.feature] <= tree.threshold else tree.upper
        return tree.model[-1]

    cuts = sorted({lo, hi, *(v for tree in trees for v in thresholds(tree) if lo < v < hi)})
    return max(sum(leaf(tree, [*state, a]) for tree in trees) / len(trees) for a in cuts)


def plain_fitted_q(data, settings):
    """Eqs. (FQI:input) and (FQI:output), literally; forest h has the seed random_state + h."""
    inputs = np.concatenate([data.states, data.actions], axis=1)
    box = np.concatenate([data.state_box(), [[-1.0, 1.0]]])
    forest = None
    for h in range(1, settings.horizon + 1):
        targets = []
        trees = None if forest is None else read_trees(forest.arrays)
        for reward, ahead, terminal in zip(data.rewards, data.next_states, data.terminals, strict=True):
            best = 0.0 if terminal or trees is None else plain_best_value(trees, ahead.tolist(), -1.0, 1.0)
            targets.append(reward + settings.discount * best)
        forest = pf.grow_forest(
            inputs,
            targets,
            n_estimators=settings.n_estimators,
            min_samples_leaf=settings.min_samples_leaf,
            score=settings.score,
            grid={1: q_samples.ACTION_GRID},
            box=box,
            random_state=settings.random_state + h,
        )
    return forest


@pytest.mark.parametrize("score", [None, "asinh"])
def test_it_is_the_plain_algorithm(score):
    data = line_samples(40)
    settings = learner(horizon=4, n_estimators=3, min_samples_leaf=3, score=score, random_state=11)
    expected, q = plain_fitted_q(data, settings), settings.fit(data)
    rows = np.random.default_rng(1).uniform([-2, -1], [2, 1], (200, 2))
    assert np.allclose(q.q(rows[:, :1], rows[:, 1:]), expected.predict(rows), rtol=1e-9)
    assert q.forest.n_leaves == expected.n_leaves


def test_without_a_future_the_discount_does_not_matter():
    data = line_samples(terminal=1.0)
    assert data.terminals.all()
    q = learner(horizon=3, min_samples_leaf=1).fit(data)
    assert np.allclose(q.q(data.states, data.actions), data.rewards, atol=1e-12)
    assert [it.change for it in q.history] == [0.0] * 3


def test_every_iteration_is_reported():
    seen = []
    q = learner(horizon=4, callback=seen.append).fit(line_samples())
    assert seen == list(q.history)
    assert [it.iteration for it in seen] == [1, 2, 3, 4]
    living = q.transitions.next_states[~q.transitions.terminals]
    assert seen[-1].value == pytest.approx(q.value(living).mean())
    assert seen[-1].n_leaves == q.forest.n_leaves
    assert all(it.seconds > 0 and it.change > 0 for it in seen)


def test_the_automatic_horizon_averages_the_forests_after_settling():
    data = line_samples(200, terminal=0.0)
    seen = []
    single = learner(horizon="auto", n_averaged=1).fit(data)
    q = learner(horizon="auto", n_averaged=3, callback=seen.append).fit(data)
    assert len(q.history) == len(single.history) + 2
    assert len(q.forest) == 3 * len(single.forest)
    parts = [learner(horizon=len(single.history) + i).fit(data) for i in range(3)]
    rows = np.random.default_rng(1).uniform([-2, -1], [2, 1], (100, 2))
    average = np.mean([part.forest.predict(rows) for part in parts], axis=0)
    assert np.allclose(q.forest.predict(rows), average, rtol=1e-12)
    assert seen == list(q.history)


def test_a_given_horizon_is_not_averaged():
    assert len(learner(horizon=3, n_averaged=3, n_estimators=4).fit(line_samples()).forest) == 4


def test_every_iteration_draws_new_samples(monkeypatch):
    drawn, sample = [], pf.DynamicsModel.sample
    monkeypatch.setattr(pf.DynamicsModel, "sample", lambda *a, **k: drawn.append(sample(*a, **k)) or drawn[-1])
    data = line_samples(100)
    q = learner(horizon=3, resample=50).fit(data)
    assert q.resampling.n_drawn == 50
    watched, *batches = drawn
    assert [len(batch) for batch in batches] == [50, 50, 50]
    states = [batch.states.tobytes() for batch in batches]
    assert len(set(states)) == 3
    assert watched.states.tobytes() not in states[1:]


def test_auto_stops_when_the_values_have_settled():
    data = line_samples(200, terminal=0.0)
    lengths = {}
    for discount in (0.0, 0.5, 0.95):
        q = learner(discount=discount, horizon="auto").fit(data)
        lengths[discount] = len(q.history)
        more = learner(discount=discount, horizon=len(q.history) + 10).fit(data)
        assert q.value(data.states).mean() == pytest.approx(more.value(data.states).mean(), rel=0.3)
    assert lengths[0.0] <= lengths[0.5] < lengths[0.95]
    # A discount of 0.99 forgets 98% of the future after 390 steps, but this way is short.
    assert len(learner(discount=0.99, horizon="auto").fit(data).history) < 200


def test_one_action_is_searched_exactly_and_several_by_the_bounded_search():
    for samples, search in ((line_samples, "exact"), (two_action_samples, "bounded")):
        data = samples(100)
        auto, named, other = (
            learner(horizon=2, action_search=word).fit(data)
            for word in ("auto", search, {"exact": "merged", "bounded": "exact"}[search])
        )
        assert same_forest(auto.forest, named.forest)
        assert not same_forest(auto.forest, other.forest)
        assert auto.policy().action_search == search
        assert auto.policy("merged").action_search == "merged"


def test_the_best_of_several_actions_is_found_as_well_as_by_the_exact_search():
    data = two_action_samples(500)
    wanted = data.states * [1.0, -0.5]
    errors = []
    for search in ("bounded", "exact"):
        q = learner(discount=0.0, horizon=1, n_estimators=20, action_search=search).fit(data)
        errors.append(np.abs(q.policy().act_batch(data.states) - wanted).mean())
    assert errors[0] < 1.2 * errors[1]  # measured: the same to 10%
    assert errors[0] < 0.2


def test_a_greedy_policy_of_several_actions_is_kept_in_a_file(tmp_path):
    policy = learner(horizon=2).fit(two_action_samples(100)).policy()
    policy.save(tmp_path / "greedy.pforest")
    loaded, states = pf.load(tmp_path / "greedy.pforest"), two_action_samples(30, seed=1).states
    assert loaded.action_search == "bounded"
    assert np.array_equal(loaded.act_batch(states), policy.act_batch(states))


@pytest.mark.parametrize(("search", "n_forests"), [("auto", 3), ("exact", 1)])
def test_forests_of_several_actions_are_averaged_where_the_maximum_is_cheap(search, n_forests):
    settings = learner(discount=0.5, horizon="auto", n_averaged=3, n_estimators=4, action_search=search)
    q = settings.fit(two_action_samples(150))
    assert len(q.forest) == 4 * n_forests


def test_samples_of_several_actions_are_drawn_where_the_model_is_good():
    q = learner(horizon=1, resample="auto").fit(two_action_samples(400))
    assert q.resampling.n_drawn > 0


def test_a_fitted_model_takes_the_place_of_a_new_one(monkeypatch):
    data = line_samples(200)
    expected = learner(horizon=2, resample="auto").fit(data)
    model = pf.DynamicsForest(random_state=0).fit(data)
    monkeypatch.setattr(pf.DynamicsForest, "fit", lambda *_: pytest.fail("fitted again"))
    q = learner(horizon=2, resample=model).fit(data)
    assert same_forest(q.forest, expected.forest)
    assert q.resampling == expected.resampling
    again = pf.Transitions.concatenate([data])  # equal samples in another object
    assert same_forest(learner(horizon=2, resample=model).fit(again).forest, expected.forest)


def test_a_model_of_other_samples_is_refused():
    model = pf.DynamicsForest().fit(line_samples(60, seed=1))
    with pytest.raises(ValueError, match="resample: is a model of 60 other samples, must be a model of the 50 that"):
        learner(resample=model).fit(line_samples(50))


def test_a_model_that_predicts_badly_draws_nothing():
    rng = np.random.default_rng(9)
    data = line_samples(100)
    noise = pf.Transitions(
        data.states, data.actions, rng.random(100), rng.uniform(-1, 1, (100, 1)), data.terminals, data.episodes,
        action_space=ACTIONS, observation_space=LINE,
    )  # fmt: skip
    q = learner(horizon=2, resample=pf.DynamicsForest().fit(noise)).fit(noise)
    assert q.resampling.n_drawn == 0
    assert same_forest(q.forest, learner(horizon=2).fit(noise).forest)


def test_a_warm_start_goes_on_from_another_q():
    data = line_samples()
    settings = learner(horizon=1, min_samples_leaf=1)
    first = settings.fit(data)
    warm = replace(settings, warm_start=first).fit(data)
    assert same_forest(settings.fit(data).forest, first.forest)
    expected = data.rewards + np.where(data.terminals, 0.0, 0.9 * first.value(data.next_states))
    assert np.allclose(warm.q(data.states, data.actions), expected, atol=1e-12)


def test_a_warm_start_from_another_problem_is_refused():
    other = learner(horizon=1).fit(two_action_samples(30))
    with pytest.raises(ValueError, match="states: has 1 columns, must have 2"):
        learner(warm_start=other).fit(line_samples())


@pytest.mark.parametrize("search", ["exact", "bounded", "merged"])
@pytest.mark.parametrize("samples", [line_samples, two_action_samples])
def test_the_same_seed_gives_the_same_bits_with_any_number_of_threads(search, samples):
    data = samples(80)
    settings = learner(horizon=2, n_estimators=4, action_search=search, max_leaves=10, min_samples_leaf=5)
    one, two = settings.fit(data), replace(settings, n_jobs=2).fit(data)
    assert same_forest(one.forest, two.forest)
    assert not same_forest(one.forest, replace(settings, random_state=1).fit(data).forest)
    drawn = replace(settings, resample=50)
    assert same_forest(drawn.fit(data).forest, replace(drawn, n_jobs=2).fit(data).forest)


def test_a_generator_draws_the_seed():
    data = line_samples()
    forests = [learner(random_state=np.random.default_rng(s)).fit(data).forest for s in (3, 3, 4)]
    assert same_forest(forests[0], forests[1])
    assert not same_forest(forests[0], forests[2])


def test_the_merged_search_with_many_leaves_is_nearly_exact():
    data = line_samples(100)
    exact = learner().fit(data).value(data.states)
    many, few = (
        learner(action_search="merged", max_leaves=leaves).fit(data).value(data.states) for leaves in (1000, 2)
    )
    assert np.allclose(many, exact, atol=1e-9)
    assert few.mean() < exact.mean()  # pruned leaves are averages, so their maximum is lower


def test_learning_finds_the_way_to_the_middle():
    data = line_samples(400, terminal=0.0)
    q = learner(discount=0.5, horizon=5, n_estimators=25).fit(data)
    states = np.linspace(-1, 1, 21)[:, None]
    for policy in (q.policy(), pf.FittedPolicyForest(n_states=500).fit(q)):
        ahead = states + policy.act_batch(states) / 2
        assert np.abs(ahead[np.abs(states) <= 0.4]).max() < 0.3
        assert np.abs(ahead).mean() < 0.5 * np.abs(states).mean()


def test_drawn_samples_are_added_and_reported():
    data = line_samples(200)
    plain, drawn = learner(horizon=1).fit(data), learner(horizon=1, resample=500).fit(data)
    assert plain.resampling is None
    assert drawn.resampling.n_drawn == 500
    assert drawn.transitions is data
    assert drawn.forest.n_leaves > plain.forest.n_leaves
    assert learner(horizon=1, resample="auto").fit(data).resampling.state_scores == drawn.resampling.state_scores


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"discount": 1.0}, ValueError),
        ({"discount": -0.1}, ValueError),
        ({"discount": float("nan")}, ValueError),
        ({"discount": "high"}, TypeError),
        ({"horizon": 0}, ValueError),
        ({"horizon": 2.5}, TypeError),
        ({"horizon": "long"}, TypeError),
        ({"resample": 0}, ValueError),
        ({"resample": "often"}, TypeError),
        ({"action_search": "guess"}, ValueError),
        ({"settling": "soon"}, ValueError),
        ({"n_estimators": 0}, ValueError),
        ({"max_features": 3}, ValueError),
        ({"min_samples_leaf": 0}, ValueError),
        ({"min_variance": -1.0}, ValueError),
        ({"score": "rank"}, ValueError),
        ({"random_state": -1}, ValueError),
        ({"n_jobs": 0}, ValueError),
    ],
)
def test_bad_parameters_are_named(changes, error):
    name = next(iter(changes))
    with pytest.raises(error, match=name):
        learner(**changes).fit(line_samples(10))


def test_only_transitions_can_be_learned_from():
    with pytest.raises(TypeError, match="dataset: is a ndarray, must be Transitions"):
        learner().fit(np.zeros((5, 3)))
    with pytest.raises(TypeError, match="dataset: is a list, must be Transitions"):
        pf.FittedPolicyForest().fit([1, 2])


def test_q_refuses_rows_that_do_not_fit():
    q = learner(horizon=1).fit(line_samples(20))
    for states in (np.zeros((2, 2)), np.zeros(2), [[np.nan]]):
        with pytest.raises(ValueError, match="states"):
            q.value(states)
    for actions in (np.zeros((2, 2)), np.zeros((3, 1)), np.zeros(2), [[0.0], [np.nan]]):
        with pytest.raises(ValueError, match="actions"):
            q.q(np.zeros((2, 1)), actions)


def test_one_sample_is_enough_to_run():
    data = line_samples(5)[1:2]
    q = pf.FittedQIteration(horizon=3).fit(data)
    assert np.isfinite(pf.FittedPolicyForest(n_states=50).fit(q).act(np.zeros(1))).all()


# --- Fitted Policy Forest --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("leaf_model", ["constant", "linear"])
@pytest.mark.parametrize("states", ["uniform", "visited"])
@pytest.mark.parametrize("samples", [line_samples, two_action_samples])
def test_the_policy_is_near_the_best_actions(leaf_model, states, samples):
    settings = learner(discount=0.0, horizon=1, n_estimators=20, min_samples_leaf=2, action_search="exact")
    q = settings.fit(samples(500))
    policy = pf.FittedPolicyForest(leaf_model=leaf_model, states=states, n_states=800, n_estimators=10).fit(q)
    assert policy.info.method == {"constant": "fpf-pwc", "linear": "fpf-pwl"}[leaf_model]
    assert len(policy.forests) == q.transitions.actions.shape[1]
    assert all(forest.leaf_model == leaf_model for forest in policy.forests)
    rng = np.random.default_rng(5)
    at = q.transitions.states[rng.integers(500, size=200)] * 0.9
    best = q.maxima(at).action
    middle = best.mean(axis=0)
    error = ((policy.act_batch(at) - best) ** 2).mean(axis=0)
    assert (error < 0.5 * ((best - middle) ** 2).mean(axis=0)).all()  # it explains more than half of them


def test_several_actions_are_learned_each_by_its_forest():
    policy = pf.FittedPolicyForest(n_states=1500, q_learner=learner(discount=0.0, n_estimators=20)).fit(
        two_action_samples(1500)
    )
    states = np.random.default_rng(3).uniform(-0.8, 0.8, (200, 2))
    assert np.abs(policy.act_batch(states) - states * [1.0, -0.5]).mean() < 0.2


def test_fit_on_samples_does_both_steps():
    data, q_learner = line_samples(), learner(random_state=4)
    settings = pf.FittedPolicyForest(n_states=100, q_learner=q_learner, random_state=5)
    at_once, in_two = settings.fit(data), settings.fit(q_learner.fit(data))
    assert same_forest(at_once.forests[0], in_two.forests[0])
    assert at_once.info.n_samples == len(data)
    assert at_once.info.settings["iterations"] == 3


def test_the_policy_has_the_same_bits_with_any_number_of_threads():
    q = learner(horizon=1).fit(two_action_samples(80))
    settings = pf.FittedPolicyForest(n_states=300)
    one, two, other = (
        replace(settings, **changes).fit(q).forests for changes in ({}, {"n_jobs": 2}, {"random_state": 1})
    )
    assert all(map(same_forest, one, two))
    assert not any(map(same_forest, one, other))


def test_visited_states_are_the_samples_own():
    """Samples in two far corners: a policy on visited states spends no leaf on the empty middle."""
    rng = np.random.default_rng(0)
    states = np.concatenate([rng.uniform(-2, -1.9, (100, 1)), rng.uniform(1.9, 2, (100, 1))])
    data = pf.Transitions(
        states,
        rng.uniform(-1, 1, (200, 1)),
        rng.random(200),
        states,
        np.zeros(200, dtype=bool),
        action_space=ACTIONS,
        observation_space=LINE,
    )
    q = learner(horizon=1).fit(data)
    forest = pf.FittedPolicyForest("constant", 200, "visited", min_samples_leaf=1).fit(q).forests[0]
    thresholds = forest.arrays["split"][forest.arrays["feature"] == 0]
    in_the_middle = np.abs(thresholds) < 1.5
    assert in_the_middle.sum() <= len(forest)  # at most the one split of each tree that parts the corners


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"leaf_model": "cubic"}, ValueError),
        ({"states": "all"}, ValueError),
        ({"n_states": 0}, ValueError),
        ({"n_states": 2.5}, TypeError),
        ({"n_estimators": 0}, ValueError),
        ({"min_samples_leaf": 0}, ValueError),
        ({"max_features": 9}, ValueError),
        ({"random_state": -1}, ValueError),
    ],
)
def test_bad_parameters_of_the_policy_are_named(changes, error):
    with pytest.raises(error, match=next(iter(changes))):
        pf.FittedPolicyForest(**{"n_states": 50, **changes}).fit(learner(horizon=1).fit(line_samples(10)))


# --- Angles ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def circle():
    return circle_samples()


@pytest.mark.parametrize("leaf_model", ["constant", "linear"])
def test_a_policy_on_a_circle_has_no_seam(circle, leaf_model):
    q = learner(discount=0.5, horizon=4, n_estimators=25).fit(circle)
    policy = pf.FittedPolicyForest(leaf_model=leaf_model, n_states=2000).fit(q)
    assert policy.periodic == {0: (-PI, PI)}
    angles = np.linspace(-PI, PI, 721)
    actions = policy.act_batch(angles[:, None])[:, 0]
    steps = np.abs(np.diff(actions))
    for eps in (1e-9, 1e-3):
        low, high = (policy.act(np.array([side]))[0] for side in (-PI + eps, PI - eps))
        assert abs(low - high) <= steps.max()
        assert abs(low - high) < 0.25
    # Turning to `pi` is up from below and down from above, through the seam.
    assert policy.act(np.array([PI - 0.4]))[0] > 0.3
    assert policy.act(np.array([-PI + 0.4]))[0] < -0.3
    # An angle that was counted on is the same angle.
    assert policy.act(np.array([PI + 0.4]))[0] == pytest.approx(policy.act(np.array([-PI + 0.4]))[0], abs=1e-9)
    ahead = q.value([[-PI + 1e-6], [PI - 1e-6]])
    assert ahead[0] == pytest.approx(ahead[1], abs=0.1)
    assert q.policy().act(np.array([3 * PI - 0.4]))[0] == pytest.approx(q.policy().act(np.array([PI - 0.4]))[0])


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: learner(warm_start=3), "warm_start"),
        (lambda: learner(callback=3), "callback"),
        (lambda: learner(n_averaged=0), "n_averaged"),
        (lambda: pf.FittedPolicyForest(q_learner=3), "q_learner"),
    ],
)
def test_parts_that_are_none_are_refused_at_once(make, name):
    with pytest.raises((TypeError, ValueError), match=name):
        make()

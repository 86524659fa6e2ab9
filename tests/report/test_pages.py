"""Pages that move, in a real browser: nothing is fetched, nothing complains, sliders and episodes do what they say."""

from __future__ import annotations

import json
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces import Box

import policyforest as pf
from browser import CHROMIUM, Browser
from policyforest.environments.episodes import EpisodePlayer
from policyforest.learning.methods import with_problem
from policyforest.paper import paper_report
from policyforest.paper.finished_cells import Cells
from policyforest.report import interactive
from policyforest.report.maps import Maps, policy_maps
from policyforest.report.policy_page import episode, write_policy_page
from stored import write_cell

needs_browser = pytest.mark.skipif(not CHROMIUM, reason="no Chromium is installed (tests/install_browser.sh)")
PROBLEM = "policyforest/DoubleIntegrator-v0"


@pytest.fixture(scope="module")
def learned():
    data = pf.collect(PROBLEM, episodes=30, seed=0)
    q = pf.FittedQIteration(horizon=3, resample=None).fit(data)
    return with_problem(pf.FittedPolicyForest().fit(q), PROBLEM), q, data


def test_maps_hold_what_the_policy_and_q_say(learned) -> None:
    policy, q, data = learned
    maps = policy_maps(policy, q=q, samples=data, resolution=5)
    assert [m.title for m in maps.maps] == ["Policy", "Value V(s)", "Q(s, a)", "Knownness"]
    x, y = (lo + (hi - lo) * (np.arange(5) + 0.5) / 5 for lo, hi in maps.box)
    state = np.array([x[3], y[1]])
    assert maps.maps[0].layers[0][1, 3] == policy.act(state)[0]
    assert maps.maps[1].layers[0][1, 3] == q.value(state[None])[0]
    action = maps.maps[2].positions[2]
    assert maps.maps[2].layers[2][1, 3] == q.q(state[None], [[action]])[0]
    assert ((maps.maps[3].layers >= 0) & (maps.maps[3].layers <= 1)).all()
    back = Maps.from_dict(json.loads(json.dumps(maps.as_dict())))
    np.testing.assert_allclose(back.maps[0].layers, maps.maps[0].layers, rtol=0.01)


def test_a_third_state_dimension_has_a_slider() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (200, 3))
    box = Box(-1, 1, (3,), np.float64)
    policy = pf.Policy((pf.grow_forest(X, X[:, 2], n_estimators=3),), box, Box(-1, 1, (1,), np.float64))
    (only,) = policy_maps(policy, resolution=4).maps
    assert len(only.layers) == len(only.positions) > 1
    assert only.slider == "state 2"
    assert only.layers[0].mean() < only.layers[-1].mean()


def test_maps_need_two_dimensions(learned) -> None:
    with pytest.raises(ValueError, match="dims"):
        policy_maps(learned[0], dims=(0,))


def test_samples_must_be_the_policy_s(learned) -> None:
    other = pf.collect("Pendulum-v1", steps=5, seed=0)
    with pytest.raises(ValueError, match="samples"):
        policy_maps(learned[0], samples=other)


@pytest.mark.parametrize(
    ("problem", "words"),
    [("", "does not name"), ("this:Evil-v0", "would import"), ("Pendulum-v1", "policy"), ("No/Such-v0", "not found")],
)
def test_a_policy_that_cannot_play_says_why(learned, problem: str, words: str) -> None:
    policy = with_problem(learned[0], problem)
    block = episode(policy, policy_maps(learned[0], resolution=4), (0, 1))
    assert block.startswith("<p>No episode is shown: ")
    assert words in block


def test_data_cannot_end_its_element() -> None:
    maps = Maps(("</script><b>", "y"), np.array([[0.0, 1.0], [0.0, 1.0]]), ())
    assert interactive.maps_block(maps).count("</script>") == 1


@needs_browser
def test_the_page_of_a_policy_opens_plays_and_slides(learned, tmp_path: Path) -> None:
    policy, _, data = learned
    path = tmp_path / "policy.html"
    write_policy_page(path, policy, [("method", "a <test>")], samples=data)
    with Browser() as browser:
        browser.open(path)
        check_episode(browser)
        check_slider(browser, panel=1)
        assert browser.run("document.querySelector('.wide td + td').textContent") == "a <test>"
        check_silence(browser)


def check_episode(browser: Browser) -> None:
    step = "Number(document.querySelector('.episode').dataset.step)"
    pixels = "document.querySelector('.episode canvas').toDataURL()"
    marker = "document.querySelector('.episode .plot').data.at(-1).x[0]"
    before = [browser.run(what) for what in (step, pixels, marker)]
    assert before[0] == 0
    browser.run("document.querySelector('.episode button').click()")
    browser.wait_for(f"{step} >= 3")
    after = [browser.run(what) for what in (step, pixels, marker)]
    assert after[1] != before[1]
    assert after[2] != before[2]
    browser.run("document.querySelector('.episode button').click()")
    stopped = browser.run(step)
    assert browser.run(f"new Promise(done => setTimeout(() => done({step}), 300))") == stopped


def check_slider(browser: Browser, panel: int) -> None:
    inside = f"document.querySelectorAll('.maps .panel')[{panel}]"
    shown = f"JSON.stringify({inside}.querySelector('.plot').data[0].z)"
    first = browser.run(shown)
    slider = f"{inside}.querySelector('input')"
    browser.run(f"{slider}.value = 0; {slider}.dispatchEvent(new Event('input'))")
    assert browser.run(shown) != first
    layer = f"JSON.stringify(JSON.parse(document.querySelector('.maps script').textContent).maps[{panel}].layers[0])"
    assert browser.run(shown) == browser.run(layer)


def check_silence(browser: Browser) -> None:
    assert browser.complaints == []
    assert {url.partition(":")[0] for url in browser.requests} <= {"file", "data", "blob"}


@needs_browser
def test_the_report_of_the_paper_opens_and_moves(learned, tmp_path: Path) -> None:
    policy, q, data = learned
    cells = Cells(tmp_path, "quick")
    played = EpisodePlayer(gym.make(PROBLEM), policy).play(1, 0)
    content = {
        "problem": "double-integrator",
        "how": "batch",
        "samples": len(data),
        "maps": policy_maps(policy, q=q, samples=data, resolution=9).as_dict(),
        "episode": {n: getattr(played, n).tolist() for n in ("states", "actions", "rewards")},
    }
    write_cell(tmp_path, "portraits", 1, content, "quick")
    path = paper_report.write(cells, tmp_path / "report.html", {"version": "test"})
    with Browser() as browser:
        browser.open(path)
        assert browser.run("document.querySelectorAll('figure img').length") == 12
        assert browser.run("document.querySelectorAll('.badge.undecided').length") > 5
        assert browser.run("[...document.images].every(image => image.naturalWidth > 0)")
        check_episode(browser)
        check_slider(browser, panel=2)
        check_silence(browser)

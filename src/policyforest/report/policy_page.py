"""A page about one policy: its maps with sliders, and an animated episode."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import gymnasium as gym
import gymnasium.error

from policyforest._support.spaces import bounds
from policyforest.data.transitions import Transitions
from policyforest.environments.episodes import EpisodePlayer, id_from_file
from policyforest.report import interactive, page
from policyforest.report.candidates import CAPTION, COLUMNS, WORDS, comparison_of
from policyforest.report.maps import Maps, policy_maps

STEPS_SHOWN = 300
EPISODE_SEED = 1


def write_policy_page(
    path: Path,
    policy: Any,
    facts: Sequence[tuple[str, str]],
    *,
    samples: Transitions | None = None,
    dims: Sequence[int] | None = None,
    at: Sequence[float] | None = None,
    more: Sequence[str] = (),
) -> None:
    """Writes the page. `facts` are the rows (name, text) of its table, and `more` holds further pieces of HTML; the
    other arguments are those of `policy_maps`."""
    maps = policy_maps(policy, samples=samples, dims=dims, at=at)
    method = WORDS.get(policy.info.method, policy.info.method)
    title = ", ".join(text for text in (policy.info.problem, method) if text) or "A policy"
    blocks = [f"<header><h1>{escape(title)}</h1></header>"]
    blocks += [page.heading("An episode"), episode(policy, maps, (0, 1) if dims is None else tuple(dims))]
    blocks += [page.heading("What it does, and what it knows"), interactive.maps_block(maps)]
    blocks += [*more, *candidates(policy.info.settings)]
    rows = "".join(f"<tr><td>{escape(name)}</td><td>{escape(words)}</td></tr>" for name, words in facts)
    blocks += [page.heading("What it is"), f'<table class="wide"><tbody>{rows}</tbody></table>']
    interactive.write_report(path, title, blocks)


def candidates(settings: Mapping[str, Any]) -> list[str]:
    """How a planned policy was chosen: the candidates with their values, and a note, if there is one."""
    comparison = comparison_of(settings)
    if comparison is None:
        return []
    table = page.table(COLUMNS, comparison.rows(), CAPTION)
    note = [page.paragraph(f"Note: {comparison.note}.")] if comparison.note else []
    return [page.heading("How it was chosen"), table, *note]


def episode(policy: Any, maps: Maps, dims: Sequence[int]) -> str:
    """The first steps of an episode, or a sentence that explains why there is none."""
    problem = policy.info.problem
    if not problem:
        return page.paragraph("No episode is shown: the policy does not name its problem.")
    try:
        env = gym.make(id_from_file("the policy", problem))
        try:
            played = EpisodePlayer(env, policy, STEPS_SHOWN).play(EPISODE_SEED, 0)
        finally:
            env.close()
    except (gymnasium.error.Error, ImportError, ValueError, TypeError) as error:
        return page.paragraph(f"No episode is shown: {error}")
    most = float(abs(bounds(policy.action_space)[0]).max())
    return interactive.episode_block(problem, played.states, played.actions, played.rewards, most, maps, dims)

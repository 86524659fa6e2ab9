"""A card that describes a saved policy, in the form that Hugging Face's hub shows: Markdown after a YAML header."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from policyforest._support.files import replacing
from policyforest._support.labels import labels_of
from policyforest._support.spaces import bounds

# Branch and bound over more dimensions can take minutes.
MOST_DIMENSIONS = 3


def write_model_card(policy: Any, path: Path) -> Path:
    """Writes the card next to a policy file, with the ending .md, and returns its path."""
    card = path.with_suffix(".md")
    with replacing(card) as beside:
        beside.write_text(model_card(policy, path.name), encoding="utf-8")
    return card


def model_card(policy: Any, file_name: str) -> str:
    """The text of the card."""
    info = policy.info
    head = {
        "library_name": "policyforest",
        "pipeline_tag": "reinforcement-learning",
        "tags": ["reinforcement-learning", "control", "regression-forest", info.method],
    }
    # JSON is YAML, and quotes names and settings so that they can only be read as text.
    front = "\n".join(f"{key}: {json.dumps(value, ensure_ascii=True)}" for key, value in head.items())
    sections = [
        f"# {_text(file_name)}",
        f"A controller learned by PolicyForest (`{_text(info.method)}`), for {_text(info.problem) or 'a log'}.",
        "## Use",
        "```python\nimport policyforest as pf\n\n"
        f'policy = pf.load("{_text(file_name)}")\naction = policy.act(state)\n```',
        "## Spaces",
        _spaces(policy),
        "## Where it comes from",
        _origin(info),
        "## Limits",
        _limits(policy),
    ]
    return f"---\n{front}\n---\n\n" + "\n\n".join(sections) + "\n"


def _spaces(policy: Any) -> str:
    observations, actions = bounds(policy.observation_space), bounds(policy.action_space)
    labels = labels_of(policy)
    known = getattr(policy, "state_box", observations)
    rows = ["| | low | high |", "|---|---|---|"]
    rows += [f"| {_text(name)} | {lo:.6g} | {hi:.6g} |" for name, (lo, hi) in zip(labels.states, known, strict=True)]
    rows += [
        f"| **{_text(name)}** | {lo:.6g} | {hi:.6g} |" for name, (lo, hi) in zip(labels.actions, actions, strict=True)
    ]
    return "States that it was learned on, and (bold) actions:\n\n" + "\n".join(rows)


def _origin(info: Any) -> str:
    lines = [f"- samples: {info.n_samples:,}", f"- software: {_text(info.software)}", f"- made: {_text(info.created)}"]
    lines += [f"- {_text(name)}: `{_text(str(value))}`" for name, value in info.settings.items()]
    return "\n".join(lines)


def _limits(policy: Any) -> str:
    outside = "Nothing was learned outside of these states."
    if policy.kind == "forest":
        outside += " For a state outside of them, each tree uses its leaf at the nearest of these states."
    box = getattr(policy, "state_box", None)
    if policy.kind != "forest" or box is None or len(box) > MOST_DIMENSIONS or not np.isfinite(box).all():
        return outside
    found = policy.range()
    reached = ", ".join(f"[{lo:.6g}, {hi:.6g}]" for lo, hi in zip(found.low, found.high, strict=True))
    exact = "These bounds are exact; they are not estimated from samples."
    return f"{outside} Over all of these states, the actions lie in {reached}. {exact}"


def _text(value: str) -> str:
    """Text from a file as plain text: without line breaks, Markdown or HTML."""
    shown = "".join(c if c.isprintable() else " " for c in value)
    return shown.replace("<", "&lt;").replace("`", "'").replace("|", "/")[:500]

"""Policies in files: ``.pforest``, a safetensors file with the policy's arrays and a JSON text that describes them.

The text of format versions 1 and 2:

| key | |
|---|---|
| `format`, `version` | "policyforest policy", 1 or 2 |
| `kind` | which of `KINDS` the arrays and settings belong to |
| `observation_space`, `action_space` | dtype, low and high; numbers as text, which keeps infinities and every bit |
| `info` | where the policy comes from: `PolicyInfo` |
| `settings` | other data that the kind needs |
| `signals` | only in format version 2: how measurements become states and commands become actions: `Signals` |

Next to the text is the SHA-256 of the content; files of older versions have none. The arrays of a forest are
`forest0.feature`, `forest0.split`, … as in `Forest.arrays`. Before any tree of a loaded policy is walked, the policy
passes the checks of a policy that is made in memory (children in range and acyclic, finite numbers, dimensions that
agree), and some further checks that only a foreign file can fail.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from gymnasium.spaces import Box

from policyforest._support.arguments import Array, real_number, whole_number
from policyforest._support.signals import Signals
from policyforest._support.spaces import box_from_json, box_to_json
from policyforest._support.tensor_files import read_arrays, read_header, require_digest, write_tensors
from policyforest.policy.baseline import BaselinePolicy, as_baseline
from policyforest.policy.greedy_policy import GreedyPolicy
from policyforest.policy.policy import Policy, Simplification
from policyforest.policy.policy_info import PolicyInfo, info_dict
from policyforest.policy.policy_parts import Parts, PolicyKind, forest_arrays, periodic_setting

FORMAT = "policyforest policy"
VERSION = 2
# A file without signals has version 1, which older readers can read.
PLAIN_VERSION = 1
SUFFIX = ".pforest"
KEYS = {"format", "version", "kind", "observation_space", "action_space", "info", "settings"}
SPACE_TYPES = ["float64", "float32", "float16", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))]
# The memory of the merged search is proportional to this number, and a file can ask for any number.
MAX_MERGED_LEAVES = 100_000


def register_kinds(kinds: Mapping[str, PolicyKind]) -> None:
    """Makes further kinds of policies known to `save_policy` and `load`, for packages above this one."""
    KINDS.update(kinds)


def save_policy(policy: Any, path: str | os.PathLike[str]) -> None:
    """Writes a policy of one of the `KINDS` to a ``.pforest`` file."""
    if Path(path).suffix != SUFFIX:
        raise ValueError(f"path: is {os.fspath(path)!r}, must end in {SUFFIX}")
    kind = getattr(policy, "kind", None)
    if kind not in KINDS:
        raise TypeError(f"policy: is a {type(policy).__name__}, must be of one of the kinds {', '.join(KINDS)}")
    arrays, settings = KINDS[kind].pack(policy)
    content = {
        "format": FORMAT,
        "version": PLAIN_VERSION if policy.signals is None else VERSION,
        "kind": kind,
        "observation_space": _space_json("observation_space", policy.observation_space),
        "action_space": _space_json("action_space", policy.action_space),
        "info": info_dict(policy.info),
        "settings": settings,
    }
    if policy.signals is not None:
        content["signals"] = policy.signals.settings()
    write_tensors(path, arrays, content, digest=True)


def load(path: str | os.PathLike[str]) -> Any:
    """Reads a policy that `save` wrote; a damaged, foreign or hostile file raises a ValueError that names the path."""
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"path: is '{path}', must be a file")
    with path.open("rb") as file:
        try:
            return _read(file)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise ValueError(f"{path}: is not a policy that can be loaded ({_short(error)})") from error


def _read(file: BinaryIO) -> Any:
    content, entries = read_header(file)
    if content.get("format") != FORMAT:
        raise ValueError("not a PolicyForest policy file")
    _require_version(content.get("version"))
    require_digest(file)
    wanted = KEYS | ({"signals"} if content["version"] == VERSION else set())
    if content.keys() != wanted:
        raise ValueError(f"its text has {', '.join(content)}, must have {', '.join(sorted(wanted))}")
    if content["kind"] not in list(KINDS):  # a list, because the value in the file need not be hashable
        raise ValueError(f"its kind is {content['kind']!r}, must be one of {', '.join(KINDS)}")
    if not isinstance(content["settings"], dict):
        raise ValueError("its settings are not an object")
    parts = Parts(
        read_arrays(file, entries),
        content["settings"],
        _space("observation_space", content["observation_space"]),
        _space("action_space", content["action_space"]),
        _info(content["info"]),
    )
    policy = KINDS[content["kind"]].unpack(parts)
    parts.finish()
    return policy.with_signals(Signals.from_settings(content["signals"])) if "signals" in content else policy


def _require_version(version: object) -> None:
    if type(version) is not int or version < 1:
        raise ValueError(f"its format version is {version!r}")
    if version > VERSION:
        from policyforest._support.version import __version__

        raise ValueError(
            f"it has format version {version}, which needs a newer policyforest; this one, {__version__}, reads format "
            f"version {VERSION}"
        )


def _space_json(name: str, space: Box) -> dict[str, Any]:
    if str(space.dtype) not in SPACE_TYPES:
        raise ValueError(f"policy: its {name} is of {space.dtype}, must be of {', '.join(SPACE_TYPES)}")
    return box_to_json(space)


def _space(name: str, value: Any) -> Box:
    # NumPy parses the text of a dtype as a small language, so only plain names are passed to it.
    if not isinstance(value, dict) or value.get("dtype") not in SPACE_TYPES:
        raise ValueError(f"its {name} must have a dtype of {', '.join(SPACE_TYPES)}")
    with np.errstate(over="ignore", invalid="ignore"):
        space = box_from_json(name, value)
    if box_to_json(space) != value:  # such as numbers that do not fit the dtype
        raise ValueError(f"its {name} has bounds that are not numbers of {value['dtype']}")
    return space


def _info(value: Any) -> PolicyInfo:
    types = {"method": str, "settings": dict, "n_samples": int, "problem": str, "software": str, "created": str}
    if not isinstance(value, dict) or value.keys() != types.keys():
        raise ValueError(f"its info must have {', '.join(types)}")
    for key, item in value.items():
        if type(item) is not types[key]:
            raise ValueError(f"its info has the {key} {item!r}, must be of type {types[key].__name__}")
    whole_number("n_samples", value["n_samples"], at_least=0)
    return PolicyInfo(**value)


def _pack_forests(policy: Policy) -> tuple[dict[str, Array], dict[str, Any]]:
    arrays: dict[str, Array] = {}
    for j, forest in enumerate(policy.forests):
        arrays |= forest_arrays(f"forest{j}", forest)
    report = policy.simplification
    settings = {
        "periodic": periodic_setting(policy.periodic),
        "outside": policy.outside,
        "simplification": None if report is None else asdict(report),
    }
    return arrays, settings


def _unpack_forests(parts: Parts) -> Policy:
    n_actions = parts.action_space.shape[0]
    return Policy(
        tuple(parts.forest(f"forest{j}") for j in range(n_actions)),
        parts.observation_space,
        parts.action_space,
        parts.periodic(),
        parts.info,
        parts.setting("outside"),
        _simplification(parts.setting("simplification"), n_actions),
    )


def _simplification(value: Any, n_actions: int) -> Simplification | None:
    if value is None:
        return None
    names = [f.name for f in fields(Simplification)]
    if not isinstance(value, dict) or value.keys() != set(names):
        raise ValueError(f"its simplification must have {', '.join(names)}")

    def count(name: str) -> int:
        return whole_number(name, value[name], at_least=1)

    def changes(name: str) -> tuple[float, ...]:
        if not isinstance(value[name], list) or len(value[name]) != n_actions:
            raise ValueError(f"its {name} must hold a number for each of {n_actions} actions")
        return tuple(real_number(name, change, at_least=0.0) for change in value[name])

    return Simplification(
        count("max_leaves"), count("n_leaves"), changes("mean_change"), changes("largest_change"), count("n_states")
    )


def _pack_greedy(policy: GreedyPolicy) -> tuple[dict[str, Array], dict[str, Any]]:
    settings = {
        "periodic": periodic_setting(policy.periodic),
        "action_search": policy.action_search,
        "max_leaves": whole_number("max_leaves", policy.max_leaves, at_least=1, at_most=MAX_MERGED_LEAVES),
    }
    return forest_arrays("forest0", policy.forest), settings


def _unpack_greedy(parts: Parts) -> GreedyPolicy:
    return GreedyPolicy(
        parts.forest("forest0"),
        parts.observation_space,
        parts.action_space,
        parts.setting("action_search"),
        whole_number("max_leaves", parts.setting("max_leaves"), at_least=1, at_most=MAX_MERGED_LEAVES),
        parts.info,
        parts.periodic(),
    )


def _pack_law(policy: BaselinePolicy) -> tuple[dict[str, Array], dict[str, Any]]:
    if not policy.formula or not policy.names[0]:
        raise TypeError(f"policy: is {policy.text}, must be a policy of forests or a law as a formula to be saved")
    return {}, {"formula": policy.formula, "state_names": policy.names[0], "action_names": policy.names[1]}


def _unpack_law(parts: Parts) -> BaselinePolicy:
    formula, *names = (parts.setting(name) for name in ("formula", "state_names", "action_names"))
    spaces = (parts.observation_space, parts.action_space)
    for given, space in zip(names, spaces, strict=True):
        plain = isinstance(given, list) and all(isinstance(name, str) for name in given)
        if not plain or len(given) != space.shape[0]:
            raise ValueError(f"its names are {given!r}, must be {space.shape[0]} names")
    if not isinstance(formula, str):
        raise ValueError(f"its formula is {formula!r}, must be text")
    law = as_baseline(formula, *spaces, tuple(names[0]), tuple(names[1]))
    return law.with_info(parts.info)


def _short(error: Exception) -> str:
    text = str(error)
    return text if len(text) <= 500 else text[:500] + "…"


KINDS: dict[str, PolicyKind] = {
    Policy.kind: PolicyKind(_pack_forests, _unpack_forests),
    GreedyPolicy.kind: PolicyKind(_pack_greedy, _unpack_greedy),
    BaselinePolicy.kind: PolicyKind(_pack_law, _unpack_law),
}

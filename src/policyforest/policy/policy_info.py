"""Where a policy comes from: its method, the settings of its learner, its problem; saved with it."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from policyforest._support.settings import plain_settings
from policyforest._support.version import __version__


@dataclass(frozen=True)
class PolicyInfo:
    """The origin of a policy; saved with it."""

    method: str
    """"fpf-pwl", "fpf-pwc", "fqi", "bas", …"""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """The learner's parameters"""
    n_samples: int = 0
    problem: str = ""
    """The environment's id, if it is known"""
    software: str = ""
    created: str = ""

    @classmethod
    def of(cls, method: str, learner: Any, n_samples: int, **more: Any) -> PolicyInfo:
        """The info of a policy that a learner (a dataclass) made: its plain parameters, and those that `more` adds."""
        return cls.made_now(method, plain_settings(learner) | more, n_samples)

    @classmethod
    def made_now(cls, method: str, settings: Mapping[str, Any], n_samples: int) -> PolicyInfo:
        """The info of a policy that this version of the library has just made."""
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        return cls(method, settings, n_samples, software=f"policyforest {__version__}", created=now)


def info_dict(info: PolicyInfo) -> dict[str, Any]:
    """Plain data for JSON."""
    return {f.name: getattr(info, f.name) for f in fields(info)} | {"settings": dict(info.settings)}

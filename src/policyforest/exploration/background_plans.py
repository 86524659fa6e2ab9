"""The plans of an agent: made at once, or in a thread while the robot is brought back to its start.

The policy in use is replaced as a whole, by one assignment, when a plan is ready: so acting never waits for planning.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Protocol

from policyforest.exploration.explorers import Behaviour, EpisodeKind
from policyforest.exploration.planner import Plan
from policyforest.policy.policy import Policy


class MadePlan(Protocol):
    """The interface of every plan."""

    @property
    def policy(self) -> Policy: ...

    @property
    def seconds(self) -> float: ...


class BackgroundPlans:
    """The last plan of each kind, the behaviour of the newest, and the thread that makes the next one."""

    def __init__(self) -> None:
        self.behaviour: Behaviour | None = None
        """The behaviour to act by; None before the first plan"""
        self._last: dict[EpisodeKind, Any] = {}
        self._thread: threading.Thread | None = None
        self._failure: BaseException | None = None

    def last(self, kind: EpisodeKind) -> Plan | None:
        """The newest plan of a kind."""
        return self._last.get(kind)

    @property
    def planning(self) -> bool:
        """Whether a plan is being made in the background."""
        return self._thread is not None and self._thread.is_alive()

    def make(self, kind: EpisodeKind, plan: Callable[[], MadePlan]) -> float:
        """Makes a plan now, and returns the seconds that it took."""
        made = plan()
        self._last[kind] = made
        self.behaviour = Behaviour(made.policy)
        return made.seconds

    def use(self, policy: Policy) -> None:
        """Acts by a policy whose plan was made before, by another process."""
        self.behaviour = Behaviour(policy)

    def make_in_background(self, kind: EpisodeKind, plan: Callable[[], MadePlan]) -> None:
        """Returns at once; the plan is used when it is ready. No other plan may be under way (see `wait`)."""
        self._thread = threading.Thread(target=self._make_safely, args=(kind, plan), name="planning", daemon=True)
        self._thread.start()

    def wait(self) -> None:
        """Waits for the plan in the background; an error in it is raised here."""
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure

    def _make_safely(self, kind: EpisodeKind, plan: Callable[[], MadePlan]) -> None:
        try:
            self.make(kind, plan)
        except BaseException as error:  # raised again in the thread that acts
            self._failure = error

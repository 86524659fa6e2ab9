"""Transitions: the samples (s, a, r, s') that everything is learned from."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box

from policyforest._support.angles import Periodic
from policyforest._support.arguments import Floats, box_array, finite_array, one_of, whole_number
from policyforest._support.spaces import bounds, require_actions, require_observations
from policyforest.data import excursions
from policyforest.data.episode_rows import EpisodeSteps, episodes_of_rows, numbered_on, rows_of_episodes
from policyforest.data.excursions import EXCURSIONS, Excursions
from policyforest.data.plant import KnownFunction, Plant
from policyforest.data.sample_checks import (
    Bools,
    Ints,
    angles_of,
    frozen,
    require_same_problem,
    require_shape,
    truths,
    whole_numbers,
)
from policyforest.data.signal_options import SignalOptions
from policyforest.data.stacking import Before

if TYPE_CHECKING:
    from policyforest.data.delay import DelaySearch

# The fields with a row for each sample
ROW_FIELDS = ("states", "actions", "rewards", "next_states", "terminals", "episodes")


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Transitions:
    """N samples of a system with continuous states and actions, in read-only arrays.

    | field | shape | |
    |---|---|---|
    | `states`, `next_states` | (N, dS) | the state before and after each control step |
    | `actions` | (N, dA) | inside the box of `action_space` |
    | `rewards` | (N,) | |
    | `terminals` | (N,) | True where the next state ends the task (a time limit does not) |
    | `episodes` | (N,) | the number of the episode that a sample belongs to |
    | `state_limits` | (dS, 2) | the box of the states that are not terminal; sides may be infinite |
    | `periodic` | | state dimension → (low, high) for an angle, whose ends low and high are the same point |
    | `n_lost` | | rows that `with_signals` lost, because their history is not known |
    | `plant` | | what else is known: names of the columns, a reward or an end as a formula |
    | `delay_search` | | the evidence for a delay that was found (``delay="auto"``), else None; not stored in files |

    Without `observation_space` the states are unbounded. The default of `state_limits` is the box of the observation
    space. Without `episodes` a new episode begins after a terminal sample and wherever a state is not the next state of
    the sample before. States outside of `state_limits` are kept and counted (`n_outside`) with one warning, and angles
    outside of their turn are moved by whole turns; `outside="raise"` refuses both, and "keep" does not warn.
    `SignalOptions` such as ``history=2`` or ``delay="auto"`` build the states from the measurements, as `with_signals`
    does.
    """

    states: Floats
    actions: Floats
    rewards: Floats
    next_states: Floats
    terminals: Bools
    episodes: Ints
    observation_space: Box
    action_space: Box
    state_limits: Floats
    periodic: Periodic
    plant: Plant
    n_lost: int
    delay_search: DelaySearch | None = field(default=None, init=False)

    def __init__(
        self,
        states: npt.ArrayLike,
        actions: npt.ArrayLike,
        rewards: npt.ArrayLike,
        next_states: npt.ArrayLike,
        terminals: npt.ArrayLike,
        episodes: npt.ArrayLike | None = None,
        *,
        action_space: Box,
        observation_space: Box | None = None,
        state_limits: npt.ArrayLike | None = None,
        periodic: Periodic | None = None,
        outside: Excursions = "warn",
        plant: Plant | None = None,
        n_lost: int = 0,
        **signals: Unpack[SignalOptions],
    ) -> None:
        one_of("outside", outside, EXCURSIONS)
        set_field = object.__setattr__.__get__(self)
        set_field("states", frozen(finite_array("states", states, 2)))
        n, n_state = self.states.shape
        space = observation_space or Box(-np.inf, np.inf, (n_state,), np.float64)
        set_field("observation_space", require_observations("observation_space", space))
        set_field("action_space", require_actions("action_space", action_space))
        require_shape("states", self.states, (n, self.observation_space.shape[0]))
        set_field("actions", frozen(finite_array("actions", actions, 2)))
        require_shape("actions", self.actions, (n, self.action_space.shape[0]))
        set_field("next_states", frozen(finite_array("next_states", next_states, 2)))
        require_shape("next_states", self.next_states, (n, n_state))
        set_field("rewards", frozen(finite_array("rewards", rewards, 1)))
        set_field("terminals", truths("terminals", terminals))
        for name in ("rewards", "terminals"):
            require_shape(name, getattr(self, name), (n,))
        set_field("episodes", whole_numbers("episodes", self._runs() if episodes is None else episodes))
        require_shape("episodes", self.episodes, (n,))
        self._set_plant(state_limits, periodic, plant, n_lost)
        self._check_ranges(outside)
        if signals:
            vars(self).update(vars(self.with_signals(**signals)))

    def _set_plant(
        self, state_limits: npt.ArrayLike | None, periodic: Periodic | None, plant: Plant | None, n_lost: int
    ) -> None:
        limits = bounds(self.observation_space) if state_limits is None else state_limits
        object.__setattr__(self, "state_limits", frozen(box_array("state_limits", limits, self.states.shape[1])))
        object.__setattr__(self, "periodic", angles_of(periodic or {}, self.states.shape[1]))
        known = (plant or Plant()).named(self.states.shape[1], self.actions.shape[1])
        object.__setattr__(self, "plant", known)
        object.__setattr__(self, "n_lost", whole_number("n_lost", n_lost, at_least=0))

    @classmethod
    def from_episodes(
        cls,
        episodes: Sequence[EpisodeSteps],
        *,
        action_space: Box,
        observation_space: Box | None = None,
        state_limits: npt.ArrayLike | None = None,
        periodic: Periodic | None = None,
        outside: Excursions = "warn",
        plant: Plant | None = None,
        **signals: Unpack[SignalOptions],
    ) -> Transitions:
        """The samples of episodes, which are numbered from 0 in their order."""
        return cls(
            **rows_of_episodes(episodes),
            action_space=action_space,
            observation_space=observation_space,
            state_limits=state_limits,
            periodic=periodic,
            outside=outside,
            plant=plant,
            **signals,
        )

    def __len__(self) -> int:
        return len(self.rewards)

    def __repr__(self) -> str:
        return (
            f"Transitions({len(self)} samples in {self.n_episodes} episodes, "
            f"{int(self.terminals.sum())} terminal, "
            f"{self.states.shape[1]} state and {self.actions.shape[1]} action dimensions)"
        )

    def __getitem__(self, rows: slice | npt.ArrayLike) -> Transitions:
        """The samples of a slice, of an array of row numbers or of a mask; episodes keep their numbers."""
        chosen: Any = rows
        if not isinstance(rows, slice):
            chosen = np.asarray(rows)
            if chosen.ndim != 1 or chosen.dtype.kind not in "iub":
                message = "must be a slice, a vector of row numbers or a mask (data[i : i + 1] is one sample)"
                raise TypeError(f"rows: is {rows!r}, {message}")
        return self._with_rows({name: getattr(self, name)[chosen] for name in ROW_FIELDS})

    def __add__(self, other: Transitions) -> Transitions:
        if not isinstance(other, Transitions):
            return NotImplemented
        return Transitions.concatenate([self, other])

    @staticmethod
    def concatenate(parts: Sequence[Transitions]) -> Transitions:
        """All samples in one; the episode numbers of each part continue those of the parts before."""
        if not parts:
            raise ValueError("parts: is empty, must hold at least one Transitions")
        first = parts[0]
        for i, part in enumerate(parts[1:], start=1):
            require_same_problem(first, part, i)
        rows = {name: np.concatenate([getattr(part, name) for part in parts]) for name in ROW_FIELDS}
        return first._with_rows(rows | {"episodes": numbered_on([part.episodes for part in parts])})

    @property
    def n_episodes(self) -> int:
        """The number of episodes."""
        return len(np.unique(self.episodes))

    @property
    def unbounded(self) -> tuple[int, ...]:
        """The state dimensions whose box is taken from the samples, because the problem bounds them on one side or not
        at all."""
        return tuple(np.flatnonzero(~np.isfinite(self.state_limits).all(axis=1)).tolist())

    @property
    def n_outside(self) -> int:
        """How many samples begin, or end without being terminal, outside of `state_limits`."""
        return int(self._outside().any(axis=1).sum())

    def state_box(self) -> Floats:
        """The box (dS, 2) of the states to learn on: `state_limits` where they are finite, wider where samples leave
        them, otherwise the extremes of the samples. Terminal next states do not count, because no action is taken
        there."""
        low = np.minimum(self.states.min(axis=0), self._living().min(axis=0, initial=np.inf))
        high = np.maximum(self.states.max(axis=0), self._living().max(axis=0, initial=-np.inf))
        told = np.where(np.isfinite(self.state_limits), self.state_limits, np.array([np.inf, -np.inf]))
        return np.stack([np.minimum(low, told[:, 0]), np.maximum(high, told[:, 1])], axis=1)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes an ``.npz`` or a ``.parquet`` file, never a pickle."""
        from policyforest.data.transition_files import save_transitions

        save_transitions(self, path)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Transitions:
        """Reads what `save` wrote; a damaged or foreign file is a ValueError."""
        from policyforest.data.transition_files import load_transitions

        return load_transitions(path)

    def with_known(self, reward: KnownFunction | None = None, terminal: KnownFunction | None = None) -> Transitions:
        """The same steps with a known reward or end: a formula over named columns of (s, a, s') or a function of rows.
        Learners use it exactly instead of learning it.

        A terminal sample whose next state is not in the data (it repeats the state) stays terminal."""
        from policyforest.data.retelling import judged

        return judged(self, reward, terminal)

    def with_signals(self, *, before: Before = "unknown", **options: Unpack[SignalOptions]) -> Transitions:
        """Converts samples whose states are measurements to samples of the states that a policy acts on: with a history
        of measurements and actions, derived signals, and the known limits of the actuators.

        Rows at the beginning of episodes whose history is not known are lost; `n_lost` counts them.

        Args:
            before: The command before each episode: "unknown", or the "idle" action.
            **options: `SignalOptions`.
        """
        from policyforest.data.retelling import stacked

        return stacked(self, options, before)

    def _with_rows(self, rows: Mapping[str, Any], plant: Plant | None = None) -> Transitions:
        """Other samples of the same problem."""
        others = Transitions(
            **rows,
            action_space=self.action_space,
            observation_space=self.observation_space,
            state_limits=self.state_limits,
            periodic=self.periodic,
            outside="keep",
            plant=plant or self.plant,
            n_lost=self.n_lost,
        )
        object.__setattr__(others, "delay_search", self.delay_search)
        return others

    def _living(self) -> Floats:
        return self.next_states[~self.terminals]

    def _runs(self) -> Ints:
        return episodes_of_rows(self.states, self.next_states, self.terminals)

    def _outside(self) -> Bools:
        return excursions.samples_outside(self.states, self.next_states, self.terminals, self.state_limits)

    def _check_ranges(self, outside: Excursions) -> None:
        box = bounds(self.action_space)
        beyond = (self.actions < box[:, 0]) | (self.actions > box[:, 1])
        excursions.refuse("actions", self.actions, beyond, "the action space", box.tolist())
        if outside == "raise":
            excursions.refuse_outside(self.states, self.next_states, self.terminals, self.state_limits, self.periodic)
        for name in ("states", "next_states") if self.periodic else ():
            turned = excursions.turned_back(getattr(self, name), self.periodic)
            object.__setattr__(self, name, frozen(turned))
        if outside == "warn" and (left := self._outside()).any():
            rows = np.where(excursions.beyond(self.states, self.state_limits), self.states, self.next_states)
            excursions.warn_outside(rows, left, self.state_limits, stacklevel=4)

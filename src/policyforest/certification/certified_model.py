"""The systems that a policy can be certified on: equations, a problem of this library, or a model learned from
samples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import ArrayLike

import policyforest._core as _core
from policyforest._support.arguments import Array, Floats, box_array, real_number
from policyforest.certification.digests import model_digest
from policyforest.certification.equations import Equations
from policyforest.certification.learned_step import LearnedStep
from policyforest.certification.model_error import ErrorClause, error_bound, error_clause, given_error, model_errors
from policyforest.certification.problem_equations import problem_equations
from policyforest.certification.step_compiler import compile_equations, compile_sensors
from policyforest.data.transitions import Transitions
from policyforest.environments.problems.native import NativeProblem
from policyforest.learning.dynamics.dynamics_forest import DynamicsForest
from policyforest.learning.dynamics.dynamics_model import DynamicsModel

# The share of the episodes that is held out from learning a model.
HELD_OUT = 0.3
NEAR_SAMPLES = 10


@dataclass(frozen=True, eq=False)
class CertifiedModel:
    """The system of a certificate, with the bounds on its unknown errors and disturbances."""

    equations: Equations | None = None
    learned: LearnedStep | None = None
    disturbance: Floats = field(default_factory=lambda: np.empty((0, 2)))
    error: Floats = field(default_factory=lambda: np.empty(0))
    """The bound of the model's error, one number for each state; zero for equations"""
    clause: ErrorClause | None = None
    state_names: tuple[str, ...] = ()
    action_names: tuple[str, ...] = ()
    held_out_errors: Floats | None = None
    """Errors of the held-out steps, if there are any. They are not stored in files, so a loaded model has None"""

    @property
    def kind(self) -> str:
        return "equations" if self.equations is not None else "learned"

    @property
    def n_states(self) -> int:
        return len(self.state_names)

    @property
    def n_actions(self) -> int:
        return len(self.action_names)

    @property
    def n_read(self) -> int:
        """How many numbers the policy reads."""
        if self.equations is not None:
            return len(self.equations.sensors) or self.n_states
        return self._step.n_read

    @cached_property
    def sensors(self) -> _core.StepProgram | None:
        """The inputs of the policy, as operations of the core; None: the states."""
        return compile_sensors(self.equations) if self.equations is not None else self._step.sensors()

    def read(self, states: Floats) -> Floats:
        """The inputs of the policy for rows of states."""
        return states if self.sensors is None else np.asarray(self.sensors.run(np.ascontiguousarray(states)))

    @property
    def periodic(self) -> Mapping[int, tuple[float, float]]:
        return self.equations.periodic if self.equations is not None else self._step.periodic

    @property
    def _step(self) -> LearnedStep:
        assert self.learned is not None
        return self.learned

    def program(self) -> _core.StepProgram:
        """One control step as operations of the core."""
        return compile_equations(self.equations) if self.equations is not None else self._step.program()

    def arrays(self) -> dict[str, Array]:
        """The numbers of a learned model."""
        return {} if self.learned is None else self.learned.arrays()

    def settings(self) -> dict[str, Any]:
        """Plain data, for files."""
        if self.equations is not None:
            return self.equations.model_settings()
        names = {"state_names": list(self.state_names), "action_names": list(self.action_names)}
        return {"kind": self.kind, "equations": None, **names}

    def digest(self) -> str:
        """SHA-256 of all numbers and formulas of the system."""
        return model_digest(self.settings(), self.arrays())


def model_to_certify(
    model: Any,
    *,
    disturbance: Any = None,
    error: ArrayLike | None = None,
    coverage: float = 1.0,
    held_out: Transitions | None = None,
    random_state: int = 0,
    n_jobs: int | None = 1,
) -> CertifiedModel:
    """The system, from any of the forms that `certify` takes."""
    if isinstance(model, gym.Env):
        problem = model.unwrapped
        if not isinstance(problem, NativeProblem):
            raise TypeError(f"model: is {model}, must be a problem of this library, equations, samples or a model")
        noise = [(-problem.noise, problem.noise)] * problem.system.n_noise
        model, disturbance = problem_equations(problem), noise if disturbance is None else disturbance
    if isinstance(model, Equations):
        if error is not None or held_out is not None:
            raise ValueError("error, held_out: work with learned models only, but the model is given by equations")
        rows = _disturbances(model.disturbances, disturbance)
        return CertifiedModel(model, None, rows, np.zeros(len(model.states)), None, model.states, model.actions)
    if disturbance is not None:
        raise ValueError(
            "disturbance: works with equations only; for a learned model, all disturbances are part of its error"
        )
    if isinstance(model, Transitions):
        model, split = _split(model, random_state)
        held_out = split if held_out is None else held_out
        model = DynamicsForest(random_state=random_state, n_jobs=n_jobs).fit(model)
    if not isinstance(model, DynamicsModel):
        raise TypeError(f"model: is {model!r}, must be equations, a problem, Transitions or a DynamicsModel")
    return _learned(model, error, coverage, held_out)


def _learned(
    model: DynamicsModel, error: ArrayLike | None, coverage: float, held_out: Transitions | None
) -> CertifiedModel:
    step, plant = LearnedStep.of(model), model.transitions.plant
    if held_out is None and error is None:
        raise ValueError("held_out, error: are None; a learned model needs held-out samples or a bound on its error")
    errors = None if held_out is None else model_errors(step, held_out)
    if error is not None:
        bound = given_error(error, step.n_states)
    else:
        assert errors is not None
        choices = [model.choices[j] for j in step.outputs]
        typical = np.array([max(float(np.sqrt(np.mean(choice.residuals**2))), 1e-12) for choice in choices])
        bound = error_bound(errors, typical, coverage)
    clause = None if errors is None else error_clause(errors, bound)
    names = step.state_names(plant.state_names)
    return CertifiedModel(None, step, np.empty((0, 2)), bound, clause, names, plant.action_names, errors)


def _split(data: Transitions, seed: int) -> tuple[Transitions, Transitions]:
    """Samples to learn from, and held-out ones: whole episodes if there are enough, otherwise the last steps."""
    names = np.unique(data.episodes)
    if len(names) >= 10:
        order = np.random.default_rng([seed, 11]).permutation(names)
        held = np.isin(data.episodes, order[: max(1, round(HELD_OUT * len(names)))])
    else:
        held = np.arange(len(data)) >= len(data) * (1 - HELD_OUT)
    if not held.any() or held.all():
        raise ValueError(f"model: has {len(data)} samples, too few to hold some of them out")
    return data[np.flatnonzero(~held)], data[np.flatnonzero(held)]


def _disturbances(names: tuple[str, ...], given: Any) -> Floats:
    """A row (low, high) for each disturbance, from a number, rows, or a mapping of names."""
    if not names:
        if given is not None and np.size(given) != 0:
            raise ValueError(f"disturbance: is {given!r}, but the equations have none")
        return np.empty((0, 2))
    if given is None:
        raise ValueError(f"disturbance: is None, must give the range of {', '.join(names)}")
    if isinstance(given, Mapping):
        if given.keys() != set(names):
            raise ValueError(f"disturbance: has {', '.join(map(str, given))}, must have {', '.join(names)}")
        given = [given[name] for name in names]
    if np.ndim(given) == 0:
        size = real_number("disturbance", given, at_least=0.0)
        given = [(-size, size)] * len(names)
    rows = box_array("disturbance", given, len(names))
    if not np.isfinite(rows).all():
        raise ValueError(f"disturbance: is {rows.tolist()}, must be finite")
    return rows


def require_samples(model: Any, certified: CertifiedModel, box: Floats) -> None:
    """A ValueError if a learned model has too few samples in the box."""
    samples = model if isinstance(model, Transitions) else getattr(model, "transitions", None)
    if samples is None or certified.learned is None:
        return
    states = certified.learned.states(samples.states)
    for d, (low, high) in certified.periodic.items():
        states[:, d] -= (high - low) * np.floor((states[:, d] - box[d, 0]) / (high - low))
    inside = ((states >= box[:, 0]) & (states <= box[:, 1])).all(axis=1)
    if inside.sum() < NEAR_SAMPLES:
        raise ValueError(
            f"box: holds {int(inside.sum())} of {len(samples)} samples, so the model knows too little there; at least "
            f"{NEAR_SAMPLES} must be inside"
        )

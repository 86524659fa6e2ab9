"""The source of additional samples for Fitted Q Iteration: a learned model of the transitions, if it is good enough."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from policyforest.data.transitions import Transitions
from policyforest.learning.dynamics.dynamics_forest import DynamicsForest
from policyforest.learning.dynamics.dynamics_model import ENOUGH_SAMPLES, DynamicsModel
from policyforest.learning.dynamics.model_parts import Resampling
from policyforest.learning.q_checkpoint import samples_digest
from policyforest.learning.q_samples import QSamples

# Values of fewer samples are too noisy to show when they have settled.
WATCHED_SAMPLES = 4_000


@dataclass(frozen=True)
class SampleSource:
    """A model and how many samples it draws in each iteration; 0 without a model.

    New samples are drawn in each iteration, so that chance errors of one batch are gone in the next. With the same
    batch in all iterations, the maximum would exploit its errors again and again (pendulum of 8 kg, the four worst of
    34 policies: -163 with one batch, -117 with new ones).
    """

    model: DynamicsModel | None
    number: int
    report: Resampling | None

    @classmethod
    def of(
        cls,
        transitions: Transitions,
        resample: int | DynamicsModel | Literal["auto"] | None,
        seed: int,
        n_jobs: int | None,
    ) -> SampleSource:
        """The source that `resample` asks for; no model is fitted if none is wanted or one is given."""
        if resample is None or (resample == "auto" and len(transitions) >= ENOUGH_SAMPLES):
            return cls(None, 0, None)
        if isinstance(resample, DynamicsModel):
            _require_same(resample, transitions)
            model, number = resample, resample.recommended_samples()
        else:
            model = DynamicsForest(random_state=seed, n_jobs=n_jobs).fit(transitions)
            number = model.recommended_samples() if resample == "auto" else resample
        return cls(model if number else None, number, model.resampling(number))

    def draw(self, given: QSamples, seed: int) -> QSamples | None:
        """The samples of one iteration."""
        if self.model is None or self.number == 0:
            return None
        return QSamples(self.model.sample(self.number, random_state=seed), given.executor, "drawn")

    def watched(self, given: QSamples, seed: int) -> QSamples:
        """The samples whose values show the progress of learning: the given ones, and some of the model's if they are
        few."""
        missing = min(self.number, WATCHED_SAMPLES - len(given.transitions))
        if self.model is None or missing <= 0:
            return given
        drawn = self.model.sample(missing, random_state=seed)
        return QSamples(Transitions.concatenate([given.transitions, drawn]), given.executor, "watched")


def _require_same(model: DynamicsModel, transitions: Transitions) -> None:
    theirs = model.transitions
    if theirs is not transitions and samples_digest(theirs) != samples_digest(transitions):
        raise ValueError(
            f"resample: is a model of {len(theirs)} other samples, must be a model of the {len(transitions)} that Q is "
            "learned from"
        )

"""Learning the reward of steps that do not end the episode, as a function of (s, a) or of (s', a).

Many rewards are written in angles and in sizes, for example -(theta² + 0.1 omega²) or -|theta|, while the state holds
the sine and the cosine of theta. No polynomial of these is such a reward, and a forest knows it only where samples are:
an agent whose pendulum never stood upright would not know that this pays. So if nothing predicts the reward exactly,
polynomials in angles and in absolute values are also tried, and taken if they are exact on held-out samples.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np

from policyforest._support.arguments import Floats
from policyforest.data.transitions import Transitions
from policyforest.learning.dynamics.choice import FOLDS, Choice, HeldOut, choose, chosen_again, held_out_errors
from policyforest.learning.dynamics.model_parts import RewardModel, Shape
from policyforest.learning.dynamics.regression import Base, ModelInputs, OutputKind, fit_output, predict, r_squared
from policyforest.learning.dynamics.structure import Structure

# R² above this means that nothing is left to explain.
EXPLAINED = 1.0 - 1e-9
# A polynomial in angles and absolute values is exact if its errors are below this share of the variance. A reward that
# it only resembles where samples are is missed by more: 1 - cos(theta) by 3e-5 within 0.3 rad.
EXACT = 1e-8
# An absolute value is an input if at least this share of the samples is on each side of zero: otherwise it cannot be
# told from the number itself.
BOTH_SIGNS = 0.05
# The bases that are tried, with this many samples per coefficient.
SHAPED_BASES: tuple[Base, ...] = ("linear", "quadratic")
SAMPLES_PER_COEFFICIENT = 3
# Up to this number of pairs, every order of sine and cosine is tried; with more, the same order for all pairs.
MOST_ORDERED = 3
# Two models agree if they differ by at most this share of the spread of the rewards, in about so many observed steps,
# with the angles turned to so many places.
SAME, PROBED, TURNS = 1e-3, 64, 16


def learn_reward(
    data: Transitions,
    structure: Structure,
    held_out: HeldOut,
    seed: int,
    n_jobs: int | None,
    *,
    like: RewardModel | None = None,
    needed: bool = True,
    kernels: bool = False,
) -> RewardModel:
    """The reward over (s, a), (s', a) or s' and the command that acts, whichever predicts better; of the kind of an
    earlier model, if `like` is given. A reward that is not `needed` is not learned."""
    return _RewardLearning(data, structure, held_out, seed, n_jobs).learn(like, needed, kernels)


class _RewardLearning:
    def __init__(
        self, data: Transitions, structure: Structure, held_out: HeldOut, seed: int, n_jobs: int | None
    ) -> None:
        rows = np.flatnonzero(~data.terminals)
        self.rows = np.arange(len(data)) if len(rows) == 0 else rows
        self.step = np.concatenate([data.states, data.actions, data.next_states], axis=1)[self.rows]
        self.data, self.structure, self.y = data, structure, data.rewards[self.rows]
        self.held_out, self.seed, self.n_jobs = held_out[self.rows], seed, n_jobs

    def learn(self, like: RewardModel | None, needed: bool, kernels: bool) -> RewardModel:
        if not needed:
            none = OutputKind("none")
            sources = _sources(self.data)[0]
            return self._model(Choice(none, none, np.zeros(len(self.y)), 1.0, {}), self._inputs(sources), sources)
        again = None if like is None else self._again(like)
        if again is not None:
            return again
        models = []
        for sources in _sources(self.data) if like is None or like.shapes else [list(like.sources)]:
            inputs = self._inputs(sources)
            choice = choose(inputs, self.y, self.held_out, self.seed, self.n_jobs, kernels)
            models.append(self._model(choice, inputs, sources))
            if models[-1].choice.score > EXPLAINED:
                return models[-1]
        return self._shaped() or max(models, key=lambda model: model.choice.score)

    def _model(
        self, choice: Choice, inputs: ModelInputs, sources: Sequence[int], shapes: Sequence[Shape] = ()
    ) -> RewardModel:
        return RewardModel(choice, inputs, self.y, tuple(sources), self.rows, tuple(shapes))

    def _inputs(self, sources: Sequence[int], shapes: Sequence[Shape] = ()) -> ModelInputs:
        """Inputs with shapes have angles as numbers; without, angles enter as sine and cosine."""
        n, m = self.data.states.shape[1], self.data.actions.shape[1]
        places = [d if d < n else d - n - m for d in sources]
        periodic = self.data.periodic
        angles = {} if shapes else {k: periodic[d] for k, d in enumerate(places) if d in periodic}
        columns = [self.step[:, list(sources)], *(shape.of(self.step)[:, None] for shape in shapes)]
        return ModelInputs(np.ascontiguousarray(np.concatenate(columns, axis=1)), angles)

    def _again(self, like: RewardModel) -> RewardModel | None:
        """The kind of an earlier model; None if it has too many samples by now, or was exact and no longer is."""
        inputs = self._inputs(like.sources, like.shapes)
        if like.shapes:
            choice = self._if_exact(like.choice.kind, inputs)
        else:
            choice = chosen_again(like.choice, inputs, self.y, self.held_out, self.seed, self.n_jobs)
        return None if choice is None else self._model(choice, inputs, like.sources, like.shapes)

    def _shaped(self) -> RewardModel | None:
        """The simplest polynomial in angles and absolute values that is exact on held-out samples."""
        n, m = self.data.states.shape[1], self.data.actions.shape[1]
        copied = tuple(d for d, _ in self.structure.copies)
        # Past rows hardly differ from the present one, so polynomials without them are more exact.
        for first, left in product((0, n + m), dict.fromkeys((copied, ()))):
            dimensions = [d for d in (*range(first, first + n), *range(n, n + m)) if d - first not in left]
            exact = [made for pairs in self._orders(first) if (made := self._exact(dimensions, pairs)) is not None]
            if exact and all(self._agree(exact[0], other, first) for other in exact[1:]):
                return exact[0]
        return None

    def _orders(self, first: int) -> list[list[tuple[int, int]]]:
        """Pairs (sine, cosine), in all orders if there are few. The angle is zero where the cosine is largest, and
        turns from pi to -pi on the other side; the samples do not show which dimension is the cosine."""
        pairs = [(first + i, first + j) for i, j, _ in self.structure.circles]
        number = len(pairs)
        turns = (
            product((True, False), repeat=number) if number <= MOST_ORDERED else ([t] * number for t in (True, False))
        )
        return [[pair[::-1] if turn else pair for pair, turn in zip(pairs, each, strict=True)] for each in turns]

    def _exact(self, dimensions: Sequence[int], pairs: Sequence[tuple[int, int]]) -> RewardModel | None:
        """The simplest exact polynomial for one order of the pairs."""
        paired = {d for pair in pairs for d in pair}
        numbers = [d for d in dimensions if d not in paired and np.ptp(self.step[:, d]) > 0.0]
        angles = [Shape(i, j, size=False) for i, j in pairs]
        sizes = [Shape(i, j, size=True) for i, j in (*pairs, *((d, d) for d in numbers))]
        shapes = [*angles, *(size for size in sizes if self._has_both_signs(size))]
        inputs = self._inputs(numbers, shapes)
        for base in SHAPED_BASES if shapes else ():
            if SAMPLES_PER_COEFFICIENT * inputs.n_coefficients(base) <= len(self.y):
                choice = self._if_exact(OutputKind(base), inputs)
                if choice is not None:
                    return self._model(choice, inputs, numbers, shapes)
        return None

    def _agree(self, one: RewardModel, other: RewardModel, first: int) -> bool:
        """Whether two models that are exact on the samples predict the same at all angles. They do not if no sample is
        where the angle of one of them turns."""
        step = self.step[:: 1 + len(self.step) // PROBED].repeat(TURNS, axis=0)
        turned = np.tile(np.arange(TURNS) * 2.0 * np.pi / TURNS, len(step) // TURNS)
        for i, j, radius in self.structure.circles:
            step[:, first + i], step[:, first + j] = radius * np.sin(turned), radius * np.cos(turned)
        found = [_predicted(model, step) for model in (one, other)]
        return bool(np.abs(found[0] - found[1]).max() <= SAME * float(self.y.std()))

    def _has_both_signs(self, size: Shape) -> bool:
        x = size._replace(size=False).of(self.step)
        return bool(min(np.mean(x > 0.0), np.mean(x < 0.0)) >= BOTH_SIGNS)

    def _if_exact(self, kind: OutputKind, inputs: ModelInputs) -> Choice | None:
        """Folds are of single samples, not of episodes: one episode may be the only one on its side of zero. What a
        few samples rule out is not compared."""
        some = np.arange(
            0, len(self.y), 1 + len(self.y) // (SAMPLES_PER_COEFFICIENT * inputs.n_coefficients(kind.base))
        )
        fitted = fit_output(kind, inputs, self.y, some, n_estimators=1, seed=self.seed, n_jobs=self.n_jobs)
        missed = self.y[some] - predict(fitted, inputs, inputs.rows[some])
        if float(np.mean(missed**2)) > EXACT * float(self.y.var()):
            return None
        fold = np.random.default_rng([self.seed, 9]).permutation(len(self.y)) % FOLDS
        missed = held_out_errors(kind, inputs, self.y, fold, self.seed, self.n_jobs)
        score = r_squared(missed, self.y)
        return Choice(kind, kind, missed, score, {kind: 1.0 - score}) if score >= 1.0 - EXACT else None


def _predicted(model: RewardModel, step: Floats) -> Floats:
    """The rewards of a polynomial at rows of (s, a, s')."""
    rows = np.concatenate([step[:, list(model.sources)], *(shape.of(step)[:, None] for shape in model.shapes)], axis=1)
    everything = np.arange(len(model.targets))
    fitted = fit_output(model.choice.kind, model.inputs, model.targets, everything, n_estimators=1, seed=0, n_jobs=1)
    return predict(fitted, model.inputs, np.ascontiguousarray(rows))


def _sources(data: Transitions) -> list[list[int]]:
    """Dimensions of (s, a, s') that the reward may be a function of."""
    n, m = data.states.shape[1], data.actions.shape[1]
    actions, ahead = list(range(n, n + m)), list(range(n + m, n + m + n))
    found = [[*range(n), *actions], [*ahead, *actions]]
    if data.plant.delay and data.plant.signals is not None:
        # The command that acts in a step leaves the state with it.
        rows = data.plant.signals.history * len(data.plant.signals.channel_names)
        acting = range(rows + (data.plant.delay - 1) * m, rows + data.plant.delay * m)
        found.append([*ahead[:rows], *acting])
    return found

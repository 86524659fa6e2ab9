"""Evaluation of a policy: the returns of many episodes, with a confidence interval."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from policyforest._support.arguments import Floats, real_number, whole_number
from policyforest.data.plant import KnownFunction
from policyforest.environments.episodes import Environment, Episode, EpisodePlayer, opened
from policyforest.environments.known_task import known_task

NORMAL_975 = 1.959963984540054


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The returns of independent episodes; `print` shows the summary."""

    returns: Floats
    """The sum of rewards of each episode, discounted by `discount`"""
    lengths: npt.NDArray[np.int64]
    """The control steps of each episode"""
    terminals: npt.NDArray[np.bool_]
    """Whether each episode ended in a terminal state, rather than at a time limit"""
    discount: float = 1.0

    @property
    def mean(self) -> float:
        """The mean return."""
        return float(self.returns.mean())

    @property
    def interval(self) -> tuple[float, float]:
        """The 95% confidence interval of the mean (Student's t); unbounded after a single episode."""
        half = interval_half_width(self.returns)
        return self.mean - half, self.mean + half

    @property
    def worst(self) -> float:
        """The smallest return."""
        return float(self.returns.min())

    @property
    def best(self) -> float:
        """The largest return."""
        return float(self.returns.max())

    def __str__(self) -> str:
        low, high = self.interval
        interval = f"[{low:.4g}, {high:.4g}]" if math.isfinite(low) else "needs more than one episode"
        steps, number = f"{self.lengths.mean():.4g}", len(self.returns)
        return (
            f"mean {self.mean:.4g}, 95% interval {interval}, worst {self.worst:.4g}, best {self.best:.4g} "
            f"({number} episode{'' if number == 1 else 's'} of {steps} step{'' if steps == '1' else 's'})"
        )

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers, for JSON."""
        low, high = self.interval
        return {
            "mean": self.mean,
            "interval": [low, high] if math.isfinite(low) else None,
            "worst": self.worst,
            "best": self.best,
            "discount": self.discount,
            "returns": self.returns.tolist(),
            "lengths": self.lengths.tolist(),
            "terminals": self.terminals.tolist(),
        }


def evaluate(
    policy: object,
    env: Environment | str,
    *,
    episodes: int = 50,
    seed: int = 1,
    max_steps: int | None = None,
    discount: float = 1.0,
    reward: KnownFunction | None = None,
    terminal: KnownFunction | None = None,
) -> Evaluation:
    """Plays `episodes` episodes of a policy, and returns an `Evaluation` of their returns.

    Args:
        policy: Chooses the actions (see `EpisodePlayer` in `policyforest.environments.episodes`). If the environment
            runs in the core, this library's own policies run there too.
        env: An environment with Box spaces, or its id; its spaces must be those of the policy.
        seed: The same seed gives the same starts and the same noise, whatever the policy.
        max_steps: The longest episode, if shorter than the environment's own time limit.
        discount: The default of 1 sums the rewards without discount, as the paper's figures do.
        reward: A known reward in place of the environment's, as in `KnownTask`.
        terminal: The same for terminal steps.
    """
    if policy is None:
        raise TypeError("policy: is None, must be a policy (collect draws random actions)")
    episodes = whole_number("episodes", episodes, at_least=1)
    seed = whole_number("seed", seed, at_least=0)
    discount = real_number("discount", discount, at_least=0.0)
    if discount > 1.0:
        raise ValueError(f"discount: is {discount}, must be at least 0 and at most 1")
    with opened(env) as made:
        player = EpisodePlayer(known_task(made, reward, terminal), policy, max_steps)
        played = [player.play(seed, e) for e in range(episodes)]
        player.check_seed(seed, played[0].states[0], stacklevel=2)
    return Evaluation(
        returns=np.array([_return(episode, discount) for episode in played]),
        lengths=np.array([len(episode.rewards) for episode in played], dtype=np.int64),
        terminals=np.array([episode.terminal for episode in played], dtype=np.bool_),
        discount=discount,
    )


def interval_half_width(values: npt.ArrayLike) -> float:
    """Half the width of the 95% confidence interval of a mean: t(0.975, n - 1) s / sqrt(n)."""
    numbers = np.asarray(values, dtype=np.float64)
    n = len(numbers)
    if n < 2:
        return math.inf
    return student_975(n - 1) * float(numbers.std(ddof=1)) / math.sqrt(n)


def student_975(degrees: int) -> float:
    """The 0.975 quantile of Student's t distribution: bisection of its closed form (Abramowitz and Stegun,
    26.7.3 and 26.7.4); beyond 200 degrees of freedom the expansion 26.7.5, there within 1e-7."""
    if degrees > 200:
        z = NORMAL_975
        return z + (z**3 + z) / (4 * degrees) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * degrees**2)
    low, high = 0.0, 13.0
    while high - low > 1e-12 * high:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if _student_center(middle, degrees) < 0.95 else (low, middle)
    return high


def _student_center(t: float, degrees: int) -> float:
    """P(|T| <= t)."""
    angle = math.atan2(t, math.sqrt(degrees))
    cosine = math.cos(angle)
    odd = degrees % 2
    term = cosine if odd else 1.0
    total = 0.0 if degrees == 1 else term
    for k in range(2 + odd, degrees - 1, 2):
        term *= cosine * cosine * (k - 1) / k
        total += term
    return 2 / math.pi * (angle + math.sin(angle) * total) if odd else math.sin(angle) * total


def _return(episode: Episode, discount: float) -> float:
    if discount == 1.0:
        return float(episode.rewards.sum())
    return float(episode.rewards @ discount ** np.arange(len(episode.rewards)))

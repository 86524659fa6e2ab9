"""The options for a known reward and a known end; `explore` and `evaluate` share them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from policyforest.cli.option_names import options_named
from policyforest.environments.episodes import Environment
from policyforest.environments.known_task import known_task


@dataclass(frozen=True)
class KnownOptions:
    """A reward and an end as formulas over the state, the action and the next state."""

    reward: Annotated[
        str | None,
        typer.Option(help="A known reward in place of the problem's: '-(theta**2) - 0.1*u**2 - next_omega**2'."),
    ] = None
    terminal: Annotated[
        str | None, typer.Option(help="A known terminal condition in place of the problem's: 'abs(next_theta) > 1.5'.")
    ] = None

    def applied(self, env: Environment) -> Environment:
        """The environment with the known reward and end."""
        with options_named("reward", "terminal"):
            return known_task(env, self.reward, self.terminal)

    def told(self) -> dict[str, str]:
        """What the info of a policy records about them."""
        return {name: text for name, text in vars(self).items() if text is not None}

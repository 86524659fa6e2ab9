"""The command line: ``policyforest learn | data | explore | evaluate | show | export | bench | reproduce | doctor | ros |
gazebo``.

What a user got wrong is one line on standard error and the exit code 2; ``--debug`` shows where it arose.
"""

from __future__ import annotations

import sys
from typing import Annotated, Any

import gymnasium.error
import typer
from typer.core import TyperGroup

from policyforest.cli.bench import bench
from policyforest.cli.data import data
from policyforest.cli.doctor import doctor
from policyforest.cli.evaluate import evaluate
from policyforest.cli.explore import explore
from policyforest.cli.export import export
from policyforest.cli.gazebo import gazebo
from policyforest.cli.learn import learn
from policyforest.cli.reproduce import reproduce
from policyforest.cli.ros import ros
from policyforest.cli.show import show

USERS_ERRORS = (ValueError, TypeError, OSError, ImportError, MemoryError, gymnasium.error.Error)


class _OneLineErrors(TyperGroup):
    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override]  # typer's own name for its contexts
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise
        except USERS_ERRORS as error:
            if ctx.params["debug"]:
                raise
            text = " ".join(str(error).split()) or type(error).__name__
            print(f"error: {text}", file=sys.stderr)
            raise typer.Exit(2) from error


main = typer.Typer(
    cls=_OneLineErrors,
    help="Learn continuous controllers from few samples, and run them in a microsecond.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _version(wanted: bool) -> None:
    if wanted:
        from policyforest import __version__

        print(f"policyforest {__version__}")
        raise typer.Exit


@main.callback()
def _options(
    debug: Annotated[bool, typer.Option("--debug", help="Show a traceback with every error.")] = False,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    pass


for command in (learn, data, explore, evaluate, show, export, bench, reproduce, doctor):
    main.command()(command)
for group in (ros, gazebo):
    main.add_typer(group)

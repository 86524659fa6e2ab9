"""What every command does with its options: it refuses an option given twice, and accepts --quiet."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Any

import typer
import typer.main
from typer.core import TyperCommand

from policyforest.cli.output import QUIET

# Some versions of Typer bundle their own copy of click; this finds the class in either case.
UsageError: Any = typer.BadParameter.__base__


class Once(TyperCommand):
    """`--state a --state b` is an error, since it would mean `--state b`; flags and lists may be repeated."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params.append(_quiet_option())

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        try:
            given: list[Any] = self.make_parser(ctx).parse_args(args=list(args))[2]
        except UsageError as error:
            error.ctx = error.ctx or ctx  # the parser does not set it, and the message names the command for help
            raise
        for parameter, times in Counter(given).items():
            single = parameter.param_type_name == "option" and not (parameter.multiple or parameter.is_flag)
            if single and times > 1:
                raise typer.BadParameter(f"is given {times} times, must be given once", ctx=ctx, param=parameter)
        return super().parse_args(ctx, args)


def _hush(ctx: typer.Context, quiet: bool) -> None:
    """Sets --quiet until the command ends, so that a program that runs several commands keeps its notes."""
    token = QUIET.set(QUIET.get() or quiet)
    ctx.call_on_close(lambda: QUIET.reset(token))


def _quiet_option() -> Any:
    """The option --quiet. Typer makes it from a function, because the arguments of its classes differ between
    versions."""
    app = typer.Typer(add_completion=False)

    @app.command()
    def _quiet(
        quiet: Annotated[
            bool,
            typer.Option(
                "--quiet",
                "-q",
                help="No notes, warnings or progress; errors and the result are still printed.",
                callback=_hush,
                expose_value=False,
            ),
        ] = False,
    ) -> None: ...

    return next(parameter for parameter in typer.main.get_command(app).params if parameter.name == "quiet")

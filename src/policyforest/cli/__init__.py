"""The command line: ``policyforest learn | data | explore | evaluate | show | export | certify | bench | reproduce |
doctor | ros | gazebo``.

A user's mistake is one line on standard error, with a hint, and the exit code 2; ``--debug`` shows where it arose.

May import: `_support`, `data`, `forest`, `environments`, `policy`, `learning`, `exploration`, `baselines`, `report`,
`export`, `certification`, `ros`, `paper`.
"""

from __future__ import annotations

import difflib
import re
import sys
import traceback
import warnings
from typing import Annotated, Any

import gymnasium.error
import typer
from typer.core import TyperGroup

from policyforest.cli.bench import bench
from policyforest.cli.certify import certify
from policyforest.cli.data import data
from policyforest.cli.doctor import doctor
from policyforest.cli.environment_errors import place_in_environment
from policyforest.cli.evaluate import evaluate
from policyforest.cli.examples import epilog, exit_codes, welcome
from policyforest.cli.explore import explore
from policyforest.cli.export import export
from policyforest.cli.gazebo import gazebo
from policyforest.cli.learn import learn
from policyforest.cli.once import Once, UsageError
from policyforest.cli.output import QUIET, one_line
from policyforest.cli.reproduce import reproduce
from policyforest.cli.ros import ros
from policyforest.cli.show import show
from policyforest.cli.standard_streams import StandardOutputError, standard_streams

USERS_ERRORS = (ValueError, TypeError, OSError, ImportError, MemoryError, gymnasium.error.Error)
ClickException: Any = UsageError.__base__
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class _OneLineErrors(TyperGroup):
    def main(self, *args: Any, **kwargs: Any) -> Any:
        with standard_streams():
            return super().main(*args, **kwargs)

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return super().make_context(*args, **kwargs)
        except UsageError as error:
            _refuse_usage(error)
            raise

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override]  # typer's own name for its contexts
        try:
            return super().invoke(ctx)
        except (BrokenPipeError, StandardOutputError):
            raise
        except UsageError as error:
            _refuse_usage(error)
            raise
        except (ClickException, typer.Exit, typer.Abort):
            raise
        except Exception as error:
            if ctx.params["debug"]:
                traceback.print_exc()
            message = _message(error)
            what, again = f"{type(error).__name__}: {message}", f"policyforest --debug {ctx.invoked_subcommand} …"
            if (place := place_in_environment(error)) is not None:
                _tell(f"the environment raised {what} ({place}; {again} shows the traceback)")
                raise typer.Exit(2) from error
            if isinstance(error, USERS_ERRORS):
                _tell(message or type(error).__name__)
                raise typer.Exit(2) from error
            _tell(f"{what} (an error in policyforest: run {again} and report it)")
            raise typer.Exit(3) from error


def _message(error: Exception) -> str:
    """The text of an error; for one of the operating system, the file and the reason without the number."""
    if isinstance(error, OSError) and error.strerror is not None:
        named = "" if error.filename is None else f"{error.filename}: "
        return " ".join(f"{named}{error.strerror}".split())
    return " ".join(str(error).split())


def _refuse_usage(error: Any) -> None:
    """Prints one line in place of click's four; where click shows the help instead, nothing is refused."""
    if type(error).__name__ == "NoArgsIsHelpError":
        return
    command = error.ctx.command_path if error.ctx is not None else "policyforest"
    _tell(f"{_usage_message(error)} (see {command} --help)")
    raise typer.Exit(2) from error


def _usage_message(error: Any) -> str:
    """Click's message; for an unknown option, the nearest one instead of a list; for a wrong value, that value."""
    wrong, kind = getattr(error, "option_name", None), type(error).__name__
    if isinstance(wrong, str) and error.ctx is not None:
        if kind == "NoSuchOption":
            return f"No such option: {wrong}{_nearest_option(wrong, error.ctx)}"
        if kind == "BadOptionUsage":
            return f"{wrong}: {_missing_values(wrong, error.ctx)}"
    message = " ".join(error.format_message().split()).replace(": Value error, ", ": ")
    return _value_message(error) or message


def _missing_values(option: str, ctx: Any) -> str:
    """What an option needs that is known but was given without a value, or that takes no value but was given one."""
    parameter = next((p for p in ctx.command.get_params(ctx) if option in (*p.opts, *p.secondary_opts)), None)
    if getattr(parameter, "is_flag", False):
        return "takes no value"
    number = getattr(parameter, "nargs", 1)
    return "needs a value" if number == 1 else f"needs {number} values"


def _nearest_option(wrong: str, ctx: Any) -> str:
    # Compared in small letters, and without the leading dashes, which all options share.
    parameters = ctx.command.get_params(ctx)
    known = {name.lstrip("-"): name for p in parameters for name in (*p.opts, *p.secondary_opts) if name[:2] == "--"}
    near = difflib.get_close_matches(wrong.lstrip("-").lower(), list(known), 1, 0.6)
    return f". Did you mean '{known[near[0]]}'?" if near else ""


def _value_message(error: Any) -> str | None:
    """Newer versions of Typer check values by pydantic, whose messages leave out the value."""
    faults: list[Any] = getattr(error.__cause__, "errors", list)()
    told = re.match("Input should be ([^,]+)", error.message)
    if not (faults and told and error.param):
        return None
    return f"{max(error.param.opts, key=len)}: is {faults[0]['input']!r}, must be {told[1]}"


def _tell(text: str) -> None:
    print(f"error: {one_line(text)}", file=sys.stderr)


main = typer.Typer(
    cls=_OneLineErrors,
    help="Learn continuous controllers from few samples, and run them in a microsecond.",
    epilog=exit_codes(),
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _version(wanted: bool) -> None:
    if wanted:
        from policyforest._support.version import __version__

        print(f"policyforest {__version__}")
        raise typer.Exit


def _note_warning(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
    """Prints warnings of this library as notes, without the file and line, which mean nothing to a user.
    Gymnasium colours its warnings even in a pipe, so escape sequences are removed."""
    if QUIET.get():
        return
    ours = category.__module__.startswith("policyforest")
    text = ESCAPES.sub("", str(message))
    print(f"note: {one_line(text)}" if ours else f"{category.__name__}: {text}", file=sys.stderr)


@main.callback()
def _options(
    ctx: typer.Context,
    debug: Annotated[bool, typer.Option("--debug", help="Show a traceback with every error.")] = False,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    ctx.with_resource(warnings.catch_warnings())
    warnings.showwarning = _note_warning
    if ctx.invoked_subcommand is None:
        print(welcome(sorted(ctx.command.list_commands(ctx))))  # type: ignore[attr-defined]


for command in (learn, data, explore, evaluate, show, export, certify, bench, reproduce, doctor):
    main.command(cls=Once, epilog=epilog(command.__name__))(command)
for group in (ros, gazebo):
    main.add_typer(group)

"""Options that belong together, as one dataclass: a command takes one object in place of twenty parameters.

    @dataclass(frozen=True)
    class Sizes:
        width: Annotated[int, typer.Option(help="Columns.")] = 80
        height: Annotated[int, typer.Option(help="Rows.")] = 24

    @with_option_groups
    def draw(path: Path, *, sizes: Sizes, json: Json = False) -> None: ...

The command line has --width, --height and --json, in this order, and `draw` gets ``Sizes(width, height)``. A name that
occurs more than once is one option: its first declaration counts, and its value goes to every place. In this way a
command can change the position or the help text of an option of a group.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from dataclasses import MISSING, fields, is_dataclass
from inspect import Parameter
from typing import Any, TypeVar, get_type_hints

Result = TypeVar("Result")


def with_option_groups(command: Callable[..., Result]) -> Callable[..., Result]:
    """The command with each parameter that is annotated with a dataclass replaced by the fields of that dataclass."""
    hints = get_type_hints(command, include_extras=True)
    declared = inspect.signature(command).parameters
    groups = {name: hints[name] for name in declared if is_dataclass(hints[name])}
    options: dict[str, Parameter] = {}
    for name, parameter in declared.items():
        own = parameter.replace(annotation=hints[name], kind=Parameter.KEYWORD_ONLY)
        for option in _options(groups[name]) if name in groups else (own,):
            options.setdefault(option.name, option)
    signature = inspect.Signature(list(options.values()))

    @functools.wraps(command)
    def run(**given: Any) -> Result:
        bound = signature.bind(**given)
        bound.apply_defaults()
        values = bound.arguments
        objects = {
            name: group(**{field.name: values[field.name] for field in fields(group)}) for name, group in groups.items()
        }
        return command(**{name: objects[name] if name in objects else values[name] for name in declared})

    # Typer reads the options from the signature, and some of its versions from the annotations.
    vars(run)["__signature__"] = signature
    run.__annotations__ = {name: option.annotation for name, option in options.items()}
    del vars(run)["__wrapped__"]
    return run


def _options(group: Any) -> Iterator[Parameter]:
    """A parameter for each field of a dataclass."""
    hints = get_type_hints(group, include_extras=True)
    for field in fields(group):
        default = field.default if field.default_factory is MISSING else field.default_factory()
        default = Parameter.empty if default is MISSING else default
        yield Parameter(field.name, Parameter.KEYWORD_ONLY, default=default, annotation=hints[field.name])

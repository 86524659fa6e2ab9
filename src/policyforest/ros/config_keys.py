"""What a key of robot.toml may hold, for pydantic and as text, and pydantic's errors in the form of this library's
errors.

Every kind of key (`number`, `text`, …) makes pydantic's `Field` with the words for an error as its description, so that
a limit and its words cannot differ. `problems_of` is the only place that knows pydantic's errors.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from functools import reduce
from operator import getitem
from typing import Any, get_args, get_type_hints

from policyforest._support.extras import import_extra

pydantic = import_extra("pydantic", "ros")

NAME = r"[A-Za-z]\w*"
TOPIC = r"/?[A-Za-z]\w*(/[A-Za-z]\w*)*"
ANYTHING = ".+"
Location = tuple[Any, ...]
"""A place in the file as pydantic gives it: ("state", 0, "name")"""


class WrongKeyError(ValueError):
    """A problem with its own message; `key` is given if it differs from the key of the checked value."""

    def __init__(self, problem: str, key: str | None = None) -> None:
        super().__init__(problem)
        self.key = key


def number(
    *,
    least: float | None = None,
    above: float | None = None,
    below: float | None = None,
    most: float | None = None,
    instead: str = "",
) -> Any:
    """A finite number; `instead`: words for what else is allowed."""
    sides = {"at least": least, "above": above, "below": below, "at most": most}
    bounds = " and ".join(f"{word} {side:g}" for word, side in sides.items() if side is not None)
    words = f"{instead}a finite number{' ' if bounds else ''}{bounds}"
    limits = {"ge": least, "gt": above, "lt": below, "le": most}
    return pydantic.Field(strict=True, allow_inf_nan=False, description=words, **limits)


def integer(*, least: int, most: int = 10**9) -> Any:
    words = f"a whole number of at least {least} and at most {most}"
    return pydantic.Field(strict=True, ge=least, le=most, description=words)


def text(pattern: str = ANYTHING) -> Any:
    words = "text" if pattern == ANYTHING else f"text that matches {pattern}"
    return pydantic.Field(strict=True, pattern=f"^(?:{pattern})$", description=words)


def choice(literal: Any) -> Any:
    """One of the texts of a Literal."""
    return pydantic.Field(description=f"one of {', '.join(map(repr, get_args(literal)))}")


def flag() -> Any:
    return pydantic.Field(strict=True, description="true or false")


def described(words: str) -> Any:
    """Only the words, for a key whose type or validator checks the limits."""
    return pydantic.Field(description=words)


def problems_of(error: Any, tables: Mapping[str, type], content: Mapping[str, Any]) -> Iterator[str]:
    """A ValidationError as lines with the key, its value and what it must be.

    Args:
        tables: The dataclass of each table of the file, and that of the file itself under "".
        content: The content that was validated.
    """
    for found in error.errors(include_url=False, include_input=False):
        where = _key_of(found["loc"])
        table, name = tables["" if len(where) == 1 else where[0]], _name(where)
        problem = found.get("ctx", {}).get("error")
        if isinstance(problem, WrongKeyError):
            yield f"{name if problem.key is None else _name((*where[:-1], problem.key))}: {problem}"
        elif found["type"] == "unexpected_keyword_argument":
            yield f"{name}: is not known, must be one of {', '.join(sorted(field.name for field in fields(table)))}"
        elif found["type"] == "missing" and found["loc"] == where:  # not the second number of a pair
            yield f"{name}: is missing, must be {_words(table, where[-1])}"
        else:
            must = "a table" if found["type"] == "dataclass_type" else _words(table, where[-1])
            yield f"{name}: is {reduce(getitem, where, content)!r}, must be {must}"


def _key_of(location: Location) -> Location:
    """The key that a location lies in: ("state", 0, "wrap", 1) is the second number of ("state", 0, "wrap")."""
    in_list = len(location) > 1 and isinstance(location[1], int)
    return location[: 3 if in_list else 2]


def _name(location: Location) -> str:
    """("state", 0, "wrap") as in an error: state[0].wrap."""
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in location)
    return "".join(parts).removeprefix(".")


def _words(table: type, key: Any) -> str:
    """The allowed values of a key, from the description in its annotation."""
    notes = get_type_hints(table, include_extras=True)[key].__metadata__
    return next(str(note.description) for note in notes if getattr(note, "description", None))

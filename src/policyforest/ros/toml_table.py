"""Reading a table of settings so that everything that is wrong in it is named."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

from policyforest._support.formulas import Formula

TOPIC = r"/?[A-Za-z]\w*(/[A-Za-z]\w*)*"
MISSING: Any = object()


class Table:
    """One table of a file. Problems are gathered; after the first wrong value a plausible one is returned instead, so
    that the rest is looked at too. Keys that nobody asks for are a problem as well."""

    def __init__(self, content: Any, path: str, problems: list[str]) -> None:
        self._path, self._problems = path, problems
        if not isinstance(content, Mapping):
            self._problems.append(f"{path}: is {content!r}, must be a table")
            content = {}
        self._content: Mapping[str, Any] = content
        self._used: set[str] = set()

    def __contains__(self, key: str) -> bool:
        return key in self._content

    def raw(self, key: str) -> Any:
        """The value as it is in the file, None where it is not there."""
        return self._take(key, None)

    def wrong(self, key: str, value: Any, allowed: str) -> None:
        self._problems.append(f"{self._name(key)}: is {value!r}, must be {allowed}")

    def table(self, key: str) -> Table:
        return Table(self._take(key, {}), self._name(key), self._problems)

    def tables(self, key: str) -> list[Table]:
        """The entries of ``[[key]]``, at least one."""
        entries = self._take(key, [])
        if not isinstance(entries, list) or not entries:
            self.wrong(key, entries, f"at least one [[{key}]]")
            return []
        return [Table(entry, f"{self._name(key)}[{i}]", self._problems) for i, entry in enumerate(entries)]

    def text(self, key: str, default: Any = MISSING, pattern: str = r".+") -> str:
        value = self._take(key, default)
        if not isinstance(value, str) or not re.fullmatch(pattern, value):
            self._refuse(key, value, "text" if pattern == r".+" else f"text that matches {pattern}")
            return "x"
        return value

    def topic(self, key: str) -> str:
        return self.text(key, pattern=TOPIC)

    def choice(self, key: str, allowed: tuple[str, ...], default: Any = MISSING) -> str:
        value = self._take(key, default)
        if value not in allowed:
            self._refuse(key, value, f"one of {', '.join(map(repr, allowed))}")
            return allowed[0]
        return str(value)

    def flag(self, key: str, default: bool) -> bool:
        value = self._take(key, default)
        if not isinstance(value, bool):
            self._refuse(key, value, "true or false")
        return bool(value)

    def whole_number(self, key: str, default: Any = MISSING, least: int = 0, most: int = 10**9) -> int:
        value = self._take(key, default)
        if type(value) is not int or not least <= value <= most:
            self._refuse(key, value, f"a whole number of at least {least} and at most {most}")
            return least
        return value

    def number(
        self,
        key: str,
        default: Any = MISSING,
        *,
        least: float = -math.inf,
        above: float = -math.inf,
        below: float = math.inf,
        most: float = math.inf,
        instead: str = "",
    ) -> float:
        """A finite number, unless the default is not; `instead` says what else is allowed."""
        value = self._take(key, default)
        if value is default and value is not MISSING:
            return float(value)
        if not _is_finite(value) or not (least <= value <= most and above < value < below):
            sides = {"at least": least, "above": above, "below": below, "at most": most}
            bounds = " and ".join(f"{word} {side:g}" for word, side in sides.items() if math.isfinite(side))
            self._refuse(key, value, f"{instead}a finite number{' ' if bounds else ''}{bounds}")
            return 1.0
        return float(value)

    def numbers(self, key: str, default: tuple[float, ...] | Any = MISSING) -> tuple[float, ...]:
        value = self._take(key, default)
        if not isinstance(value, list | tuple) or not all(map(_is_finite, value)):
            self._refuse(key, value, "a list of finite numbers")
            return ()
        return tuple(float(v) for v in value)

    def pair(self, key: str) -> tuple[float, float]:
        """Low and high."""
        value = self._take(key, MISSING)
        if not isinstance(value, list) or len(value) != 2 or not all(map(_is_finite, value)) or not value[0] < value[1]:
            self._refuse(key, value, "true, or [low, high] with low below high")
            return (0.0, 1.0)
        return float(value[0]), float(value[1])

    def formula(self, key: str, names: Iterable[str]) -> Formula:
        value = self._take(key, MISSING)
        known = set(names)
        if not isinstance(value, str):
            self._refuse(key, value, "a formula, as text")
            return Formula("0", known)
        try:
            return Formula(value, known)
        except ValueError as error:
            self._problems.append(f"{self._name(key)}: {error}")
            return Formula("0", known)

    def finish(self) -> None:
        """Names the keys that nobody asked for."""
        for key in self._content.keys() - self._used:
            self._problems.append(f"{self._name(key)}: is not known, must be one of {', '.join(sorted(self._used))}")

    def _take(self, key: str, default: Any) -> Any:
        self._used.add(key)
        return self._content.get(key, default)

    def _refuse(self, key: str, value: Any, allowed: str) -> None:
        if value is MISSING:
            self._problems.append(f"{self._name(key)}: is missing, must be {allowed}")
        else:
            self.wrong(key, value, allowed)

    def _name(self, key: str) -> str:
        return f"{self._path}.{key}" if self._path else key


def _is_finite(value: Any) -> bool:
    """Whether it is a number, and one that floating point can hold: TOML's whole numbers have no end."""
    try:
        return type(value) in (int, float) and math.isfinite(value)
    except OverflowError:
        return False

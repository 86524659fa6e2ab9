"""Names that C can use."""

from __future__ import annotations

import re

C_WORDS = frozenset(
    re.findall(
        r"\w+",
        "auto break case char const continue default do double else enum extern float for goto if inline int long "
        "register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while",
    )
)
# main.c is the self-test's file.
TAKEN = C_WORDS | {"main"}
LONGEST = 40


def require_name(name: str) -> str:
    """The name itself if functions, macros and files can be named after it; else a ValueError."""
    if not isinstance(name, str):
        raise TypeError(f"name: is {name!r}, must be a string")
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name, re.ASCII) or len(name) > LONGEST or name in TAKEN:
        raise ValueError(
            f"name: is {name!r}, must be a C identifier of at most {LONGEST} letters, digits and underscores that "
            "begins with a letter and is neither a keyword of C nor main"
        )
    return name


def comment(text: object) -> str:
    """Text that cannot end a comment or break a line: the texts of a file may come from an untrusted source."""
    plain = "".join(c if c.isprintable() else " " for c in str(text))
    return plain.replace("*/", "* /").replace("/*", "/ *").replace("\\", "/").replace("??/", "?? /")[:300]

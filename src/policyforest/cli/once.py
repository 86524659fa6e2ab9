"""A command that refuses an option given twice where the last one would win unseen."""

from __future__ import annotations

from collections import Counter
from typing import Any

import typer
from typer.core import TyperCommand


class Once(TyperCommand):
    """`--state a --state b` is an error, since it would mean `--state b`; flags and lists may be repeated."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        given: list[Any] = self.make_parser(ctx).parse_args(args=list(args))[2]
        for parameter, times in Counter(given).items():
            single = parameter.param_type_name == "option" and not (parameter.multiple or parameter.is_flag)
            if single and times > 1:
                raise typer.BadParameter(f"is given {times} times, must be given once", ctx=ctx, param=parameter)
        return super().parse_args(ctx, args)

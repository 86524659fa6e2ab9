"""``--ros-args`` of ROS 2 after a command's own arguments, as every ROS 2 program takes them."""

from __future__ import annotations

from typing import Any

import click

from policyforest.cli.once import Once

BEGIN = "--ros-args"
KEY = "policyforest.ros_arguments"


class OnceWithRosArguments(Once):
    """A command that hands everything from ``--ros-args`` on to ROS 2."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        begin = args.index(BEGIN) if BEGIN in args else len(args)
        ctx.meta[KEY] = args[begin:]
        return super().parse_args(ctx, args[:begin])


def ros_arguments() -> list[str]:
    """What was given from ``--ros-args`` on."""
    context = click.get_current_context(silent=True)
    return [] if context is None else list(context.meta.get(KEY, []))

"""``--ros-args`` of ROS 2 after a command's own arguments, as every ROS 2 program takes them."""

from __future__ import annotations

from typing import Any

import typer

from policyforest.cli.once import Once

BEGIN = "--ros-args"
KEY = "policyforest.ros_arguments"


class OnceWithRosArguments(Once):
    """A command that hands everything from ``--ros-args`` on to ROS 2."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        begin = args.index(BEGIN) if BEGIN in args else len(args)
        ctx.meta[KEY] = args[begin:]
        return super().parse_args(ctx, args[:begin])


def ros_arguments(context: typer.Context) -> list[str]:
    """The arguments from ``--ros-args`` on."""
    return list(context.meta[KEY])


def require_ros2(transport: str, arguments: list[str]) -> None:
    """Only ROS 2 takes these arguments; ROS 1 and DDS would silently leave them out."""
    if arguments and transport != "ros2":
        raise ValueError(f"{BEGIN}: is given, must be left out unless the transport is ros2; it is {transport}")

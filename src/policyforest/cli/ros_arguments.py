"""``--ros-args … --`` of ROS 2 among a command's own arguments, as every ROS 2 program takes them."""

from __future__ import annotations

from typing import Any

import typer

from policyforest.cli.once import Once

BEGIN, END = "--ros-args", "--"
KEY = "policyforest.ros_arguments"


class OnceWithRosArguments(Once):
    """A command that hands everything from ``--ros-args`` to ``--``, or to the end, on to ROS 2."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        own, ctx.meta[KEY] = split_arguments(args)
        return super().parse_args(ctx, own)


def split_arguments(args: list[str]) -> tuple[list[str], list[str]]:
    """Our own arguments, and those of ROS 2 with their ``--ros-args``."""
    own: list[str] = []
    ros: list[str] = []
    inside = False
    for argument in args:
        if inside and argument == END:
            inside = False
            continue
        inside = inside or argument == BEGIN
        (ros if inside else own).append(argument)
    return own, ros


def ros_arguments(context: typer.Context) -> list[str]:
    """The arguments of ROS 2."""
    return list(context.meta[KEY])


def require_ros2(transport: str, arguments: list[str]) -> None:
    """Only ROS 2 takes these arguments; ROS 1 and DDS would silently leave them out."""
    if arguments and transport != "ros2":
        raise ValueError(
            f"{BEGIN}: is given, must be left out unless the transport is ros2; the transport is {transport}"
        )

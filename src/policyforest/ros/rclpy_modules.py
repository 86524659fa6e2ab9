"""rclpy and the messages of a sourced ROS 2, or the reason why they cannot be imported."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from policyforest.ros.message_fields import full_type

INSTALLATIONS = Path("/opt/ros")
EXTENSION = "_rclpy_pybind11.cpython-"
"""The beginning of the name of rclpy's compiled part; the version of Python follows, such as 312"""
OLDEST_PYTHON = 11
"""The minor version of the oldest Python that this package runs on; binaries of ROS 2 Humble are for 3.10"""


def rclpy_modules() -> SimpleNamespace:
    """The modules of rclpy; an ImportError names what is missing."""
    try:
        import_module("rclpy")
        names = ("context", "executors", "lifecycle", "node", "qos", "signals")
        modules = {name: import_module(f"rclpy.{name}") for name in names}
    except ImportError as error:
        raise ImportError(missing_rclpy(error)) from error
    return SimpleNamespace(rclpy=import_module("rclpy"), **modules)


def missing_rclpy(error: ImportError) -> str:
    """The reason why there is no rclpy, and a remedy."""
    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    folders = [Path(folder) for folder in sys.path]
    for prefix in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep):
        folders += sorted(Path(prefix).glob("lib/python3*/site-packages")) if prefix else []
    for folder in folders:
        for file in sorted((folder / "rclpy").glob(f"{EXTENSION}*")):
            digits = file.name.removeprefix(EXTENSION).partition("-")[0]
            version = f"{digits[0]}.{digits[1:]}"
            if version != own:
                remedy = f"install policyforest for Python {version}"
                if int(digits[1:]) < OLDEST_PYTHON:
                    remedy = f"policyforest needs Python 3.{OLDEST_PYTHON}: use ROS 2 Jazzy or later, or transport dds"
                return f"rclpy in {folder} is built for Python {version}, this is Python {own}; {remedy}"
            return f"rclpy in {folder} cannot be loaded ({error})"
    installed = sorted(INSTALLATIONS.glob("*/setup.bash"))
    if installed:
        return f"rclpy is not found; run `source {installed[-1]}` first"
    return "rclpy is not found; install ROS 2 (Humble, Jazzy or later) and source its setup.bash"


@cache
def message_class(type_name: str, folder: str = "msg") -> Any:
    """The class of a message, or of a service (`folder` "srv")."""
    package, _, name = (full_type(type_name) if folder == "msg" else type_name).split("/")
    try:
        found = getattr(import_module(f"{package}.{folder}"), name, None)
    except ImportError as error:
        raise ValueError(f"type: {type_name} is not installed; source the workspace that has it ({error})") from None
    if found is None:
        raise ValueError(f"type: {type_name} is not known, {package} has no {name}")
    return found


def lifecycle_node(ros: SimpleNamespace, set_active: Callable[[bool], None]) -> Any:
    """A class of lifecycle nodes that report when they are activated and deactivated."""
    success = ros.lifecycle.TransitionCallbackReturn.SUCCESS

    class LifecycleNode(ros.lifecycle.LifecycleNode):  # type: ignore[misc,name-defined]
        def on_activate(self, state: Any) -> Any:
            set_active(True)
            return super().on_activate(state)

        def on_deactivate(self, state: Any) -> Any:
            set_active(False)
            return super().on_deactivate(state)

        def on_shutdown(self, state: Any) -> Any:
            set_active(False)
            return success

        def on_error(self, state: Any) -> Any:
            set_active(False)
            return success

    return LifecycleNode

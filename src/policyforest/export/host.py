"""Exported C on this machine: compiled by its compiler, called and timed from here."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

STRICT = ("-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror")
DRIVER = Path(__file__).parent / "targets" / "host_driver.c"


def require_tool(name: str, package: str = "") -> str:
    """The path of a program; an OSError that names the Debian package if it is missing."""
    path = shutil.which(name)
    if path is None:
        hint = f" (Debian: apt-get install {package})" if package else ""
        raise FileNotFoundError(f"{name}: is not installed{hint}")
    return path


def run_tool(command: Sequence[str | Path], **options: Any) -> str:
    """Runs a program and returns its output; if it fails, a RuntimeError with its error messages."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, **options)
    if done.returncode != 0:
        raise RuntimeError(
            f"{Path(str(command[0])).name}: failed ({done.returncode}): {(done.stderr or done.stdout)[:2000]}"
        )
    return str(done.stdout)


class HostDriver:
    """The C code that calls policies; one driver serves all of them."""

    def __init__(self, folder: Path, compiler: str = "cc") -> None:
        library = folder / "driver.so"
        run_tool([require_tool(compiler, "gcc"), "-O2", "-shared", "-fPIC", DRIVER, "-o", library])
        self._library = ctypes.CDLL(str(library))
        self._library.time_many.restype = ctypes.c_double
        self._library.time_cold.restype = ctypes.c_long

    def act_many(self, function: Any, states: NDArray[Any], n_actions: int) -> NDArray[Any]:
        """Actions for rows of float32 or float64 states."""
        actions = np.empty((len(states), n_actions), dtype=states.dtype)
        n, width = states.shape
        self._library.act_many(
            function, states.itemsize, ctypes.c_long(n), width, n_actions, _address(states), _address(actions)
        )
        return actions

    def time_many(self, function: Any, states: NDArray[Any], n_actions: int) -> float:
        """Seconds per call, one pass through the states."""
        action = np.empty(n_actions, dtype=states.dtype)
        n, width = states.shape
        seconds = self._library.time_many(
            function, states.itemsize, ctypes.c_long(n), width, _address(states), _address(action)
        )
        return float(seconds)

    def time_cold(self, function: Any, states: NDArray[Any], n_actions: int) -> tuple[NDArray[np.float64], int]:
        """Seconds of each call with the policy out of all caches, and the number of bytes that were flushed."""
        action, result = np.empty(n_actions, dtype=states.dtype), np.empty(len(states))
        n, width = states.shape
        flushed = self._library.time_cold(
            function, states.itemsize, ctypes.c_long(n), width, _address(states), _address(action), _address(result)
        )
        return result, int(flushed)


class HostPolicy:
    """An exported policy as a shared library."""

    def __init__(
        self,
        directory: Path,
        name: str = "policy",
        compiler: str = "cc",
        flags: Sequence[str] = ("-O2",),
        driver: HostDriver | None = None,
    ) -> None:
        header = (directory / f"{name}.h").read_text(encoding="utf-8")
        self._real = np.float64 if f"typedef double {name}_real" in header else np.float32
        self._n_actions = int(header.split(f"{name.upper()}_ACTIONS ")[1].split()[0])
        library = directory / f"{name}-{Path(compiler).name}.so"
        source = directory / f"{name}.c"
        run_tool([require_tool(compiler, "gcc"), *STRICT, *flags, "-shared", "-fPIC", source, "-o", library])
        self._driver = driver or HostDriver(directory, compiler)
        self._loaded = ctypes.CDLL(str(library))
        self._name = name
        self.function = self._loaded[f"{name}_act"]

    def act_batch(self, states: ArrayLike) -> NDArray[Any]:
        """Actions for rows of states, in the policy's own precision."""
        return self._driver.act_many(self.function, self._rows(states), self._n_actions)

    def step_many(self, observations: ArrayLike) -> NDArray[Any]:
        """Actions of the controller that keeps its history, for measurements that follow each other after a reset."""
        self._loaded[f"{self._name}_reset"]()
        step = self._loaded[f"{self._name}_step"]
        return self._driver.act_many(step, self._rows(observations), self._n_actions)

    def time_many(self, states: ArrayLike) -> float:
        return self._driver.time_many(self.function, self._rows(states), self._n_actions)

    def time_cold(self, states: ArrayLike) -> tuple[NDArray[np.float64], int]:
        return self._driver.time_cold(self.function, self._rows(states), self._n_actions)

    def _rows(self, states: ArrayLike) -> NDArray[Any]:
        with np.errstate(over="ignore", under="ignore"):
            return np.ascontiguousarray(states, dtype=self._real)


def _address(array: NDArray[Any]) -> ctypes.c_void_p:
    return array.ctypes.data_as(ctypes.c_void_p)

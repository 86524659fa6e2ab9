"""Pictures of the problems, in their own coordinates. pygame is imported when a picture is asked for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.error import DependencyNotInstalled

Point = tuple[float, float]
Color = tuple[int, int, int]

PAPER: Color = (250, 250, 248)
GROUND: Color = (120, 124, 130)
HILLSIDE: Color = (222, 229, 219)
BODY: Color = (46, 110, 168)
ROD: Color = (38, 42, 48)
GOAL: Color = (52, 150, 96)
LIMIT: Color = (196, 72, 60)

WIDTH, HEIGHT = 600, 400
# Pictures are drawn this many times larger and then scaled down, which gives smooth edges at any angle.
OVERSAMPLING = 3


def followed(x: float, room: float) -> float:
    """The middle of a picture: it stands still while x is within `room` of 0, and follows x beyond that."""
    return x - min(max(x, -room), room)


class Canvas:
    """A surface with y upwards; `begin` chooses the part of the plane that it shows."""

    def __init__(self, pygame: Any) -> None:
        self._pygame = pygame
        self._large = pygame.Surface((WIDTH * OVERSAMPLING, HEIGHT * OVERSAMPLING))
        self._center: Point = (0.0, 0.0)
        self._scale = 1.0

    def begin(self, center: Point, height: float) -> None:
        """Clears the canvas to show `height` units of the plane around `center`."""
        self._center = center
        self._scale = HEIGHT * OVERSAMPLING / height
        self._large.fill(PAPER)

    def polygon(self, corners: Sequence[Point], color: Color) -> None:
        self._pygame.draw.polygon(self._large, color, [self._pixel(p) for p in corners])

    def rectangle(self, lower_left: Point, upper_right: Point, color: Color) -> None:
        (x0, y0), (x1, y1) = lower_left, upper_right
        self.polygon([(x0, y0), (x1, y0), (x1, y1), (x0, y1)], color)

    def disc(self, center: Point, radius: float, color: Color) -> None:
        self._pygame.draw.circle(self._large, color, self._pixel(center), radius * self._scale)

    def circle(self, center: Point, radius: float, color: Color, thickness: float) -> None:
        width = max(1, round(thickness * self._scale))
        self._pygame.draw.circle(self._large, color, self._pixel(center), radius * self._scale, width)

    def line(self, a: Point, b: Point, color: Color, thickness: float) -> None:
        """A bar with round ends."""
        length = math.dist(a, b)
        if length > 0.0:
            x = 0.5 * thickness * (b[1] - a[1]) / length
            y = 0.5 * thickness * (a[0] - b[0]) / length
            corners = [(a[0] + x, a[1] + y), (b[0] + x, b[1] + y), (b[0] - x, b[1] - y), (a[0] - x, a[1] - y)]
            self.polygon(corners, color)
        for end in (a, b):
            self.disc(end, 0.5 * thickness, color)

    def arrow(self, tail: Point, tip: Point, color: Color, thickness: float) -> None:
        """A level arrow, or nothing if it would have no length."""
        if tail == tip:
            return
        head = math.copysign(3.0 * thickness, tip[0] - tail[0])
        self.line(tail, (tip[0] - head, tip[1]), color, thickness)
        corners = [tip, (tip[0] - head, tip[1] + 2 * thickness), (tip[0] - head, tip[1] - 2 * thickness)]
        self.polygon(corners, color)

    def scaled(self) -> Any:
        """The finished picture, as a surface of its final size."""
        return self._pygame.transform.smoothscale(self._large, (WIDTH, HEIGHT))

    def _pixel(self, point: Point) -> Point:
        x = 0.5 * WIDTH * OVERSAMPLING + (point[0] - self._center[0]) * self._scale
        y = 0.5 * HEIGHT * OVERSAMPLING - (point[1] - self._center[1]) * self._scale
        return x, y


class Screen:
    """Shows pictures: as one array per frame, or in a window at the pace of the control steps."""

    def __init__(self, render_mode: str, title: str, frames_per_second: int) -> None:
        try:
            import pygame
        except ImportError as error:
            message = "pygame is not installed; run `pip install 'policyforest[render]'`"
            raise DependencyNotInstalled(message) from error
        self._pygame: Any = pygame
        self._frames_per_second = frames_per_second
        self._window: Any = None
        if render_mode == "human":
            pygame.display.init()
            pygame.display.set_caption(title)
            self._window = pygame.display.set_mode((WIDTH, HEIGHT))
            self._clock = pygame.time.Clock()
        self.canvas = Canvas(pygame)

    def show(self) -> npt.NDArray[np.uint8] | None:
        picture = self.canvas.scaled()
        if self._window is None:
            pixels: npt.NDArray[np.uint8] = self._pygame.surfarray.array3d(picture).transpose(1, 0, 2).copy()
            return pixels
        self._window.blit(picture, (0, 0))
        self._pygame.event.pump()
        self._clock.tick(self._frames_per_second)
        self._pygame.display.flip()
        return None

    def close(self) -> None:
        if self._window is not None:
            self._pygame.display.quit()
            self._window = None

"""The world outside: a car, an obstacle that stands ahead, and how cameras, radar and odometer see them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

START_SPEED = 15.0  # m/s
OBSTACLE = 60.0  # m ahead
HARDEST = -8.0  # m/s^2, of the brake
NEAR, FAR = 2.0, 70.0  # m that a picture can show


@dataclass
class DrivenCar:
    """Position (m) and speed (m/s) along the road."""

    position: float = 0.0
    speed: float = START_SPEED

    @property
    def gap(self) -> float:
        """Metres to the obstacle; below 0 they have met."""
        return OBSTACLE - self.position

    def move(self, seconds: float, acceleration: float) -> None:
        """Accelerate for so long, never backwards."""
        after = max(0.0, self.speed + min(2.0, max(HARDEST, acceleration)) * seconds)
        self.position += (self.speed + after) / 2 * seconds
        self.speed = after


def pictures(gaps: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    """Grey pictures of shape (len(gaps), 1, size, size), bytes: road below, and a bright box, larger when nearer."""
    rows, columns = np.mgrid[:size, :size] / size
    half = np.clip(2.4 / np.maximum(gaps, NEAR), 0.0, 0.5)[:, None, None]
    box = (np.abs(columns - 0.5) < half) & (np.abs(rows - 0.5) < half)
    image = 60 + 40 * (rows > 0.5) + 120 * box + rng.normal(0, 8, (len(gaps), size, size))
    return np.clip(image, 0, 255).astype(np.uint8)[:, None]


def coarser(images: np.ndarray, size: int) -> np.ndarray:
    """The same pictures with so many pixels across: means of squares."""
    n, factor = len(images), images.shape[-1] // size
    return images.reshape(n, 1, size, factor, size, factor).mean((3, 5)).astype(np.uint8)

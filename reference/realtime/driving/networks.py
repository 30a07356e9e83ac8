"""What is learned: a detector of distances in pictures, a predictor and a planner, each trained in about a second.

They are small and stand for large ones. What a drive shows is when they answer, not how well.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from . import scene
from .schedule import SIZES

STEPS, BATCH = 120, 16
HEADWAY, KEEP = 2.5, 10.0  # s that a plan wants to be away from where it would stop, m before the obstacle


class ObstacleDetector(nn.Module):
    """Pictures of shape (n, 1, size, size), bytes, of any size above 8: metres to the obstacle, shape (n,)."""

    def __init__(self) -> None:
        super().__init__()
        self.look = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 8, 3, stride=2, padding=1), nn.ReLU(),
            nn.AdaptiveAvgPool2d(8), nn.Flatten(),
        )  # fmt: skip
        self.tell = nn.Sequential(nn.Linear(512, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, images: Tensor) -> Tensor:
        """Metres: networks are good at logarithms of sizes."""
        return self.tell(self.look(images.float() / 128 - 0.8)).squeeze(1).clamp(0, 5).exp()


@cache
def detector(seed: int = 0) -> ObstacleDetector:
    """A detector, trained on drawn scenes of all sizes; the same for one seed on one machine."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        net, rng = ObstacleDetector(), np.random.default_rng(seed)

        def draw(step: int) -> tuple[Tensor, Tensor]:
            gaps = np.exp(rng.uniform(np.log(scene.NEAR), np.log(scene.FAR), BATCH))
            fine = scene.pictures(gaps, SIZES[0], rng)
            return torch.from_numpy(scene.coarser(fine, SIZES[step % len(SIZES)])), torch.tensor(gaps).float()

        return _trained(net, draw, lambda out, wanted: (out.log() - wanted.log()).square().mean())


def _trained(net: Any, draw: Callable, loss: Callable, steps: int = STEPS) -> Any:
    adam = torch.optim.Adam(net.parameters(), 1e-2)
    for step in range(steps):
        inputs, wanted = draw(step)
        adam.zero_grad()
        loss(net(inputs), wanted).backward()
        adam.step()
    return net.eval().requires_grad_(False)


@cache
def imitator(
    rule: Callable[[Tensor], Tensor], low: tuple[float, ...], high: tuple[float, ...], unit: float
) -> nn.Module:
    """A network that was shown what a rule says to inputs drawn between low and high.

    It takes inputs in units of `high` and answers in units of `unit`.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(len(low), 32), nn.ReLU(), nn.Linear(32, 1))
        least, most = torch.tensor(low), torch.tensor(high)

        def draw(step: int) -> tuple[Tensor, Tensor]:
            inputs = least + (most - least) * torch.rand(256, len(low))
            return inputs / most, rule(inputs)[:, None] / unit

        return _trained(net, draw, lambda out, wanted: (out - wanted).square().mean(), 3 * STEPS)


def gap_ahead(inputs: Tensor) -> Tensor:
    """The predictor's rule: (gap, closing speed, seconds) -> the gap after so long."""
    gap, closing, seconds = inputs.T
    return gap - closing * seconds


def safe_speed(inputs: Tensor) -> Tensor:
    """The planner's rule: (gap,) -> a speed that falls with the gap, to 0 before the obstacle is reached."""
    return ((inputs[:, 0] - KEEP) / HEADWAY).clamp(max=scene.START_SPEED)


class RoutePlanner:
    """Predicts the gap to the obstacle, and says how fast to drive."""

    LOW, HIGH = (0.0, 0.0, 0.0), (scene.FAR, 20.0, 0.5)

    def __init__(self) -> None:
        self.predict = imitator(gap_ahead, self.LOW, self.HIGH, scene.FAR)
        self.plan = imitator(safe_speed, self.LOW[:1], self.HIGH[:1], scene.START_SPEED)

    def speed(self, gap: float, closing: float, seconds: float) -> float:
        """The target speed (m/s), from a gap (m) that is `seconds` old."""
        seen = torch.tensor([gap, closing, min(seconds, self.HIGH[2])]) / torch.tensor(self.HIGH)
        return max(0.0, float(self.plan(self.predict(seen)))) * scene.START_SPEED

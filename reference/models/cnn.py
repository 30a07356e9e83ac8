"""A small convolutional network for the digits."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from torch import Tensor, nn

from .seeds import seeded


class CNN(nn.Module):
    """From pictures x [n, 64] of 8 x 8 pixels to logits [n, 10].

    Each of up to three stages convolves 3 x 3, normalises over the batch if `batch_norm`, and halves the picture.
    Raises ValueError for more stages than the picture can be halved.
    """

    def __init__(self, channels: Sequence[int] = (8, 16), seed: int = 0, batch_norm: bool = False):
        super().__init__()
        if not 1 <= len(channels) <= 3:
            raise ValueError(f"8 x 8 pixels can be halved 1 to 3 times, got {len(channels)} stages: {channels=}")
        with seeded(seed):
            stages = [_stage(*sizes, batch_norm) for sizes in pairwise([1, *channels])]
            self.stages = nn.Sequential(*stages)
            self.head = nn.Linear(channels[-1] * (8 >> len(channels)) ** 2, 10)

    def forward(self, x: Tensor) -> Tensor:
        pictures = x.view(-1, 1, 8, 8)
        return self.head(self.stages(pictures).flatten(1))


def _stage(before: int, after: int, batch_norm: bool) -> nn.Sequential:
    convolve = nn.Conv2d(before, after, kernel_size=3, padding=1, bias=not batch_norm)  # the norm has a bias
    return nn.Sequential(convolve, *[nn.BatchNorm2d(after)] * batch_norm, nn.ReLU(), nn.MaxPool2d(2))

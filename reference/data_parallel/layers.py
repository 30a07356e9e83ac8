"""Layers: what each one of a model sends in data parallelism, and what it computes.

Idea      The gradient of a layer has as many elements as the layer has parameters, however large the batch is. What it
          computes grows with the batch, and for a convolution with the picture: each weight is used once a pixel.
          Early convolutions have few weights and many pixels: much to compute, next to nothing to send. Fully connected
          layers use each weight once a sample: the other way round. It is often told the wrong way.
Exact     Counted are multiplications and additions of matrix products and convolutions; bias, norms and activations are
          left out of the FLOPs and are in the parameters. Backward is taken as twice forward: a gradient for the input
          and one for the weights.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Shape(NamedTuple):
    """A layer: its parameters, and the FLOPs of its forward pass for one sample."""

    name: str
    parameters: int
    flops: float

    @property
    def flops_per_byte(self) -> float:
        """FLOPs, forward and backward, of one sample for each byte of float32 gradient; inf without parameters."""
        return 3 * self.flops / (4 * self.parameters) if self.parameters else float("inf")


class Layer(NamedTuple):
    """A layer as a time model sees it: bytes of its gradient, seconds of its forward and backward pass."""

    name: str
    nbytes: int
    forward: float
    backward: float


def timed(shapes: Iterable[Shape], samples: float, flops_per_second: float, itemsize: int = 4) -> list[Layer]:
    """The layers, first one first, for so many samples at so many FLOP/s; itemsize: bytes of a gradient."""
    seconds = [(shape, samples * shape.flops / flops_per_second) for shape in shapes]
    return [Layer(shape.name, itemsize * shape.parameters, once, 2 * once) for shape, once in seconds]


def convolution(name: str, inputs: int, outputs: int, side: int, kernel: int = 3) -> Shape:
    """A kernel x kernel convolution with bias that yields outputs x side x side."""
    weights = kernel**2 * inputs * outputs
    return Shape(name, weights + outputs, 2 * weights * side**2)


def linear(name: str, inputs: int, outputs: int) -> Shape:
    """A matrix and a bias."""
    return Shape(name, inputs * outputs + outputs, 2 * inputs * outputs)


def vgg16() -> list[Shape]:
    """VGG-16 for pictures of 224 x 224: 138,357,544 parameters (Simonyan & Zisserman 2014, configuration D)."""
    widths, shapes, inputs = ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3)), [], 3
    for block, (outputs, number) in enumerate(widths):
        for i in range(number):
            shapes.append(convolution(f"conv{block + 1}_{i + 1}", inputs, outputs, 224 >> block))
            inputs = outputs
    sizes = (512 * 7 * 7, 4096, 4096, 1000)
    return shapes + [linear(f"fc{6 + i}", sizes[i], sizes[i + 1]) for i in range(3)]


def gpt(hidden: int, layers: int, vocabulary: int, length: int) -> list[Shape]:
    """A decoder with a tied embedding; a sample is a sequence of `length` tokens.

    A layer has 12 h^2 + 13 h parameters and 24 s h^2 + 4 s^2 h FLOPs. The embedding comes first, so that its gradient
    is ready last: it is complete only when the backward pass has reached the inputs.
    """
    h, s = hidden, length
    block = [Shape(f"layer {i}", 12 * h * h + 13 * h, 24 * s * h * h + 4 * s * s * h) for i in range(layers)]
    return [Shape("embedding", vocabulary * h, 0.0), *block, Shape("head", 0, 2 * s * h * vocabulary)]

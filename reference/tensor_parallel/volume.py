"""What tensor parallelism sends: how many collectives of which kind, and how many bytes, forward and backward.

Idea      A collective on n elements sends, by all P ranks together: all-gather and reduce-scatter (P - 1) n, all-reduce
          2 (P - 1) n. (Rings, and whatever else is optimal in bytes.) A layer has two of them each way, on b s h
          elements, whatever its width inside: what is sent grows with the tokens, not with the weights.
          In two dimensions (summa.py, cannon.py, two_and_half.py) activations are sent once for each sqrt(P) ranks and
          not for each rank, but the weights are sent, too. So there is a number of tokens from which on it sends less.
Exact     Equal to the bytes that the virtual cluster counts. Blocks that P does not divide are padded (mappings.py).

Letters: P ranks, b sequences of s tokens, h width, a heads, g of keys and values, V vocabulary.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import NamedTuple

from ..models import Config

STEPS = {"Allreduce": 2, "Allgather": 1, "Reduce_scatter_block": 1}  # how often (P - 1) n are sent


class Traffic(NamedTuple):
    """What the ranks do together: how often each calls what, and the elements that all of them send."""

    calls: Counter
    elements: int

    def __add__(self, other: Traffic) -> Traffic:  # type: ignore[override]
        return Traffic(self.calls + other.calls, self.elements + other.elements)

    def per_rank(self, P: int, itemsize: int = 4) -> float:
        """Bytes that a rank sends, on average."""
        return self.elements * itemsize / P


def none() -> Traffic:
    """Nothing is sent."""
    return Traffic(Counter(), 0)


def collective(name: str, P: int, n: int, times: int = 1) -> Traffic:
    """`times` calls of this collective on n elements: the larger of a rank's two buffers. One rank calls nothing."""
    return Traffic(Counter({name: times}), times * STEPS[name] * (P - 1) * n) if P > 1 else none()


def block(
    P: int, b: int, s: int, config: Config, sequence: bool = False, again: bool = False
) -> tuple[Traffic, Traffic]:
    """(forward, backward) of one layer of a GPT.

    sequence: with Megatron's sequence parallelism. again: the inputs of the column-parallel layers, which were
    gathered, are not kept but gathered again in the backward pass.
    """
    n, h = b * s * config.width, config.width
    if not sequence:
        forward, backward = collective("Allreduce", P, n, 2), collective("Allreduce", P, n, 2)
    else:
        there = collective("Allgather", P, n, 2) + collective("Reduce_scatter_block", P, n, 2)
        small = collective("Allreduce", P, 2 * h, 2) + collective("Allreduce", P, h, 2)  # norms; biases after the sum
        forward = there
        backward = there + small + (collective("Allgather", P, n, 2) if again else none())
    return forward, backward + copies(P, config)


def copies(P: int, config: Config) -> Traffic:
    """Backward, where there are fewer groups of keys and values than ranks: the sum of what their copies have."""
    same = P // config.groups
    if config.groups % P == 0 or P % config.groups:
        return none()
    each = collective("Allreduce", same, 2 * (config.width + 1) * (config.width // config.heads))
    return Traffic(each.calls, each.elements * config.groups)


def gpt(P: int, b: int, s: int, config: Config, sequence: bool = False) -> tuple[Traffic, Traffic]:
    """(forward, backward) of a whole GPT and its loss, without the check that all ranks have the same tokens."""
    n, tokens = b * s * config.width, b * s
    forward, backward = none(), none()
    for _ in range(config.layers):
        there, back = block(P, b, s, config, sequence)
        forward, backward = forward + there, backward + back
    loss = collective("Allreduce", P, tokens) + collective("Allreduce", P, 2 * tokens)
    if not sequence:
        return forward + collective("Allreduce", P, n) + loss, backward + collective("Allreduce", P, n)
    edges = collective("Reduce_scatter_block", P, n) + collective("Allgather", P, n)  # embedding and head
    small = collective("Allreduce", P, 2 * config.width) + collective("Allreduce", P, s * config.width)
    return forward + edges + loss, backward + edges + small


# One matrix product, C [m, n] = A [m, k] B [k, n], otherwise: elements that all ranks send together -------------------


def summa(P: int, m: int, k: int, n: int) -> int:
    """SUMMA on sqrt(P) x sqrt(P) ranks: each block of A and B goes to the others of its row or column."""
    q = math.isqrt(P)
    return (q - 1) * (m * k + k * n)


def cannon(P: int, m: int, k: int, n: int) -> int:
    """Cannon's: a skew, which 1 / sqrt(P) of the ranks need not send, and sqrt(P) - 1 shifts."""
    q = math.isqrt(P)
    return (q * q - 1) * (m * k + k * n) // q


def two_and_half(P: int, layers: int, m: int, k: int, n: int) -> int:
    """2.5-D: copies for the other layers, a skew and q / c - 1 shifts in each of c layers, and a sum over them."""
    c, q = layers, math.isqrt(P // layers)
    return (c - 1) * (m * k + k * n + m * n) + (c * (q - 1) + q * (q - c)) * (m * k + k * n) // q


# A feed-forward network h -> 4 h -> h on m tokens, in one and in two dimensions ---------------------------------------


def mlp_1d(P: int, m: int, h: int, training: bool = True) -> int:
    """Elements that all ranks send: one all-reduce of m h forward, one backward."""
    return (2 if training else 1) * 2 * (P - 1) * m * h


def mlp_2d(P: int, m: int, h: int, training: bool = True) -> int:
    """The same by SUMMA: two products forward, and for each of them two backward of the same bytes."""
    return (3 if training else 1) * (summa(P, m, h, 4 * h) + summa(P, m, 4 * h, h))


def tokens_for_2d(P: int, h: int, training: bool = True) -> float:
    """The number of tokens m from which on two dimensions send less than one; infinite if none does.

    With q = sqrt(P): 8 h / (2 q - 3) forward alone, and in training 24 h / (4 q - 11).
    """
    q = math.isqrt(P)
    numerator, denominator = (24 * h, 4 * q - 11) if training else (8 * h, 2 * q - 3)
    return numerator / denominator if denominator > 0 else math.inf

"""A transformer layer by formula: its parameters, its FLOPs, and the bytes that it keeps for the backward pass.

Plain arithmetic, for models that no laptop holds. Letters: b sequences of s tokens, width h, a heads.
"""

from __future__ import annotations


def layer_parameters(h: int) -> int:
    """12 h^2 + 13 h: four matrices of attention, two of the feed-forward network 4 h wide, biases and two norms."""
    return 12 * h * h + 13 * h


def layer_bytes(b: float, s: float, h: float, a: float, scores: bool = True) -> float:
    """What a transformer layer keeps of b sequences of s tokens, in 16 bits: s b h (34 + 5 a s / h).

    h width, a heads. The second term is the scores of attention; kernels such as flash attention keep none
    (scores=False). Korthikanti et al. (2022), without tensor parallelism. Of the 34, two are masks of dropout.
    """
    return s * b * h * (34 + (5 * a * s / h if scores else 0))


def flops_a_token(h: float, keys: float) -> float:
    """FLOPs of a transformer layer of width h, forward, for a token that attends to `keys` tokens: 24 h^2 + 4 h keys.

    12 h^2 weights, each a multiplication and a sum; and 2 h products with each key, and with each value.
    """
    return 24 * h * h + 4 * h * keys

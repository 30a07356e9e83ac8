"""Elias's gamma code: small whole numbers in few bits, without knowing the largest.

Idea      n >= 1 has L + 1 binary digits, the first of them a 1. Say L in unary, L zeros and a one, then the L other
          digits: 2 L + 1 bits, L = floor(log2 n). A 1 costs one bit, a number near 1,000 nineteen.
Sends     First all the unary parts, then all the other digits, each filled up to a byte: as many bits as the code has
          with the two interleaved, but vector operations find the ends of all the numbers at once.
Source    Elias, "Universal Codeword Sets and Representations of the Integers" (1975).
"""

from __future__ import annotations

import torch
from torch import Tensor

from .bits import pack, unpack


def length(numbers: Tensor) -> Tensor:
    """L = floor(log2 n) of whole numbers n [count] from 1 to 2^53."""
    return numbers.double().frexp().exponent.long() - 1


def encode(numbers: Tensor) -> Tensor:
    """The bytes of whole numbers [count] int64, each at least 1: sum(2 L + 1) bits, and up to 14 to fill two bytes."""
    L = length(numbers)
    unary = torch.zeros(int((L + 1).sum()), dtype=torch.uint8, device=L.device)
    unary[(L + 1).cumsum(0) - 1] = 1
    digits = torch.zeros(int(L.sum()), dtype=torch.uint8, device=L.device)
    for j, there, place in places(L):
        digits[place] = (numbers[there] >> j & 1).to(torch.uint8)
    return torch.cat([pack(unary, 1), pack(digits, 1)])


def decode(wire: Tensor, count: int) -> Tensor:
    """The `count` numbers [count] int64 that the wire begins with."""
    bits = unpack(wire, 1, 8 * len(wire))
    ends = bits.nonzero().view(-1)[:count]  # the ones that end the unary parts; those of the digits come later
    L = ends.diff(prepend=ends.new_tensor([-1])) - 1
    digits = bits[8 * -(-int(L.sum() + count) // 8) :]
    numbers = torch.ones_like(L) << L
    for j, there, place in places(L):
        numbers[there] |= digits[place] << j
    return numbers


def places(L: Tensor):
    """For each j: which numbers have a digit j, and where among all the digits it is."""
    starts = L.cumsum(0) - L
    for j in range(int(L.max()) if len(L) else 0):
        there = j < L
        yield j, there, starts[there] + j

"""Bits: whole numbers in as few of them as they need, and float32 numbers, as the bytes that travel.

Idea      A number below 2^b needs b bits. A few of them fill whole bytes exactly: two of 12 bits three bytes, eight of
          5 bits five. Number i of such a group lies in the same bytes of every group, so one vector operation packs
          that part of all groups at once. A group has at most eight numbers and b bytes.
Sends     ceil(n b / 8) for n numbers of b bits; the last byte is filled up with zeros
          The order is little-endian: the first number starts in the lowest bit of the first byte. float32 as the
          machine keeps them; ranks of one job are assumed to agree on that.
"""

from __future__ import annotations

from math import gcd

import torch
from torch import Tensor
from torch.nn.functional import pad


def width(values: int) -> int:
    """ceil(log2 values): the bits that tell `values` different numbers 0, 1, ... apart."""
    return (values - 1).bit_length()


def packed_bytes(count: int, bits: int) -> int:
    """Bytes of `count` numbers of `bits` bits."""
    return -(-count * bits // 8)


def pack(values: Tensor, bits: int) -> Tensor:
    """Bytes [ceil(n bits / 8)] uint8 of the whole numbers `values` [n], each from 0 to 2^bits - 1; bits at most 32."""
    numbers, size, parts = group(bits)
    groups = pad(values, (0, -len(values) % numbers)).view(-1, numbers)
    wire = torch.zeros(len(groups), size, dtype=torch.uint8, device=values.device)
    for i, byte, shift in parts:
        number = groups[:, i]
        wire[:, byte] |= (number << shift if shift >= 0 else number >> -shift).to(torch.uint8)
    return wire.view(-1)[: packed_bytes(len(values), bits)]


def unpack(wire: Tensor, bits: int, count: int) -> Tensor:
    """The `count` whole numbers [count] int64 of `bits` bits each that `wire` begins with."""
    numbers, size, parts = group(bits)
    wire, m = wire[: packed_bytes(count, bits)], -(-count // numbers)
    groups = pad(wire, (0, m * size - len(wire))).view(m, size).long()
    values = torch.zeros(m, numbers, dtype=torch.int64, device=wire.device)
    for i, byte, shift in parts:
        part = groups[:, byte]
        values[:, i] |= part >> shift if shift >= 0 else part << -shift
    return values.view(-1)[:count] & (2**bits - 1)


def group(bits: int) -> tuple[int, int, list[tuple[int, int, int]]]:
    """How many numbers of `bits` bits fill whole bytes, how many bytes, and who lies where.

    (i, byte, shift): number i, shifted left by `shift` bits, has a part in this byte.
    """
    numbers = 8 // gcd(8, bits)
    parts = [
        (i, byte, i * bits - 8 * byte)
        for i in range(numbers)
        for byte in range(i * bits // 8, packed_bytes(i + 1, bits))
    ]
    return numbers, numbers * bits // 8, parts


def number_bytes(number: int, device: torch.device) -> Tensor:
    """The 4 bytes uint8 of one whole number from 0 to 2^31 - 1, such as how many entries follow."""
    return torch.tensor([number], dtype=torch.int32, device=device).view(torch.uint8)


def number(wire: Tensor) -> int:
    """The number that `wire` begins with."""
    return int(wire[:4].clone().view(torch.int32))


def float_bytes(values: Tensor) -> Tensor:
    """The bytes [4 n] uint8 of n float32 numbers of any shape."""
    return values.float().contiguous().view(-1).view(torch.uint8)


def floats(wire: Tensor) -> Tensor:
    """The float32 numbers [n] of 4 n bytes, which may lie anywhere in a larger buffer."""
    return wire.clone().view(torch.float32)

"""What travels: whole numbers in as few bits as they need, and float32 numbers, as bytes.

Idea      A number below 2^b needs b bits. Eight of them fill b bytes exactly, so number i of eight lies in the same
          bytes of every group of b bytes, and one vector operation packs that part of all groups at once.
Bytes     ceil(n b / 8) for n numbers of b bits; the last byte is filled up with zeros
Order     little-endian: the first number starts in the lowest bit of the first byte. float32 as the machine keeps them;
          ranks of one job are assumed to agree on that.
"""

from __future__ import annotations

import torch
from torch import Tensor


def width(values: int) -> int:
    """ceil(log2 values): the bits that tell `values` different numbers 0, 1, ... apart."""
    return (values - 1).bit_length()


def packed_bytes(count: int, bits: int) -> int:
    """Bytes of `count` numbers of `bits` bits."""
    return -(-count * bits // 8)


def pack(values: Tensor, bits: int) -> Tensor:
    """Bytes [ceil(n bits / 8)] uint8 of the whole numbers `values` [n], each from 0 to 2^bits - 1; bits at most 32."""
    groups = torch.nn.functional.pad(values, (0, -len(values) % 8)).view(-1, 8)
    wire = torch.zeros(len(groups), bits, dtype=torch.uint8, device=values.device)
    for i, byte, shift in parts(bits):
        number = groups[:, i]
        wire[:, byte] |= (number << shift if shift >= 0 else number >> -shift).to(torch.uint8)
    return wire.view(-1)[: packed_bytes(len(values), bits)]


def unpack(wire: Tensor, bits: int, count: int) -> Tensor:
    """The `count` whole numbers [count] int64 of `bits` bits each that `wire` begins with."""
    wire = wire[: packed_bytes(count, bits)]
    m = -(-count // 8)
    groups = torch.nn.functional.pad(wire, (0, m * bits - len(wire))).view(m, bits).long()
    values = torch.zeros(m, 8, dtype=torch.int64, device=wire.device)
    for i, byte, shift in parts(bits):
        part = groups[:, byte]
        values[:, i] |= part >> shift if shift >= 0 else part << -shift
    return values.view(-1)[:count] & (2**bits - 1)


def parts(bits: int) -> list[tuple[int, int, int]]:
    """(i, byte, shift): number i of eight, shifted left by `shift` bits, has a part in that byte of their group."""
    return [(i, byte, i * bits - 8 * byte) for i in range(8) for byte in range(i * bits // 8, -(-(i + 1) * bits // 8))]


def float_bytes(values: Tensor) -> Tensor:
    """The bytes [4 n] uint8 of float32 numbers [n]."""
    return values.float().contiguous().view(-1).view(torch.uint8)


def floats(wire: Tensor) -> Tensor:
    """The float32 numbers [n] of 4 n bytes, which may lie anywhere in a larger buffer."""
    return wire.clone().view(torch.float32)

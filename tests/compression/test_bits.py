"""Packing: every number comes back, in exactly as many bytes as its bits need."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from reference.compression.bits import float_bytes, floats, number, number_bytes, pack, packed_bytes, unpack, width


def test_the_first_number_is_in_the_lowest_bits():
    assert pack(torch.tensor([1, 2, 3]), 2).tolist() == [0b11_10_01]
    assert pack(torch.tensor([0xABC, 0x123]), 12).tolist() == [0xBC, 0x3A, 0x12]
    assert pack(torch.tensor([True, False, True]).byte(), 1).tolist() == [0b101]


@given(st.data(), st.integers(0, 32), st.integers(0, 40))
def test_what_is_packed_can_be_unpacked(data, bits, n):
    values = data.draw(st.lists(st.integers(0, 2**bits - 1), min_size=n, max_size=n))
    wire = pack(torch.tensor(values, dtype=torch.int64), bits)
    assert wire.dtype == torch.uint8 and wire.shape == (packed_bytes(n, bits),)
    assert unpack(torch.cat([wire, wire]), bits, n).tolist() == values  # whatever follows


@pytest.mark.parametrize("values, bits", [(1, 0), (2, 1), (3, 2), (4, 2), (5, 3), (1000, 10), (2**20 + 1, 21)])
def test_width_is_the_logarithm_rounded_up(values, bits):
    assert width(values) == bits


def test_numbers_are_read_from_anywhere_in_a_buffer():
    x = torch.tensor([1.5, -2.0])
    wire = torch.cat([torch.zeros(3, dtype=torch.uint8), number_bytes(70_000, "cpu"), float_bytes(x)])
    assert number(wire[3:]) == 70_000 and torch.equal(floats(wire[7:]), x)

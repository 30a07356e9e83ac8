"""Elias's gamma code: 2 L + 1 bits a number, and every number comes back."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from reference.compression import elias


def test_the_code_of_1_2_and_5():
    # unary lengths 1, 01, 001 and then the digits 0 (of 10) and 01 (of 101), low bits first
    assert elias.encode(torch.tensor([1, 2, 5])).tolist() == [0b100101, 0b010]


@given(st.lists(st.integers(1, 2**31 - 1), max_size=30))
def test_what_is_encoded_can_be_decoded(values):
    numbers = torch.tensor(values, dtype=torch.int64)
    wire = elias.encode(numbers)
    assert elias.decode(torch.cat([wire, wire]), len(values)).tolist() == values
    bits = sum(2 * value.bit_length() - 1 for value in values)
    assert bits <= 8 * len(wire) <= bits + 14

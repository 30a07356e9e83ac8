"""Arithmetic in GF(256), and any k of k + r blocks."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.checkpoint.reed_solomon import INVERSE, PRODUCT, combine, decode, encode, inverse, parity_matrix


def slowly(a, b):
    """a b: shift and add, and divide by the polynomial x^8 + x^4 + x^3 + x^2 + 1."""
    product = 0
    for bit in range(8):
        product ^= (a << bit) * (b >> bit & 1)
    for bit in range(14, 7, -1):
        product ^= (0x11D << (bit - 8)) * (product >> bit & 1)
    return product


def test_products_and_inverses():
    a = np.arange(256)
    assert [[slowly(x, y) for y in (0, 1, 2, 29, 255)] for x in range(256)] == PRODUCT[:, [0, 1, 2, 29, 255]].tolist()
    assert (PRODUCT == PRODUCT.T).all() and (PRODUCT[a[1:], INVERSE[1:]] == 1).all()
    assert all(len(set(row)) == 256 for row in PRODUCT[1:].tolist())  # nothing but 0 divides 0


@given(st.integers(1, 6), st.integers(0, 4), st.integers(1, 40), st.integers(0, 9))
def test_any_k_blocks_give_all(k, r, n, seed):
    blocks = np.random.default_rng(seed).integers(0, 256, (k, n), dtype=np.uint8)
    every = np.concatenate([blocks, encode(blocks, r)])
    for kept in combinations(range(k + r), k):
        assert np.array_equal(decode(k, r, {number: every[number] for number in kept}), blocks)


def test_one_parity_block_is_the_xor():
    blocks = np.random.default_rng(0).integers(0, 256, (5, 64), dtype=np.uint8)
    assert np.array_equal(encode(blocks, 3)[0], np.bitwise_xor.reduce(blocks))


@pytest.mark.parametrize(("k", "r"), [(8, 3), (12, 4), (250, 2)])
def test_every_square_part_of_the_matrix_can_be_inverted(k, r):
    G, random = parity_matrix(k, r), np.random.default_rng(k)
    for size in range(1, r + 1):
        for _ in range(10):
            rows = random.permutation(r)[:size]
            part = G[rows][:, random.permutation(k)[:size]]
            assert np.array_equal(combine(inverse(part), part), np.eye(size))


def unsolvable(k, r):
    """Which losses cannot be solved with powers below the identity: parity i is the sum of (j + 1)^i d_j."""
    powers = np.ones((r, k), dtype=np.uint8)
    for row in range(1, r):
        powers[row] = PRODUCT[powers[row - 1], np.arange(1, k + 1)]
    every = np.concatenate([np.eye(k, dtype=np.uint8), powers])
    stuck = []
    for gone in combinations(range(k + r), r):
        try:
            inverse(every[[number for number in range(k + r) if number not in gone]])
        except ValueError:
            stuck.append(gone)
    return stuck


def test_powers_below_the_identity_are_no_such_code_from_four_on():
    """The mistake of a well-known tutorial. Three rows of powers do in this field; with four, 1 + 2 + 3 = 0."""
    assert not unsolvable(6, 3)
    assert (0, 1, 2, 8) in unsolvable(6, 4)  # d_0, d_1, d_2 and the parity of squares


def test_a_wrong_block_goes_unnoticed():
    """Erasures are known places. A block that is wrong gives wrong data without a word: it needs a checksum."""
    blocks = np.arange(12, dtype=np.uint8).reshape(3, 4)
    known = {0: blocks[0], 1: blocks[1] ^ 1, 3: encode(blocks, 1)[0]}
    assert not np.array_equal(decode(3, 1, known)[2], blocks[2])


def test_what_is_refused():
    with pytest.raises(ValueError, match="2 blocks are left, and 3"):
        decode(3, 1, {0: np.zeros(1, np.uint8), 3: np.zeros(1, np.uint8)})
    for k, r in ((0, 1), (250, 7), (3, -1)):
        with pytest.raises(ValueError, match="room for 256"):
            parity_matrix(k, r)
    with pytest.raises(ValueError, match="no inverse"):
        inverse(np.ones((2, 2), dtype=np.uint8))

"""Reed-Solomon: r parity blocks for k data blocks, so that any k of the k + r blocks give back all of them.

Idea      Bytes are elements of GF(256), a field of 256 elements: adding is XOR, and multiplying is adding logarithms.
          So linear algebra works on bytes without rounding. Each parity block is a linear combination of the data
          blocks; r lost blocks are r unknowns, and r equations are left to solve for them:

              p_i = sum_j G[i, j] d_j        G[i, j] = 1 / (x_i + y_j), scaled so that row 0 is all ones

          A Cauchy matrix has the property that this needs: every square part of it can be inverted. With row 0 all
          ones, one parity block is the XOR of the data blocks (RAID 5).
Exact     All bytes, if at most r blocks are lost and it is known *which*. A block that is there and wrong is not
          noticed: that is what checksums are for.
Price     k r multiplications a byte to encode. Here each is a lookup in a table of 256.
Left out  Codes that read less than k blocks to restore one (locally repairable codes).
Source    Reed and Solomon, "Polynomial Codes over Certain Finite Fields" (1960). Blömer et al., "An XOR-Based Erasure-
          Resilient Coding Scheme" (1995): Cauchy matrices. Plank and Ding, "Note: Correction to the 1997 Tutorial on
          Reed-Solomon Coding" (2005): why rows of powers below the identity do not do, from four rows on.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

POLYNOMIAL = 0x11D  # x^8 + x^4 + x^3 + x^2 + 1, of which 2 is a primitive element


def _tables() -> tuple[np.ndarray, np.ndarray]:
    """(products [256, 256], inverses [256] with 0 for 0), uint8."""
    exp, log = np.zeros(510, dtype=np.int64), np.zeros(256, dtype=np.int64)
    value = 1
    for power in range(255):
        exp[power] = exp[power + 255] = value
        log[value] = power
        value <<= 1
        if value > 255:
            value ^= POLYNOMIAL
    products = exp[log[:, None] + log]
    products[0] = products[:, 0] = 0
    inverses = exp[255 - log]
    inverses[0] = 0
    return products.astype(np.uint8), inverses.astype(np.uint8)


PRODUCT, INVERSE = _tables()


def add_multiple(total: np.ndarray, factor: int, block: np.ndarray) -> None:
    """total += factor * block, in GF(256); both uint8 [n]. For factor 1 this is an XOR."""
    if factor:
        np.bitwise_xor(total, block if factor == 1 else PRODUCT[factor][block], out=total)


def combine(factors: np.ndarray, blocks: np.ndarray) -> np.ndarray:
    """The matrix product factors [m, k] times blocks [k, n] in GF(256), uint8 [m, n]."""
    result = np.zeros((len(factors), blocks.shape[1]), dtype=np.uint8)
    for total, row in zip(result, factors):
        for factor, block in zip(row, blocks):
            add_multiple(total, int(factor), block)
    return result


def inverse(matrix: np.ndarray) -> np.ndarray:
    """The inverse of a matrix [k, k] over GF(256), uint8. Raises ValueError if there is none."""
    k = len(matrix)
    rows = np.concatenate([np.asarray(matrix, dtype=np.uint8), np.eye(k, dtype=np.uint8)], axis=1)
    for column in range(k):
        below = np.flatnonzero(rows[column:, column])
        if not len(below):
            raise ValueError("this matrix has no inverse")
        pivot = column + below[0]
        rows[[column, pivot]] = rows[[pivot, column]]
        rows[column] = PRODUCT[INVERSE[rows[column, column]]][rows[column]]
        for row in range(k):
            if row != column:
                add_multiple(rows[row], int(rows[row, column]), rows[column].copy())
    return rows[:, k:]


def parity_matrix(k: int, r: int) -> np.ndarray:
    """G, uint8 [r, k]: a Cauchy matrix whose columns are scaled so that row 0 is all ones.

    Raises ValueError unless 1 <= k, 0 <= r and k + r <= 256: the field has no more elements.
    """
    if k < 1 or r < 0 or k + r > 256:
        raise ValueError(f"{k} data blocks and {r} parity blocks: GF(256) has room for 256 together, and one is data")
    cauchy = INVERSE[np.arange(k, k + r)[:, None] ^ np.arange(k)]
    return PRODUCT[cauchy, INVERSE[cauchy[:1]]] if r else cauchy


def encode(blocks: np.ndarray, r: int) -> np.ndarray:
    """The r parity blocks of data blocks uint8 [k, n]: uint8 [r, n]. Raises ValueError as `parity_matrix` does."""
    return combine(parity_matrix(len(blocks), r), blocks)


def decode(k: int, r: int, known: Mapping[int, np.ndarray]) -> np.ndarray:
    """All data blocks uint8 [k, n] from any k of them all: known {number: uint8 [n]}, parity from number k on.

    Raises ValueError for fewer than k blocks.
    """
    if len(known) < k:
        raise ValueError(f"{len(known)} blocks are left, and {k} are needed")
    taken = sorted(known)[:k]  # data first: rows of the identity, with nothing to solve
    every = np.concatenate([np.eye(k, dtype=np.uint8), parity_matrix(k, r)])
    blocks = np.stack([known[number] for number in taken])
    found = np.empty_like(blocks)
    lost = [number for number in range(k) if number not in known]
    for place, number in enumerate(taken):
        if number < k:
            found[number] = blocks[place]
    if lost:
        found[lost] = combine(inverse(every[taken])[lost], blocks)
    return found

"""Lossy compression with a bound: every element comes back within an error that was promised, and in fewer bytes.

Idea      Round to a grid of cells of twice the bound, so that nobody is off by more than the bound. Neighbours that are
          alike have alike cells, so take differences of whole numbers (exact), and give what is left to a lossless
          coder: first all low bytes, then all next bytes, and so on, since the high ones are mostly zeros.

              absolute   q = round(x / 2 eps)                     |x' - x| <= eps
              relative   q = round(log|x| / 2 log(1 + eps))       |x' - x| <= eps |x|, and a sign; zeros stay zeros

          What the grid cannot hold is kept as it is: NaN, infinity, and elements whose rounded float misses the bound.
Sends     About log2(spread / eps) bits an element for weights, which look like noise; less for what is smooth.
Exact     The bound holds for every element, since it is tried for each before anything is returned. A resumed training
          is another training all the same: it is not exact to the bit, and how far it goes astray has to be measured.
          An absolute bound ruins Adam's second moments: most are smaller than any eps that saves space, and become 0,
          and the next step is m / (sqrt(0) + 1e-8).
Left out  Predictions from more than one neighbour (SZ), transforms of blocks of 4^d (ZFP); better coders than zlib.
Source    Tian et al., "cuSZ" (2020): round first, so that prediction is exact on whole numbers. Di and Cappello, "Fast
          Error-Bounded Lossy HPC Data Compression with SZ" (2016). Lindstrom, "Fixed-Rate Compressed Floating-Point
          Arrays" (2014): ZFP, whose fixed-accuracy mode bounds the absolute error only.
"""

from __future__ import annotations

import zlib
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

LARGEST = 2.0**62  # a cell's number that int64 holds for certain


class Compressed(NamedTuple):
    """A tensor in fewer bytes: its coded cells, its signs and zeros (relative only), and what is kept exactly."""

    shape: tuple[int, ...]
    dtype: torch.dtype
    bound: float
    relative: bool
    cells: bytes
    signs: bytes
    where: bytes
    exact: bytes

    @property
    def nbytes(self) -> int:
        """Bytes of all of it."""
        return sum(map(len, (self.cells, self.signs, self.where, self.exact)))


def compress(x: Tensor, bound: float, relative: bool = False) -> Compressed:
    """x [any shape] float32 or float64, so that each element comes back within the bound, absolute or relative to it.

    Raises ValueError unless the bound is positive and finite.
    """
    if not 0 < bound < float("inf"):
        raise ValueError(f"an error bound is a positive number, not {bound}")
    flat = x.detach().cpu().contiguous().reshape(-1)
    values = flat.double().numpy()
    with np.errstate(all="ignore"):
        scaled = np.log(np.abs(values)) / (2 * np.log1p(bound)) if relative else values / (2 * bound)
        fits = np.isfinite(scaled) & (np.abs(scaled) < LARGEST)
    cells = np.where(fits, np.rint(np.where(fits, scaled, 0)), 0).astype(np.int64)
    signs = _signs(values) if relative else b""
    back = _values(cells, signs, bound, relative, flat.dtype)
    error, most = (back - values), bound * np.abs(values) if relative else bound
    with np.errstate(invalid="ignore"):
        missed = np.flatnonzero(~(np.abs(error) <= most))
    cells[missed] = 0
    exact = flat[torch.from_numpy(missed)]
    return Compressed(
        tuple(x.shape),
        x.dtype,
        bound,
        relative,
        encode_cells(cells),
        zlib.compress(signs, 1),
        zlib.compress(np.diff(missed, prepend=0).tobytes(), 1) if len(missed) else b"",
        exact.numpy().tobytes(),
    )


def decompress(compressed: Compressed) -> Tensor:
    """The tensor, each element within the bound."""
    shape, dtype, bound, relative, coded, signs, where, exact = compressed
    cells = decode_cells(coded, int(np.prod(shape, dtype=np.int64)))
    found = torch.from_numpy(_values(cells, zlib.decompress(signs), bound, relative, dtype)).to(dtype)
    if where:
        missed = np.frombuffer(zlib.decompress(where), dtype=np.int64).cumsum()
        found[torch.from_numpy(missed)] = torch.frombuffer(bytearray(exact), dtype=dtype)
    return found.reshape(shape)


def _signs(values: np.ndarray) -> bytes:
    """Two bits an element: is it negative, is it zero."""
    return np.packbits(values < 0).tobytes() + np.packbits(values == 0).tobytes()


def _values(cells: np.ndarray, signs: bytes, bound: float, relative: bool, dtype: torch.dtype) -> np.ndarray:
    """The middles of the cells as numbers of `dtype`, in float64."""
    if relative:
        negative, zero = (np.unpackbits(part)[: len(cells)] for part in np.frombuffer(signs, np.uint8).reshape(2, -1))
        with np.errstate(over="ignore"):
            values = np.exp(cells * (2 * np.log1p(bound))) * np.where(negative, -1.0, 1.0)
        values[zero == 1] = 0.0
    else:
        values = cells * (2 * bound)
    return torch.from_numpy(values).to(dtype).double().numpy()


def encode_cells(cells: np.ndarray) -> bytes:
    """Whole numbers int64 [n] as bytes: differences if they are smaller, signs folded in, byte planes, zlib."""
    steps = np.diff(cells, prepend=np.int64(0))
    smooth = float(np.abs(steps).sum(dtype=float)) < float(np.abs(cells).sum(dtype=float))
    numbers = steps if smooth else cells
    folded = ((numbers << 1) ^ (numbers >> 63)).view(np.uint64)  # 0, -1, 1, -2, ... become 0, 1, 2, 3, ...
    width = max(1, (int(folded.max(initial=np.uint64(0))).bit_length() + 7) // 8)
    planes = np.ascontiguousarray(folded.astype("<u8").view(np.uint8).reshape(-1, 8)[:, :width].T)
    return bytes([smooth]) + zlib.compress(planes.tobytes(), 6)


def decode_cells(coded: bytes, n: int) -> np.ndarray:
    """The whole numbers int64 [n] that `encode_cells` was given."""
    planes = np.frombuffer(zlib.decompress(coded[1:]), dtype=np.uint8).reshape(-1, n) if n else np.zeros((1, 0))
    padded = np.zeros((n, 8), dtype=np.uint8)
    padded[:, : len(planes)] = planes.T
    folded = padded.view("<u8").reshape(-1).astype(np.uint64)
    numbers = (folded >> np.uint64(1)).view(np.int64) ^ -(folded & np.uint64(1)).view(np.int64)
    return numbers.cumsum() if coded[0] else numbers

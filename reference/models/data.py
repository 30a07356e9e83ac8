"""Real data, small enough for a laptop: pictures of digits, and a novel.

Source    Digits: 1,797 handwritten ones, 8 x 8 pixels of 0 to 16: Alpaydin and Kaynak, "Optical Recognition of
          Handwritten Digits" (1998), the part that scikit-learn carries. The model tells which digit it is.
          Text: Jane Austen, "Pride and Prejudice" (1813), chapters 1 to 30, 300 kB. In the public domain; the text is
          that of the R package janeaustenr (Silge, 2022). The model tells the next byte. The last tenth is for testing.
"""

from __future__ import annotations

import zlib
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from .seeds import generator

IGNORED = -100
"""A target that does not count, such as padding. What torch's cross entropy passes over unless told otherwise."""

NOVEL = Path(__file__).parent / "data" / "pride_and_prejudice.txt"


class Data(NamedTuple):
    """Samples and what is to be told of them, along dimension 0. Both on one device."""

    x: Tensor
    y: Tensor


@lru_cache
def _digits() -> Data:
    found = find_spec("sklearn")  # not imported, which would take a second on every rank
    if found is None or found.origin is None:
        raise ModuleNotFoundError("the digits come with scikit-learn, which is missing: pip install scikit-learn")
    file = Path(found.origin).parent / "datasets" / "data" / "digits.csv.gz"
    try:
        rows = np.loadtxt(file, delimiter=",", dtype=np.float32, ndmin=2)
    except (EOFError, zlib.error) as error:
        raise ValueError(f"{file} is damaged ({error}): install scikit-learn again") from None
    if rows.shape != (1797, 65):
        raise ValueError(f"{file} has {rows.shape} numbers, and not (1797, 65): install scikit-learn again")
    mixed = torch.from_numpy(rows)[torch.randperm(len(rows), generator=generator(0))]
    return Data(mixed[:, :-1] / 16, mixed[:, -1].long())


def digits(train: bool = True) -> Data:
    """Pictures x [n, 64], float32 in [0, 1], and digits y [n]; n = 1437 to train with, other 360 to test with."""
    part = slice(None, 1437) if train else slice(1437, None)
    return Data(*(tensor[part].clone() for tensor in _digits()))


def text(length: int = 64, train: bool = True) -> Data:
    """Bytes of the novel, cut into windows x [n, length], int64, and the byte that follows each, y [n, length].

    Windows do not overlap; what does not fill one is left out. Raises ValueError if not one is filled.
    """
    novel = NOVEL.read_bytes()
    cut = len(novel) * 9 // 10
    tokens = torch.tensor(np.frombuffer(novel[:cut] if train else novel[cut:], np.uint8), dtype=torch.int64)
    windows = (len(tokens) - 1) // length
    if windows < 1:
        raise ValueError(
            f"a window of {length} bytes does not fit into the text's {len(tokens)} bytes: choose a smaller one, or "
            f"restore {NOVEL}, of which there are {len(novel):,} bytes"
        )
    x, y = tokens[: windows * length], tokens[1 : windows * length + 1]
    return Data(x.view(windows, length), y.clone().view(windows, length))  # who marks a target IGNORED leaves x alone

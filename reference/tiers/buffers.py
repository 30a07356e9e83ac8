"""Memory for direct I/O: it begins on a page, so that a drive can read from it and write into it.

Exact     The system gives pages (mmap). A bytearray, which `liburing` wants, begins anywhere; what lies before its
          first page is deleted, and CPython then moves its beginning and no byte.
"""

from __future__ import annotations

import mmap

import numpy as np
import torch
from torch import Tensor

from .huge_pages import HUGE, ask_for_huge_pages

BLOCK = 4096  # bytes: of memory pages and of most drives


def rounded(nbytes: int) -> int:
    """The next multiple of a block."""
    return -(-nbytes // BLOCK) * BLOCK


def aligned(nbytes: int) -> np.ndarray:
    """Zeroed bytes [nbytes] that begin on a page, a large one if they fill it; their last page is theirs alone."""
    size = max(rounded(nbytes), BLOCK)
    memory = np.frombuffer(mmap.mmap(-1, size if size < HUGE else size + HUGE), np.uint8)
    first = 0 if size < HUGE else -memory.ctypes.data % HUGE
    ask_for_huge_pages(memory.ctypes.data + first, size)
    return memory[first : first + nbytes]


def pinned(n: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """A zeroed tensor [n] that direct I/O can use without a copy."""
    return torch.from_numpy(aligned(n * dtype.itemsize)).view(dtype)


def as_bytes(tensor: Tensor) -> np.ndarray:
    """The memory of a contiguous tensor of the host, as bytes. Raises ValueError for any other."""
    if tensor.device.type != "cpu" or not tensor.is_contiguous():
        raise ValueError("a file is written from and read into a contiguous tensor in the host's memory")
    return tensor.detach().reshape(-1).view(torch.uint8).numpy()


def paged(nbytes: int) -> bytearray:
    """Zeroed bytes that begin on a page, a large one if they fill it.

    Raises RuntimeError if this Python moved them when their beginning was deleted.
    """
    page = BLOCK if nbytes < HUGE else HUGE
    memory = bytearray(nbytes + page)
    del memory[: -address(memory) % page]
    del memory[nbytes:]
    if address(memory) % page:
        raise RuntimeError("this Python moves a bytearray when its beginning is deleted")
    ask_for_huge_pages(address(memory), nbytes)
    return memory


def address(memory: bytearray) -> int:
    """Where its bytes are."""
    return np.frombuffer(memory, np.uint8).ctypes.data if memory else 0

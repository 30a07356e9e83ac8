"""Memory in large pages: what direct I/O fills faster, because the kernel has fewer pages to look up.

Idea      New memory has no pages yet. The first access to each page of 4 KiB enters the kernel, which clears the page;
          and direct I/O has it find and hold each page that a request fills. In pages of 2 MiB that is done once for
          512 of the small ones. `madvise` asks for them before the first access; the kernel gives what it has.
Exact     Advice: the bytes are the same with and without it, and no system need follow it.
Left out  Memory that is kept and used again, as ZeRO-Infinity keeps pinned buffers: it has its pages already.
Source    madvise(2), MADV_HUGEPAGE; Linux, Documentation/admin-guide/mm/transhuge.rst.
"""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Sequence
from math import prod

import torch
from torch import Tensor
from torch.utils._python_dispatch import _disable_current_modes

MADVISE = getattr(ctypes.CDLL(None), "madvise", None)
HUGEPAGE = getattr(mmap, "MADV_HUGEPAGE", None)  # Linux's
HUGE = 2**21  # bytes of a large page


def ask_for_huge_pages(first: int, nbytes: int) -> None:
    """Ask for large pages where they fit into these bytes, which begin on a page and have not been used yet."""
    if MADVISE and HUGEPAGE is not None and nbytes >= HUGE:
        MADVISE(ctypes.c_void_p(first), ctypes.c_size_t(nbytes), HUGEPAGE)


def empty_on_a_page(shape: Sequence[int], dtype: torch.dtype) -> Tensor:
    """An empty tensor of the host; one of 2 MiB and more begins on a page of 4 KiB, and lies in large ones if it can.

    So direct I/O needs no copy. A large one has up to a page of memory more than its bytes.
    """
    nbytes = prod(shape) * dtype.itemsize
    if nbytes < HUGE:
        return torch.empty(shape, dtype=dtype)
    memory = torch.empty(nbytes + mmap.PAGESIZE, dtype=torch.uint8)
    first = -memory.data_ptr() % mmap.PAGESIZE
    ask_for_huge_pages(memory.data_ptr() + first, nbytes)
    with _disable_current_modes():  # nothing is computed
        return memory[first : first + nbytes].view(dtype).view(shape)

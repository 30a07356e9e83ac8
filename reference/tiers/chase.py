"""A chain of dependent loads: the only way to see a memory's latency, which processors hide wherever they can.

Idea      Each word holds the address of the next, in random order, one word a cache line. No processor can ask for the
          next before the one before has come. So the time divided by the number of steps is the latency of one load:

              p = first;  repeat n times:  p = *p

          Python takes longer for one step than a cache does, so the loop is twelve bytes of machine code.
Left out  Pages: with 4 KiB pages a large chain also misses the TLB, and that time is in the latency. Processors other
          than x86-64 and 64-bit ARM, and systems other than Linux: `loop` returns None there.
Source    McVoy & Staelin, "lmbench: Portable Tools for Performance Analysis" (USENIX 1996), lat_mem_rd.
"""

from __future__ import annotations

import ctypes
import mmap
import platform
import sys
import time
from collections.abc import Callable
from functools import cache

import numpy as np

LINE = 64  # bytes of a cache line
LOOPS = {  # f(p, n): n times p = *p; returns p
    "x86_64": "4889f8 488b00 48ffce 75f8 c3",  # mov rax, rdi; mov rax, [rax]; dec rsi; jnz -8; ret
    "aarch64": "000040f9 210400f1 c1ffff54 c0035fd6",  # ldr x0, [x0]; subs x1, x1, 1; b.ne -8; ret
}

_PAGES: list[mmap.mmap] = []


@cache
def loop() -> Callable[[int, int], int] | None:
    """The machine code as a function (address, steps) -> address; None where it cannot be had."""
    code = LOOPS.get(platform.machine())
    if code is None or sys.platform != "linux":
        return None
    try:
        page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    except OSError:  # a system that forbids pages that are both written and carried out
        return None
    page.write(bytes.fromhex(code))
    function = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_uint64, ctypes.c_uint64)
    start = function(ctypes.addressof(ctypes.c_char.from_buffer(page)))
    _PAGES.append(page)  # it must stay as long as the function
    return start


def chain(nbytes: int, seed: int = 0) -> np.ndarray:
    """Words [nbytes / 8]: one in each cache line is the address of the next, in a random ring through all lines."""
    lines = max(nbytes // LINE, 1)
    words = np.zeros(lines * LINE // 8, np.uint64)
    order = np.random.default_rng(seed).permutation(lines)
    words[order * (LINE // 8)] = words.ctypes.data + LINE * np.roll(order, -1).astype(np.uint64)
    return words


def latency(nbytes: int, steps: int = 100_000, turns: int = 3) -> float | None:
    """Seconds of one dependent load from a working set of so many bytes: the fastest turn. None: cannot be had."""
    chase = loop()
    if chase is None:
        return None
    words, best = chain(nbytes), float("inf")
    place = chase(words.ctypes.data, min(len(words) // (LINE // 8), steps))
    for _ in range(turns):
        start = time.perf_counter()
        place = chase(place, steps)
        best = min(best, (time.perf_counter() - start) / steps)
    return best

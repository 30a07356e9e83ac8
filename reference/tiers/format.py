"""How a file of a tier is cut into chunks, and which way they move: by io_uring, by threads directly, or buffered."""

from __future__ import annotations

import errno
from typing import NamedTuple

from . import uring

MIB = 2**20


class Format(NamedTuple):
    """How files are cut and moved: bytes of a chunk, direct or through the kernel's cache, chunks under way at once.

    uring: requests by io_uring instead of threads; None: where it is direct, and there is io_uring.
    """

    chunk: int = 4 * MIB
    direct: bool = False
    workers: int = 2
    fsync: bool = True
    uring: bool | None = None


def way_of(format: Format) -> str:
    """How chunks move: "io_uring", "direct" (by threads) or "buffered".

    Raises OSError if io_uring is asked for and is not there.
    """
    if format.uring and (error := uring.why_not() if format.direct else "it is for direct I/O here"):
        raise OSError(errno.ENOSYS, f"no io_uring: {error}")
    if not format.direct:
        return "buffered"
    return "direct" if format.uring is False or uring.why_not() else "io_uring"

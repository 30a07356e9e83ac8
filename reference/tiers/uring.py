"""io_uring: one thread keeps many reads or writes of a file under way, and hears when each has ended.

Idea      A thread that reads waits for its read. To keep a drive busy takes several of them, and each change from one
          to the next. With io_uring a program writes requests into a queue in memory that it shares with the kernel,
          and finds what has ended in another one:

              threads     1 |rrrr|k|rrrr|k|          io_uring   drive     |rrrr|rrrr|rrrr|rrrr|
                          2 |rrrr|k|rrrr|k|                     program   |    |k   |k   |k   |

          r: a read, k: its copy and checksum, while others are under way. A chunk more than is under way has a buffer,
          so that the next request starts before the chunk that has ended is looked at.
Exact     An error of a request comes with its chunk, when none is under way any more: the kernel writes into the
          buffers of those that are. What a request has moved less than was asked for, an ordinary call finishes.
Price     A copy: liburing (PyPI, 2026.3.30) takes a bytearray and no other memory. It keeps Python's lock while it
          waits, so that no other thread could run; so the kernel counts into an eventfd, which is read without it.
          Two threads that read into aligned tensors need no copy. benchmarks/file_tier.py --ways (256 MiB, 14 turns,
          2026-11-23): io_uring wrote 1.25 times as fast as they did, and read at 0.82 of their rate.
Left out  Registered buffers and files; a kernel thread that polls the queue; the completions of several in one look.
Source    Axboe, "Efficient IO with io_uring" (2019); io_uring_setup(2), io_uring_register_eventfd(3).
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from .buffers import paged, rounded
from .checksum import crc32

try:
    import liburing
except ImportError:  # not installed, or not made for this system
    liburing = None

READ, WRITE = "io_uring_prep_read", "io_uring_prep_write"
SECONDS = 30  # of patience with the trial below


class Ring:
    """A queue of requests to the kernel, for one thread. Raises OSError if the kernel has none, or refuses it."""

    def __init__(self, entries: int):
        self.under_way = 0
        self.ring, self.entry = liburing.Ring(), liburing.Cqe()
        self.event = os.eventfd(0, os.EFD_CLOEXEC)
        try:
            liburing.io_uring_queue_init(entries, self.ring)
        except OSError:
            os.close(self.event)
            raise
        liburing.io_uring_register_eventfd(self.ring, self.event)

    def start(self, kind: str, number: int, file: int, block: bytearray, offset: int) -> None:
        """Ask to READ this memory's bytes, or to WRITE them; `number` is how ended() calls it."""
        request = liburing.io_uring_get_sqe(self.ring)
        getattr(liburing, kind)(request, file, block, offset)
        request.user_data = number
        liburing.io_uring_submit(self.ring)
        self.under_way += 1

    def ended(self) -> tuple[int, int | OSError]:
        """Wait for a request: its number, and how many bytes it has moved, or why none."""
        while not liburing.io_uring_cq_ready(self.ring):
            os.eventfd_read(self.event)
        liburing.io_uring_peek_cqe(self.ring, self.entry)
        found = self.entry[0]
        number = found.user_data
        try:
            moved = found.res
        except OSError as error:
            moved = error
        liburing.io_uring_cqe_seen(self.ring, found)
        self.under_way -= 1
        return number, moved

    def close(self) -> None:
        """Wait for all that is under way, and give the queue back."""
        while self.under_way:
            self.ended()
        liburing.io_uring_queue_exit(self.ring)
        os.close(self.event)


# A read of nothing, in a child: the wheel of liburing is compiled for processors with AVX-512, and any other one ends
# the process at an illegal instruction.
TRIAL = """
import os, liburing
ring, entry = liburing.Ring(), liburing.Cqe()
liburing.io_uring_queue_init(1, ring)
liburing.io_uring_prep_read(liburing.io_uring_get_sqe(ring), os.open(os.devnull, os.O_RDONLY), bytearray(4096), 0)
liburing.io_uring_submit(ring)
while not liburing.io_uring_cq_ready(ring):
    pass
liburing.io_uring_peek_cqe(ring, entry)
entry[0].res
"""


@cache
def why_not() -> str:
    """Why there is no io_uring here; "" if there is: a child process has read with it."""
    if liburing is None:
        return "the package liburing is not installed"
    try:
        child = subprocess.run([sys.executable, "-c", TRIAL], capture_output=True, text=True, timeout=SECONDS)
    except (OSError, subprocess.SubprocessError) as error:
        return f"it could not be tried: {error}"
    if child.returncode < 0:
        return f"the package liburing does not run on this processor ({signal.Signals(-child.returncode).name})"
    return f"the system refuses it: {child.stderr.strip().splitlines()[-1]}" if child.returncode else ""


class Requests:
    """Chunks of files by io_uring, `most` at once in each call; several threads may call. Keeps its buffers."""

    def __init__(self, most: int, chunk: int):
        self.most, self.chunk = most, chunk
        self._idle: list[bytearray] = []

    def write(
        self, file: int, first: int, data: np.ndarray, put: Callable[[np.ndarray, int], None]
    ) -> tuple[list[int], dict[int, OSError]]:
        """Write the chunks of these bytes, filled up to a block: (their CRCs, what failed, by chunk).

        put(bytes, offset) writes what a request has left.
        """
        crcs = [0] * -(-len(data) // self.chunk)

        def begin(k: int, block: np.ndarray) -> None:
            piece = data[k * self.chunk : (k + 1) * self.chunk]
            crcs[k] = crc32(piece.data)
            block[: len(piece)] = piece
            block[len(piece) :] = 0

        def end(k: int, block: np.ndarray, moved: int) -> None:
            put(block[moved:], first + k * self.chunk + moved)

        return crcs, self._each(WRITE, file, first, len(data), begin, end)

    def read(
        self,
        file: int,
        first: int,
        data: np.ndarray,
        get: Callable[[np.ndarray, int], None],
        check: Callable[[int, np.ndarray], Any],
    ) -> dict[int, OSError]:
        """Read the chunks of these bytes into their places; what failed, by chunk.

        get(bytes, offset) reads what a request has left. check(k, bytes) looks at what has come.
        """

        def end(k: int, block: np.ndarray, moved: int) -> None:
            get(block[moved:], first + k * self.chunk + moved)
            piece = data[k * self.chunk : (k + 1) * self.chunk]
            piece[:] = block[: len(piece)]
            check(k, piece)

        return self._each(READ, file, first, len(data), lambda *_: None, end)

    def _each(
        self,
        kind: str,
        file: int,
        first: int,
        nbytes: int,
        begin: Callable[[int, np.ndarray], Any],
        end: Callable[[int, np.ndarray, int], Any],
    ) -> dict[int, OSError]:
        """READ or WRITE the chunks of so many bytes, which the file has from `first` on; what failed, by chunk.

        begin(k, block) comes before the request for chunk k, and end(k, block, moved) after it. When one has failed no
        other is started.
        """
        ring, blocks, errors = Ring(self.most), {}, {}

        def finish(k: int, moved: int | OSError) -> None:
            block = blocks.pop(k)
            try:
                if isinstance(moved, OSError):
                    raise moved
                end(k, np.frombuffer(block, np.uint8), moved)
            except OSError as error:
                errors[k] = error
            if len(block) == self.chunk:
                self._idle.append(block)

        try:
            for k, at in enumerate(range(0, nbytes, self.chunk)):
                block = self._block(min(self.chunk, rounded(nbytes - at)))
                begin(k, np.frombuffer(block, np.uint8))
                ended = ring.ended() if ring.under_way == self.most else None
                blocks[k] = block
                ring.start(kind, k, file, block, first + at)
                if ended:
                    finish(*ended)
                if errors:
                    break
            while ring.under_way:
                finish(*ring.ended())
        finally:
            ring.close()
        return errors

    def _block(self, nbytes: int) -> bytearray:
        """Memory that no request uses."""
        if nbytes == self.chunk and self._idle:
            try:
                return self._idle.pop()
            except IndexError:  # another thread has taken it
                pass
        return paged(nbytes)

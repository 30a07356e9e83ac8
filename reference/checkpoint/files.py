"""The file system as an object: the few operations that a checkpoint needs, on real files.

Idea      Everything that a save does to a file system goes through one object, in an order that can be written down. So
          tests put another one in its place: one that is full, one that fails, one that loses what was not flushed
          when the machine loses power (lossy_files.py).
Exact     A file's bytes are on the drive when fsync of the file has returned, and its name when that of the folder has:
          "Calling fsync() does not necessarily ensure that the entry in the directory containing the file has also
          reached disk."
Source    fsync(2), rename(2) of the Linux manual pages.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from ..tiers.flush import begin_to_flush, flush_folder

HINT = 8 * 2**20  # bytes after which the kernel is asked to begin writing
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
Read = Callable[[int, np.ndarray], None]
"""read(offset, into): fills these bytes from a file. Raises OSError if it ends before."""


class Files:
    """Real files. Every method raises OSError."""

    def make_folder(self, path: Path) -> None:
        """Make a folder, and those above it; its name is on the drive afterwards. One that is there stays."""
        if not path.exists():
            self.make_folder(path.parent)
            self.add_folder(path)
            self.sync_folder(path.parent)

    def add_folder(self, path: Path) -> None:
        """Make a folder in one that is there."""
        path.mkdir(exist_ok=True)

    def write(self, path: Path, pieces: Iterable[memoryview | bytes], sync: bool = True) -> None:
        """Write a new file, piece by piece; with sync its bytes are on the drive afterwards, without its name."""
        begun = written = 0
        with open(path, "wb", buffering=2**16) as file:
            for piece in pieces:
                written += file.write(piece)
                if sync and written - begun >= HINT:
                    file.flush()
                    begin_to_flush(file.fileno(), begun, written - begun)
                    begun = written
            file.flush()
            if sync:
                os.fsync(file.fileno())

    def sync_folder(self, path: Path) -> None:
        """Have the names in a folder on the drive."""
        flush_folder(path)

    def rename(self, old: Path, new: Path) -> None:
        """Give a file another name, at once: whoever looks finds the old file there, or the new one."""
        os.replace(old, new)

    def remove(self, path: Path) -> None:
        """Delete a file, if it is there."""
        path.unlink(missing_ok=True)

    def remove_folder(self, path: Path) -> None:
        """Delete a folder with all that is in it, if it is there."""
        shutil.rmtree(path, ignore_errors=True)

    def names(self, path: Path) -> list[str]:
        """What is in a folder, sorted; nothing if there is no such folder."""
        return sorted(os.listdir(path)) if path.is_dir() else []

    def size(self, path: Path) -> int:
        """Bytes of a file."""
        return path.stat().st_size

    def free(self, path: Path) -> int:
        """Bytes that are free on the drive of a folder."""
        return shutil.disk_usage(path).free

    @contextmanager
    def reading(self, path: Path) -> Iterator[Read]:
        """Open a file to read ranges of its bytes."""
        file = os.open(path, os.O_RDONLY)

        def read(offset: int, into: np.ndarray) -> None:
            view = into.data
            while view:
                got = os.preadv(file, [view], offset)
                if not got:
                    raise OSError(errno.EIO, f"it ends at byte {offset:,}")
                view, offset = view[got:], offset + got

        try:
            yield read
        finally:
            os.close(file)


FILES = Files()

"""From the kernel's memory to the drive: the bytes of a file that was written buffered, and the names in a folder.

Idea      A buffered write ends when the kernel has the bytes. Somewhen they go to the drive, at the latest with fsync,
          which waits for all of them. Who asks for each part as soon as it is written has the drive work meanwhile:

              write, then fsync   |w0|w1|w2|w3|f0|f1|f2|f3|
              begin each at once  |w0|w1|w2|w3|f|             the drive has f0, f1, f2 behind it
                                     |f0|f1|f2|
Exact     Nothing is on the drive for certain before fsync has returned: beginning is a hint, and errors are fsync's.
Source    sync_file_range(2), which is Linux's; fsync(2).
"""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

SYNC_FILE_RANGE = getattr(ctypes.CDLL(None), "sync_file_range", None)  # elsewhere fsync does it all
WRITE = 2  # SYNC_FILE_RANGE_WRITE of linux/fs.h: begin, and wait for nothing


def begin_to_flush(file: int, offset: int, nbytes: int) -> None:
    """Have the kernel begin to write these bytes of an open file to the drive."""
    if SYNC_FILE_RANGE:
        SYNC_FILE_RANGE(file, ctypes.c_int64(offset), ctypes.c_int64(nbytes), WRITE)


def flush_folder(folder: Path) -> None:
    """Have the names in a folder on the drive, too."""
    file = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)

"""The kernel's page cache, which would read for us what a drive is to be measured with."""

import os
from pathlib import Path


def forget(folder: Path) -> None:
    """Let the kernel forget what it has cached of the files in a folder."""
    for path in folder.rglob("*"):
        if path.is_file():
            file = os.open(path, os.O_RDONLY)
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(file)

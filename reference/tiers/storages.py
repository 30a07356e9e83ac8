"""Storages: what keeps the bytes of a tier below, behind three methods, each with checksums.

Idea      A store that moves tensors needs to write, read and delete bytes by name, whatever keeps them. Host memory,
          files of a folder and an object store (http_store.py) do that here. Each keeps a CRC-32 with what it writes,
          and compares it with what has arrived where the tensor is wanted. So a wrong value is an error.

              write("a", x)   bytes and CRC go down          read("a", y)   y, and its CRC is the one that was written

Price     One pass over the bytes for each checksum.
Exact     What can go wrong comes out as TierError, and as nothing else: full, damaged, cut off, gone, too slow.
Left out  Bytes that outlive the program: activations are worthless after a crash, so files are not flushed.
Source    open(2), section O_DIRECT: the file system decides whether it has direct I/O.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, Protocol
from urllib.parse import quote

from torch import Tensor

from .blocks import BLOCK, MIB, O_DIRECT, Blocks, Format, TierError, as_bytes
from .checksum import crc32

PARTIAL = ".partial"  # how blocks.py calls a file while it is being written


class ByteStorage(Protocol):
    """Keeps bytes by name. Each method raises TierError if the tier fails; none of them waits for another."""

    def write(self, name: str, tensor: Tensor) -> None:
        """Keep the bytes of a contiguous tensor of the host under this name, in place of what was there."""

    def read(self, name: str, target: Tensor) -> None:
        """Fill a contiguous tensor of the host with what was written under this name, and check it."""

    def delete(self, name: str) -> None:
        """Forget it; nothing happens if there is nothing."""


class _Copy(NamedTuple):
    """Bytes in the host's memory, with the checksum of what they were made from."""

    data: Tensor
    crc: int


class HostStorage:
    """A ByteStorage in the host's memory. capacity: bytes it may hold; None: as many as there are."""

    def __init__(self, capacity: int | None = None):
        self.capacity = capacity
        self.copies: dict[str, _Copy] = {}

    def write(self, name: str, tensor: Tensor) -> None:
        """Copy it. Raises TierError if that would be more than the capacity."""
        used = sum(copy.data.nbytes for key, copy in self.copies.items() if key != name)
        if self.capacity is not None and used + tensor.nbytes > self.capacity:
            missing = used + tensor.nbytes - self.capacity
            raise TierError(
                errno.ENOSPC, f"{name} cannot be written: the host's part of {self.capacity:,} bytes lacks {missing:,}"
            )
        crc = crc32(as_bytes(tensor).data)
        self.copies[name] = _Copy(tensor.detach().clone(), crc)

    def read(self, name: str, target: Tensor) -> None:
        """Copy it back, and check what has arrived."""
        if name not in self.copies:
            raise TierError(errno.ENOENT, f"{name} cannot be read: the host's memory does not have it")
        data, crc = self.copies[name]
        if data.nbytes != target.nbytes:
            raise TierError(errno.EIO, f"{name} has {data.nbytes:,} bytes where {target.nbytes:,} are wanted")
        as_bytes(target)[:] = as_bytes(data)
        if (found := crc32(as_bytes(target).data)) != crc:
            raise TierError(
                errno.EIO, f"{name} is damaged: the checksum is {found:08x} where {crc:08x} was written to the host"
            )

    def delete(self, name: str) -> None:
        """Forget it."""
        self.copies.pop(name, None)


def has_direct_io(folder: Path) -> bool:
    """Whether the file system of this folder takes O_DIRECT."""
    if not O_DIRECT:
        return False
    path = folder / f".direct{os.getpid()}"
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | O_DIRECT, 0o600))
    except OSError:
        return False
    finally:
        path.unlink(missing_ok=True)
    return True


class FolderStorage:
    """A ByteStorage of one file a tensor (blocks.py), past the kernel's cache where the file system has that.

    direct   True: direct I/O, by io_uring if it is there; False: buffered; None: direct if the file system has it.
             `storage.direct` is whether it is, and `storage.blocks.way` how bytes move
    chunk    bytes under way at once, and under one checksum
    pwrite   takes the place of os.pwrite, for tests

    What a program that was killed was about to write is deleted when the folder is opened; whole files stay.
    """

    def __init__(
        self,
        folder: str | os.PathLike,
        direct: bool | None = None,
        chunk: int = 4 * MIB,
        pwrite: Callable = os.pwrite,
    ):
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.direct = has_direct_io(self.folder) if direct is None else direct
        self.blocks = Blocks(Format(max(chunk, BLOCK), self.direct, fsync=False), pwrite)
        for path in self.folder.glob("*" + PARTIAL):
            path.unlink()

    def path(self, name: str) -> Path:
        """The file of this name."""
        return self.folder / quote(name, safe="")

    def write(self, name: str, tensor: Tensor) -> None:
        """Write a file; it appears when it is whole."""
        self.blocks.write(self.path(name), tensor)

    def read(self, name: str, target: Tensor) -> None:
        """Read it, and check each chunk."""
        self.blocks.read(self.path(name), target)

    def delete(self, name: str) -> None:
        """Delete the file, if there is one."""
        self.path(name).unlink(missing_ok=True)

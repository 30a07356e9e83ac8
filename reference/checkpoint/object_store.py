"""An object store where a save expects files: whole objects that appear at once, no rename, no folders.

Idea      A store in the network keeps objects under keys. A put is all or nothing, and who gets the key afterwards gets
          the new object. There is no rename, and none is needed: the commit is the put of the manifest. So this class
          has the methods of files.Files; what is written under a name that ends in `.partial` waits here until it is
          renamed, and is put then, under its real name.
Before    write manifest.json.partial, fsync, rename to manifest.json, fsync the folder
After     put manifest.json
Exact     Keys are listed by their beginning; a "folder" is what keys have in common before a slash.
Left out  Puts in parts and in parallel, retries, and what a store charges for each request.
Source    Amazon S3's documentation on data consistency: strong read-after-write, and puts that are never seen in part.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from .files import Files, Read

PARTIAL = ".partial"


class ObjectStore(Files):
    """Objects in memory, for all ranks that share it: pass it as `files` to save and load.

    requests    how many puts, gets, lists and deletes there have been, by kind
    """

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.waiting: dict[str, bytes] = {}  # written, and not renamed
        self.requests = {"put": 0, "get": 0, "list": 0, "delete": 0}

    def make_folder(self, path: Path) -> None:
        """There are none."""

    def sync_folder(self, path: Path) -> None:
        """A put has done it."""

    def write(self, path: Path, pieces: Iterable[memoryview | bytes], sync: bool = True) -> None:
        """Put an object; one whose name ends in .partial waits for its rename."""
        content = b"".join(bytes(piece) for piece in pieces)
        if path.name.endswith(PARTIAL):
            self.waiting[str(path)] = content
        else:
            self._put(path, content)

    def _put(self, path: Path, content: bytes) -> None:
        self.requests["put"] += 1
        self.objects[str(path)] = content

    def rename(self, old: Path, new: Path) -> None:
        """Put what has been waiting. Raises FileNotFoundError for anything else: a store has no rename."""
        if str(old) not in self.waiting:
            raise FileNotFoundError(errno.ENOENT, "an object cannot be renamed", str(old))
        self._put(new, self.waiting.pop(str(old)))

    def remove(self, path: Path) -> None:
        """Delete an object, if it is there."""
        self.requests["delete"] += 1
        self.objects.pop(str(path), None)

    def remove_folder(self, path: Path) -> None:
        """Delete all objects whose keys begin so, one by one."""
        for key in [key for key in self.objects if key.startswith(f"{path}/")]:
            self.remove(Path(key))

    def names(self, path: Path) -> list[str]:
        """What comes next in the keys that begin with this path, sorted."""
        self.requests["list"] += 1
        return sorted({key[len(f"{path}/") :].split("/")[0] for key in self.objects if key.startswith(f"{path}/")})

    def size(self, path: Path) -> int:
        """Bytes of an object."""
        return len(self._get(path))

    def free(self, path: Path) -> int:
        """As much as is paid for."""
        return 2**63 - 1

    def _get(self, path: Path) -> bytes:
        if str(path) not in self.objects:
            raise FileNotFoundError(errno.ENOENT, "there is no such object", str(path))
        return self.objects[str(path)]

    @contextmanager
    def reading(self, path: Path) -> Iterator[Read]:
        """Get ranges of an object's bytes."""
        content = self._get(path)

        def read(offset: int, into: np.ndarray) -> None:
            self.requests["get"] += 1
            if offset + len(into) > len(content):
                raise OSError(errno.EIO, f"it ends at byte {len(content):,}")
            into[:] = np.frombuffer(content, np.uint8, len(into), offset)

        yield read

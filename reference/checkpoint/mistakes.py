"""Mistakes that a save can be written with: each works every day, until a machine loses power at the wrong instant.

Each is a `RecordedFiles` that leaves one thing out, or changes one order; the rest of the save is right. Their journals
are looked through by `lossy_files.crashes`.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from .lossy_files import RecordedFiles
from .manifest import MANIFEST

PARTIAL = ".partial"


class NoFileSync(RecordedFiles):
    """Files are closed, and not flushed."""

    def write(self, path: Path, pieces: Iterable[memoryview | bytes], sync: bool = True) -> None:
        super().write(path, pieces, sync=False)


class NoShardSync(RecordedFiles):
    """The manifest is flushed, the shards are not."""

    def write(self, path: Path, pieces: Iterable[memoryview | bytes], sync: bool = True) -> None:
        super().write(path, pieces, sync=sync and path.name == MANIFEST + PARTIAL)


class NoFolderSync(RecordedFiles):
    """Files are flushed, their names are not."""

    def sync_folder(self, path: Path) -> None:
        """Do nothing."""


class ManifestInPlace(RecordedFiles):
    """The manifest is written under its own name, without a rename."""

    def write(self, path: Path, pieces: Iterable[memoryview | bytes], sync: bool = True) -> None:
        super().write(path.with_name(path.name.removesuffix(PARTIAL)), pieces, sync)

    def rename(self, old: Path, new: Path) -> None:
        """Do nothing: it has its name."""


class ManifestFirst(RecordedFiles):
    """The shards of one rank are written when the manifest has been."""

    def __init__(self, base: Path, journal: Path):
        super().__init__(base, journal)
        self.later: list[tuple[Path, list[bytes]]] = []

    def write(self, path: Path, pieces: Iterable[memoryview | bytes], sync: bool = True) -> None:
        if path.name == MANIFEST + PARTIAL:
            super().write(path, pieces, sync)
        else:
            self.later.append((path, list(map(bytes, pieces))))

    def rename(self, old: Path, new: Path) -> None:
        super().rename(old, new)
        for path, pieces in self.later:
            super().write(path, pieces)
        self.later = []


class ShardsDeletedFirst(RecordedFiles):
    """An old checkpoint is deleted as a folder, file by file, by their names: rank00000 comes before the manifest."""

    def remove(self, path: Path) -> None:
        if path.name != MANIFEST or not path.exists():
            super().remove(path)
            return
        for name in self.names(path.parent):
            if name != MANIFEST:
                super().remove(path.parent / name)
        super().remove(path)


MISTAKES = (NoFileSync, NoShardSync, NoFolderSync, ManifestInPlace, ManifestFirst, ShardsDeletedFirst)

"""Retention: which checkpoints are kept, and how one is deleted.

Idea      A checkpoint goes in the reverse order of its making: first the manifest, then the rest. Whoever crashes in
          between leaves a folder without a manifest, which nobody takes for a checkpoint. Its name is gone for good
          before the first shard is, so the folder is flushed between the two.
Exact     What has no manifest and is older than the newest checkpoint is what a crash has left, and is deleted, too.
Source    fsync(2), unlink(2).
"""

from __future__ import annotations

from pathlib import Path

from .files import FILES, Files
from .manifest import MANIFEST, committed, step_of


def keep(folder: str | Path, n: int, files: Files = FILES) -> list[Path]:
    """Keep the n newest checkpoints in a folder, and delete the others; those that were deleted. One rank calls it.

    Raises ValueError unless n is 1 or more: with none there is nothing to go back to.
    """
    if n < 1:
        raise ValueError(f"at least 1 checkpoint is kept, got {n}")
    there = committed(folder, files)
    kept, old = there[-n:], there[:-n]
    for path in old:
        delete(path, files)
    for name in files.names(Path(folder)):
        place, path = step_of(name), Path(folder) / name
        if kept and place and path not in kept and place < (step_of(kept[-1].name) or place):
            files.remove_folder(path)
    return old


def delete(path: Path, files: Files = FILES) -> None:
    """Delete a checkpoint."""
    files.remove(path / MANIFEST)
    files.sync_folder(path)
    files.remove_folder(path)

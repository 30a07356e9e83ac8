"""A file system that loses what was not flushed: what a drive may hold after a crash, for every instant of a run.

Idea      A program that forgets an fsync works on every day but one. To wait for that day is no test. So the operations
          of a run are written down, and for each instant all that the standard allows is tried: a crash there leaves

              bytes of a file       that were not flushed: none, zeros, the first half, or all
              names in a folder     made, renamed or deleted since the folder was flushed: any of them, or not

          What survives is a file system again, to be read by the program that would read it after the crash.
Before    kill -9 in a loop: the kernel lives, and writes everything later; nothing is ever lost
After     each instant, each loss: the run that fails, with what it lost
Exact     At each instant every combination is tried, as long as there are MOST at most, and they are few for a program
          that flushes in time. Where there are more: nothing is lost, all is, each thing alone is, all but one thing.
          A rename is one thing: both names, or neither.
          File systems promise more than the standard does (ext4 keeps the order of renames, for example), and a program
          that holds here does not depend on it.
Source    Pillai et al., "All File Systems Are Not Created Equal: On the Complexity of Crafting Crash-Consistent
          Applications" (2014), section 3; fsync(2).
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import product
from math import prod
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .files import Files, Read

MOST = 128  # combinations of losses at one instant


class RecordedFiles(Files):
    """Real files below a folder, and a journal of what was done to them, in the order in which it was done.

    All ranks may append to one journal.
    """

    def __init__(self, base: Path, journal: Path):
        self.base, self.journal = base, journal

    def mark(self, words: str) -> None:
        """Write down that something is promised from now on: "step 7 is saved"."""
        self._record("mark", words)

    def write(self, path: Path, pieces: Iterable[memoryview | bytes], sync: bool = True) -> None:
        content = b"".join(map(bytes, pieces))
        super().write(path, [content], sync=False)
        self._record("create", path)
        self._record("data", path, content.hex())
        if sync:
            self._record("sync", path)

    def add_folder(self, path: Path) -> None:
        super().add_folder(path)
        self._record("folder", path)

    def sync_folder(self, path: Path) -> None:
        self._record("sync folder", path)

    def rename(self, old: Path, new: Path) -> None:
        super().rename(old, new)
        self._record("rename", old, new)

    def remove(self, path: Path) -> None:
        super().remove(path)
        self._record("remove", path)

    def remove_folder(self, path: Path) -> None:
        if path.exists():
            for name in self.names(path):
                self.remove(path / name)
            super().remove_folder(path)
            self._record("remove", path)

    def _record(self, kind: str, *what: Path | str) -> None:
        words = [str(one.relative_to(self.base)) if isinstance(one, Path) else one for one in what]
        with open(self.journal, "a") as file:
            file.write(json.dumps([kind, *words]) + "\n")


@dataclass(eq=False)
class Node:
    """A file or a folder: what is on the drive, and what is only in memory.

    content, flushed    of a file: now, and on the drive
    names, on_drive     of a folder: name -> node, now and on the drive
    changes             of a folder, since it was flushed: (what, names to delete, names to set)
    """

    folder: bool
    content: bytes = b""
    flushed: bytes = b""
    names: dict[str, Node] = field(default_factory=dict)
    on_drive: dict[str, Node] = field(default_factory=dict)
    changes: list[Change] = field(default_factory=list)

    def change(self, what: str, gone: list[str], new: dict[str, Node]) -> None:
        """Change the names in a folder, in memory."""
        self.names = {name: node for name, node in self.names.items() if name not in gone} | new
        self.changes.append(Change(what, tuple(gone), new))

    def all_nodes(self) -> Iterator[Node]:
        """This one and those below, now and on the drive."""
        seen = {id(self): self}
        for change in (
            *self.names.values(),
            *self.on_drive.values(),
            *(n for c in self.changes for n in c.new.values()),
        ):
            seen |= {id(node): node for node in change.all_nodes()}
        yield from seen.values()


class Change(NamedTuple):
    """A change of the names in a folder."""

    what: str
    gone: tuple[str, ...]
    new: dict[str, Node]


class Loss(NamedTuple):
    """What a crash does to something that was not flushed: a change of names is lost; bytes are what is left."""

    what: str
    thing: int
    left: bytes = b""


class Crash(NamedTuple):
    """A crash: after how many operations, what was promised by then, what was lost; the files on the drive by path."""

    after: int
    promised: list[str]
    lost: list[str]
    files: dict[str, bytes | None]

    @property
    def drive(self) -> FoundFiles:
        """To be read by the program that is started after the crash."""
        return FoundFiles(self.files)


class FoundFiles(Files):
    """What is on a drive after a crash, to be read: bytes of files by their paths, None for a folder."""

    def __init__(self, found: dict[str, bytes | None]):
        self.found = found

    def names(self, path: Path) -> list[str]:
        return sorted(Path(name).name for name in self.found if Path(name).parent == path)

    def size(self, path: Path) -> int:
        return len(self._content(path))

    @contextmanager
    def reading(self, path: Path) -> Iterator[Read]:
        content = np.frombuffer(self._content(path), np.uint8)

        def read(offset: int, into: np.ndarray) -> None:
            if offset + len(into) > len(content):
                raise OSError(errno.EIO, f"it ends at byte {len(content):,}")
            into[:] = content[offset : offset + len(into)]

        yield read

    def _content(self, path: Path) -> bytes:
        content = self.found.get(str(path))
        if content is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        return content


def crashes(journal: Path) -> Iterator[Crash]:
    """All that is tried, in the order of the run. What differs in nothing on the drive comes once an instant."""
    root, promised = Node(True), list[str]()
    for number, line in enumerate(journal.read_text().splitlines()):
        kind, *what = json.loads(line)
        if kind == "mark":
            promised.append(what[0])
        else:
            _do(root, kind, what)
        seen = list[dict]()
        for lost in _losses(root):
            files = dict(_found(root, "", {loss.thing: loss for loss in lost}))
            if files not in seen:
                seen.append(files)
                yield Crash(number + 1, list(promised), [loss.what for loss in lost], files)


def _do(root: Node, kind: str, what: list[str]) -> None:
    """Carry out an operation on the model of the drive."""
    parent, name = _walk(root, Path(what[0]).parent), Path(what[0]).name
    if kind == "create":
        parent.change(f"the name {what[0]}", [], {name: Node(False)})
    elif kind == "folder":
        parent.change(f"the name {what[0]}", [], {name: Node(True)})
    elif kind == "data":
        parent.names[name].content = bytes.fromhex(what[1])
    elif kind == "sync":
        parent.names[name].flushed = parent.names[name].content
    elif kind == "sync folder":
        folder = _walk(root, Path(what[0]))
        folder.on_drive, folder.changes = dict(folder.names), []
    elif kind == "rename":
        parent.change(f"the rename to {what[1]}", [name], {Path(what[1]).name: parent.names[name]})
    elif name in parent.names:
        parent.change(f"the deletion of {what[0]}", [name], {})


def _walk(root: Node, path: Path) -> Node:
    for name in path.parts:
        root = root.names[name]
    return root


def _losses(root: Node) -> Iterator[list[Loss]]:
    """What may be lost now, as the module says."""
    alone: list[list[Loss]] = []
    for node in root.all_nodes():
        alone += [[Loss(change.what, id(change))] for change in node.changes]
        if node.content != node.flushed:
            half, zeros = node.content[: len(node.content) // 2], bytes(len(node.content))
            ways = {"all bytes": b"", "half the bytes": half, "the bytes, which are zeros,": zeros}
            alone.append([Loss(f"{how} of a file of {len(zeros)}", id(node), left) for how, left in ways.items()])
    if prod(1 + len(ways) for ways in alone) <= MOST:
        for chosen in product(*([None, *ways] for ways in alone)):
            yield [loss for loss in chosen if loss]
        return
    yield []
    for ways in alone:
        yield from ([loss] for loss in ways)
    for way in range(3):
        yield [ways[way % len(ways)] for ways in alone]
        for kept in range(len(alone)):
            yield [ways[way % len(ways)] for number, ways in enumerate(alone) if number != kept]


def _found(node: Node, path: str, lost: dict[int, Loss]) -> Iterator[tuple[str, bytes | None]]:
    """What is on the drive after a crash that loses this."""
    if not node.folder:
        yield path, lost[id(node)].left if id(node) in lost else node.content
        return
    if path:
        yield path, None
    names = dict(node.on_drive)
    for change in node.changes:
        if id(change) not in lost:
            names = {name: one for name, one in names.items() if name not in change.gone} | change.new
    for name, one in sorted(names.items()):
        yield from _found(one, f"{path}/{name}".lstrip("/"), lost)

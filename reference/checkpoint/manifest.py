"""Manifest: what a checkpoint is made of, in one JSON file that is written last; who has it has the checkpoint.

Idea      Ranks write their shards at their own pace, and a job can die between any two of them. So a folder of shards
          is not a checkpoint. It becomes one in a single instant, when the file `manifest.json` gets its name:

              run/step-00000100/rank00000.safetensors   names, offsets and bytes of what rank 0 has written
                                rank00001.safetensors
                                manifest.json           all tensors: shape, type, and of each part its box in the
                                                        tensor, its file, its first byte, its checksums
              run/step-00000200/rank00000.safetensors   no manifest: the job died here; this is not a checkpoint
Exact     Each part has a CRC-32 for every `chunk` of its bytes, so that a rank that reads a few of them can check them.
          The heads of the files have one, and the manifest has a SHA-256 of itself: each byte of a checkpoint is
          covered. A CRC finds what drives and cables do by accident, not what somebody does on purpose.
Price     12 bytes or so of JSON for each chunk of 1 MiB.
Source    A commit record, as databases have it: Gray and Reuter, "Transaction Processing" (1993).
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from .boxes import Box, Shape
from .files import FILES, Files
from .head import DTYPES

MANIFEST = "manifest.json"
FORMAT, VERSION = "every-rank-counts checkpoint", 1
CHUNK = 2**20  # bytes under one checksum


class CheckpointError(OSError):
    """A checkpoint could not be written, or is not what was written. It names the file, and says what to do."""


class Stored(NamedTuple):
    """A part of a tensor in a file: which box it is, its first byte, the CRC-32 of each chunk of its bytes."""

    box: Box
    file: str
    begin: int
    crcs: tuple[int, ...]


class StoredTensor(NamedTuple):
    """A tensor: its shape, its type as safetensors calls it, and where its parts are."""

    shape: Shape
    dtype: str
    parts: tuple[Stored, ...]

    @property
    def torch_dtype(self) -> torch.dtype:
        """Its type as torch calls it."""
        return DTYPES[self.dtype]


class StoredFile(NamedTuple):
    """A file: bytes of it, bytes of its head, and the head's CRC-32."""

    nbytes: int
    head: int
    crc: int


class Manifest(NamedTuple):
    """A checkpoint.

    id       of this save; every file has it in its head, so that files of two saves are not mixed
    ranks    how many have saved it
    extra    what is not a tensor and the same for all: step, learning rate, place in the data, ... (JSON)
    own      what each rank has for itself: its random state
    """

    step: int
    id: str
    ranks: int
    tensors: dict[str, StoredTensor]
    files: dict[str, StoredFile]
    extra: dict[str, Any]
    own: list[Any]
    chunk: int = CHUNK

    @property
    def nbytes(self) -> int:
        """Of all files but the manifest."""
        return sum(file.nbytes for file in self.files.values())

    def to_json(self) -> str:
        """As it is written."""
        body = json.dumps({"format": FORMAT, "version": VERSION, **self._asdict()}, separators=(",", ":"))
        return f'{body[:-1]},"sha256":"{_sha256(body)}"}}\n'

    @classmethod
    def from_json(cls, text: str) -> Manifest:
        """What `to_json` has written. Raises ValueError, with what is wrong, for anything else."""
        try:
            found = json.loads(text)
            kind, version = found.pop("format"), found.pop("version")
        except (ValueError, KeyError, AttributeError, TypeError):
            raise ValueError("is not the manifest of a checkpoint, or is damaged") from None
        if (kind, version) != (FORMAT, VERSION):
            raise ValueError(f"has the format {kind!r}, version {version!r}; {FORMAT!r}, version {VERSION} can be read")
        body, _, digest = text.rpartition(',"sha256":"')
        if _sha256(body + "}") != digest[:64]:
            raise ValueError("is damaged: its checksum is not the one that was written")
        found.pop("sha256")
        found["tensors"] = {name: _tensor(*of) for name, of in found["tensors"].items()}
        found["files"] = {name: StoredFile(*of) for name, of in found["files"].items()}
        return cls(**found)


def _tensor(shape: list, dtype: str, parts: list) -> StoredTensor:
    boxes = (Stored(Box(tuple(box[0]), tuple(box[1])), file, begin, tuple(crcs)) for box, file, begin, crcs in parts)
    return StoredTensor(tuple(shape), dtype, tuple(boxes))


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


# Folders --------------------------------------------------------------------------------------------------------------


def folder_of(step: int, attempt: int = 0) -> str:
    """The name of a checkpoint's folder; a step that is saved once more gets another one."""
    return f"step-{step:08}" + f".{attempt}" * (attempt > 0)


def step_of(name: str) -> tuple[int, int] | None:
    """(step, attempt) of a folder of this name, or None if it is another one's."""
    step, _, attempt = name.removeprefix("step-").partition(".")
    numbers = step.isdecimal() and (attempt.isdecimal() or name == folder_of(int(step)))
    return (int(step), int(attempt or 0)) if numbers and name.startswith("step-") else None


def committed(folder: str | Path, files: Files = FILES) -> list[Path]:
    """The checkpoints in a folder, oldest step first: the folders that have a manifest, whole or not."""
    found = [(place, name) for name in files.names(Path(folder)) if (place := step_of(name))]
    return [Path(folder) / name for _, name in sorted(found) if MANIFEST in files.names(Path(folder) / name)]


def newest(folder: str | Path, step: int | None = None, files: Files = FILES) -> Path | None:
    """The checkpoint of the highest step, or of this one; of two saves of a step the later. None if there is none."""
    found = [path for path in committed(folder, files) if step is None or (step_of(path.name) or (0,))[0] == step]
    return found[-1] if found else None


def read_manifest(path: Path, files: Files = FILES) -> Manifest:
    """The manifest of the checkpoint in this folder. Raises CheckpointError if there is none, or it is damaged."""
    file = path / MANIFEST
    try:
        content = np.empty(files.size(file), np.uint8)
        with files.reading(file) as read:
            read(0, content)
        return Manifest.from_json(content.tobytes().decode(errors="replace"))
    except OSError as error:
        raise CheckpointError(f"{file} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise CheckpointError(f"{file} {error}. {instead(path, files)}") from None


def instead(path: Path, files: Files = FILES) -> str:
    """What to do if a checkpoint is damaged."""
    own, others = step_of(path.name) or (0, 0), [step_of(one.name) or (0, 0) for one in committed(path.parent, files)]
    if older := [other for other in others if other < own]:
        return f"Go back to step {older[-1][0]}, or move {path.name} away and load the newest again"
    newer = [other for other in others if other > own]
    return f"Take step {newer[-1][0]}" if newer else "There is no other checkpoint to go back to"

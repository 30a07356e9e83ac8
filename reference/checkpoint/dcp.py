"""torch.distributed.checkpoint (DCP): its checkpoints, and ours, in each other's hands, without pickle.

Idea      DCP has two formats. The one that it writes unless told keeps a pickle of its metadata in `.metadata` and its
          tensors in files of torch.save. To unpickle is to run whatever the file says, so a checkpoint that came from
          somewhere else is a program from somewhere else. The other one, HuggingFaceStorageWriter and
          HuggingFaceStorageReader, is of safetensors files. Its shards tell their boxes' offsets in their heads.
          Our heads tell the same in the same words. So torch reads a folder of ours as it is, at any number of ranks:

              dcp.load(state_dict, storage_reader=HuggingFaceStorageReader(newest("run")))

          Theirs has no manifest. `adopt` reads the heads of the files, and writes one; then `load` reads it.
Before    run/step-00000100/shard-00001-model-00001-of-00001.safetensors
After     the same, and run/step-00000100/manifest.json
Exact     Which elements are lacking cannot be told from theirs: a tensor's shape is where its last box ends. A whole
          shard that was lost is told only if it leaves a hole.
          DCP writes tensors alone in this format. What is not one (`extra`) is in our manifest, which it does not see.
          A checkpoint in the pickled format is converted by torch: loaded with DCP, saved with `save`.
Price     To adopt, every byte is read once, for the checksums.
Source    torch/distributed/checkpoint/hf_storage.py, filesystem.py, _hf_utils.py (PyTorch 2.13).
"""

from __future__ import annotations

import json
import secrets
from pathlib import Path

import numpy as np

from ..tiers.checksum import crc32
from .boxes import Box, in_words, missing
from .files import FILES, Files
from .head import FIRST, LONGEST, OFFSETS, InFile, parse_head
from .manifest import CHUNK, MANIFEST, CheckpointError, Manifest, Stored, StoredFile, StoredTensor, step_of

SUFFIX = ".safetensors"


def adopt(path: str | Path, files: Files = FILES) -> Manifest:
    """Write the manifest of a folder that DCP's HuggingFaceStorageWriter has written; the folder is named as ours are.

    One rank calls it. Raises CheckpointError, with the file, for a file that is damaged, and where boxes leave a hole.
    """
    path = Path(path)
    place = step_of(path.name)
    if place is None:
        raise CheckpointError(f"{path} is not named as a checkpoint's folder: step-00000100")
    found: dict[str, StoredFile] = {}
    parts: dict[str, list[tuple[str, Stored]]] = {}
    for file in (name for name in files.names(path) if name.endswith(SUFFIX)):
        try:
            found[file], of_file = _read_file(path, file, files)
        except (OSError, ValueError) as error:
            raise CheckpointError(f"{path / file} {getattr(error, 'strerror', None) or error}") from None
        for name, dtype, stored in of_file:
            parts.setdefault(name, []).append((dtype, stored))
    tensors = {name: _together(path, name, of) for name, of in parts.items()}
    if not tensors:
        raise CheckpointError(f"{path} has no tensors: is it a folder of DCP's safetensors format?")
    extra = {"adopted": "torch.distributed.checkpoint"}
    manifest = Manifest(place[0], secrets.token_hex(8), len(found), tensors, found, extra, [])
    files.write(path / (MANIFEST + ".partial"), [manifest.to_json().encode()])
    files.rename(path / (MANIFEST + ".partial"), path / MANIFEST)
    files.sync_folder(path)
    return manifest


def _read_file(path: Path, file: str, files: Files) -> tuple[StoredFile, list[tuple[str, str, Stored]]]:
    """What is in a file: (about it, [(tensor's name, type, part)])."""
    size = files.size(path / file)
    with files.reading(path / file) as read:
        first = np.empty(FIRST.size, np.uint8)
        read(0, first)
        length = FIRST.unpack(first.tobytes())[0]
        if length > min(LONGEST, size - FIRST.size):
            raise ValueError("is not a safetensors file: its head is longer than the file")
        head = np.empty(FIRST.size + length, np.uint8)
        read(0, head)
        tensors, metadata = parse_head(head[FIRST.size :].tobytes())
        offsets = json.loads(metadata.get(OFFSETS, "{}"))
        stored = []
        for name, of in tensors.items():
            begin, end = len(head) + of.begin, len(head) + of.end
            if end > size:
                raise ValueError(f"has {size:,} bytes where {end:,} are told: it was cut off")
            crcs = []
            for at in range(begin, end, CHUNK):
                read(at, piece := np.empty(min(CHUNK, end - at), np.uint8))
                crcs.append(crc32(piece.data))
            stored.append((name, of.dtype, Stored(_box(of, offsets.get(name)), file, begin, tuple(crcs))))
    return StoredFile(size, len(head), crc32(head.data)), stored


def _box(of: InFile, about: dict | None) -> Box:
    """Which part of a tensor it is: all of it, in a file that does not say."""
    offset = tuple(about["saved_offsets"]) if about else (0,) * len(of.shape)
    return Box(offset, of.shape)


def _together(path: Path, name: str, parts: list[tuple[str, Stored]]) -> StoredTensor:
    dtypes = {dtype for dtype, _ in parts}
    boxes = [stored.box for _, stored in parts]
    shape = tuple(max(box.offset[d] + box.shape[d] for box in boxes) for d in range(len(boxes[0].shape)))
    if len(dtypes) > 1:
        raise CheckpointError(f"{name} has several types in {path}: {', '.join(sorted(dtypes))}")
    if hole := missing(shape, boxes):
        raise CheckpointError(f"{in_words(hole)} of {name} is in no file of {path}: a shard is missing")
    return StoredTensor(shape, dtypes.pop(), tuple(stored for _, stored in parts if stored.box.size))

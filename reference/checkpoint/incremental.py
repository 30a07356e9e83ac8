"""Incremental saving: only blocks whose bytes nobody has yet are written, and a save is a list of blocks.

Idea      Cut the state into blocks of a fixed size and name each by a hash of its bytes. A save writes one pack with
          the blocks whose hashes are new, and a manifest that lists for each tensor its blocks: the pack, the place,
          the hash. A block that has not changed since *any* retained save, or that another tensor has, too, is in a
          pack already:

              step 100   pack a b c d          manifest  a100 b100 c100 d100
              step 200   pack     C            manifest  a100 b100 C200 d100
              step 300   pack a'               manifest  a'300 b100 c100 d100      c is as in step 100 again
          What is compared with are hashes, so nothing of the old state is kept in memory, nothing can be compared with
          itself by mistake (aliasing), and nothing drifts: a block is new unless these very bytes are in a pack.
Before    every save writes all bytes
After     every save writes the blocks that have changed
Price     Hashing all bytes. Recovery reads from many packs; a pack can go only when no manifest refers to it.
Exact     To the bit, and each block that is read is hashed again. It gains little for dense training: Adam changes
          nearly every weight and every moment in nearly every step (`changed_share`). It gains for rows of embeddings
          that a batch has not touched, frozen weights, experts that have got no token.
Left out  Blocks whose borders follow the contents, for data that shifts; compression of blocks.
Source    Muthitacharoen, Chen and Mazieres, "A Low-Bandwidth Network File System" (2001): blocks by hash. Eisenman et
          al., "Check-N-Run" (NSDI 2022): increments for recommendation models, whose tables change in few rows.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from .files import FILES, Files
from .manifest import CheckpointError

BLOCK = 2**16  # bytes
PACK, LIST = "pack-{:08}", "blocks-{:08}.json"


class BlockPlace(NamedTuple):
    """Where the bytes of a block are: the step whose pack has it, the first byte there, how many bytes."""

    pack: int
    begin: int
    nbytes: int


class Increment(NamedTuple):
    """What a save has come to: bytes of the state, blocks of it, bytes and blocks that were new."""

    nbytes: int
    blocks: int
    new_bytes: int
    new_blocks: int


class BlockStore:
    """Incremental saves of one rank's tensors in a folder of its own.

    block    bytes of a block; the last one of a tensor may be shorter
    files    what writes

    known    {hash: BlockPlace}, all blocks that retained saves refer to
    """

    def __init__(self, folder: str | Path, block: int = BLOCK, files: Files = FILES):
        self.folder, self.block, self.files = Path(folder), block, files
        files.make_folder(self.folder)
        self.known: dict[str, BlockPlace] = {}
        for step in self.steps():
            self.known.update(_places(self._manifest(step)))

    def steps(self) -> list[int]:
        """The steps that are saved."""
        names = (name for name in self.files.names(self.folder) if name.startswith("blocks-"))
        return [int(name[7:15]) for name in names if name.endswith(".json")]

    def save(self, step: int, tensors: Mapping[str, Tensor]) -> Increment:
        """Write what is new of these tensors; it counts when this has returned, and not before.

        Raises ValueError for a step that is saved already, and OSError if the drive is full or fails.
        """
        if step in self.steps():
            raise ValueError(f"step {step} is saved already in {self.folder}")
        new: dict[str, memoryview] = {}
        places, manifest, end, total = dict(self.known), {}, 0, 0
        for name, tensor in tensors.items():
            listed = []
            for content in blocks(tensor, self.block):
                digest = hashed(content)
                if digest not in places:
                    places[digest] = BlockPlace(step, end, len(content))
                    new[digest], end = content, end + len(content)
                listed.append([digest, *places[digest]])
                total += len(content)
            manifest[name] = {"dtype": str(tensor.dtype)[6:], "shape": list(tensor.shape), "blocks": listed}
        self._write(PACK.format(step), new.values())
        self._write(LIST.format(step), [json.dumps(manifest).encode()])  # the commit
        self.known = places
        return Increment(total, sum(len(of["blocks"]) for of in manifest.values()), end, len(new))

    def _write(self, name: str, pieces: Iterable) -> None:
        partial = self.folder / f"{name}.partial"
        self.files.write(partial, pieces)
        self.files.rename(partial, self.folder / name)
        self.files.sync_folder(self.folder)

    def _manifest(self, step: int) -> dict:
        path = self.folder / LIST.format(step)
        content = np.empty(self.files.size(path), dtype=np.uint8)
        with self.files.reading(path) as read:
            read(0, content)
        return json.loads(content.tobytes())

    def load(self, step: int) -> dict[str, Tensor]:
        """The tensors of a step. Raises CheckpointError if a block is not what was written, or its pack is gone."""
        found = {}
        for name, of in self._manifest(step).items():
            tensor = torch.empty(of["shape"], dtype=getattr(torch, of["dtype"]))
            if of["blocks"]:
                content = np.concatenate([self._block(*listed) for listed in of["blocks"]])
                tensor = torch.from_numpy(content).view(tensor.dtype).reshape(of["shape"])
            found[name] = tensor
        return found

    def _block(self, digest: str, pack: int, begin: int, nbytes: int) -> np.ndarray:
        path, content = self.folder / PACK.format(pack), np.empty(nbytes, dtype=np.uint8)
        try:
            with self.files.reading(path) as read:
                read(begin, content)
        except OSError as error:
            raise CheckpointError(error.errno, f"{path} cannot be read: {error.strerror}") from error
        if hashed(content) != digest:
            raise CheckpointError(0, f"{path} is damaged: bytes {begin:,} to {begin + nbytes:,} are not what was saved")
        return content

    def keep(self, steps: Sequence[int]) -> int:
        """Forget all other saves, and delete the packs that none of these refers to; bytes that this frees.

        A pack that is older than all of them stays as long as one block of it is in use.
        """
        manifests = {step: self._manifest(step) for step in self.steps() if step in steps}
        self.known = {digest: place for own in manifests.values() for digest, place in _places(own).items()}
        for step in self.steps():
            if step not in steps:
                self.files.remove(self.folder / LIST.format(step))
        self.files.sync_folder(self.folder)  # a manifest must not outlive its packs
        used, freed = {place.pack for place in self.known.values()} | set(steps), 0
        for name in self.files.names(self.folder):
            if name.startswith("pack-") and (name.endswith(".partial") or int(name[5:13]) not in used):
                freed += self.files.size(self.folder / name)
                self.files.remove(self.folder / name)
        return freed


def _places(manifest: dict) -> dict[str, BlockPlace]:
    return {digest: BlockPlace(*place) for of in manifest.values() for digest, *place in of["blocks"]}


def blocks(tensor: Tensor, size: int) -> list[memoryview]:
    """The bytes of a tensor, in blocks of `size`; the last one may be shorter."""
    flat = tensor.detach().cpu().contiguous().reshape(-1)
    content = memoryview(flat.view(torch.uint8).numpy().data) if flat.numel() else memoryview(b"")
    return [content[first : first + size] for first in range(0, len(content), size)]


def hashed(content: Any) -> str:
    """32 hexadecimal digits that no other block has, for all that chance or a training will ever do (BLAKE2b)."""
    return hashlib.blake2b(content, digest_size=16).hexdigest()


# Differences with a threshold ----------------------------------------------------------------------------------------


def changed_share(before: Tensor, after: Tensor) -> float:
    """The share of elements whose bits differ."""
    size = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[before.element_size()]
    return (before.contiguous().view(size) != after.contiguous().view(size)).double().mean().item()


class ThresholdDelta:
    """Saves only elements that have moved by more than eps since they were last *saved*: Delta = {p : |dp| > eps}.

    The image, which is what a recovery would give, is then within eps of the state after every save. Compared with
    the value of the step before instead, steps that are smaller than eps are never saved, and add up without bound.

    state    the first state, saved as a whole; the image is a copy of it (an alias would change with the state, and no
             element would ever differ)
    """

    def __init__(self, state: Tensor, eps: float):
        self.eps, self.image = eps, state.detach().clone()

    def save(self, state: Tensor) -> tuple[Tensor, Tensor]:
        """(indices int64, values) of the elements that are saved now; the image has them afterwards."""
        now, image = state.detach().reshape(-1), self.image.view(-1)
        moved = ((now - image).abs() > self.eps).nonzero().squeeze(1)
        image[moved] = now[moved]
        return moved, now[moved]

    @staticmethod
    def apply(image: Tensor, indices: Tensor, values: Tensor) -> None:
        """Put one save's elements into an image, in place."""
        image.view(-1)[indices] = values

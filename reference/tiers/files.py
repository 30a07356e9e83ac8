"""A tier made of files: tensors by name, read ahead and written back, in a state that changes as a whole or not at all.

Idea      What does not fit into memory lies in files of this rank. `start_read` and `start_write` hand the work to an
          engine and return at once. A step rewrites many files on many ranks, and a job can die between any two of
          them; a mixture of two steps is worse than either. So each write makes a new file. `commit(step)` waits for
          the writes of all ranks, and then writes down in one file, the manifest, which files belong to the state:

              state 7   rank0.unit0.7   rank0.unit1.7   rank1.unit0.7   ...     manifest: 7
              writing   rank0.unit0.8   rank0.unit1.8   rank1.un                manifest: 7     dies here: state 7
              commit    rank0.unit0.8   rank0.unit1.8   rank1.unit0.8   ...     manifest: 8     then state 7 is deleted

          The manifest is renamed into its place, which is atomic. Who opens the folder finds the state that it names,
          and deletes what is left of any other.
Price     On the drive, twice the bytes of what a step changes. Frameworks overwrite in place, and after a crash go back
          to a checkpoint elsewhere.
Exact     Real files on the virtual cluster, too; there the clock is charged what `tier` takes for their bytes.
Source    Rajbhandari et al., "ZeRO-Infinity: Breaking the GPU Memory Wall for Extreme Scale Deep Learning" (2021),
          section 6.3 (DeepNVMe); the manifest is how databases commit (shadow paging).
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from torch import Tensor

from ..agreement import agree
from .blocks import Blocks, Format, TierError
from .engine import Engine, Job
from .flush import flush_folder
from .tier import FREE, Tier

MANIFEST = "manifest.json"


class FileTier:
    """Tensors of this rank in files of a folder, which all ranks name alike (it may be on a drive of each node).

        below = FileTier(comm, "/nvme/run7", tier("NVMe, 4 of Gen 4"))
        below.start_write("unit0", tensor)   # returns at once; the tensor must not change before the commit
        below.commit(step)                   # now the state of this step is whole, on all ranks, or none of it
        below.start_read("unit0", tensor).wait()

    tier     what the virtual clock is charged for; real ranks take the time they take
    format   chunks, direct or buffered, chunks under way (blocks.Format)
    duplex   reading and writing go on at the same time; else one engine does both
    pwrite   takes the place of os.pwrite, for tests

    below.step, below.note           of the state that is whole; None if there is none
    below.bytes_read, bytes_written  of tensors, asked for so far
    Raises ValueError on every rank if the state in the folder was written by another number of ranks.
    """

    def __init__(
        self,
        comm: Any,
        folder: str | os.PathLike,
        tier: Tier = FREE,
        format: Format = Format(),  # noqa: B008, a constant
        duplex: bool = True,
        pwrite: Callable = os.pwrite,
    ):
        self.comm, self.folder, self.tier = comm, Path(folder), tier
        self.blocks = Blocks(format, pwrite)
        self.reads = Engine(comm, f"from {tier.name}" if duplex else tier.name)
        self.writes = Engine(comm, f"to {tier.name}") if duplex else self.reads
        self.bytes_read = self.bytes_written = 0
        self._writing: dict[str, tuple[str, Job]] = {}  # what has been written since the last commit: name -> file, job
        self.step: int | None = None
        self.note: Any = None
        self._generation = 0
        self._files: dict[str, str] = {}  # name -> file of the state that is whole
        self._open()

    # Reading and writing ----------------------------------------------------------------------------------------------

    def __contains__(self, name: str) -> bool:
        return name in self._writing or name in self._files

    def start_read(self, name: str, target: Tensor, after: Sequence[Job] = ()) -> Job:
        """Begin to read a tensor into `target`, which must have its bytes: the last one that was written here.

        wait() raises TierError if it is damaged, cut off or missing.
        Raises KeyError if nothing of this name was written.
        """
        if name in self._writing:
            file, written = self._writing[name]
            after = [*after, written]
        else:
            file = self._files[name]
        self.bytes_read += target.nbytes
        path, seconds = self.folder / file, self.tier.reading(target.nbytes)
        return self.reads.submit(name, seconds, lambda: self.blocks.read(path, target), after, target.nbytes)

    def start_write(self, name: str, source: Tensor, after: Sequence[Job] = ()) -> Job:
        """Begin to write a tensor, which must not change before the job has ended. It counts from the next commit on.

        wait() raises TierError if the drive is full or fails; so does commit, on every rank.
        """
        file = f"rank{self.comm.rank}.{name}.{self._generation + 1}"
        if name in self._writing:  # twice in one step: the second must not begin before the first has ended
            after = [*after, self._writing[name][1]]
        self.bytes_written += source.nbytes
        path, seconds = self.folder / file, self.tier.writing(source.nbytes)
        job = self.writes.submit(name, seconds, lambda: self.blocks.write(path, source), after, source.nbytes)
        self._writing[name] = file, job
        return job

    # The state as a whole ---------------------------------------------------------------------------------------------

    def commit(self, step: int, error: str = "", note: Any = None) -> None:
        """Wait for what is being written, on all ranks, and make it the state of this step. Collective.

        error: what else has gone wrong on this rank; then nothing is committed. note: what this rank keeps with the
        state, as JSON can tell it.
        Raises TierError on every rank if a write has failed on one; the state before it stays whole, in `step`.
        """
        error = error or self._failed()
        if error and self.step is not None:
            error += f". The state of step {self.step} is whole"
        files = self._files | {name: file for name, (file, _) in self._writing.items()}
        try:
            agree(self.comm, error=error, raises=TierError)
            self._write_manifest(step, self.comm.gather((files, note), root=0))
        except TierError:
            self.rollback()
            raise
        superseded = set(self._files.values()) - set(files.values())
        self.step, self.note, self._generation = step, note, self._generation + 1
        self._files, self._writing = files, {}
        self._delete(superseded)

    def rollback(self) -> None:
        """Forget, and delete, what has been written since the last commit."""
        self._failed()
        self._delete({file for file, _ in self._writing.values()})
        self._writing = {}

    def nbytes_on_drive(self) -> int:
        """Bytes of this rank's files now, with their heads."""
        return sum(path.stat().st_size for path in self.folder.glob(f"rank{self.comm.rank}.*"))

    def _failed(self) -> str:
        """Wait for the writes that are under way; what went wrong with the first that failed."""
        errors = []
        for _, job in self._writing.values():
            try:
                job.wait()
            except TierError as error:
                errors.append(error.strerror)
        return errors[0] if errors else ""

    def _open(self) -> None:
        """Find the state that the manifest names, and delete what is left of others. Collective."""
        error = ""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as found:
            error = f"the folder {self.folder} cannot be made: {found.strerror}"
        agree(self.comm, error=error)
        manifest = self.comm.bcast(self._read_manifest() if self.comm.rank == 0 else None, root=0)
        self._generation = manifest["generation"]
        if manifest["step"] is not None:
            if len(manifest["files"]) != self.comm.size:
                raise ValueError(
                    f"the state in {self.folder} is that of {len(manifest['files'])} ranks, and {self.comm.size} are "
                    f"running: start as many, or choose another folder"
                )
            self.step, self._files = manifest["step"], manifest["files"][self.comm.rank]
            self.note = manifest["notes"][self.comm.rank]
        ours = {path.name for path in self.folder.glob(f"rank{self.comm.rank}.*")}
        self._delete(ours - set(self._files.values()))

    def _read_manifest(self) -> dict:
        path = self.folder / MANIFEST
        return json.loads(path.read_text()) if path.exists() else {"generation": 0, "step": None, "files": []}

    def _write_manifest(self, step: int, of_ranks: list[tuple[dict[str, str], Any]] | None) -> None:
        """Rank 0 says in one stroke what the state is. Raises TierError on every rank if it cannot. Collective."""
        error = ""
        if of_ranks is not None:  # rank 0
            files, notes = map(list, zip(*of_ranks))
            path, partial = self.folder / MANIFEST, self.folder / (MANIFEST + ".partial")
            try:
                with open(partial, "w") as file:
                    json.dump({"generation": self._generation + 1, "step": step, "files": files, "notes": notes}, file)
                    file.flush()
                    os.fsync(file.fileno())
                os.replace(partial, path)
                flush_folder(self.folder)
            except OSError as found:
                error = f"{path} cannot be written: {found.strerror}. The state of step {self.step} is whole"
        agree(self.comm, error=error, raises=TierError)

    def _delete(self, files: set[str]) -> None:
        for file in files:
            (self.folder / file).unlink(missing_ok=True)
            (self.folder / (file + ".partial")).unlink(missing_ok=True)

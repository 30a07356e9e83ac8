"""A store with tiers: tensors by name in an accelerator's memory of so many bytes, and in the tiers below it.

Idea      The accelerator has a budget of bytes, which is enforced. What is not in use goes down to the first tier that
          has room (the host's memory, files, an object store), and comes up again when it is wanted. Copies go on
          beside the computing, with an engine for each direction of each tier. Nothing is read before its copy is
          whole, and nothing is freed before its copy below is.

              here      |aaaa|bbbb|cccc|    put c: a is the one that was used longest ago
              below     |aaaa|              a goes down; its memory is free when that has ended

          Bytes count until they are really free: a tensor that the program still holds is in the accelerator's memory,
          whatever the store thinks of it.
Exact     `lowest_budget` is the least that a program can do with: at one moment it holds that much by itself. One byte
          less is refused there, with the number of bytes missing, and so is nothing else.
          An error in a tier is an error where the tensor is used next, and never a wrong value: a write that failed, a
          checksum that differs, a tier that is gone; and a tensor that was changed while a copy of it was on its way.
Left out  An accelerator's own memory: tensors here lie in the host's memory, and the budget counts. What a tier below
          gives on to the next when it is full. Tensors that share memory, except through saved_tensors.py.
Source    Rajbhandari et al., "ZeRO-Infinity: Breaking the GPU Memory Wall for Extreme Scale Deep Learning" (2021),
          section 6: one data path over the memories of accelerator, host and drives.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from torch import Tensor

from .blocks import TierError
from .budget import ByteBudget
from .engine import Engine
from .huge_pages import empty_on_a_page
from .stored import StoredTensor, StoreTier, bare, least_recent


class TieredStore:
    """Tensors by name in `budget` bytes of an accelerator, and in tiers below.

        store = TieredStore(comm, 10**9, [StoreTier(HostStorage(), tier("host, PCIe 4"))])
        store.put("weights", tensor)              # the store has it now: forget yours
        with store.use("weights", "bias") as (weights, bias):
            ...                                   # both are here; changes count

    comm      whose clock runs while copies are waited for
    budget    bytes; None: as many as are wanted, and `store.budget.peak` tells how many that were
    below     the tiers, fastest first
    leaves    (entries, names) -> the name of the tensor that leaves first

    store.budget.used, .peak           bytes here now, and the most there were
    store.bytes_up, .bytes_down        that were copied
    Raises OverBudget for what cannot be here at once.
    """

    def __init__(
        self,
        comm: Any,
        budget: int | None,
        below: Sequence[StoreTier],
        leaves: Callable[[dict[str, StoredTensor], Sequence[str]], str] = least_recent,
    ):
        self.comm, self.budget, self.below, self.leaves = comm, ByteBudget(budget), list(below), leaves
        self.reads = [Engine(comm, f"from {one.tier.name}") for one in self.below]
        self.writes = [Engine(comm, f"to {one.tier.name}") for one in self.below]
        self.held_below = [0] * len(self.below)
        self.bytes_up = self.bytes_down = 0
        self.frugal = False  # keep as little here as is possible
        self._entries: dict[str, StoredTensor] = {}
        self._going: list[StoredTensor] = []  # with a copy on its way down
        self._clock = 0

    # What a program calls ---------------------------------------------------------------------------------------------

    def __contains__(self, name: str) -> bool:
        return name in self._entries

    def __getitem__(self, name: str) -> StoredTensor:
        return self._entries[name]

    def put(self, name: str, tensor: Tensor, frozen: bool = False) -> None:
        """Take a tensor over, which has its memory to itself. Raises OverBudget, KeyError if there is one already.

        frozen: nobody may change it from now on; if somebody does, its next use raises that.
        """
        if name in self._entries:
            raise KeyError(f"the store has a tensor {name!r} already: drop it first")
        whole = tensor.untyped_storage().nbytes() == tensor.nbytes and tensor.is_contiguous()
        if not whole or tensor.device.type != "cpu":
            raise ValueError(f"{name}: the store takes contiguous tensors of the host that have their memory alone")
        if tensor not in self.budget:
            self._make_room(tensor.nbytes, f"put {name}")
            self.budget.count(tensor, tensor.nbytes)
        self._entries[name] = entry = StoredTensor(tensor, frozen)
        self._touch(entry)

    @contextmanager
    def use(self, *names: str) -> Iterator[tuple[Tensor, ...]]:
        """The tensors of these names, all here at once, until the block ends. Raises what went wrong with them.

        What you call them counts until you let go of it, too: `del` it, or use them in a function.
        """
        taken, found = [], []
        try:
            for name in names:
                found.append(self.take(name))
                taken.append(name)
            yield tuple(found)
        finally:
            found.clear()
            for name in taken:
                self.release(name)

    def take(self, name: str) -> Tensor:
        """The tensor, which stays here until `release`. Raises KeyError, OverBudget, or what went wrong with it."""
        entry = self._entries[name]
        self.collect()
        self._look(entry)
        entry.leaving = False
        if entry.error:
            raise entry.error
        if entry.here is None:
            self._start_up(name, entry)
        self._arrive(entry)
        self._touch(entry)
        entry.pins += 1
        return entry.here

    def release(self, name: str) -> None:
        """The tensor need not stay here any longer."""
        entry = self._entries[name]
        entry.pins -= 1
        self._look(entry)

    def start_down(self, name: str, stay: bool = True) -> None:
        """Begin to copy a tensor to the first tier that has room.

        stay: it is here until it must make room; else it is let go as soon as the copy is whole and nobody uses it.
        """
        entry = self._entries[name]
        self._look(entry)
        if entry.here is not None and not entry.clean and entry.down is None and not entry.error:
            self._write(name, entry)
        entry.leaving = not stay and not entry.pins
        if entry.leaving and entry.clean:
            self._let_go(entry)

    def start_up(self, name: str) -> bool:
        """Begin to bring a tensor back, if there is room for it at once; whether it is here, or coming."""
        entry = self._entries[name]
        self.collect()
        if entry.here is None and not entry.error and not self.frugal:
            if self.budget.missing(entry.nbytes) > 0:
                return False
            self._start_up(name, entry)
        return entry.here is not None

    def drop(self, name: str) -> None:
        """Forget a tensor, here and below."""
        entry = self._entries.pop(name)
        for job in (entry.down, entry.up):
            if job is not None:
                job.settle()
        entry.down = None
        if entry.below is not None:
            with suppress(OSError):  # a tier that is gone has forgotten it, too
                self.below[entry.below].storage.delete(name)
            self.held_below[entry.below] -= entry.nbytes

    def drain(self) -> None:
        """Wait for all copies. What went wrong with one is told where its tensor is used."""
        for entry in list(self._entries.values()):
            if entry.down is not None:
                self._ended(entry)
            if entry.up is not None:
                self._arrive(entry, quietly=True)

    # Room -------------------------------------------------------------------------------------------------------------

    def collect(self) -> None:
        """See which copies have ended by now, and let go what was waiting for them."""
        for engine in self.writes:
            engine.poll()
        self._going = [entry for entry in self._going if entry.down is not None]
        for entry in self._going:
            if entry.down is not None and entry.down.done:  # one whose copy was begun again is in the list twice
                self._ended(entry)

    def _make_room(self, nbytes: int, what: str) -> None:
        """Let tensors go until there is room. Raises OverBudget if all that can go is gone, and it is not enough."""
        self.collect()
        while (self.frugal or self.budget.missing(nbytes) > 0) and self._let_one_go():
            pass
        self.budget.ask(nbytes, what)

    def _let_one_go(self) -> bool:
        """Free the memory of one tensor, or begin to, or wait until that has ended; whether there was one."""
        idle = {name: entry for name, entry in self._entries.items() if entry.here is not None and not entry.pins}
        for entry in idle.values():
            self._look(entry)
        if whole := [name for name, entry in idle.items() if (entry.clean or entry.error) and entry.up is None]:
            self._let_go(idle[self.leaves(self._entries, whole)])
        elif leaving := [entry for entry in idle.values() if entry.leaving]:
            self._ended(leaving[0])
        elif stays := [name for name, entry in idle.items() if entry.up is None]:
            self.start_down(self.leaves(self._entries, stays), stay=False)
        elif coming := [entry for entry in idle.values() if entry.up is not None]:
            self._arrive(coming[0], quietly=True)
        else:
            return False
        return True

    def _let_go(self, entry: StoredTensor) -> None:
        entry.here, entry.leaving = None, False

    # Copies -----------------------------------------------------------------------------------------------------------

    def _touch(self, entry: StoredTensor) -> None:
        self._clock += 1
        entry.used = self._clock

    def _look(self, entry: StoredTensor) -> None:
        """See whether a tensor was changed since it was last looked at: then the copy below is not what it is."""
        if entry.here is None or entry.up is not None or entry.here._version == entry.version:
            return
        if entry.frozen and entry.clean:
            return self._let_go(entry)  # what was put is below
        if entry.frozen or entry.leaving:
            entry.error = RuntimeError("the tensor was changed in place after the store had got it")
        if entry.down is not None:
            entry.down.settle()
            entry.down = None
        entry.version, entry.clean = entry.here._version, False

    def _write(self, name: str, entry: StoredTensor) -> None:
        """Begin to copy it to a tier."""
        if entry.below is None:
            room = [k for k, one in enumerate(self.below) if self.held_below[k] + entry.nbytes <= one.capacity]
            if not room:
                most = max(one.capacity - self.held_below[k] for k, one in enumerate(self.below))
                said = f"{name}: no tier below has room for {entry.nbytes:,} bytes more; the most is {most:,}"
                raise TierError(errno.ENOSPC, said)
            entry.below = room[0]
            self.held_below[entry.below] += entry.nbytes
        source, below = entry.here, self.below[entry.below]
        self.bytes_down += entry.nbytes
        seconds = below.tier.writing(entry.nbytes)
        action = lambda: below.storage.write(name, source)  # noqa: E731
        entry.down = self.writes[entry.below].submit(name, seconds, action, (), entry.nbytes)
        self._going.append(entry)

    def _ended(self, entry: StoredTensor) -> None:
        """Wait for the copy to a tier, and see whether it can be relied upon."""
        job, entry.down = entry.down, None
        try:
            job.wait()
        except Exception as error:
            entry.error = bare(error)
        self._look(entry)
        entry.clean = entry.error is None
        if entry.leaving:
            self._let_go(entry)

    def _start_up(self, name: str, entry: StoredTensor) -> None:
        """Begin to bring a tensor back into memory of its own."""
        self._make_room(entry.nbytes, f"use {name}")
        below = self.below[entry.below]
        entry.here = target = empty_on_a_page(entry.shape, entry.dtype)
        self.budget.count(target, entry.nbytes)
        self._touch(entry)
        self.bytes_up += entry.nbytes
        seconds = below.tier.reading(entry.nbytes)
        action = lambda: below.storage.read(name, target)  # noqa: E731
        entry.up = self.reads[entry.below].submit(name, seconds, action, (), entry.nbytes)

    def _arrive(self, entry: StoredTensor, quietly: bool = False) -> None:
        """Wait for the copy from a tier. Raises what went wrong, unless `quietly`."""
        if entry.up is None:
            return
        job, entry.up = entry.up, None
        try:
            job.wait()
            entry.version = entry.here._version
        except Exception as error:
            entry.error, entry.here, entry.clean = bare(error), None, False
        if entry.error and not quietly:
            raise entry.error


def lowest_budget(comm: Any, below: Sequence[StoreTier], program: Callable[[TieredStore], object]) -> int:
    """The least budget with which a program of a store can be carried out: bytes that it holds at once by itself.

    program(store) is carried out once, with a store that keeps nothing here that can be below.
    """
    store = TieredStore(comm, None, below)
    store.frugal = True
    program(store)
    return store.budget.needed

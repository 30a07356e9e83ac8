"""Activations that go down while the forward pass goes on, and come back before the backward pass wants them.

Idea      Autograd keeps tensors for the backward pass. `saved_tensors_hooks` hands each of them to us when it is saved,
          and asks for it when it is wanted. In between it may be anywhere. The backward pass wants them in the opposite
          order. So what was saved first goes down first, and while one is used, those saved before it are on their way
          back:

              forward    save 0   save 1   save 2   save 3          0 and 1 go down, 2 and 3 fit into the budget
              backward                     use 3    use 2    use 1    use 0
                                           1 comes  0 comes

          A step after the first knows how much follows. What will still fit at the end of the forward pass is never
          copied down.
Before    the bytes of all activations, at the end of the forward pass
After     `budget`, down to what an operation of the model and its autograd hold at once by themselves
Price     each byte that does not fit goes down once and comes up once
Exact     The bits that come back are those that went (storages.py has checksums), so losses and gradients are those of
          the run that keeps everything. A tensor that several operations save, or views of one memory, go down once.
Left out  Double backward through what was put away; choosing for each tensor whether to compute it again instead.
Source    torch.autograd.graph.saved_tensors_hooks and save_on_cpu; Rhu et al., "vDNN" (MICRO 2016): offload and
          prefetch by layer.
Try       saved = OffloadedActivations(TieredStore(comm, 10**6, [StoreTier(HostStorage())]), model.parameters())
          with saved:
              loss = model(x).sum()
          loss.backward()
"""

from __future__ import annotations

import weakref
from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from itertools import accumulate
from math import inf

import torch
from torch import Tensor
from torch.utils._python_dispatch import _disable_current_modes

from .store import TieredStore
from .stored import StoredTensor


class _Kept:
    """A tensor that stays with autograd, and what its version is."""

    def __init__(self, tensor: Tensor):
        self.tensor, self.version = tensor.detach(), tensor._version


class _Saved:
    """What autograd holds in place of a tensor: the name of the memory that it is a view of, and which view."""

    def __init__(self, name: str, tensor: Tensor):
        self.name, self.dtype = name, tensor.dtype
        self.view = tensor.size(), tensor.stride(), tensor.storage_offset()


class OffloadedActivations:
    """What autograd saves inside of `with`, in a store with tiers.

    store      whose budget it shares; what is saved is called "saved 0", "saved 1", ... there
    stay       tensors that are here anyway: parameters, the batch; not counted
    smallest   bytes; what is smaller stays, and is not counted

    One object serves all steps, entered anew in each. `saved.nbytes`: what was saved in the last one, each memory once.
    Raises OverBudget, with the number of bytes missing, where the program holds more than the budget by itself, and in
    the backward pass what went wrong with a tensor.
    """

    def __init__(self, store: TieredStore, stay: Iterable[Tensor] = (), smallest: int = 1024):
        self.store, self.smallest, self.nbytes = store, smallest, 0
        self.stay = {tensor.untyped_storage()._cdata for tensor in stay}
        self._sizes: list[int] = []  # of this step, in the order of saving
        self._follow: list[int] = []  # of the last step: bytes saved from this one on
        self._wanted: list[str] = []  # names, in the order in which this step's backward pass wants them
        self._order: list[str] = []  # the same of the last step
        self._memories: dict[int, tuple[weakref.ref, int, str]] = {}  # itself, its version, its name
        self._holders: Counter[str] = Counter()
        self._done: deque[str] = deque()  # names of which autograd has let one go; any thread may say so
        self._hooks = ExitStack()
        store.leaves = self._wanted_last

    def __enter__(self) -> OffloadedActivations:
        self._forget()
        self._follow = list(accumulate(reversed(self._sizes)))[::-1]
        self._order, self._wanted, self._sizes, self.nbytes = self._wanted, [], [], 0
        self._hooks.enter_context(torch.autograd.graph.saved_tensors_hooks(self._pack, self._unpack))
        return self

    def __exit__(self, *_) -> None:
        self._hooks.close()

    # The hooks --------------------------------------------------------------------------------------------------------

    def _pack(self, tensor: Tensor) -> _Saved | _Kept:
        """What autograd holds in place of a tensor that it saves."""
        memory = tensor.untyped_storage()
        if memory._cdata in self.stay or memory.nbytes() < self.smallest or memory.nbytes() % tensor.itemsize:
            return _Kept(tensor)
        self._forget()
        found, version, name = self._memories.get(memory._cdata, (None, -1, ""))
        if found is None or found() is not memory or version != tensor._version or name not in self.store:
            name = self._save(tensor)
        held = _Saved(name, tensor)
        self._holders[name] += 1
        weakref.finalize(held, self._done.append, name).atexit = False
        return held

    def _unpack(self, held: _Saved | _Kept) -> Tensor:
        """The tensor again; those that are wanted next start to come back."""
        if isinstance(held, _Kept):
            if held.tensor._version != held.version:
                raise RuntimeError("a tensor that is needed for the backward pass was changed in place")
            return held.tensor
        self._forget()
        self._wanted.append(held.name)
        whole = self.store.take(held.name)
        self.store.release(held.name)  # it counts as long as autograd holds it
        for name in self._next():
            if name in self.store and not self.store.start_up(name):
                break
        with _disable_current_modes(), torch.no_grad():
            whole = whole.view(held.dtype)
            size, stride, offset = held.view
            return whole.as_strided(size, stride, whole.storage_offset() + offset)

    # What is wanted when ----------------------------------------------------------------------------------------------

    def _next(self) -> list[str]:
        """The names that the backward pass wants next: as in the last step, else what was saved before this one."""
        count = len(self._wanted)
        if self._order[:count] == self._wanted:
            return self._order[count:]
        return [_name(number) for number in range(_number(self._wanted[-1]) - 1, -1, -1)]

    def _wanted_last(self, stored: Mapping[str, StoredTensor], names: Sequence[str]) -> str:
        """Of these the one that leaves first: what the backward pass wants last, by what was saved first."""
        return min(names, key=_number)

    # ------------------------------------------------------------------------------------------------------------------

    def _save(self, tensor: Tensor) -> str:
        """Give the memory of a tensor to the store, and begin to copy it down unless it will still fit at the end."""
        memory, number = tensor.untyped_storage(), len(self._sizes)
        with _disable_current_modes(), torch.no_grad():
            whole = tensor.detach().as_strided((memory.nbytes() // tensor.itemsize,), (1,), 0)
        if (name := _name(number)) in self.store:
            self.store.drop(name)  # of a step that had no backward pass
        self.store.put(name, whole, frozen=True)
        self._memories[memory._cdata] = weakref.ref(memory), tensor._version, name
        self._sizes.append(memory.nbytes())
        self.nbytes += memory.nbytes()
        if (self._follow[number] if number < len(self._follow) else inf) > self.store.budget.limit:
            self.store.start_down(name)
        return name

    def _forget(self) -> None:
        """Drop what autograd holds no longer."""
        while self._done:
            name = self._done.popleft()
            self._holders[name] -= 1
            if not self._holders[name] and name in self.store:
                self.store.drop(name)


def _name(number: int) -> str:
    return f"saved {number}"


def _number(name: str) -> int:
    return int(name.removeprefix("saved "))

"""A budget of bytes: counts memory until it is free, and refuses what does not fit.

Idea      Memory is in use as long as anything refers to it, whoever that is. So each memory behind a tensor is counted
          from the moment at which the store has it until the last reference to it is gone; tensors that share memory
          count once.
Exact     `needed` is the largest sum of what was in use and what was wanted on top.
"""

from __future__ import annotations

import weakref
from math import inf

from torch import Tensor


class OverBudget(MemoryError):
    """The budget is too small for what is wanted at once. missing: by so many bytes."""

    def __init__(self, said: str, missing: int):
        super().__init__(said)
        self.missing = missing


class ByteBudget:
    """`limit` bytes; None: as many as are wanted. used: now; peak: the most; needed: the most that was asked for."""

    def __init__(self, limit: int | None):
        self.limit = inf if limit is None else limit
        self.used = self.peak = self.needed = 0
        self._counted: dict[int, tuple[weakref.ref, int]] = {}  # by the address of what manages the memory

    def __contains__(self, tensor: Tensor) -> bool:
        return tensor.untyped_storage()._cdata in self._counted

    def missing(self, nbytes: int) -> float:
        """How many bytes too few there are for so many more."""
        return self.used + nbytes - self.limit

    def ask(self, nbytes: int, what: str) -> None:
        """Raise OverBudget unless there is room for so many more."""
        self.needed = max(self.needed, self.used + nbytes)
        if (missing := self.missing(nbytes)) > 0:
            raise OverBudget(
                f"{what}: {nbytes:,} bytes are wanted, and {self.used:,} of the budget of {self.limit:,} are in use by "
                f"the program itself: {missing:,} bytes are missing",
                int(missing),
            )

    def count(self, tensor: Tensor, nbytes: int) -> None:
        """Count so many bytes for the memory of a tensor, until it is free."""
        storage = tensor.untyped_storage()
        address = storage._cdata
        self._counted[address] = weakref.ref(storage, lambda _: self._free(address)), nbytes
        self.used += nbytes
        self.peak = max(self.peak, self.used)

    def _free(self, address: int) -> None:
        self.used -= self._counted.pop(address)[1]

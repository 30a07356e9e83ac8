"""What a store with tiers knows of each tensor and of each tier below: records, and the choice of what leaves first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from typing import NamedTuple

from torch import Tensor

from .engine import Job
from .storages import ByteStorage
from .tier import FREE, Tier


class StoreTier(NamedTuple):
    """A tier below: what keeps its bytes, what its copies take on the virtual clock, how many bytes it may hold."""

    storage: ByteStorage
    tier: Tier = FREE
    capacity: float = inf


class StoredTensor:
    """One tensor of a store: where it is, and what is under way with it.

    here      the tensor, if it is in the accelerator's memory; version: what it was when it was last looked at
    below     the number of the tier that has a copy, or to which one is on its way; None: there is none
    clean     that copy is whole, and is what the tensor is now
    leaving   `here` is let go when the copy is whole
    frozen    nobody may change it
    pins      how many use it now; used: when it was used last, by a counter
    down, up  the copies that are under way; error: what went wrong with one
    """

    def __init__(self, tensor: Tensor, frozen: bool = False):
        self.nbytes, self.shape, self.dtype = tensor.nbytes, tensor.shape, tensor.dtype
        self.frozen = frozen
        self.here: Tensor | None = tensor
        self.version: int = tensor._version
        self.below: int | None = None
        self.clean = self.leaving = False
        self.pins = self.used = 0
        self.down: Job | None = None
        self.up: Job | None = None
        self.error: Exception | None = None


def least_recent(stored: Mapping[str, StoredTensor], names: Sequence[str]) -> str:
    """Of these tensors the one that was used longest ago."""
    return min(names, key=lambda name: stored[name].used)


def bare(error: Exception) -> Exception:
    """The error without the frames in which it arose: these would keep tensors alive that are let go."""
    error.__traceback__ = error.__cause__ = error.__context__ = None
    return error

"""Verdict: what a training run has verified, and what it has not.

Idea      Two things can be compared: the weights of all ranks, bit by bit, and the losses with those of the serial
          program on the same batches. Where a technique changes the losses (compression, late gradients), only the
          first is left, and the verdict says so.
Price     The serial program on rank 0, while the others wait: for small models.
Exact     All ranks may hold the same NaN, bit by bit, and so may the serial program. That is a training which has
          diverged, and verifies nothing. So losses and weights are looked at first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from torch import nn

from ..verify import Comparison, compare
from . import replicate

TOLERANCE = 1e-3  # relative: by how much a loss may be off the serial one after many rounded steps


class Verdict(NamedTuple):
    """What was compared. True if something was, and all of it is equal.

    same_bits     whether all ranks hold the same weights; None: not compared, for there is one rank, or no result
    losses_equal  whether the losses are the serial program's but for rounding; None: not compared
    off_serial    by how much they are off, relative, at most; infinite if there is no such number
    inexact       why the losses may differ, or nothing
    why           what is wrong, or nothing
    """

    same_bits: bool | None
    losses_equal: bool | None
    off_serial: float
    inexact: str = ""
    why: str = ""

    def __bool__(self) -> bool:
        return not self.why and bool(self.same_bits or self.losses_equal)

    def __str__(self) -> str:
        if self.why:
            return f"NOT VERIFIED: {self.why}"
        bits = "the same bits on all ranks" if self.same_bits else "one rank has no other to compare its bits with"
        off = f"off the serial program's by {self.off_serial:.1e}"
        if self.inexact:
            checked = f"verified: {bits}; not verified: " if self.same_bits else f"nothing verified: {bits}; "
            return f"{checked}losses {off}, for {self.inexact}"
        return f"verified: {bits}; losses {off}" if self.same_bits else f"verified: losses {off}; {bits}"


def verify(
    comm, model: nn.Module, losses: Sequence[float], serial: Callable[[], Sequence[float]], inexact: str = ""
) -> Verdict:
    """Compare the ranks' models and the losses; the same Verdict on every rank.

    serial: gives the losses of the serial program; called on rank 0 only, and not if the training has diverged.
    inexact: why the losses may differ, if they may; then they are not compared, and only looked at.
    Collective. Raises replicate.Diverged on every rank if the models are not the same.
    """
    if why := comm.bcast(diverged(losses, model) if comm.rank == 0 else None, root=0):
        return Verdict(None, None, math.inf, inexact, why)
    replicate.check_replicas(comm, model)
    found = compare(list(losses), list(serial()), TOLERANCE, TOLERANCE) if comm.rank == 0 else None
    off = Comparison(*comm.bcast(found, root=0))
    bits = comm.size > 1 or None
    if inexact:
        return Verdict(bits, None, off.error, inexact)
    return Verdict(bits, bool(off), off.error, why=off.why and f"losses are not the serial program's: {off.why}")


def diverged(losses: Sequence[float], model: nn.Module) -> str:
    """Why losses and weights are no result, or nothing: the first step whose loss is NaN or infinite, or the weight."""
    if not losses:
        return "there is no loss to look at: take a step at least"
    bad = [step for step, loss in enumerate(losses) if not math.isfinite(loss)]
    if not bad:
        found = replicate.not_finite(model)
        return found and f"after the last step {found}; try a smaller --rate"
    place = f"from step {bad[0]} on" if len(bad) == len(losses) - bad[0] else f"in step {bad[0]}"
    return f"loss is {losses[bad[0]]} {place}; try a smaller --rate"

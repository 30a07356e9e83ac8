"""Attention over a sequence that several ranks share: ring, Ulysses and gathered keys, against one rank with all of it.

    python benchmarks/attention.py              # 2 and 4 ranks, about three minutes
    python benchmarks/attention.py --quick      # 2 ranks, few turns

The same ranks, started by mpirun, go forward and backward through causal attention in turns; the time is that of the
slowest rank, on one thread. "no messages" is the ring with a communicator that brings zeros at once: what lies between
is exposed communication. "one rank" is the blockwise form of the whole sequence on rank 0, while the others wait, and
"torch, one rank" torch's own scaled_dot_product_attention. Where there are fewer cores than ranks, P ranks cannot be P
times as quick as one: the last column says how much of the cores' time a rank had.

Then the memory: bytes that wait for the backward pass and bytes at the peak, by the meter, for sequences of which each
is twice as long as the one before. Linear is a factor of 2, the scores of the usual form alone are a factor of 4.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from data_parallel import in_turns, jobs, quartiles
from tabulate import tabulate

LENGTHS = (512, 1024, 2048)
HEADS, GROUPS, WIDTH = 8, 8, 64  # of a head: d
TURNS = 12
SILENT, ONE, TORCH = "no messages", "one rank", "torch, one rank"
MEMORY = (512, 1024, 2048, 4096, 8192)


# On every rank ------------------------------------------------------------------------------------------------------


class Arrived:
    """A message that is there at once."""

    Waitall = staticmethod(lambda requests, statuses=None: None)


class Silent:
    """A communicator that sends nothing and receives zeros."""

    def __init__(self, comm):
        self.rank, self.size, self.kept = comm.rank, comm.size, {}

    def Isend(self, buffer, dest: int, tag: int = 0) -> Arrived:
        """Nothing."""
        return Arrived()

    def Irecv(self, buffer, source: int, tag: int = 0) -> Arrived:
        """Zeros."""
        buffer.zero_()
        return Arrived()


def there_and_back(attend: Callable, s: int) -> Callable[[], None]:
    """A forward and a backward pass for s tokens."""
    import torch

    q, k, v = (torch.randn(1, heads, s, WIDTH, requires_grad=True) for heads in (HEADS, GROUPS, GROUPS))
    dy = torch.randn(1, HEADS, s, WIDTH)

    def run() -> None:
        q.grad = k.grad = v.grad = None
        attend(q, k, v).backward(dy)

    return run


def on_rank_0(comm, run: Callable[[], None]) -> Callable[[], None]:
    """The same, where the other ranks do nothing."""
    return run if comm.rank == 0 else lambda: None


def programs(comm, s: int) -> dict[str, Callable[[], None]]:
    """All forms, for a sequence of s tokens."""
    import torch.nn.functional as F

    from reference.sequence_parallel import blockwise, layouts, masks
    from reference.sequence_parallel.gather_kv import gather_attention
    from reference.sequence_parallel.ring_attention import ring_attention
    from reference.sequence_parallel.ulysses import ulysses_attention

    zigzag, plain, part = layouts.zigzag(s, comm.size), layouts.contiguous(s, comm.size), s // comm.size
    whole = partial(blockwise.attention, queries=masks.packed([s]))
    forms = {
        "ring, zigzag": partial(ring_attention, comm, layout=zigzag, checked=False),
        "ring, contiguous": partial(ring_attention, comm, layout=plain, checked=False),
        "gathered keys": partial(gather_attention, comm, layout=zigzag, checked=False),
        "Ulysses": partial(ulysses_attention, comm, layout=plain, checked=False),
        SILENT: partial(ring_attention, Silent(comm), layout=zigzag, checked=False),
    }
    return {name: there_and_back(form, part) for name, form in forms.items()} | {
        ONE: on_rank_0(comm, there_and_back(whole, s)),
        TORCH: on_rank_0(comm, there_and_back(partial(F.scaled_dot_product_attention, is_causal=True), s)),
    }


def measure_all(comm, shorten: int) -> dict:
    """Of each length the times."""
    turns = max(TURNS // shorten, 4)
    return {str(s): in_turns(comm, programs(comm, s), turns, f"{s} tokens, {comm.size} ranks") for s in LENGTHS}


# The parent ---------------------------------------------------------------------------------------------------------


def memory() -> list[list[Any]]:
    """Rows: tokens, bytes kept and at the peak by the meter, each by those of half as many tokens."""
    import torch

    from reference.perf.meter import Meter
    from reference.sequence_parallel import blockwise, masks

    found: list[tuple[int, int, int]] = []
    for s in MEMORY:
        q, k, v = (torch.randn(1, 2, s, 16, requires_grad=True) for _ in range(3))
        with Meter() as meter:
            y = blockwise.attention(q, k, v, masks.packed([s]), block=128)
            kept = meter.live["activations"]
            y.sum().backward()
        found.append((s, kept, meter.peak["activations"]))
    rows: list[list[Any]] = []
    for (s, kept, peak), before in zip(found, [None, *found]):
        ratios = [f"{now / then:.2f}" for now, then in zip((kept, peak), before[1:])] if before else ["", ""]
        rows.append([f"{s:,}", f"{kept:,}", ratios[0], f"{peak:,}", ratios[1], f"{2 * 4 * s * s:,}"])
    return rows


def report(ranks: int, found: dict) -> None:
    """Print what was measured."""
    print(f"\n{found.pop('library')}, {ranks} ranks, one thread each: milliseconds, median (quartiles)")
    rows, ratios = [], []
    for s, measured in found.items():
        times = {what: np.asarray(seconds) for what, seconds in measured.items()}
        rows.append([f"{int(s):,} tokens", *(quartiles(seconds, 1e3) for seconds in times.values())])
        ring, silent = times["ring, zigzag"], times[SILENT]
        exposed = quartiles((ring - silent) / ring, 1, 2)
        ratios.append([f"{int(s):,} tokens", exposed, quartiles(ranks * ring / times[ONE], 1, 2)])
        ratios[-1] += [quartiles(times[ONE] / times[TORCH], 1, 2), f"{min(1.0, (os.cpu_count() or 1) / ranks):.2f}"]
    print(tabulate(rows, ["", *times], disable_numparse=True, stralign="right"))
    heads = ["", "exposed share of the ring", "P x ring / one rank", "one rank / torch", "cores a rank"]
    print(tabulate(ratios, heads, disable_numparse=True, stralign="right"))


def main() -> None:
    """Parent, or one of its ranks."""
    for P, found in jobs(__doc__, __file__, measure_all):
        report(P, found)
    print("\nbytes of blockwise attention, 2 heads of 16, float32; each by that of half as many tokens")
    heads = ["tokens", "kept", "", "at the peak", "", "scores of the usual form"]
    print(tabulate(memory(), heads, disable_numparse=True, stralign="right"))


if __name__ == "__main__":
    main()

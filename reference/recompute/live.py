"""Live bytes over one training step, by policy: what is kept, what is computed again, what is sent away.

Idea      Each policy is a schedule of a measured chain, and a schedule has its live bytes at every time (predict.py).
          What is sent away needs a link beside the computation. The record of a block leaves when the block has been
          computed, and its memory is free when the last byte has arrived. It comes back one block early: the room for
          record i is taken, and the copy begins, when link i + 1 begins to go backward.

              compute    F0 F1 F2 F3 F4 B4 B3 B2 B1 B0
              down          r0 r1 r2                        the last records stay: they are needed at once
              up                          r2 r1 r0

Exact     As predict.py for schedules: bytes and seconds are those of the chain. Both copies have engines of their own.
Left out  Slower computing while a copy uses the same memory; where a tensor lies in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from itertools import accumulate

from ..models import GPT, Data
from ..perf.roofline import Device
from .carry_out import gpt_links
from .chain import Chain, ChainOperation, backward, forward, keep_all
from .measure import measured
from .policies import policy, recompute
from .predict import timeline

Points = list[tuple[float, int]]  # (seconds, live bytes): so many from that time on
STAY = 2


def blocks_again(L: int, K: int) -> list[ChainOperation]:
    """The schedule of embedding, L blocks and head in which each K blocks keep the input of the first; K = 0: all is
    kept. Embedding and head are never computed again."""
    if not K:
        return keep_all(L + 2)
    runs = [range(first, min(first + K, L + 1)) for first in range(1, L + 1, K)]
    found = [forward(0, "all")]
    for run in runs:
        found += [forward(i, "nothing" if i > run[0] else "input") for i in run]
    found += [forward(L + 1, "all"), backward(L + 1)]
    for run in reversed(runs):
        found += [forward(i, "all") for i in run] + [backward(i) for i in reversed(run)]
    return [*found, backward(0)]


def points(chain: Chain, operations: Sequence[ChainOperation]) -> Points:
    """Live bytes over a schedule's time; during an operation, its peak. Raises ValueError as `chain.check` does."""
    found: Points = []
    for step in timeline(chain, operations):
        found += [(step.begin, step.peak), (step.end, step.after)]
    return found


def sent_away(chain: Chain, bandwidth: float) -> Points:
    """Live bytes if every record but the last two is sent away, at `bandwidth` bytes per second each way.

    The step takes longer where a record is not back in time. Raises ValueError for a bandwidth that is not positive.
    """
    if not bandwidth > 0:
        raise ValueError(f"a link moves more than 0 bytes per second, got {bandwidth}")
    n, changes, now, free = chain.n, [], 0.0, 0.0
    records = [chain.value(i) + chain.links[i].internals for i in range(n)]
    away = records[: max(0, n - STAY)]
    arrived = []
    for i, link in enumerate(chain.links):
        peak, end = chain.peak(forward(i, "all")), now + link.forward
        changes += [(now, peak), (end, link.output + link.internals - peak)]
        if i < len(away):
            free = max(free, end) + away[i] / bandwidth
            arrived.append(free)
            changes.append((free, -away[i]))
        now = end
    back, free = now, 0.0
    for i in reversed(range(n)):
        start = max(now, back)  # the record is there
        if 0 < i <= len(away):
            begin = max(start, free, arrived[i - 1])
            back = free = begin + away[i - 1] / bandwidth
            changes.append((begin, away[i - 1]))
        peak, now = chain.peak(backward(i)), start + chain.links[i].backward
        left = chain.gradient_of(i) - chain.gradient_of(i + 1) - records[i]
        changes += [(start, peak), (now, left - peak)]
    changes.sort(key=lambda change: (change[0], change[1] > 0))
    return list(zip([time for time, _ in changes], accumulate(nbytes for _, nbytes in changes)))


def live_over_a_step(
    model: GPT,
    data: Data,
    device: Device,
    policies: Sequence[str] = ("none", "full", "selective", "every:2", "sqrt"),
    bandwidth: float | None = None,
) -> dict[str, Points]:
    """Of each policy the live bytes of activations over one step of this model on these tokens.

    Bytes are measured, seconds are reckoned for the device. bandwidth: bytes per second to another memory and back; if
    given, "offloaded" is among the policies. The model is not changed.
    """

    def chain(words: str) -> Chain:
        own = deepcopy(model)
        own.zero_grad()
        recompute(own, words)
        return measured(gpt_links(own, data.y), data.x, own, device)

    L, plain = len(model.blocks), chain("none")
    found = {}
    for words in policies:
        inside = words == "selective"
        found[words] = points(chain(words) if inside else plain, blocks_again(L, policy(words).run(L)))
    if bandwidth is not None:
        found["offloaded"] = sent_away(plain, bandwidth)
    return found


def peak_bytes(over_time: Points) -> int:
    """The most bytes that are live at any time."""
    return max(nbytes for _, nbytes in over_time)

"""Sequences of unequal length: equal numbers of samples are not equal work.

Idea      The work of a step grows with its tokens, and in attention with the square of a sequence's length. Ranks
          with equally many sequences wait for the one that drew the long ones; within a batch short ones are padded.
After     By work: `deal`: the longest first, each to whoever has the least so far. The largest load is then at most 4/3
          - 1/(3 P) times the best possible (Graham 1969). A pure function of the lengths: nothing is sent.
          By length: `batches_by_tokens`: sequences of similar length share a batch, which is full by its tokens,
          padding included. The order of the batches is drawn, so that training does not go from short to long.
Price     imbalance = max / mean of the ranks' work: how much longer a step takes than if all had the mean. That may
          be out of reach: no rank can have less than its longest sequence.
Exact     The ranks' counts of tokens differ then, so averages must be weighted with them (average.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush

import torch


def sequence_work(lengths: Sequence[int], width: int | None = None) -> list[float]:
    """Work of each sequence in units of that of a token's products with weights: s, and with attention s + s^2 / (6 h).

    A layer of width h takes 24 s h^2 + 4 s^2 h FLOPs; None: attention left out.
    """
    return [s + (s * s / (6 * width) if width else 0.0) for s in lengths]


def imbalance(loads: Sequence[float]) -> float:
    """The largest load over the mean: 1 if all are equal, P if one has all."""
    return max(loads) * len(loads) / sum(loads)


def loads(costs: Sequence[float], lists: Sequence[Sequence[int]]) -> list[float]:
    """The work of each rank, or of each batch."""
    return [sum(costs[i] for i in own) for own in lists]


def deal(costs: Sequence[float], ranks: int) -> list[list[int]]:
    """Which sequences each rank gets: the longest first, each to the rank that has the least so far."""
    lists: list[list[int]] = [[] for _ in range(ranks)]
    least = [(0.0, rank) for rank in range(ranks)]
    for i in sorted(range(len(costs)), key=lambda i: -costs[i]):
        load, rank = heappop(least)
        lists[rank].append(i)
        heappush(least, (load + costs[i], rank))
    return lists


def batches_by_tokens(lengths: Sequence[int], most: int, generator: torch.Generator) -> list[list[int]]:
    """Batches of similar lengths with at most `most` tokens each, padding included, in an order that is drawn.

    Raises ValueError for a sequence that is longer than that.
    """
    if lengths and max(lengths) > most:
        raise ValueError(
            f"a sequence of {max(lengths)} tokens does not fit into a batch of {most}: cut it, or allow more"
        )
    batches: list[list[int]] = []
    for i in sorted(range(len(lengths)), key=lambda i: lengths[i]):
        if not batches or (len(batches[-1]) + 1) * lengths[i] > most:
            batches.append([])
        batches[-1].append(i)
    return [batches[i] for i in torch.randperm(len(batches), generator=generator).tolist()]


def padding(lengths: Sequence[int], batches: Sequence[Sequence[int]]) -> float:
    """The share of all positions that hold no token if each batch is padded to its longest sequence."""
    positions = sum(len(batch) * max(lengths[i] for i in batch) for batch in batches)
    return 1 - sum(lengths[i] for batch in batches for i in batch) / positions

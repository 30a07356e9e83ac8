"""Refuse wrong input on every rank, so that none waits for one that has left."""

from __future__ import annotations

from math import inf


def agree(comm, problem: str | None, *alike) -> None:
    """Raise the same ValueError on every rank if any has a problem, or if `alike` is not the same on all.

    Collective. What is in `alike` is compared by its repr.
    """
    heard = comm.allgather((problem, repr(alike)))
    wrong = [f"rank {rank}: {said}" for rank, (said, _) in enumerate(heard) if said]
    other = [rank for rank, (_, mine) in enumerate(heard) if mine != heard[0][1]]
    if wrong:
        raise ValueError("; ".join(wrong) if len({said for said, _ in heard}) > 1 else wrong[0].partition(": ")[2])
    if other:
        raise ValueError(f"rank 0 was called with {heard[0][1]}, but rank {other[0]} with {heard[other[0]][1]}")


def trouble(steps: int = 0, rate: float = 1.0) -> str | None:
    """What is wrong with the numbers that every program here takes; None if nothing is."""
    if steps < 0 or not 0 < rate < inf:
        return f"there must be 0 steps or more and a learning rate above 0, got {steps=} and {rate=}"
    return None

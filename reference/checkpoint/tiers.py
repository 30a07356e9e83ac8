"""Tiers of checkpoints: memory, drives of the node, a store; which of them a failure leaves, and how long a read takes.

Idea      What is quick to write dies with what is likely to fail. So several are used: often the quick one, seldom the
          sure one. After a failure the newest step that is left anywhere counts:

              tier             every    a process dies   a node is lost   power fails   the site is lost
              own memory       step     left             -                -             -
              partner's        step     left             left             -             -
              drive of a node  100      left             -                left          -
              store            1,000    left             left             left          left

Price     Reading n bytes with N streams takes n / min(N b, B): streams of b bytes/s add up only as far as the storage
          and the network in front of it (together B) go. Before it comes what no bandwidth shortens: detection, new
          nodes, processes and communicators that start; after it the steps that were lost.
Exact     Nothing here moves data; `Ladder` asks the savers that it is given.
Source    Moody et al., "Design, Modeling, and Evaluation of a Scalable Multi-level Checkpointing System" (SC 2010).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

FAILURES = ("process", "node", "power", "site")


class StorageTier(NamedTuple):
    """Where checkpoints lie: bytes/s of one stream, of all together; which failures it survives.

    stream    b, of one reader or writer
    total     B, the least of what the storage and the network to it carry, of all readers together
    latency   seconds before the first byte comes
    """

    name: str
    stream: float
    total: float
    latency: float
    survives: frozenset[str]

    def seconds(self, nbytes: float, streams: int) -> float:
        """In which so many bytes are read or written in so many equal streams."""
        return self.latency + nbytes / min(streams * self.stream, self.total)

    @property
    def useful_streams(self) -> float:
        """From how many streams on more of them gain nothing: B / b."""
        return self.total / self.stream


class Recovery(NamedTuple):
    """The seconds of a recovery, part by part."""

    detect: float  # until somebody knows
    restart: float  # new nodes, processes, communicators
    read: float
    unpack: float  # bytes into tensors on the accelerator, by every rank at once
    warm_up: float  # caches, allocators, compilation: what the first steps take longer
    redo: float  # the steps since the checkpoint

    @property
    def seconds(self) -> float:
        """Of all of them, one after the other."""
        return sum(self)


def recovery(
    tier: StorageTier,
    nbytes: float,
    streams: int,
    every: float,
    detect: float = 0.0,
    restart: float = 0.0,
    unpack_rate: float = float("inf"),
    warm_up: float = 0.0,
) -> Recovery:
    """What it takes to go on after a failure.

    nbytes        of the state, of all ranks that have to read
    streams       N, one for each rank that reads
    every         seconds between checkpoints of this tier: half of them are lost on average
    unpack_rate   bytes/s of one rank
    """
    read = tier.seconds(nbytes, streams)
    return Recovery(detect, restart, read, nbytes / streams / unpack_rate, warm_up, every / 2)


def newest_left(tiers: Sequence[StorageTier], saved: Mapping[str, int], failure: str) -> tuple[str, int] | None:
    """(tier, step) to go on from after a failure: the newest step that is left; of equal ones, the first tier's.

    tiers    the quickest first
    saved    the newest step in each tier, by its name
    None if nothing is left. Raises ValueError for a failure that is none of FAILURES.
    """
    if failure not in FAILURES:
        raise ValueError(f"{failure!r} is none of the failures {', '.join(FAILURES)}")
    left = [tier.name for tier in tiers if failure in tier.survives and tier.name in saved]
    return max(((name, saved[name]) for name in left), key=lambda found: found[1], default=None)


class Rung(NamedTuple):
    """A saver among others: every how many steps, save(step, state), newest() -> step or None, load(step) -> state."""

    name: str
    every: int
    save: Callable[[int, Any], None]
    newest: Callable[[], int | None]
    load: Callable[[int], Any]


class Ladder:
    """Several savers, the quickest first; each saves at its own steps, and the newest step that is left is loaded.

    What a rung's calls need of other ranks they do themselves: if one is collective, so are `save` and `recover`.
    """

    def __init__(self, rungs: Iterable[Rung]):
        self.rungs = list(rungs)
        wrong = [rung.name for rung in self.rungs if rung.every < 1]
        if wrong or not self.rungs:
            raise ValueError(f"each rung saves every 1, 2, ... steps, not so: {', '.join(wrong) or 'there is none'}")

    def save(self, step: int, state: Any) -> list[str]:
        """Save this step wherever it is due; where that was."""
        due = [rung for rung in self.rungs if step % rung.every == 0]
        for rung in due:
            rung.save(step, state)
        return [rung.name for rung in due]

    def recover(self) -> tuple[str, int, Any]:
        """(name of the rung, step, state) of the newest step that is left; of equal ones, the quickest rung's.

        A rung whose load fails with LookupError or OSError, because a copy is lost or damaged, is passed over.
        Raises LookupError, with what each rung said, if none is left.
        """
        found = [(step, -place, rung) for place, rung in enumerate(self.rungs) if (step := rung.newest()) is not None]
        said = []
        for step, _, rung in sorted(found, key=lambda one: one[:2], reverse=True):
            try:
                return rung.name, step, rung.load(step)
            except (LookupError, OSError) as error:
                said.append(f"{rung.name}: {error}")
        raise LookupError("; ".join(said) or "no rung has saved anything that is left")

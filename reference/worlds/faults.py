"""What can go wrong on the virtual cluster: launch(program, ranks, faults=[Kill(2, at=0.5), ...]).

Each fault is a record that says whom it hits and when: `at` seconds on the virtual clock, or `after` so many calls of
the rank. The same faults give the same run, however busy the machine is.

    Kill          the rank is gone, as after SIGKILL. The others learn of it after launch's `detection` seconds
    Hang          the rank stops for a while, or for good. It is not dead, so nobody is told
    Slow          its computations take longer
    Partition     some ranks and the others cannot reach each other until the network is mended
    DropMessage   a message is lost, and its sender does not know
    BitFlip       a message arrives with one bit changed, and nobody knows
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable
from dataclasses import dataclass, fields
from numbers import Integral, Real


@dataclass(frozen=True, repr=False)
class _Brief:
    """Shown without what is left at its default."""

    def __repr__(self) -> str:
        given = [(one.name, getattr(self, one.name)) for one in fields(self) if getattr(self, one.name) != one.default]
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in given)})"


@dataclass(frozen=True, repr=False)
class Slow(_Brief):
    """A fault: rank `rank` takes `factor` times as long for every computation (virtual cluster only)."""

    rank: int
    factor: float


@dataclass(frozen=True, repr=False)
class Kill(_Brief):
    """A fault: rank `rank` dies `at` that time (s), or `after` that many calls, of the kind `call` if one is named.

    It dies in whatever it is doing: waiting, computing, or, after some calls, when it would do more. What it had sent
    and nobody had begun to receive is lost, and so is a transfer under way; buffered messages that had arrived are not.
    """

    rank: int
    at: float | None = None
    after: int | None = None
    call: str = ""


@dataclass(frozen=True, repr=False)
class Hang(_Brief):
    """A fault: rank `rank` stops `at` that time (s), or `after` that many calls, for `seconds`; math.inf is for good.

    Its messages wait with it, also those of collectives that it has begun.
    """

    rank: int
    at: float | None = None
    after: int | None = None
    call: str = ""
    seconds: float = math.inf


@dataclass(frozen=True, repr=False)
class Partition(_Brief):
    """A fault: from `at` to `until` (s) no message sets out between `ranks` and the others; it waits so long."""

    ranks: tuple[int, ...]
    at: float = 0.0
    until: float = math.inf


@dataclass(frozen=True, repr=False)
class DropMessage(_Brief):
    """A fault: the `number`-th message (from 1) of rank `source`, to `dest` if that is given, never arrives.

    Messages inside the virtual cluster's collectives count, too. To its sender it looks like any other.
    """

    source: int
    number: int = 1
    dest: int | None = None


@dataclass(frozen=True, repr=False)
class BitFlip(_Brief):
    """A fault: in the `number`-th message (from 1) of rank `source`, to `dest` if given, bit `bit` arrives changed.

    Bits are counted from the lowest of the first byte: in little-endian float64, 52 to 62 are the first exponent. The
    bit is taken modulo the message's length; a message without any bytes stays as it is.
    """

    source: int
    number: int = 1
    dest: int | None = None
    bit: int = 62


Fault = Slow | Kill | Hang | Partition | DropMessage | BitFlip


def check_faults(faults: Iterable[Fault], ranks: int) -> None:
    """TypeError for what is no fault, ValueError unless each fits a launch of so many ranks."""
    for fault in faults:
        if not isinstance(fault, Fault):
            raise TypeError(f"a fault is one of Slow, Kill, Hang, Partition, DropMessage, BitFlip, got {fault!r}")
        whom = fault.ranks if isinstance(fault, Partition) else [getattr(fault, "rank", getattr(fault, "source", None))]
        dest = getattr(fault, "dest", None)
        if not all(_is_rank(rank, ranks) for rank in (*whom, *([] if dest is None else [dest]))) or not _fits(fault):
            raise ValueError(f"{fault} does not fit a launch of {ranks} ranks{_RULES[type(fault)]}")


_RULES = {
    Slow: " with positive, finite factors",
    Kill: ": say at=seconds or after=calls, and not both",
    Hang: ": say at=seconds or after=calls, and not both, for how many seconds",
    Partition: ": it names ranks, and begins before it ends",
    DropMessage: ": messages are counted from 1",
    BitFlip: ": messages are counted from 1, bits from 0",
}


def _fits(fault: Fault) -> bool:
    if isinstance(fault, Slow):
        return isinstance(fault.factor, Real) and 0 < float(fault.factor) < math.inf
    if isinstance(fault, Partition):
        return len(fault.ranks) > 0 and 0 <= fault.at < fault.until
    if isinstance(fault, DropMessage | BitFlip):
        return _is_whole(fault.number) and fault.number >= 1 and getattr(fault, "bit", 0) >= 0
    once = (fault.at is None) != (fault.after is None)
    at = 0.0 if fault.at is None else fault.at
    after = 0 if fault.after is None else fault.after
    lasts = fault.seconds if isinstance(fault, Hang) else 1.0
    return once and isinstance(at, Real) and 0 <= float(at) < math.inf and _is_whole(after) and after >= 0 and lasts > 0


def _is_whole(number: object) -> bool:
    return isinstance(number, Integral) and not isinstance(number, bool)


def _is_rank(rank: object, ranks: int) -> bool:
    return _is_whole(rank) and 0 <= rank < ranks  # type: ignore[operator]


def slowness(faults: Iterable[Fault]) -> dict[int, float]:
    """How much longer computations of slow ranks take."""
    return {fault.rank: fault.factor for fault in faults if isinstance(fault, Slow)}


def random_kills(ranks: int, mean: float, until: float, seed: int) -> list[Kill]:
    """Kills as they come by chance: each rank lives for an exponential time with mean `mean` (s).

    Those that would come at `until` or later are left out. The same seed gives the same kills.
    """
    draw = random.Random(seed)
    lives = [draw.expovariate(1 / mean) for _ in range(ranks)]
    return [Kill(rank, at=life) for rank, life in enumerate(lives) if life < until]

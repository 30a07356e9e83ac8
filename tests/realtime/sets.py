"""Small random sets of tasks, on which simulation and exhaustive search are quick, and the published ones."""

from collections.abc import Iterator
from random import Random

from reference.realtime import PeriodicTask

PERIODS = (4, 5, 6, 8, 10, 12, 15, 20, 24, 30)  # the hyperperiod is at most 120


def small_sets(
    number: int, *, tasks: tuple[int, int] = (2, 5), share: float = 0.5, deadlines: float = 1.0, jitter: float = 0.0,
    offsets: bool = False, seed: int = 0,
) -> Iterator[list[PeriodicTask]]:  # fmt: skip
    """Yield sets; share: of a period that C takes at most; deadlines, jitter: up to so many periods."""
    rng = Random(seed)
    for _ in range(number):
        yield [_task(f"t{place}", rng, share, deadlines, jitter, offsets) for place in range(rng.randint(*tasks))]


def _task(name: str, rng: Random, share: float, deadlines: float, jitter: float, offsets: bool) -> PeriodicTask:
    T = rng.choice(PERIODS)
    C = rng.randint(1, max(1, int(share * T)))
    D = rng.randint(C, max(C, int(deadlines * T))) if deadlines != 1.0 else T
    J = rng.choice((0, rng.randint(0, int(jitter * T))))
    return PeriodicTask(name, C, T, D, offset=rng.randrange(T) if offsets else 0, jitter=J)


def table(rows: str) -> list[PeriodicTask]:
    """Tasks from rows of name, C, T and, if it is not T, D; highest priority first."""
    return [PeriodicTask(row.split()[0], *map(int, row.split()[1:])) for row in rows.strip().splitlines()]


# As in the tables of process sets of Burns and Wellings, Real-Time Systems and Programming Languages; computed here
BURNS_WELLINGS = table("a 3 7\nb 3 12\nc 5 20")
HARMONIC = table("a 1 4\nb 2 8\nc 8 16")

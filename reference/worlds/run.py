"""What a launch gives back, the same in both worlds."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ..perf.timeline import Record, Timeline


@dataclass
class Run:
    """The outcome of one launch.

    results     what each rank returned
    seconds     makespan: when the last rank finished (virtual seconds, or measured ones)
    bytes_sent  bytes that each rank sent. On the virtual cluster everything counts, also what collective calls send
                inside; on real ranks only the program's own sends can be seen
    messages    messages that each rank sent, counted alike
    calls       how often each rank called what: Counter({"Sendrecv": 14})
    record      what `timeline` is made from
    world       "virtual" or "mpi"
    killed      ranks that a fault has killed, and when (s); each has the result None
    """

    results: list[Any]
    seconds: float
    bytes_sent: list[int]
    messages: list[int]
    calls: list[Counter]
    record: Record = field(repr=False)
    world: str = "virtual"
    killed: dict[int, float] = field(default_factory=dict)

    @cached_property
    def timeline(self) -> Timeline:
        """Every send, receive, wait and computation with start and end, in seconds; made when it is asked for."""
        return self.record.timeline()

    @property
    def ranks(self) -> int:
        """How many ranks ran."""
        return len(self.results)

    @property
    def bytes_by_group(self) -> dict[str, list[int]]:
        """Bytes that each rank sent in each group, by the group's name: {"tp": [...], "dp": [...]}."""
        sent: dict[str, list[int]] = {}
        for event in self.timeline.of(kind="send"):
            sent.setdefault(event.group, [0] * self.ranks)[event.rank] += event.nbytes
        return sent

"""An explorer of schedules for the page: choose one, see when everything happens, compare, step through.

    Explorer()                                           # as the last line of a cell
    Explorer(names=["GPipe", "1F1B"], ranks=[4], micro_batches=[4, 8])          # smaller

Idea      The page's script (explorer.js) works nothing out, it decodes and draws. Every setting of a grid is simulated
          here (plans.py), and the page gets what comes of it. Other numbers, where the page has a Python (live.py), it
          asks `worked_out` for: the same functions, in the browser. A setting for which there is no schedule carries
          the reason, the words of the ValueError.
Sends     The plans, compressed, and unpacked by the page (DecompressionStream) with nothing fetched; without JavaScript
          a reader sees a table and one chart.
"""

from __future__ import annotations

import base64
import gzip
import itertools
import json
from collections.abc import Iterable, Sequence
from functools import cached_property
from hashlib import sha256
from typing import Any

from ..pipeline.analysis.draw import HEIGHTS, LIGHTER, PASS_COLOURS, gantt
from ..pipeline.analysis.versions import kept_versions
from ..pipeline.schedule import KINDS
from ..pipeline.schedules.catalogue import SCHEDULES, make
from ..pipeline.simulate import Times, activations, simulate
from .plans import LETTERS, LIMITS, MESSAGE_SECONDS, PASS_SECONDS, TICK, ExplorerSetting, needed, page_data
from .widget import escaped, widget


class Explorer:
    """All schedules of a grid, to be explored in a page: Jupyter and the book show it.

    names           of schedules (catalogue.py)
    ranks, micro_batches, chunks    the p, m and, for schedules that leave it open, v that can be chosen
    The HTML stands for itself: data, script and style are in it, and nothing is fetched.
    """

    def __init__(
        self,
        names: Iterable[str] = tuple(SCHEDULES),
        ranks: Sequence[int] = (2, 3, 4, 8),
        micro_batches: Sequence[int] = (1, 2, 4, 6, 8, 12, 16, 24),
        chunks: Sequence[int] = (2, 3, 4),
    ):
        self.names, self.ranks, self.micro_batches, self.chunks = list(names), ranks, micro_batches, chunks

    def chunks_of(self, name: str) -> Sequence[int]:
        """The chunks a rank that can be chosen with a schedule."""
        fixed = SCHEDULES[name].chunks
        return self.chunks if fixed is None else [fixed]

    @property
    def settings(self) -> list[ExplorerSetting]:
        """Everything that can be chosen, apart from costs."""
        return [
            ExplorerSetting(name, p, m, v)
            for name in self.names
            for v in self.chunks_of(name)
            for p, m in itertools.product(self.ranks, self.micro_batches)
        ]

    @cached_property
    def plans(self) -> dict[str, dict[str, Any]]:
        """Of each setting what the page gets: see `page_data`."""
        return {str(setting): page_data(setting) for setting in self.settings}

    def head(self) -> dict[str, Any]:
        """What the page gets apart from the plans: what there is to choose, and how to read the plans."""
        return {
            "tick": TICK,
            "letters": LETTERS,
            "kinds": KINDS,
            "colours": PASS_COLOURS,
            "lighter": LIGHTER,
            "heights": HEIGHTS,
            "needs": needed(),
            "works": PASS_SECONDS,
            "sends": [f"{send:g}" for send in MESSAGE_SECONDS],
            "ranks": self.ranks,
            "micro_batches": self.micro_batches,
            "limits": LIMITS,
            "schedules": {
                name: {
                    "idea": SCHEDULES[name].idea,
                    "chunks": self.chunks_of(name),
                    "fixed": SCHEDULES[name].chunks is not None,
                    "text": SCHEDULES[name].bubble,
                }
                for name in self.names
            },
        }

    def lines(self) -> str:
        """All plans, one a line: its setting, a tab, JSON."""
        return "\n".join(f"{key}\t{json.dumps(told, separators=(',', ':'))}" for key, told in self.plans.items())

    def _repr_html_(self) -> str:
        packed = base64.b64encode(gzip.compress(self.lines().encode(), mtime=0)).decode()
        data = self.head() | {"packed": packed}
        return widget(__file__, "explorer", "explorer of pipeline schedules", data, _instead(self.names), python=True)

    def __repr__(self) -> str:
        refused = sum("refused" in told for told in self.plans.values())
        # of what is in the page before it is compressed: another compressor may find other bytes for the same
        told = widget(__file__, "explorer", "", self.head() | {"lines": self.lines()}, _instead(self.names))
        return (
            f"explorer of {len(self.names)} schedules in {len(self.plans) - refused:,} sizes, each with "
            f"{len(PASS_SECONDS) * len(MESSAGE_SECONDS)} costs; {refused} sizes have no schedule "
            f"(page {sha256(told.encode()).hexdigest()[:8]})"
        )


# Without JavaScript -------------------------------------------------------------------------------------------------


def _instead(names: list[str], p: int = 4, m: int = 8) -> str:
    """HTML for readers without JavaScript: the schedules of one size in a table, and 1F1B as text."""
    rows = []
    for name in names:
        try:
            schedule = make(name, p, m)
        except ValueError:
            continue
        times, share = simulate(schedule, PASS_SECONDS["1:1:1"].costs(schedule, 0.0)), schedule.ranks / schedule.stages
        peak, kept = max(activations(schedule)) * share, max(kept_versions(schedule))
        cells = [escaped(name), f"{times.makespan:g}", f"{times.bubble:.1%}", f"{peak:g}", f"{kept}"]
        rows.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
    heads = ["schedule", "makespan", "bubble", "peak activations", "versions of the weights"]
    chart = escaped("\n".join(gantt(_example(p, m))))
    return (
        f"<p>Here is an explorer of pipeline schedules, which needs JavaScript and a browser of 2023 or later. Without "
        f"them, the schedules on {p} ranks with {m} micro-batches, F = I = W = 1 second, nothing for messages:</p>\n"
        f"<table><tr>{''.join(f'<th>{head}</th>' for head in heads)}</tr>\n" + "\n".join(rows) + "</table>\n"
        f"<p>1F1B, one line a rank, one column a second:</p>\n<pre>{chart}</pre>"
    )


def _example(p: int, m: int) -> Times:
    return simulate(make("1F1B", p, m))

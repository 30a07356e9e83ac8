"""The planner: how long it takes to find the best layout of GPT-3 on up to 16,384 accelerators, and to prove it.

    python benchmarks/layouts.py      # a few seconds

The best layout is the fastest that fits on the cost model, of all degrees, ZeRO stages, micro-batches, chunks and ways
to recompute; a layout that is not priced is excluded by a bound (planner/search/exhaustive.py).
"""

from __future__ import annotations

import time

from tabulate import tabulate

from reference.planner.architecture import architecture
from reference.planner.cluster import cluster
from reference.planner.search.exhaustive import exhaustive
from reference.planner.search.space import LayoutSpace

ACCELERATORS = 1024, 4096, 16384
TIMES = 5


def report(accelerators: int) -> list[str]:
    """A row: layouts, how many were priced, and seconds, the quickest of some times."""
    space = LayoutSpace(architecture("gpt-175b"), cluster("dgx-a100"), accelerators, 3 * accelerators // 16)
    seconds = []
    for _ in range(TIMES):
        start, found = time.perf_counter(), exhaustive(space)
        seconds.append(time.perf_counter() - start)
    return [f"{accelerators:,}", f"{space.size():,}", f"{found.priced:,}", f"{min(seconds):.2f}"]


def main() -> None:
    """Print a table."""
    print("GPT-3 on A100s, three sequences a step for 16 accelerators (aim: 1 second at most)")
    rows = [report(accelerators) for accelerators in ACCELERATORS]
    heads = ["accelerators", "layouts", "priced", "seconds"]
    print(tabulate(rows, heads, disable_numparse=True, stralign="right"))


if __name__ == "__main__":
    main()

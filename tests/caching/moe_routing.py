"""Record the routing of a small model with experts: python -m tests.caching.moe_routing

It trains for some seconds, and writes reference/caching/data/moe_routing.txt. On another processor, or with another
version of torch, some choices may be others.
"""

from __future__ import annotations

import datetime

import torch

from reference.caching import router, traces

STEPS, WINDOWS = 400, 32
FILE = traces.DATA / "moe_routing.txt"


def main() -> None:
    """Train, route, write."""
    torch.set_num_threads(1)
    chosen = router.routing(router.trained(STEPS), WINDOWS)
    head = (
        f"# {len(chosen):,} tokens of held-out text through a model of 2 blocks with 16 experts each, 2 for a token;",
        f"# trained for {STEPS} steps by reference/caching/router.py. A line is a token: block 0 | block 1.",
        f"# Recorded by `python -m tests.caching.moe_routing` on {datetime.date.today()}, torch {torch.__version__}.",
    )
    lines = ["|".join(" ".join(map(str, experts)) for experts in token) for token in chosen.tolist()]
    FILE.write_text("\n".join([*head, *lines]) + "\n")
    print(f"{FILE}: {FILE.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()

"""Production frameworks as oracles: what torch.distributed over gloo makes of the same model and the same batches.

An oracle is a function of (rank, ranks) in one of the files here, marked with `@oracle`. It runs on every rank of one
job of RANKS processes, started once a test session by the fixture `oracles` (tests/conftest.py), and returns what is to
be compared: tensors, numbers, lists and dicts of them. `oracles["name"]` is the list of what each rank returned.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

RANKS = 3

registry: dict[str, Callable[[int, int], Any]] = {}


def oracle(function: Callable[[int, int], Any]) -> Callable[[int, int], Any]:
    """Mark a function of (rank, ranks) as an oracle; its name must be new."""
    if function.__name__ in registry:
        raise ValueError(f"there is an oracle {function.__name__!r} already: choose another name")
    registry[function.__name__] = function
    return function

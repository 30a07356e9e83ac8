"""Many small arrays in one message: pay the latency once.

Idea      k arrays reduced one by one cost k latencies; copied into one buffer, they cost one.
Time      alpha + sum(n_i) beta instead of sum(alpha + n_i beta) for one message of each      (cost.aggregated)
Price     Two copies, and the first waits for the last to be ready; what could have been sent meanwhile is
          overlap lost (cost.finish). So frameworks aggregate up to a limit: buckets.
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Sequence
from typing import Any

import numpy as np

from .. import mpi
from .algorithms import collective, flat
from .select import allreduce


@collective
def allreduce_together(comm, arrays: Sequence, op=mpi.SUM, **how) -> Generator[list, None, Any]:
    """Combine each of the arrays over the ranks, in place, with one all-reduce, and return them.

    arrays: contiguous, of one type, the same shapes on all ranks. how: algorithm, machine, ... as for `allreduce`.
    Raises TypeError if their types differ.
    """
    views = [flat(each) for each in arrays]
    kinds = {str(view.dtype) for view in views}
    if len(kinds) > 1:
        found = ", ".join(sorted(kinds))
        raise TypeError(f"only arrays of one type can share a buffer, not of {found}: make a call for each type")
    if views:
        joined = np.concatenate(views) if isinstance(views[0], np.ndarray) else sys.modules["torch"].cat(views)
        yield from allreduce.driver(comm, joined, op, **how)
        first = 0
        for view in views:
            view[:] = joined[first : first + len(view)]
            first += len(view)
    return arrays

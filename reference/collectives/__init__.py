"""Collectives from point-to-point messages, each with its cost formula beside it.

    from reference.collectives import allreduce, allgather, broadcast
    allreduce(comm, x)  # by the fastest algorithm for this size, these ranks, this machine
    allreduce(comm, x, algorithm="double tree", segments=8)
    request = allgather.start(comm, x)  # every collective can be begun, and waited for later

A schedule is a generator of rounds (rounds.py), in the file named after it: ring, direct, tree, binary_tree, doubling,
bruck, chain, hierarchical, exchange. What it costs stands below it, as a formula (cost.py has what formulas share);
evaluate.py times all ranks at once. catalogue.py lists all algorithms, and of each all-reduce all that is known.
"""

from .algorithms import allgather, alltoall, barrier, broadcast, gather, reduce, reduce_scatter, scatter
from .catalogue import ALLREDUCE
from .ring import ring_allgather, ring_allreduce, ring_reduce_scatter, start_ring_allreduce
from .select import allreduce, allreduce_together, choose, crossover, predict

__all__ = [
    "ALLREDUCE",
    "allgather",
    "allreduce",
    "allreduce_together",
    "alltoall",
    "barrier",
    "broadcast",
    "choose",
    "crossover",
    "gather",
    "predict",
    "reduce",
    "reduce_scatter",
    "ring_allgather",
    "ring_allreduce",
    "ring_reduce_scatter",
    "scatter",
    "start_ring_allreduce",
]

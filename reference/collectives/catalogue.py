"""All algorithms by name: what can be chosen, timed, measured and compared. Command lines, tests and the book ask it.

ALLREDUCE is a registry of records, one next to each generator. The other collectives have no choice to make yet: their
tables name schedule, number of blocks and formula.
"""

from __future__ import annotations

from ..registry import Registry
from . import bruck, chain, direct, doubling, exchange, ring, tree
from .binary_tree import BINARY_TREE, DOUBLE_TREE
from .direct import DIRECT
from .doubling import HALVING_DOUBLING, RECURSIVE_DOUBLING
from .hierarchical import HIERARCHICAL, LEADER, TORUS, X_THEN_Y
from .record import Algorithm, AllreduceRecord, a_block_each, in_segments, one_block
from .ring import RING
from .tree import BINOMIAL_TREE

ALLREDUCE: Registry[AllreduceRecord] = Registry(
    "all-reduce",
    [
        RING,
        DIRECT,
        RECURSIVE_DOUBLING,
        HALVING_DOUBLING,
        BINOMIAL_TREE,
        BINARY_TREE,
        DOUBLE_TREE,
        HIERARCHICAL,
        LEADER,
        TORUS,
        X_THEN_Y,
    ],
)
REDUCE_SCATTER = {
    "ring": Algorithm(ring.ring_reduce_scatter_rounds, a_block_each, ring.ring_reduce_scatter_cost),
    "direct": Algorithm(direct.direct_reduce_scatter_rounds, a_block_each, direct.direct_reduce_scatter_cost),
    "recursive halving": Algorithm(
        doubling.recursive_halving_reduce_scatter_rounds, a_block_each, doubling.recursive_halving_reduce_scatter_cost
    ),
}
ALLGATHER = {
    "ring": Algorithm(ring.ring_allgather_rounds, a_block_each, ring.ring_allgather_cost),
    "direct": Algorithm(direct.direct_allgather_rounds, a_block_each, direct.direct_allgather_cost),
    "recursive doubling": Algorithm(
        doubling.recursive_doubling_allgather_rounds, a_block_each, doubling.recursive_doubling_allgather_cost
    ),
    "bruck": Algorithm(bruck.bruck_allgather_rounds, a_block_each, bruck.bruck_allgather_cost),
}
BROADCAST = {
    "binomial tree": Algorithm(tree.binomial_broadcast_rounds, one_block, tree.binomial_broadcast_cost),
    "chain": Algorithm(chain.chain_broadcast_rounds, in_segments, chain.chain_broadcast_cost),
    "scatter-allgather": Algorithm(
        chain.scatter_allgather_broadcast_rounds, a_block_each, chain.scatter_allgather_broadcast_cost
    ),
}
REDUCE = {"binomial tree": Algorithm(tree.binomial_reduce_rounds, one_block, tree.binomial_reduce_cost)}
SCATTER = {"binomial tree": Algorithm(tree.binomial_scatter_rounds, a_block_each, tree.binomial_scatter_cost)}
GATHER = {"binomial tree": Algorithm(tree.binomial_gather_rounds, a_block_each, tree.binomial_scatter_cost)}
ALLTOALL = {
    "pairwise": Algorithm(exchange.pairwise_alltoall_rounds, a_block_each, exchange.pairwise_alltoall_cost),
    "direct": Algorithm(direct.direct_alltoall_rounds, a_block_each, direct.direct_alltoall_cost),
    "bruck": Algorithm(bruck.bruck_alltoall_rounds, a_block_each, bruck.bruck_alltoall_cost),
}
BARRIER = {
    "dissemination": Algorithm(exchange.dissemination_barrier_rounds, one_block, exchange.dissemination_barrier_cost)
}

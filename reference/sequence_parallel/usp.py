"""Ulysses and ring together (USP): all-to-alls within groups of U ranks, and a ring across the R = P / U groups.

Idea      Ulysses is limited by the number of heads, and a ring's messages by the network between nodes. The P ranks
          make a grid: U ranks that share a fast network exchange heads; after that each of them has the tokens of its
          whole group for a / U heads, and those travel around the ring of the R ranks that have the same heads.

              P = 4, U = 2     ring 0: ranks 0 2        Ulysses groups {0, 1} and {2, 3}; rank r = (r // U) U + r % U
                               ring 1: ranks 1 3

          U = P is Ulysses alone and U = 1 the ring alone.
Sends     The bytes of Ulysses over U ranks; on the ring R - 1 blocks of the whole group's k and v for its share of the
          heads, which are as many bytes as one rank's own: forward 2 (R - 1) n where the ring alone sends 2 (P - 1) n.
          With g < U heads of keys n counts U of them, as in Ulysses.
Source    Fang & Zhao, "USP: A Unified Sequence Parallelism Approach for Long Context Generative AI" (2024).
"""

from __future__ import annotations

from torch import Tensor

from ..agreement import agree
from .arguments import lines
from .blockwise import BLOCK, misfit
from .layouts import SequenceLayout
from .ring_attention import ring_attention
from .ulysses import across_heads, heads_trouble


def grid(comm, inside: int) -> tuple:
    """(this rank's group of `inside` neighbours, "ulysses"; the ranks with the same place in theirs, "ring").

    Collective. Raises ValueError on every rank unless `inside` divides the ranks.
    """
    if inside < 1 or comm.size % inside:
        raise ValueError(f"{comm.size} ranks cannot be cut into groups of {inside}")
    ulysses, ring = comm.Split(comm.rank // inside, comm.rank), comm.Split(comm.rank % inside, comm.rank)
    ulysses.Set_name("ulysses")
    ring.Set_name("ring")
    return ulysses, ring


def usp_attention(
    ulysses,
    ring,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    layout: SequenceLayout,
    causal: bool = True,
    block: int = BLOCK,
    checked: bool = True,
) -> Tensor:
    """This rank's part of attention over the whole sequence, [b, a, s/P, d]. Arguments as for `ring_attention`.

    ulysses, ring: the two groups of this rank (`grid`). layout: over the R ranks of the ring; this rank holds its share
    of the Ulysses group's part, layout.split(U). Raises ValueError as `ulysses_attention` does.
    """
    if checked:
        check_grid(ulysses, ring, q, k, v, layout, causal, block)
    return across_heads(
        ulysses, q, k, v, lambda q, k, v: ring_attention(ring, q, k, v, layout, causal, block, checked=False)
    )


def check_grid(ulysses, ring, q: Tensor, k: Tensor, v: Tensor, layout: SequenceLayout, *settings: object) -> None:
    """Raise the same ValueError on every rank of the grid unless all of it fits and is alike. Collective."""
    error = _misplaced(ulysses, ring, q, k, v, layout) or heads_trouble(ulysses.size, q.shape[1], k.shape[1])
    mine = lines(q, k, v, layout, *settings)
    try:
        agree(ring, "the arguments of an attention", mine, error)
    except ValueError as found:  # each Ulysses group has a rank in this ring: all ranks hear of it there
        error = str(found)
    agree(ulysses, "the arguments of an attention", mine, error)


def _misplaced(ulysses, ring, q: Tensor, k: Tensor, v: Tensor, layout: SequenceLayout) -> str:
    if layout.ranks != ring.size:
        return f"a layout over {layout.ranks} ranks, and {ring.size} are in the ring"
    held, rest = divmod(len(layout.places[ring.rank]), ulysses.size)
    if rest:
        return f"{ulysses.size} ranks cannot share the {len(layout.places[ring.rank])} tokens of their group alike"
    return misfit(q, k, v, held, held)

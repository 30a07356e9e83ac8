"""Chapter 1: collectives. Replace each `raise NotImplementedError` by your answer, then run: pytest exercises/

Every function runs once on each rank. `comm.rank` is this rank's number (0 to P - 1), `comm.size` is P, and
`comm.Sendrecv`, `comm.Isend` and `comm.Irecv` move arrays, as in mpi4py. `mpi.waitall(requests)` waits for nonblocking
calls. The chapter's page is chapters/01_collectives.ipynb.
"""

import numpy as np

from reference import mpi


def ring_reduce_scatter(comm, x):
    """Return block `comm.rank` of the sum of all ranks' x, by passing blocks around a ring.

    x       one-dimensional float64 array of the same length n on every rank. It must not be changed.
    returns a new float64 array: block r of the sum, on rank r.

    Blocks: cut n elements into P blocks as np.array_split does: all have n // P elements, and the first n % P blocks
    one more. So n need not divide by P, and blocks may be empty: n may be less than P, or 0. P may be 1.

    The ring: in each of P - 1 steps, every rank sends one block to its right neighbour, rank (r + 1) % P, and receives
    one from its left neighbour, rank (r - 1) % P. An empty block is sent too. What a rank sends in all is every block
    but one: about (P - 1) / P of x. Use Sendrecv, or Isend and Irecv; no collective calls.

    Example with P = 2: x is [1, 2, 3] on rank 0 and [10, 20, 30] on rank 1. Rank 0 returns [11, 22], rank 1 [33].
    """
    raise NotImplementedError

"""Groups of ranks that share one copy of a model, and the ranks that have the same part of it in all groups.

Idea      A copy of a model that is cut over N ranks (in a pipeline, within its layers) takes a group of N neighbours.
          P ranks make P / N such groups, and each takes its share of every batch. So a rank is in two groups: in one
          it exchanges what its copy needs, in the other it averages gradients with those that have the same part.

              P = 6, N = 2       group 0    group 1    group 2
              part 0             rank 0     rank 2     rank 4       average with each other
              part 1             rank 1     rank 3     rank 5       and these
"""

from __future__ import annotations


def check_groups(ranks: int, N: int, what: str = "group") -> None:
    """Raise ValueError unless `ranks` ranks are groups of N. what: one group, in words: "pipeline"."""
    if ranks % N:
        fewer, more = N * (ranks // N), N * (ranks // N + 1)
        raise ValueError(
            f"a {what} of {N} ranks, and {ranks} are running: start {f'{fewer} or ' if fewer else ''}{more}, so that "
            f"each is in a {what}"
        )


def groups(comm, N: int, name: str) -> tuple:
    """(this rank's group of N neighbours, with this name; the ranks with the same place in all groups, "dp").

    Collective. N divides the ranks (`check_groups`).
    """
    group, copies = comm.Split(comm.rank // N, comm.rank), comm.Split(comm.rank % N, comm.rank)
    group.Set_name(name)
    copies.Set_name("dp")
    return group, copies

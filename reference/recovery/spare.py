"""Spare ranks: one that has waited takes the dead rank's place, or a new process is started for it.

Idea      Start more ranks than a whole number of copies needs. The team is the first of them; the others wait in a
          barrier that nobody enters before the work is done. A member that notices a death revokes the team, so that
          all of it comes out, and then everybody's communicator, so that the spares do. Everybody shrinks that one, and
          a new team is split off: spares move up.

              ranks    0  1  2  3 | 4       team of 4 = two copies on 2 ranks each; 4 is a warm spare
              2 dies   0  1     3 | 4
              shrunk   0  1     2   3       team of 4 again; the new 3 was the spare, and has no state yet
          What is left over after floor(alive / N) copies is a spare rank in the same way.
          Without a spare at hand `replaced` starts a process (MPI_Comm_spawn), and it joins with `join`.
Price     A warm spare is a rank that does nothing. A spawned one costs nothing before, and afterwards the start of a
          process: with `import torch` some seconds, while all others wait.
Exact     Who has no state says so (step -1, `replicated.newest_state`; rank -1, `sharded.Holding`), and gets it.
Left out  Spares that fetch the state while the others still work.
Source    MPI 4.1, sections 11.8 (spawn) and 7.4 (split).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from .. import mpi
from .shrink import TooFew, is_broken, lost_a_rank, survive

T = TypeVar("T")


def copies_that_fit(alive: int, N: int = 1) -> int:
    """floor(alive / N). Raises ValueError for less than one rank, and N < 1."""
    if alive < 1 or N < 1:
        raise ValueError(f"a copy needs at least 1 rank, and so does a job: got {alive=} and {N=}")
    return alive // N


def team_size(alive: int, N: int, most: int) -> int:
    """How many of `alive` ranks work: whole copies of N ranks, `most` of them at most. Raises TooFew for none."""
    copies = min(copies_that_fit(alive, N), most)
    if copies < 1:
        raise TooFew(f"{alive} ranks are left, and a copy of the model needs {N}")
    return copies * N


def survive_with_spares(comm, work: Callable[[Any], T], N: int, most: int) -> tuple[T | None, Any]:
    """Run work(team) on the first ranks, whole copies of N, `most` of them at most, until it is done on all of them.

    After a failure a new team is made of all ranks that live, and `work` begun again on it. The result, None on a rank
    that was a spare to the end, and the communicator of all that live. Collective. Raises TooFew if no copy is left.
    """

    def with_team(comm) -> T | None:
        works = comm.rank < team_size(comm.size, N, most)
        team = comm.Split(0 if works else mpi.UNDEFINED, comm.rank)
        result = None
        if works:
            try:
                result = work(team)
            except mpi.Exception as error:
                if lost_a_rank(error) or is_broken(team):
                    team.Revoke()  # who is left of the team comes out of its calls, too
                raise
        comm.Barrier()  # where spares wait
        return result

    return survive(comm, with_team)


def replaced(comm, command: Sequence[str], missing: int) -> Any:
    """A communicator with `missing` new processes behind the ranks of this one; they run `command` and call `join`.

    Real ranks only. command: what to start, such as [sys.executable, "-m", "program"]. Collective.
    """
    return comm.Spawn(command[0], args=list(command[1:]), maxprocs=missing).Merge(high=False)


def join() -> Any:
    """In a process that `replaced` has started: the communicator of all ranks, old and new. None in any other one."""
    mpi.world()
    parent: Any = mpi.Comm.Get_parent()
    return None if parent == mpi.COMM_NULL else parent.Merge(high=True)

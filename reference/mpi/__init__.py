"""The one door to MPI: every module, exercise and notebook of this course imports MPI from here.

Why a door. A distributed function takes `comm` as its first argument and calls mpi4py's own methods on it, so it runs
unchanged on real ranks (`mpirun`) and on the virtual cluster (`reference.worlds`). Two things would break that:
mpi4py's class-level calls (`MPI.Request.Waitall`) accept real requests only, and importing `mpi4py.MPI` starts MPI.
So this module re-exports constants, operations and types, does not start MPI until `world()` is called, and offers
the few functions that have to look at the object they are given: `wait`, `waitall`, `waitany`, `testall`, `testany`,
`startall`, `wtime`, `compute`, `charge`, `sleep`, `win_allocate`, `win_allocate_shared`. Its datatypes, operations and
statuses are mpi4py's, and can be asked before MPI has started, which would end the process otherwise.

`API` is the whole subset of MPI that the course uses. It is kept small enough that an adapter over
`torch.distributed` could offer it too. Standard: MPI 4.1 (2023); names and semantics: mpi4py 4.1.
"""

from __future__ import annotations

import atexit
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import failures
from .datatypes import BFLOAT16 as BFLOAT16
from .datatypes import Datatype as Datatype
from .datatypes import Layout as Layout
from .datatypes import datatype
from .nulls import guarded
from .operations import Op as Op
from .operations import free_operations as free_operations
from .operations import operation
from .start import MPI
from .start import NotOffered as NotOffered
from .start import abandon as abandon
from .status import Status

IN_PLACE, PROC_NULL, ANY_SOURCE, ANY_TAG = MPI.IN_PLACE, MPI.PROC_NULL, MPI.ANY_SOURCE, MPI.ANY_TAG
BOTTOM, ORDER_C, ORDER_FORTRAN = MPI.BOTTOM, MPI.ORDER_C, MPI.ORDER_FORTRAN
UNDEFINED, COMM_TYPE_SHARED, SUCCESS = MPI.UNDEFINED, MPI.COMM_TYPE_SHARED, MPI.SUCCESS
COMM_NULL, INFO_NULL, REQUEST_NULL = map(guarded, ("COMM_NULL", "INFO_NULL", "REQUEST_NULL"))
MESSAGE_NULL, MESSAGE_NO_PROC = map(guarded, ("MESSAGE_NULL", "MESSAGE_NO_PROC"))
GROUP_EMPTY, GROUP_NULL, ERRORS_RETURN = map(guarded, ("GROUP_EMPTY", "GROUP_NULL", "ERRORS_RETURN"))
IDENT, CONGRUENT, SIMILAR, UNEQUAL = MPI.IDENT, MPI.CONGRUENT, MPI.SIMILAR, MPI.UNEQUAL
SUM, PROD, MAX, MIN = map(operation, ("SUM", "PROD", "MAX", "MIN"))
LAND, LOR, LXOR, BAND, BOR, BXOR = map(operation, ("LAND", "LOR", "LXOR", "BAND", "BOR", "BXOR"))
REPLACE, NO_OP = map(operation, ("REPLACE", "NO_OP"))  # for windows: write, and only read
DOUBLE, FLOAT, BYTE, BOOL = map(datatype, ("DOUBLE", "FLOAT", "BYTE", "C_BOOL"))
INT, LONG, INT32_T, INT64_T, UINT8_T = map(datatype, ("INT", "LONG", "INT32_T", "INT64_T", "UINT8_T"))
ERR_ARG, ERR_BUFFER, ERR_COMM, ERR_DIMS = MPI.ERR_ARG, MPI.ERR_BUFFER, MPI.ERR_COMM, MPI.ERR_DIMS
ERR_OP, ERR_RANK, ERR_ROOT, ERR_TAG, ERR_TYPE = MPI.ERR_OP, MPI.ERR_RANK, MPI.ERR_ROOT, MPI.ERR_TAG, MPI.ERR_TYPE
ERR_COUNT, ERR_DISP, ERR_GROUP = MPI.ERR_COUNT, MPI.ERR_DISP, MPI.ERR_GROUP
ERR_PROC_FAILED, ERR_PROC_FAILED_PENDING, ERR_REVOKED, ERR_IN_STATUS, ERR_PENDING = failures.CLASSES
ERR_TRUNCATE, ERR_WIN = MPI.ERR_TRUNCATE, MPI.ERR_WIN
ERR_RMA_RANGE, ERR_RMA_SHARED, ERR_RMA_SYNC = MPI.ERR_RMA_RANGE, MPI.ERR_RMA_SHARED, MPI.ERR_RMA_SYNC
ERR_ASSERT, ERR_LOCKTYPE, ERR_REQUEST = MPI.ERR_ASSERT, MPI.ERR_LOCKTYPE, MPI.ERR_REQUEST
LOCK_EXCLUSIVE, LOCK_SHARED = MPI.LOCK_EXCLUSIVE, MPI.LOCK_SHARED
MODE_NOCHECK, MODE_NOSTORE, MODE_NOPUT = MPI.MODE_NOCHECK, MPI.MODE_NOSTORE, MPI.MODE_NOPUT
MODE_NOPRECEDE, MODE_NOSUCCEED = MPI.MODE_NOPRECEDE, MPI.MODE_NOSUCCEED
pickle = MPI.pickle  # what turns an object into the message of a lower-case call
TAG_LIMIT = 2**15 - 1  # the largest tag that every MPI must take (MPI 4.1, section 9.1.2: TAG_UB)
OWN_TAGS = range(2**14, 2**15)  # those of our own collectives (fresh_tag); programs leave them alone
# types, a line each: a type checker takes no others
Comm = MPI.Comm
Intracomm = MPI.Intracomm
Cartcomm = MPI.Cartcomm
Request = MPI.Request
Prequest = MPI.Prequest
Message = MPI.Message
Group = MPI.Group
Exception = MPI.Exception
buffer = MPI.buffer
library_version = MPI.Get_library_version

API = {
    "who": "rank size Get_rank Get_size name Get_name Set_name",
    "groups": "Split Split_type Dup Clone Create Create_group Get_group group Compare Is_inter Is_intra Free "
    "Create_cart Get_coords Get_cart_rank Shift Sub",
    "point to point": "Send Ssend Recv Sendrecv Isend Issend Irecv Probe Iprobe Mprobe Improbe "
    "Send_init Ssend_init Recv_init",
    "collectives": "Barrier Bcast Reduce Allreduce Allgather Allgatherv Reduce_scatter Reduce_scatter_block "
    "Scatter Scatterv Gather Gatherv Alltoall Alltoallv",
    "nonblocking collectives": "Ibarrier Ibcast Ireduce Iallreduce Iallgather Iallgatherv Ireduce_scatter "
    "Ireduce_scatter_block Iscatter Iscatterv Igather Igatherv Ialltoall Ialltoallv",
    "objects": "send ssend recv sendrecv isend issend irecv probe iprobe mprobe improbe "
    "barrier bcast reduce allreduce allgather scatter gather alltoall",
    "requests": "Wait Test wait test Get_status Cancel Free Start",  # Start: of persistent ones (Send_init, ...)
    "messages": "Recv Irecv recv irecv",  # that a matched probe has taken (Mprobe, ...)
    "failures": "Revoke Is_revoked Get_failed Ack_failed Agree Iagree Shrink Ishrink",
    "errors": "Get_errhandler Set_errhandler Abort",
    "datatypes": "Get_size Get_extent Get_true_extent Create_contiguous Create_vector Create_hvector Create_indexed "
    "Create_hindexed Create_indexed_block Create_hindexed_block Create_subarray Create_resized Dup Commit Free",
    "operations": "Create Free Is_commutative Reduce_local",
    "statuses": "Get_source Get_tag Get_error Get_count Get_elements Set_elements Is_cancelled Set_cancelled",
    "windows": "Put Get Accumulate Get_accumulate Fetch_and_op Compare_and_swap Rput Rget Raccumulate Rget_accumulate "
    "Lock Unlock Lock_all Unlock_all Flush Flush_all Flush_local Flush_local_all Fence Start Complete Post Wait Test "
    "Sync Shared_query Get_group tomemory Free",
}


def world() -> MPI.Intracomm:
    """COMM_WORLD of the real MPI, started at the first call and finished when the program ends."""
    if not MPI.Is_initialized():
        MPI.Init_thread(MPI.THREAD_MULTIPLE)  # mpi4py's default; MPICH then yields the core while it waits
        atexit.register(MPI.Finalize)
    return MPI.COMM_WORLD


def waitall(requests: Sequence, statuses: list[Status] | None = None) -> None:
    """Wait for every request; `statuses` (same length) tell what each one received."""
    if len(requests) == 1 and type(requests[0]) is MPI.Request:  # the quickest way, for small messages
        requests[0].Wait(statuses[0] if statuses else None)
        return
    kinds: set[Any] = set(map(type, requests))
    if len(kinds) == 1:
        type(requests[0]).Waitall(requests, statuses)
        return
    for kind in sorted(kinds, key=lambda kind: not hasattr(kind, "made_of_messages")):
        own = [number for number, request in enumerate(requests) if type(request) is kind]
        kind.Waitall([requests[number] for number in own], [statuses[number] for number in own] if statuses else None)


def waitany(requests: Sequence, status: Status | None = None) -> int:
    """Wait until one of the requests is complete and return its index (UNDEFINED if none is active).

    Raises TypeError for messages and our own collectives in one list: wait for them with `waitall`.
    """
    if not requests:
        return UNDEFINED
    kind = _one_kind(requests)
    return poll_any(requests, status) if kind is MPI.Request else kind.Waitany(requests, status)


def testall(requests: Sequence, statuses: list[Status] | None = None) -> bool:
    """Whether all requests, of one kind, are complete."""
    return _one_kind(requests).Testall(requests, statuses) if requests else True


def testany(requests: Sequence, status: Status | None = None) -> tuple[int, bool]:
    """(index of one that is complete, True), or (UNDEFINED, whether none is active); all are of one kind."""
    return _one_kind(requests).Testany(requests, status) if requests else (UNDEFINED, True)


def startall(requests: Sequence) -> None:
    """Start all of these persistent requests."""
    if requests:
        _one_kind(requests).Startall(requests)


def _one_kind(requests: Sequence) -> Any:
    """The class whose calls take all of these requests."""
    kinds: set[Any] = set(map(type, requests))
    if all(issubclass(kind, MPI.Request) for kind in kinds):
        return min(kinds, key=lambda kind: kind is MPI.Request)  # one that notes what is complete, if there is one
    for kind in kinds:
        if all(issubclass(other, kind) for other in kinds):
            return kind
    names = " and ".join(sorted(kind.__name__ for kind in kinds))
    raise TypeError(f"requests of one kind can be asked here, not {names}: use waitall")


def wait(request) -> None:
    """Wait for one request that may take long, and leave the core to others meanwhile.

    MPICH's own Wait looks again and again without a pause. Where ranks share cores, one that waits for its neighbour's
    passes would take the core from it.
    """
    if type(request) is MPI.Request:
        poll(request.Test)
    else:
        request.Wait()


def poll(test: Callable[[], bool]) -> None:
    """Call `test` until it says True: all the time for 100 microseconds, and then after pauses of a sixteenth of the
    time that it has taken so far, 1 ms at most. So what is waited for is noticed little later, in proportion.
    """
    begun = time.perf_counter()
    while not test():
        waited = time.perf_counter() - begun
        time.sleep(0 if waited < 100e-6 else min(waited / 16, 1e-3))


def poll_any(requests: Sequence[MPI.Request], status: Status | None = None) -> int:
    """MPI's Waitany that gives up its core between two looks: MPICH's own does not, and others may need it."""
    while True:
        index, done = MPI.Request.Testany(requests, status)
        if done:
            return index
        time.sleep(0)


def win_allocate(comm, nbytes: int, disp_unit: int = 1):
    """A window of `nbytes` bytes of memory on this rank, which the other ranks can read, write and add to.

    Collective. Displacements count in units of `disp_unit` bytes. All bytes are 0, which MPI alone does not promise.
    See API["windows"] for what it offers.
    """
    if isinstance(comm, MPI.Intracomm):
        return zeroed(MPI.Win.Allocate(nbytes, disp_unit, comm=comm), comm)
    return comm.win_allocate(nbytes, disp_unit)


def win_allocate_shared(comm, nbytes: int, disp_unit: int = 1):
    """A window whose memory the other ranks can also load from and store to directly, without any call.

    Collective, and only for ranks of one machine (Split_type makes a group of them): mpi.Exception of class
    ERR_RMA_SHARED for others. All bytes are 0. `window.Shared_query(rank)` gives (memory, disp_unit) of a rank's part;
    np.frombuffer and torch.frombuffer give the memory a type.

    What a rank has stored, another one is sure to load only after both have called `window.Sync()`, inside
    Lock_all() ... Unlock_all(): caches and compilers may keep a value back. On the virtual cluster Sync() waits until
    no rank's clock is behind, so that the loads and stores that follow happen in the order of virtual time.
    """
    if isinstance(comm, MPI.Intracomm):
        return zeroed(MPI.Win.Allocate_shared(nbytes, disp_unit, comm=comm), comm)
    return comm.win_allocate_shared(nbytes, disp_unit)


def zeroed(window: MPI.Win, comm: MPI.Intracomm) -> MPI.Win:
    """The window, when every rank has set its memory to 0."""
    memory: Any = window.tomemory()
    np.frombuffer(memory, np.uint8)[:] = 0
    MPI.Intracomm.Barrier(comm)  # and not a call that is counted
    return window


def wtime(comm) -> float:
    """The time in seconds on this rank's clock: virtual on the virtual cluster, MPI.Wtime on real ranks."""
    return MPI.Wtime() if isinstance(comm, MPI.Comm) else comm.wtime()


def network(comm) -> Any:
    """The network that this communicator's messages travel on, by the virtual cluster; None for real ranks."""
    return None if isinstance(comm, MPI.Comm) else comm.network


def fresh_tag(comm) -> int:
    """A tag for the next of our own collectives on this communicator, so that two under way cannot mix their messages.

    All ranks must start these collectives in the same order, as with MPI's own. A receive with ANY_TAG on the same
    communicator could take such a message: give it a tag, or a communicator of its own (Dup).
    """
    own = kept(comm)
    number = own["tags"] = own.get("tags", -1) + 1
    return OWN_TAGS[number % len(OWN_TAGS)]


def kept(comm) -> dict:
    """What this rank keeps with a communicator for as long as that lives; a copy (Dup) begins with nothing."""
    if not isinstance(comm, MPI.Comm):
        return comm.kept
    if not _key:
        _key.append(MPI.Comm.Create_keyval())
    own: Any = comm.Get_attr(_key[0])
    if own is None:
        comm.Set_attr(_key[0], own := {})
    return own


_key: list[int] = []  # under which a real communicator keeps them; made when first needed, for MPI must run


def compute(comm, seconds: float = 0.0, *, reduced: int = 0) -> None:
    """Compute for `seconds`, and account for `reduced` bytes that were just combined by a reduction.

    On the virtual cluster the clock moves on by seconds + reduced * gamma. On real ranks the processor is kept busy
    for `seconds`; the reduction has taken its own time already.
    """
    if type(comm) is MPI.Intracomm and seconds == 0:  # the reduction has taken its own time: nothing to do, quickly
        return
    if hasattr(comm, "compute"):  # a communicator of launch(), which keeps a clock or a record
        comm.compute(seconds, reduced)
    else:
        spin(seconds)


def charge(comm, seconds: float, label: str = "") -> None:
    """Account for work that this rank has just done and that would take `seconds` on its device (perf/meter.py).

    On the virtual cluster the clock moves on; in the timeline, charges with one `label` that follow each other without
    a gap make one computation. On real ranks nothing happens: the work has taken its own time already.
    """
    if not isinstance(comm, MPI.Comm):
        comm.charge(seconds, label)


def spin(seconds: float) -> None:
    """Keep this core busy for `seconds`."""
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


def sleep(comm, seconds: float) -> None:
    """Do nothing for `seconds`: the clock moves on and the processor is free."""
    if isinstance(comm, MPI.Comm):
        time.sleep(seconds)
    else:
        comm.sleep(seconds)

"""Lower-case calls: Python objects, pickled on the way, as mpi4py's documentation has them."""

import numpy as np
import pytest

from reference import mpi
from tests.worlds.conformance import RANKS, Legal

legal = Legal()
SEVERAL = RANKS[1:]
THINGS = [
    None,
    True,
    7,
    2.5,
    "word",
    b"bytes",
    (1, (2, 3)),
    [1, [2]],
    {"a": {1, 2}},
    np.arange(6).reshape(2, 3),
    10**40,
]


@legal(lambda rank, size, how: [(thing, rank - 1, tag) for tag, thing in enumerate(THINGS)] if rank else [],
       how=["send", "ssend", "isend", "issend"])  # fmt: skip
def objects_go_down_the_line(comm, how):
    """Every kind of object, by each call that sends; received by recv with a status."""
    seen, status = [], mpi.Status()
    for tag, thing in enumerate(THINGS):
        if comm.rank:
            thing = comm.recv(None, comm.rank - 1, tag, status)
            seen.append((thing, status.source, status.tag))
        if comm.rank + 1 < comm.size:
            request = getattr(comm, how)(thing, comm.rank + 1, tag)
            if how.startswith("i"):
                request.wait()
    return seen


@legal(lambda rank, size: ({"from": (rank - 1) % size}, (rank - 1) % size))
def sendrecv_of_objects(comm):
    status = mpi.Status()
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    return comm.sendrecv({"from": comm.rank}, right, 5, None, left, 5, status), status.source


@legal(lambda rank, size: (list(range(size)), [None] * size, [(True, "again")]))
def irecv_returns_the_object_when_waited_for(comm):
    """wait returns the object of a receive and None for a send; test returns (done, object)."""
    receives = [comm.irecv(source=s, tag=1) for s in range(comm.size)]
    sends = [comm.isend(comm.rank, d, 1) for d in range(comm.size)]
    received = [request.wait() for request in receives]
    answers = [request.wait() for request in sends]
    request = comm.irecv(source=comm.rank, tag=2)
    sent = comm.isend("again", comm.rank, 2)
    done, thing = request.test()
    while not done:
        assert thing is None
        done, thing = request.test()
    sent.wait()
    return received, answers, [(done, thing)]


@legal(lambda rank, size: [[(s, s, {"of": s, "i": i}) for i in range(3)] for s in range(1, size)] if rank == 0 else [])
def objects_from_any_source(comm):
    """Wildcards: any order among sources, each source in order."""
    if comm.rank:
        for i in range(3):
            comm.send({"of": comm.rank, "i": i}, 0, comm.rank)
        return []
    seen, status = [], mpi.Status()
    for _ in range(3 * (comm.size - 1)):
        thing = comm.recv(source=mpi.ANY_SOURCE, tag=mpi.ANY_TAG, status=status)
        seen.append((status.source, status.tag, thing))
    return [[message for message in seen if message[0] == s] for s in range(1, comm.size)]


@legal(lambda rank, size: (True, rank, 6, True, False, "probed"))
def objects_can_be_probed(comm):
    status = mpi.Status()
    sent = comm.isend("probed", comm.rank, 6)
    found = comm.probe(mpi.ANY_SOURCE, mpi.ANY_TAG, status)
    seen = found, status.source, status.tag, comm.iprobe(comm.rank, 6), comm.iprobe(comm.rank, 5)
    thing = comm.recv(source=comm.rank, tag=6)
    sent.wait()
    return *seen, thing


@legal(lambda rank, size: (None, None))
def nobody_sends_none(comm):
    """A receive from PROC_NULL returns None."""
    comm.send("lost", mpi.PROC_NULL)
    return comm.recv(source=mpi.PROC_NULL), comm.sendrecv(1, mpi.PROC_NULL, 0, None, mpi.PROC_NULL)


@legal(lambda rank, size: [{"root": root, "x": [root]} for root in range(size)])
def bcast_of_objects(comm):
    return [comm.bcast({"root": r, "x": [r]} if comm.rank == r else None, root=r) for r in range(comm.size)]


@legal(lambda rank, size: [[(s, "x" * s) for s in range(size)] if rank == root else None for root in range(size)])
def gather_of_objects(comm):
    return [comm.gather((comm.rank, "x" * comm.rank), root=root) for root in range(comm.size)]


@legal(lambda rank, size: [{root: rank} for root in range(size)])
def scatter_of_objects(comm):
    def parts(root):
        return [{root: r} for r in range(comm.size)] if comm.rank == root else None

    return [comm.scatter(parts(root), root=root) for root in range(comm.size)]


@legal(lambda rank, size: ([[s] * s for s in range(size)], [f"{s} to {rank}" for s in range(size)]))
def allgather_and_alltoall_of_objects(comm):
    return comm.allgather([comm.rank] * comm.rank), comm.alltoall([f"{comm.rank} to {d}" for d in range(comm.size)])


@legal(lambda rank, size: [size * (size + 1) // 2 if rank == root else None for root in range(size)])
def reduce_of_objects(comm):
    return [comm.reduce(comm.rank + 1, op=mpi.SUM, root=root) for root in range(comm.size)]


@legal(lambda rank, size: (size * (size - 1) / 2, 10 ** (20 * size), (size - 1, "last"), 0, set(range(size)), size > 1))
def allreduce_of_objects(comm):
    """Operations act through Python's own: + * max min on numbers of any length, | on sets."""
    me = comm.rank
    return (
        comm.allreduce(float(me)),
        comm.allreduce(10**20, op=mpi.PROD),
        comm.allreduce((me, "last" if me == comm.size - 1 else "no"), op=mpi.MAX),
        comm.allreduce(me, op=mpi.MIN),
        comm.allreduce({me}, op=mpi.BOR),
        bool(comm.allreduce(me, op=mpi.LOR)),
    )


@legal(lambda rank, size: np.arange(3) * size + size * (size - 1) // 2)
def allreduce_of_arrays_as_objects(comm):
    return comm.allreduce(np.arange(3) + comm.rank)


@legal(lambda rank, size: ([0], ["mine"], [0], ["mine"]))
def what_arrives_is_a_copy(comm):
    """Changing a received object changes nothing at its sender, in a message to oneself and in collectives too."""
    mine, root = ["mine"], [0]
    sent = comm.isend(mine, comm.rank)
    comm.recv(source=comm.rank).append("changed")
    sent.wait()
    comm.allgather(mine)[comm.rank].append("changed")
    heard = comm.bcast(root)
    if comm.rank:
        heard.append("changed")
    comm.alltoall([mine] * comm.size)[0].append("changed")
    return root, mine, comm.bcast(root), comm.sendrecv(mine, comm.rank, 0, None, comm.rank, 0)


@legal(lambda rank, size: ["before"])
def an_object_is_sent_as_it_was(comm):
    """isend pickles at once: what the program does to the object afterwards does not travel."""
    thing = ["before"]
    sent = comm.isend(thing, comm.rank)
    thing.append("after")
    got = comm.recv(source=comm.rank)
    sent.wait()
    return got


@legal(lambda rank, size: ([2, 1], np.array([5.0])))
def objects_and_buffers_side_by_side(comm):
    """Tags keep an object and a buffer apart; received in the other order."""
    sends = [comm.isend([2, 1], comm.rank, 1), comm.Isend(np.array([5.0]), comm.rank, 2)]
    got = np.zeros(1)
    comm.Recv(got, comm.rank, 2)
    thing = comm.recv(source=comm.rank, tag=1)
    sends[0].wait()
    sends[1].Wait()
    comm.barrier()
    return thing, got


@legal(lambda rank, size: [{"part": rank % 2}, [r for r in range(size) if r % 2 == rank % 2]])
def objects_in_groups(comm):
    part = comm.Split(comm.rank % 2)
    return [part.bcast({"part": comm.rank % 2} if part.rank == 0 else None), part.allgather(comm.rank)]


@pytest.mark.parametrize("case, ranks", legal.params())
def test_objects(case, ranks, world):
    case.check(ranks, world)

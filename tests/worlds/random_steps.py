"""The steps of random programs: what a rank does in each, from the numbers that all ranks have drawn alike.

A step is step(player, comm, numbers). It says which `role` its rank plays, and does it in the way that the player's
`how` asks for, if the rank is a mutant (random_programs.py). What comes goes into the player's log.
"""

from __future__ import annotations

import random

import numpy as np

from reference import mpi

OPERATIONS = mpi.SUM, mpi.MAX, mpi.MIN


def message(player, comm, numbers) -> None:
    """One message, in one of many ways."""
    a, b, length, tag, form, wild, kind = numbers
    source, dest, tag, length = a % comm.size, b % comm.size, tag % 3, 1 + length % 50
    objects, wild = form % 3 == 0, wild % 3 == 0
    posted = source == dest, form % 2 == 0
    x = player.data([kind], length, source)
    if comm.rank == source:
        if dest != source:
            player.role(
                ("send object to any tag" if wild else "send object")
                if objects
                else "send to any tag"
                if wild
                else "send"
            )
        name = "issend" if form % 5 == 0 else "isend"
        name = name if any(posted) else name[1:]
        sent = {"n": length, "by": source} if objects else x
        to = tag + 1 if player.how == "tag" else tag
        request = getattr(comm, name if objects else name.capitalize())(sent, dest, to)
        if request is not None:
            player.keep(request, None if objects else x)
    if comm.rank == dest:
        if dest != source:
            player.role("receive any tag" if wild else "receive")
        tag = mpi.ANY_TAG if wild else tag + 5 if player.how == "tag" else tag
        if form % 11 < 3:
            while not comm.Iprobe(source, tag):
                pass
        if objects:
            player.seen.append(comm.recv(source=source, tag=tag))
        elif form % 7 < 3:
            y = np.zeros(length, x.dtype)
            player.keep(comm.Irecv(y, source, tag), y, [y])
        else:
            y = np.zeros(length, x.dtype)
            comm.Recv(y, source, tag)
            player.seen.append(y.tolist())


def from_anybody(player, comm, numbers) -> None:
    """All others send to one, which takes what comes, after a probe or without."""
    dest, tag, length = numbers[0] % comm.size, 100 + player.step, 1 + numbers[1] % 9
    x = player.data([numbers[2]], length, comm.rank)
    if comm.rank != dest:
        player.role("send")
        comm.Send(x, dest, tag + 1 if player.how == "tag" else tag)
        return
    got = []
    for _ in range(comm.size - 1):
        player.role("receive any tag")
        status, source, y = mpi.Status(), mpi.ANY_SOURCE, np.zeros(length, x.dtype)
        if numbers[3] % 2:
            comm.Probe(mpi.ANY_SOURCE, tag, status)
            source = status.source
        comm.Recv(y, source, tag, status)
        got.append((status.source, y.tolist()))
    player.raced.append(got)
    player.seen.append(sorted(got))


def shift(player, comm, numbers) -> None:
    """Everybody sends to a rank some places on; at an edge there may be nobody."""
    by, length, around = numbers[0] % comm.size, 1 + numbers[1] % 50, numbers[2] % 2
    to, source = comm.rank + by, comm.rank - by
    if around:
        to, source = to % comm.size, source % comm.size
    elif not 0 <= to < comm.size:
        to = mpi.PROC_NULL
    source = source if 0 <= source < comm.size else mpi.PROC_NULL
    if to not in (mpi.PROC_NULL, comm.rank):
        player.role("send" if numbers[4] % 3 else "send object")
    x = player.data([numbers[3]], length, comm.rank)
    y = np.zeros(length, x.dtype)
    if numbers[4] % 3:
        comm.Sendrecv(x, to, 7 + (player.how == "tag"), y, source, 7)
        player.seen.append(y.tolist())
    else:
        player.seen.append(comm.sendrecv(x.tolist(), to, 7 + (player.how == "tag"), None, source, 7))


def collective(player, comm, numbers) -> None:
    """An upper-case collective, blocking or not."""
    which, root, op, length, later, kind = (
        numbers[0],
        numbers[1],
        numbers[2],
        1 + numbers[3] % 20,
        numbers[4],
        numbers[5],
    )
    p, root, op = comm.size, root % comm.size, op + (player.how == "operation")
    names = "Bcast Reduce Allreduce Allgather Reduce_scatter_block Scatter Gather Alltoall Barrier".split()
    name = names[which % len(names)]
    if p > 1:
        player.role("collective")
        rooted, moved = name in ("Bcast", "Reduce", "Scatter", "Gather"), name != "Barrier"
        for role, holds in {
            "rooted": rooted,
            "sized": moved,
            "reduced": "Reduce" in name or name == "Allreduce",
        }.items():
            if holds:
                player.role(role)
    root = (root + 1) % p if player.how == "root" else root
    op = OPERATIONS[op % len(OPERATIONS)]
    n = length + (player.how == "longer")
    x = player.data([kind], p * length, comm.rank)[: p * length]
    x, y = np.resize(x, p * n), np.zeros(p * n, x.dtype)
    calls = {
        "Bcast": ((x,), {"root": root}, x, x),
        "Reduce": ((x, y), {"op": op, "root": root}, x, y),
        "Allreduce": ((x, y), {"op": op}, x, y),
        "Allgather": ((x[:n], y), {}, x, y),
        "Reduce_scatter_block": ((x, y[:n]), {"op": op}, x, y),
        "Scatter": ((x, y[:n]), {"root": root}, y, y),
        "Gather": ((x[:n], y), {"root": root}, x, y),
        "Alltoall": ((x, y), {}, x, y),
        "Barrier": ((), {}, None, x[:0]),
    }
    arguments, named, changed, result = calls[name]
    if later % 2:
        player.keep(getattr(comm, "I" + name.lower())(*arguments, **named), changed, [result])
    else:
        getattr(comm, name)(*arguments, **named)
        player.seen.append(result.tolist())


def vectors(player, comm, numbers) -> None:
    """A collective whose blocks have lengths of their own, 0 too: L[i][j] from rank i to rank j."""
    which, root, later, kind, seed = numbers[0], numbers[1] % comm.size, numbers[2], numbers[3], numbers[4]
    p, me, draw = comm.size, comm.rank, random.Random(seed)
    L = [[draw.randrange(4) for _ in range(p)] for _ in range(p)]
    name = ("Alltoallv", "Allgatherv", "Gatherv", "Scatterv", "Reduce_scatter")[which % 5]
    if p > 1:
        player.role("collective")
        player.role("uneven")
        if name in ("Gatherv", "Scatterv"):
            player.role("rooted")
    root = (root + 1) % p if player.how == "root" else root
    x = player.data([kind], 4 * p * p, me)[: 4 * p * p]
    y = np.zeros_like(x)
    first, mine = L[0], L[me]
    if player.how == "longer":  # one element more to the next rank, or of one's own
        mine[(me + 1) % p if name == "Alltoallv" else 0] += 1
        first = [count + (rank == me) for rank, count in enumerate(first)]
    calls = {
        "Alltoallv": (([x, mine], [y, [line[me] for line in L]]), {}),
        "Allgatherv": (([x, first[me]], [y, first]), {}),
        "Gatherv": (([x, first[me]], [y, L[0]] if me == root else None), {"root": root}),
        "Scatterv": (([x, L[0]] if me == root else None, [y, first[me]]), {"root": root}),
        "Reduce_scatter": (([x, sum(first)], [y, first[me]], first), {"op": mpi.SUM}),
    }
    arguments, named = calls[name]
    if later % 2:
        player.keep(getattr(comm, "I" + name.lower())(*arguments, **named), None, [y])
    else:
        getattr(comm, name)(*arguments, **named)
        player.seen.append(y.tolist())


def object_collective(player, comm, numbers) -> None:
    """A lower-case collective."""
    if comm.size > 1:
        player.role("collective")
    root, mine = numbers[1] % comm.size, (player.step, comm.rank)
    if comm.size > 1 and numbers[0] % 8 in (0, 1, 2, 6):
        player.role("rooted")
        root = (root + 1) % comm.size if player.how == "root" else root
    each = [(*mine, place) for place in range(comm.size)]
    calls = [
        lambda: comm.bcast(mine, root),
        lambda: comm.gather(mine, root),
        lambda: comm.scatter(each, root),
        lambda: comm.allgather(mine),
        lambda: comm.alltoall(each),
        lambda: comm.allreduce(comm.rank, op=mpi.MAX),
        lambda: comm.reduce([comm.rank], op=mpi.SUM, root=root),
        lambda: comm.barrier(),
    ]
    player.seen.append(calls[numbers[0] % 8]())


def divide(player, comm, numbers) -> None:
    """A communicator more."""
    if comm == mpi.COMM_NULL:
        player.comms.append(comm)
        return
    if comm.size > 1:
        player.role("collective")
    a, b, kind = numbers[:3]
    if kind % 3 == 0:
        made = comm.Dup()
    elif kind % 3 == 1:
        made = comm.Create_cart([comm.size], [bool(a % 2)])
        player.seen.append(made.Shift(0, 1))
    else:
        color = (comm.rank * a + b) % 3
        made = comm.Split(mpi.UNDEFINED if color == 2 and b % 2 else color, (comm.rank * a) % 5)
    player.comms.append(made)
    player.seen.append(None if made == mpi.COMM_NULL else (made.rank, made.size))


def window(player, comm, numbers) -> None:
    """An epoch on the window of the whole world."""
    win, target = player.window, (player.world.rank + numbers[0]) % player.world.size
    if player.how == "outside":
        win.Put(np.ones(1), target)
    EPOCHS[numbers[1] % len(EPOCHS)](player, win, target, numbers[2:])


def fenced(player, win, target, numbers) -> None:
    """Everybody adds, puts and gets between two fences."""
    player.role("fence")
    if player.world.size > 1:
        player.role("collective")
    y = np.zeros(1)
    win.Fence()
    win.Accumulate(np.full(1, player.step + 1.0), target, 1)
    win.Put(np.full(1, player.step + 2.0), target, 2 + player.world.rank)
    win.Fence()
    win.Get(y, target, 2 + player.world.rank)
    win.Fence(mpi.MODE_NOSUCCEED)
    player.seen.append(y[0])


def locked(player, win, target, numbers) -> None:
    """Add to the first element under an exclusive lock, to the second one under a shared one, and draw a number."""
    player.role("epoch")
    y, one, drawn = np.zeros(1), np.ones(1), np.zeros(1)
    if numbers[0] % 2 or player.how in ("keep", "change"):
        win.Lock(target)
        win.Get(y, target)
        win.Flush(target)
        win.Put(y + 1, target)
    else:
        win.Lock_all() if numbers[1] % 2 else win.Lock(target, mpi.LOCK_SHARED)
        win.Fetch_and_op(one, drawn, target, 1)
        win.Rput(np.full(1, player.step + 3.0), target, 2 + player.world.rank).Wait()
    if player.how == "change":
        win.Accumulate(one, target)
        one += 1
    if player.how != "keep":
        win.Unlock_all() if not numbers[0] % 2 and numbers[1] % 2 and player.how != "change" else win.Unlock(target)
    player.raced.append(drawn[0])


def looked_at(player, win, target, numbers) -> None:
    """Everybody reads its own memory, when all have added."""
    if player.world.size > 1:
        player.role("collective")
    player.world.Barrier()
    win.Lock(player.world.rank, mpi.LOCK_SHARED)
    player.seen.append(np.frombuffer(win.tomemory(), np.float64).tolist())
    win.Unlock(player.world.rank)
    player.world.Barrier()


def work(player, comm, numbers) -> None:
    """Compute or sleep for some microseconds; look around, a number of times, or until a time."""
    seconds, looks = numbers[1] % 9 * 1e-6, numbers[2] % 30
    (mpi.compute if numbers[0] % 2 else mpi.sleep)(player.world, seconds)
    player.raced.append(sum(player.world.Iprobe(tag=99) for _ in range(looks)))
    end = mpi.wtime(player.world) + seconds
    while numbers[3] % 3 == 0 and mpi.wtime(player.world) < end:
        player.world.Iprobe(tag=99)


def wait(player, comm, numbers) -> None:
    """Some ranks wait for all that they have begun."""
    if (player.world.rank + numbers[0]) % 2:
        player.wait_for_all()


EPOCHS = fenced, locked, locked, looked_at
STEPS = {  # and how often
    "message": (message, 6),
    "from anybody": (from_anybody, 2),
    "shift": (shift, 2),
    "collective": (collective, 5),
    "vectors": (vectors, 3),
    "object collective": (object_collective, 2),
    "divide": (divide, 2),
    "window": (window, 4),
    "work": (work, 2),
    "wait": (wait, 2),
}

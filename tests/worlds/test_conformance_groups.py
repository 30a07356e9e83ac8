"""Communicators (MPI 4.1, chapters 7 and 8): split, duplicated, Cartesian. What one carries stays there."""

import numpy as np
import pytest

from reference import mpi
from reference.worlds import launch, networks
from tests.worlds.conformance import RANKS, Legal, row

legal = Legal()
SEVERAL = RANKS[1:]


def members(comm, world):
    """World ranks of a group's members, in the group's order."""
    return comm.allgather(world.rank)


def alike(rank, size, colours):
    return [r for r in range(size) if r % colours == rank % colours]


@legal(lambda rank, size, n: (rank // n, len(alike(rank, size, n)), alike(rank, size, n)), n=[1, 2, 3])
def split_groups_by_colour(comm, n):
    part = comm.Split(comm.rank % n)
    return part.rank, part.size, members(part, comm)


@legal(lambda rank, size: [list(range(size))[::-1], list(range(size)), [*range(1, size), 0]])
def split_orders_by_key_then_rank(comm):
    """Keys may be negative and need not be dense; equal keys keep the old order."""
    keys = (-comm.rank, 5, 99 if comm.rank == 0 else 1)
    return [members(comm.Split(0, key), comm) for key in keys]


@legal(lambda rank, size: (rank > 0, rank > 0, list(range(1, size)) if rank else None))
def split_leaves_out_who_says_undefined(comm):
    """Rank 0 gets COMM_NULL, which is false."""
    part = comm.Split(mpi.UNDEFINED if comm.rank == 0 else 3)
    return bool(part), part != mpi.COMM_NULL, members(part, comm) if part else None


@legal(lambda rank, size: [alike(rank, size, 2)[::-1], alike(rank, size, 4)])
def splits_nest(comm):
    """A group can be split again; ranks and keys are then those of the group."""
    half = comm.Split(comm.rank % 2)
    quarter = half.Split(half.rank % 2)
    return [members(half.Split(0, -half.rank), comm), members(quarter, comm)]


@legal(lambda rank, size: (sum(alike(rank, size, 2)), alike(rank, size, 2)[-1], alike(rank, size, 2)))
def collectives_stay_in_their_group(comm):
    """Groups work at the same time, with other sizes and, between collectives of the world, in other numbers."""
    part, x, y, z = comm.Split(comm.rank % 2), np.zeros(1), row(comm.rank), np.zeros(1)
    for _ in range(1 + comm.rank % 2):
        part.Allreduce(row(comm.rank), x)
    comm.Allreduce(row(1), z)
    part.Bcast(y, root=part.size - 1)
    assert z[0] == comm.size
    return x[0], y[0], members(part, comm)


@legal(lambda rank, size: [(2.0, rank, 7), (1.0, rank, 7), (0.0, rank, 7)])
def messages_stay_in_their_communicator(comm):
    """Three messages alike in source and tag, one in each communicator: each is received where it was sent."""
    comms = [comm, comm.Dup(), comm.Split(0)]
    sent = [c.Isend(row(i), c.rank, 7) for i, c in enumerate(comms)]
    seen, status = [], mpi.Status()
    for c in reversed(comms):
        got = np.zeros(1)
        c.Recv(got, mpi.ANY_SOURCE, mpi.ANY_TAG, status)
        seen.append((got[0], status.source, status.tag))
    mpi.waitall(sent)
    return seen


@legal(lambda rank, size: (False, True))
def probes_stay_in_their_communicator(comm):
    twin = comm.Dup()
    sent = comm.Isend(row(1), comm.rank, 7)
    while not comm.Iprobe():
        pass
    seen = twin.Iprobe(), comm.Iprobe()
    comm.Recv(np.zeros(1))
    sent.Wait()
    return seen


@legal(lambda rank, size: (float((rank + 1) % size), (size - 2 - rank) % size))
def sources_are_ranks_of_the_group(comm):
    """In a group in reverse order the status names the sender's rank in the group, not in the world."""
    back, got, status = comm.Split(0, -comm.rank), np.zeros(1), mpi.Status()
    back.Sendrecv(row(comm.rank), (back.rank + 1) % back.size, 0, got, mpi.ANY_SOURCE, 0, status)
    return got[0], status.source


@legal(lambda rank, size: (rank, size, list(range(size)), True, False))
def dup_is_the_same_group_and_another_communicator(comm):
    twin = comm.Dup()
    answer = twin.rank, twin.size, members(twin, comm), bool(twin)
    twin.Free()
    return *answer, bool(twin)


@legal(lambda rank, size: ["tp", "tp", "dp", "dp", "tp", False, False])
def names_are_given_and_not_inherited(comm):
    """Set_name and `name` name one communicator; one made from it has another name."""
    part = comm.Split(0)
    part.Set_name("tp")
    seen = [part.name, part.Get_name()]
    child, twin = part.Split(0), part.Dup()
    inherited = [child.name == "tp", twin.name == "tp"]
    child.name = "dp"
    return [*seen, child.name, child.Get_name(), part.name, *inherited]


@legal(lambda rank, size: True)
def split_by_shared_memory(comm):
    """Ranks of one node form a group, in the order of their keys; every rank is in exactly one."""
    node, back = comm.Split_type(mpi.COMM_TYPE_SHARED), comm.Split_type(mpi.COMM_TYPE_SHARED, key=-comm.rank)
    ranks = members(node, comm)
    nodes = {tuple(n) for n in comm.allgather(ranks)}
    assert sorted(r for n in nodes for r in n) == list(range(comm.size))
    return ranks == sorted(ranks) and comm.rank in ranks and members(back, comm) == ranks[::-1]


@pytest.mark.parametrize("per_node, ranks", [(1, 3), (2, 4), (4, 8), (4, 6)])
def test_nodes_of_a_two_level_network(per_node, ranks):
    """On the virtual cluster the network says who shares a node."""

    def program(comm):
        return members(comm.Split_type(mpi.COMM_TYPE_SHARED), comm)

    run = launch(program, ranks, network=networks.two_level(ranks_per_node=per_node))
    assert run.results == [[r for r in range(ranks) if r // per_node == me // per_node] for me in range(ranks)]


def grid(size):
    return {1: [1, 1], 2: [2, 1], 3: [3, 1], 5: [5, 1], 8: [2, 4]}[size]


@legal(lambda rank, size: ([*divmod(rank, grid(size)[1])], rank, size))
def cartesian_ranks_are_in_row_major_order(comm):
    cart = comm.Create_cart(grid(comm.size))
    coordinates = cart.Get_coords(cart.rank)
    return coordinates, cart.Get_cart_rank(coordinates), cart.size


def neighbours(place, extent, step, periodic):
    """Coordinates of (source, dest) of a shift by `step` along one axis, PROC_NULL beyond an end."""
    ends = place - step, place + step
    return [end % extent if periodic else end if 0 <= end < extent else mpi.PROC_NULL for end in ends]


def shifts(rank, size):
    rows, columns = grid(size)
    i, j = divmod(rank, columns)
    down = [[s * columns + j for s in neighbours(i, rows, step, True)] for step in (1, -1, 3)]
    along = [
        [s if s == mpi.PROC_NULL else i * columns + s for s in neighbours(j, columns, step, False)]
        for step in (1, -1, 3)
    ]
    return [down, along]


@legal(lambda rank, size: shifts(rank, size))
def cartesian_shift(comm):
    """Source and destination of a shift: around a periodic axis, up to PROC_NULL along the other."""
    cart = comm.Create_cart(grid(comm.size), periods=[True, False])
    return [[list(cart.Shift(axis, step)) for step in (1, -1, 3)] for axis in (0, 1)]


@legal(lambda rank, size: (rank, rank))
def periodic_coordinates_wrap(comm):
    cart = comm.Create_cart(grid(comm.size), periods=[True, True])
    i, j = cart.Get_coords(cart.rank)
    rows, columns = grid(comm.size)
    return cart.Get_cart_rank([i + rows, j]), cart.Get_cart_rank([i, j - columns])


def lines(rank, size):
    columns = grid(size)[1]
    row_start = rank // columns * columns
    return [list(range(row_start, row_start + columns)), list(range(rank % columns, size, columns)), [rank]]


@legal(lambda rank, size: lines(rank, size))
def cartesian_sub_gives_rows_and_columns(comm):
    cart = comm.Create_cart(grid(comm.size))
    return [members(cart.Sub(keep), comm) for keep in ([False, True], [True, False], [False, False])]


@legal(lambda rank, size: (float((rank - 1) % size), float(size)))
def messages_and_collectives_on_a_cartesian_ring(comm):
    ring = comm.Create_cart([comm.size], periods=[True])
    left, right = ring.Shift(0, 1)
    got, n = np.zeros(1), np.ones(1)
    ring.Sendrecv(row(ring.rank), right, 0, got, left, 0)
    ring.Allreduce(mpi.IN_PLACE, n)
    return got[0], n[0]


@legal(lambda rank, size: rank < size - 1, ranks=SEVERAL)
def a_small_grid_leaves_ranks_out(comm):
    """A grid may be smaller than the group: the ranks beyond it get COMM_NULL."""
    return bool(comm.Create_cart([comm.size - 1]))


@legal(lambda rank, size: [float(size)] * 30)
def many_communicators(comm):
    """Made and freed over and over, each works."""
    seen = []
    for _ in range(30):
        twin, x = comm.Dup(), np.ones(1)
        twin.Allreduce(mpi.IN_PLACE, x)
        twin.Free()
        seen.append(x[0])
    return seen


@pytest.mark.parametrize("case, ranks", legal.params())
def test_groups(case, ranks, world):
    case.check(ranks, world)

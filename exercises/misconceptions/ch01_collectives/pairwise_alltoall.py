"""Wrong answers to `pairwise_alltoall`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, whole

WRONG = [
    whole(
        "columns",
        "does not lie in one piece",
        """
        def pairwise_alltoall(comm, x):
            P, rank = comm.size, comm.rank
            result = np.empty_like(x)
            result[:, rank] = x[:, rank]
            for step in range(1, P):
                to, source = (rank + step) % P, (rank - step) % P
                comm.Sendrecv(x[:, to], dest=to, recvbuf=result[:, source], source=source)
            return result
        """,
    ),
    whole(
        "everything_to_everybody",
        "You sent all of x to everybody",
        """
        def pairwise_alltoall(comm, x):
            P, rank = comm.size, comm.rank
            result, arriving = np.empty_like(x), np.empty_like(x)
            result[rank] = x[rank]
            for step in range(1, P):
                source = (rank - step) % P
                comm.Sendrecv(x, dest=(rank + step) % P, recvbuf=arriving, source=source)
                result[source] = arriving[rank]
            return result
        """,
    ),
    edit(
        "forgot_the_own_row",
        "That is the place of what the rank has itself",
        """
        result = np.empty_like(x)
        result[rank] = x[rank]
        """,
        "result = np.zeros_like(x)",
    ),
    whole(
        "library_alltoall",
        "Alltoall does the whole job",
        """
        def pairwise_alltoall(comm, x):
            result = np.empty_like(x)
            comm.Alltoall(x, result)
            return result
        """,
    ),
    whole(
        "partner_by_xor",
        "when P is a power of two, and only then",
        """
        def pairwise_alltoall(comm, x):
            P, rank = comm.size, comm.rank
            result = np.empty_like(x)
            result[rank] = x[rank]
            for step in range(1, P):
                comm.Sendrecv(x[rank ^ step], dest=rank ^ step, recvbuf=result[rank ^ step], source=rank ^ step)
            return result
        """,
    ),
    whole(
        "passes_on_for_others",
        "and nothing is passed on for others",
        """
        from reference import mpi


        def pairwise_alltoall(comm, x):
            P, rank = comm.size, comm.rank
            result = np.empty_like(x)
            result[rank] = x[rank]
            right, left = (rank + 1) % P, (rank - 1) % P
            travelling = [x[(rank + step) % P].copy() for step in range(1, P)]
            for step in range(1, P):
                arriving = [np.empty_like(row) for row in travelling]
                requests = [comm.Irecv(row, source=left) for row in arriving]
                requests += [comm.Isend(row, dest=right) for row in travelling]
                mpi.waitall(requests)
                result[(rank - step) % P] = arriving[0]
                travelling = arriving[1:]
            return result
        """,
    ),
    edit("received_into_the_wrong_row", "and stands in another's place", "[source", "[dest"),
    edit(
        "ring_of_sends",
        "Send may wait until its message is received",
        "comm.Sendrecv(x[dest], dest=dest, recvbuf=result[source], source=source)",
        """
        comm.Send(x[dest], dest=dest)
        comm.Recv(result[source], source=source)
        """,
    ),
    whole(
        "round_the_ring",
        "comes past ranks that have no use for it",
        """
        def pairwise_alltoall(comm, x):
            P, rank = comm.size, comm.rank
            result = np.empty_like(x)
            result[rank] = x[rank]
            passing = x
            for step in range(1, P):
                arriving = np.empty_like(x)
                comm.Sendrecv(passing, dest=(rank + 1) % P, recvbuf=arriving, source=(rank - 1) % P)
                result[(rank - step) % P] = arriving[rank]
                passing = arriving
            return result
        """,
    ),
    edit(
        "rows_and_columns",
        "not what you have for them",
        """
        result = np.empty_like(x)
        result[rank] = x[rank]
        """,
        "result = x.copy()",
        "result[source]",
        "np.empty_like(x[source])",
    ),
    whole(
        "send_then_receive",
        "Each rank does one thing at a time",
        """
        def pairwise_alltoall(comm, x):
            P, rank = comm.size, comm.rank
            result = np.empty_like(x)
            result[rank] = x[rank]
            for other in range(P):
                if rank < other:
                    comm.Send(x[other], dest=other)
                    comm.Recv(result[other], source=other)
                elif rank > other:
                    comm.Recv(result[other], source=other)
                    comm.Send(x[other], dest=other)
            return result
        """,
    ),
    edit("sends_the_wrong_row", "The right rank has sent the wrong row", "dest]", "rank]"),
    whole(
        "serves_in_order_of_rank",
        "so they queue up",
        """
        def pairwise_alltoall(comm, x):
            result = x.copy()
            for other in range(comm.size):
                if other != comm.rank:
                    comm.Sendrecv(x[other], dest=other, recvbuf=result[other], source=other)
            return result
        """,
    ),
    whole(
        "source_is_dest",
        "so no order can be wrong",
        """
        def pairwise_alltoall(comm, x):
            P, rank = comm.size, comm.rank
            result = np.empty_like(x)
            result[rank] = x[rank]
            for step in range(1, P):
                partner = (rank + step) % P
                comm.Sendrecv(x[partner], dest=partner, recvbuf=result[partner], source=partner)
            return result
        """,
    ),
    whole(
        "transposes_its_own",
        "Nothing was sent at all",
        """
        def pairwise_alltoall(comm, x):
            return x.T.copy()
        """,
    ),
    whole(
        "works_in_x",
        "who writes into one writes into x",
        """
        def pairwise_alltoall(comm, x):
            P, rank = comm.size, comm.rank
            mine = x.copy()
            for step in range(1, P):
                dest, source = (rank + step) % P, (rank - step) % P
                comm.Sendrecv(mine[dest], dest=dest, recvbuf=x[source], source=source)
            return x.copy()
        """,
    ),
    whole(
        "xor_with_idle_steps",
        "In some steps a rank has no partner",
        """
        def pairwise_alltoall(comm, x):
            P, rank = comm.size, comm.rank
            result = np.empty_like(x)
            result[rank] = x[rank]
            for step in range(1, 2 ** (P - 1).bit_length()):
                partner = rank ^ step
                if partner < P:
                    comm.Sendrecv(x[partner], dest=partner, recvbuf=result[partner], source=partner)
            return result
        """,
    ),
]

"""Wrong answers to `pairwise_alltoall`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, whole

PARTNERS = "(rank + step) % P, (rank - step) % P"
EXCHANGE = "comm.Sendrecv(x[dest], dest=dest, recvbuf=result[source], source=source)"
SEND, RECEIVE = "comm.Send(x[dest], dest=dest)\n", "comm.Recv(result[source], source=source)\n"

WRONG = [
    edit("as_a_list", "returned an array of shape (80,)", "return result", "return result.ravel()"),
    edit("columns", "does not lie in one piece", "x[dest]", "x[:, dest]", "result[source]", "result[:, source]"),
    edit(
        "everything_to_everybody",
        "You sent all of x to everybody",
        EXCHANGE,
        """
        everything = np.empty_like(x)
        comm.Sendrecv(x, dest=dest, recvbuf=everything, source=source)
        result[source] = everything[rank]
        """,
    ),
    edit("float32", "float64 carries 16 digits", "return result", "return result.astype(np.float32).astype(float)"),
    edit(
        "forgot_the_own_row",
        "That is the place of what the rank has itself",
        *("empty", "zeros", "result[rank] = x[rank]", ""),
    ),
    edit(
        "in_pieces",
        "in more messages than are needed",
        EXCHANGE,
        """
        for begin in range(0, max(1, x[dest].size), 1000):
            some = slice(begin, begin + 1000)
            comm.Sendrecv(x[dest][some], dest=dest, recvbuf=result[source][some], source=source)
        """,
    ),
    edit("partner_by_xor", "only if P is a power of two", PARTNERS, "rank ^ step, rank ^ step"),
    edit("not_around_the_circle", "only if P is a power of two", PARTNERS, "rank + step, rank - step"),
    edit("received_into_the_wrong_row", "and stands in another's place", "[source", "[dest"),
    edit("ring_of_sends", "Send may wait until its message is received", EXCHANGE, SEND + RECEIVE),
    edit(
        "round_the_ring",
        "comes past ranks that have no use for it",
        EXCHANGE,
        """
        passing = x.copy() if step == 1 else arriving.copy()
        arriving = np.empty_like(x)
        comm.Sendrecv(passing, dest=(rank + 1) % P, recvbuf=arriving, source=(rank - 1) % P)
        result[source] = arriving[rank]
        """,
    ),
    edit("rows_and_columns", "not what you have for them", "np.empty_like(x)", "x.copy()", "=result", "=x.copy()"),
    edit("sends_the_wrong_row", "The right rank has sent the wrong row", "dest]", "rank]"),
    edit("serves_in_order_of_rank", "so they queue up", "range(1, P)", "range(P)", PARTNERS, "step, step"),
    edit(
        "send_then_receive",
        "Each rank does one thing at a time",
        EXCHANGE,
        f"""
        if rank < dest:
            {SEND}            {RECEIVE}
        elif rank > dest:
            {RECEIVE}            {SEND}
        """,
        of="serves_in_order_of_rank",
    ),
    edit("source_is_dest", "No send has a receive that fits", PARTNERS, "(rank + step) % P, (rank + step) % P"),
    edit("works_in_x", "who writes into one writes into x", "np.empty_like(x)", "x", "x[dest], ", "x[dest].copy(), "),
    edit(
        "xor_with_idle_steps",
        "In some steps a rank has no partner",
        *("range(1, P)", "range(1, 2 ** (P - 1).bit_length())", EXCHANGE, f"if dest < P:\n    {EXCHANGE}"),
        of="partner_by_xor",
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
        "passes_on_for_others",
        "and nothing is passed on for others",
        """
        def pairwise_alltoall(comm, x):
            P, rank, result = comm.size, comm.rank, x.copy()
            travelling = [x[(rank + step) % P].copy() for step in range(1, P)]
            for step in range(1, P):
                sending = [comm.Isend(row, dest=(rank + 1) % P) for row in travelling]
                arriving = [np.empty_like(row) for row in travelling]
                for row in arriving:
                    comm.Recv(row, source=(rank - 1) % P)
                for request in sending:
                    request.Wait()
                result[(rank - step) % P], *travelling = arriving
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
]

"""Wrong answers to `reduce_in_buckets`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, whole

REDUCE = "comm.Reduce_scatter_block(flat, part)"

WRONG = [
    edit("sum", "The gradients are added up and not divided", "part / comm.size", "part"),
    edit("averages_twice", "The mean was taken twice", "part / comm.size", "part / comm.size**2"),
    edit(
        "own_gradients",
        "That is made of this rank's gradients alone",
        *(REDUCE, "part = flat[comm.rank * n : comm.rank * n + n]"),
        *("part / comm.size", "part"),
    ),
    edit(
        "all_reduce",
        "An all-reduce gives every rank the whole bucket",
        REDUCE,
        """
        comm.Allreduce(mpi.IN_PLACE, flat)
        part[:] = flat[comm.rank * n : comm.rank * n + n]
        """,
    ),
    edit(
        "keeps_everything",
        "this is what stage 2 saves",
        REDUCE,
        """
        comm.Allreduce(mpi.IN_PLACE, flat)
        part = flat
        """,
    ),
    edit(
        "garbage_behind", "Do zeros stand behind the last one", "np.zeros(comm.size * n)", "np.full(comm.size * n, 1e9)"
    ),
    edit("one_too_short", "a part has n", "-(-sum(lengths) // comm.size)", "sum(lengths) // comm.size"),
    whole(
        "reduces_at_the_end",
        "when gradient 1 was made, of bucket 1, 0 buckets",
        """
        def reduce_in_buckets(comm, backward, buckets):
            full = [np.concatenate([backward(comm) for _ in lengths]) for lengths in buckets]
            parts = []
            for flat in full:
                part = np.empty(-(-len(flat) // comm.size))
                comm.Reduce_scatter_block(np.pad(flat, (0, -len(flat) % comm.size)), part)
                parts.append(part / comm.size)
            return parts
        """,
    ),
    whole(
        "holds_the_last_bucket",
        "a name that is bound anew only after the next call",
        """
        def reduce_in_buckets(comm, backward, buckets):
            parts = []
            for lengths in buckets:
                gradients = [backward(comm) for _ in lengths]
                flat = np.pad(np.concatenate(gradients), (0, -sum(lengths) % comm.size))
                part = np.empty(len(flat) // comm.size)
                comm.Reduce_scatter_block(flat, part)
                parts.append(part / comm.size)
            return parts
        """,
    ),
    whole(
        "each_by_itself",
        "More reductions than buckets",
        """
        def reduce_in_buckets(comm, backward, buckets):
            P, parts = comm.size, []
            for lengths in buckets:
                n = -(-sum(lengths) // P)
                mine, start = np.zeros(n), 0
                for length in lengths:
                    flat, part = np.zeros(P * n), np.empty(n)
                    flat[start : start + length] = backward(comm)
                    comm.Reduce_scatter_block(flat, part)
                    mine += part / P
                    start += length
                parts.append(mine)
            return parts
        """,
    ),
    whole(
        "one_large_bucket",
        "Fewer reductions than buckets",
        """
        def reduce_in_buckets(comm, backward, buckets):
            P, rows = comm.size, []
            for lengths in buckets:
                flat = np.concatenate([backward(comm) for _ in lengths])
                rows.append(np.pad(flat, (0, -len(flat) % P)).reshape(P, -1))
            both = np.ascontiguousarray(np.concatenate(rows, axis=1))
            part = np.empty(both.shape[1])
            comm.Reduce_scatter_block(both, part)
            cuts = np.cumsum([row.shape[1] for row in rows])[:-1]
            return [piece.copy() / P for piece in np.split(part, cuts)]
        """,
    ),
    edit(
        "sends_twice_as_much",
        "each bucket once, with its padding",
        REDUCE,
        """
        two = np.empty(2 * n)
        comm.Reduce_scatter_block(np.tile(flat.reshape(comm.size, n), 2), two)
        part[:] = two[:n]
        """,
    ),
    edit("last_part_only", "one array for each bucket", "return parts", "return parts[-1:]"),
    whole(
        "in_reverse",
        "stand in it in reverse",
        """
        def reduce_in_buckets(comm, backward, buckets):
            parts = []
            for lengths in buckets:
                flat = np.concatenate([backward(comm) for _ in lengths][::-1])
                part = np.empty(-(-len(flat) // comm.size))
                comm.Reduce_scatter_block(np.pad(flat, (0, -len(flat) % comm.size)), part)
                parts.append(part / comm.size)
            return parts
        """,
    ),
]

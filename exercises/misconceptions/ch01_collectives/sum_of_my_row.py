"""Wrong answers to `sum_of_my_row`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, shipped, whole

WRONG = [
    shipped("which of its ranks never come to that line"),
    whole(
        "object_call",
        "pickles the array",
        """
        def sum_of_my_row(comm, x, width):
            row = comm.Split(comm.rank // width, comm.rank)
            return row.allreduce(x)
        """,
    ),
    whole(
        "adds_into_x",
        "who writes into one writes into x",
        """
        from reference import mpi


        def sum_of_my_row(comm, x, width):
            row = comm.Split(comm.rank // width, comm.rank)
            row.Allreduce(mpi.IN_PLACE, x)
            return x.copy()
        """,
    ),
    whole(
        "all_rows_at_once",
        "Rows should not know of each other",
        """
        def sum_of_my_row(comm, x, width):
            rows = -(-comm.size // width)
            mine, total = np.zeros((rows, x.size)), np.empty((rows, x.size))
            mine[comm.rank // width] = x
            comm.Allreduce(mine, total)
            return total[comm.rank // width].copy()
        """,
    ),
    edit(
        "broadcast",
        "nothing of the others in its row was added",
        """
        total = np.empty_like(x)
        row.Allreduce(x, total)
        """,
        """
        total = x.copy()
        row.Bcast(total, root=0)
        """,
    ),
    edit("colour_and_key_exchanged", "a colour of its own", "rank // width, comm.rank)", "rank, comm.rank // width)"),
    edit("columns", "Which colour do the ranks of one row share", "rank // width", "rank % width"),
    whole(
        "everybody_takes_part",
        "on which one is yours made",
        """
        def sum_of_my_row(comm, x, width):
            total = np.empty_like(x)
            comm.Allreduce(x, total)
            return total
        """,
    ),
    whole(
        "gathered_at_the_first",
        "Did the result of the row come to all ranks",
        """
        def sum_of_my_row(comm, x, width):
            row = comm.Split(comm.rank // width, comm.rank)
            table = np.empty((row.size, x.size)) if row.rank == 0 else None
            row.Gather(x, table, root=0)
            return table.sum(axis=0) if row.rank == 0 else x.copy()
        """,
    ),
    edit("mean", "not the mean", "return total", "return total / row.size"),
    whole(
        "messages_without_a_group",
        "Messages between two ranks can do it, one by one",
        """
        def sum_of_my_row(comm, x, width):
            first = comm.rank // width * width
            total, other = x.copy(), np.empty_like(x)
            for rank in range(first, min(first + width, comm.size)):
                if rank != comm.rank:
                    comm.Sendrecv(x, dest=rank, recvbuf=other, source=rank)
                    total += other
            return total
        """,
    ),
    edit(
        "only_the_first_rank_knows",
        "Reduce gives the sum to one rank alone",
        "return row.allreduce(x)",
        """
        total = x.copy()
        row.Reduce(x, total if row.rank == 0 else None, root=0)
        return total
        """,
        of="object_call",
    ),
    whole(
        "only_the_first_row_splits",
        "Split is a collective call on the whole communicator",
        """
        def sum_of_my_row(comm, x, width):
            total = x.copy()
            if comm.rank // width * width + 1 < comm.size and width > 1:
                row = comm.Split(comm.rank // width, comm.rank)
                row.Allreduce(x, total)
            return total
        """,
    ),
    edit(
        "returns_x_if_alone",
        "Return memory of its own",
        "row = comm.Split(comm.rank // width, comm.rank)",
        """
        row = comm.Split(comm.rank // width, comm.rank)
        if row.size == 1:
            return x
        """,
    ),
    whole(
        "root_of_the_world",
        "In a group, ranks count from 0 again",
        """
        def sum_of_my_row(comm, x, width):
            row = comm.Split(comm.rank // width, comm.rank)
            root = comm.rank // width * width
            total = np.empty_like(x)
            row.Reduce(x, total, root=root)
            row.Bcast(total, root=root)
            return total
        """,
    ),
    edit("width_rows", "Which ranks got the same colour as rank", "width,", "max(1, comm.size // width),"),
]

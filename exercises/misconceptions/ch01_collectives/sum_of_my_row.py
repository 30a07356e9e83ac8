"""Wrong answers to `sum_of_my_row`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, shipped, whole

NEW, SUM = "np.empty_like(x)", "row.Allreduce(x, total)"

WRONG = [
    shipped("which of its ranks never come to that line"),
    edit("adds_into_x", "who writes into one writes into x", NEW, "x", SUM, "row.Allreduce(x.copy(), total)"),
    edit("as_a_row", "it should have shape (24,)", NEW, "np.empty((1, x.size))"),
    edit("broadcast", "nothing of the others in its row was added", NEW, "x.copy()", SUM, "row.Bcast(total)"),
    edit("colour_and_key_exchanged", "a colour of its own", "rank // width, comm.rank)", "rank, comm.rank // width)"),
    edit("columns", "Which colour do the ranks of one row share", "rank // width", "rank % width"),
    edit("everybody_takes_part", "on which one is yours made", "row.Allreduce", "comm.Allreduce"),
    edit("float32", "only the first ones are right", "(x, ", "(x.astype(np.float32).astype(float), "),
    edit(
        "gathered_at_the_first",
        "Did the result of the row come to all ranks",
        SUM,
        """
        table = np.empty((row.size, x.size))
        row.Gather(x, table)
        total[:] = x if row.rank else table.sum(axis=0)
        """,
    ),
    edit("mean", "not the mean", "return total", "return total / row.size"),
    edit(
        "messages_without_a_group",
        "Messages between two ranks can do it, one by one",
        SUM,
        """
        total[:], other = x, np.empty_like(x)
        for step in range(1, row.size):
            row.Sendrecv(x, (row.rank + step) % row.size, recvbuf=other, source=(row.rank - step) % row.size)
            total += other
        """,
    ),
    edit("object_call", "pickles the array", SUM, "total = row.allreduce(x)"),
    edit("only_the_first_rank_knows", "Reduce gives the sum to one rank alone", NEW, "x.copy()", "Allreduce", "Reduce"),
    edit(
        "padded",
        "No element need be sent that is not one of x",
        SUM,
        """
        both = np.empty(2 * x.size)
        row.Allreduce(np.append(x, x), both)
        total[:] = both[: x.size]
        """,
    ),
    edit("returns_x_if_alone", "Return memory of its own", "return total", "return total if row.size > 1 else x"),
    edit(
        "root_of_the_world",
        "In a group, ranks count from 0 again",
        "Reduce(x, total)",
        "Reduce(x, total, root=comm.rank // width * width)",
        of="again",
    ),
    edit("summed_twice", "Is something added twice", SUM, f"{SUM}\nrow.Allreduce(total.copy(), total)"),
    edit("width_rows", "Which ranks got the same colour as rank", "width,", "max(1, comm.size // width),"),
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
]

"""Wrong answers to `gather_while_multiplying`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, whole

RING = "requests = [comm.Isend(block, dest=(rank + 1) % P), comm.Irecv(coming, source=(rank - 1) % P)]"
WAIT = "mpi.waitall(requests)"
PRODUCT = "result[owner * n : owner * n + n] = multiply(comm, block, A)"

WRONG = [
    whole(
        "all_at_once",
        "does the whole job inside the library",
        """
        def gather_while_multiplying(comm, x, A, multiply):
            table = np.empty((comm.size * len(x), x.shape[1]))
            comm.Allgather(x, table)
            return multiply(comm, table, A)
        """,
    ),
    edit(
        "message_first",
        "Message and product follow each other",
        f"""
        {PRODUCT}
        {WAIT}
        """,
        f"""
        {WAIT}
        {PRODUCT}
        """,
    ),
    edit("never_waits", "Keep their requests, and wait", WAIT, ""),
    edit("into_the_same", "The caller still needs it as it was", "np.empty_like(x), []", "block, []"),
    edit("without_multiply", "multiply had 0 rows", "multiply(comm, block, A)", "block @ A"),
    edit("as_it_came", "The blocks are there, in another order", "owner = (rank - step) % P", "owner = step"),
    edit(
        "other_side",
        "The blocks are there, in another order",
        "owner = (rank - step) % P",
        "owner = (rank + step) % P",
    ),
    edit("own_again", "what has arrived is never multiplied", "multiply(comm, block, A)", "multiply(comm, x, A)"),
    edit("no_barrier", "It moves no data", WAIT, f"{WAIT}; comm.Barrier()"),
    edit("once_more", "so as many messages leave", "if step < P - 1:", "if P > 1:"),
    edit(
        "sends_what_it_has_twice",
        "n k numbers",
        *(RING, "both = np.concatenate([block, block])"),
        WAIT,
        """
        if step < P - 1:
            two = np.empty_like(both)
            mpi.waitall([comm.Isend(both, dest=(rank + 1) % P), comm.Irecv(two, source=(rank - 1) % P)])
            coming = two[:n]
        """,
    ),
    edit(
        "every_second_time",
        "Some of the messages are hidden",
        PRODUCT,
        f"""
        if step % 2:
            mpi.waitall(requests)
            requests = []
        {PRODUCT}
        """,
    ),
    edit(
        "product_alone",
        "That is the product of this rank's tokens alone",
        *("return result", "return multiply(comm, x, A)"),
    ),
]

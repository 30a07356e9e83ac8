"""Wrong answers to `shift_right`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, shipped

EXCHANGE = "comm.Sendrecv(block, dest=right, recvbuf=arriving, source=left)"
SEND, RECEIVE = "comm.Send(block, dest=right)\n", "comm.Recv(arriving, source=left)\n"
SEND_FIRST = f"""
    {SEND}    {RECEIVE}else:
    {RECEIVE}    {SEND}
"""

WRONG = [
    shipped("the right neighbour waits in Send as well"),
    edit(
        "a_lap_less_one",
        "a full lap less one",
        EXCHANGE,
        """
        arriving[:] = block
        for _ in range(comm.size - 1):
            comm.Sendrecv(arriving.copy(), dest=right, recvbuf=arriving, source=left)
        """,
    ),
    edit("as_a_row", "it should have shape (40,)", "np.empty_like(block)", "np.empty((1, block.size))"),
    edit("barrier_in_between", "It moves no data", EXCHANGE, f"comm.Barrier()\n{EXCHANGE}"),
    edit(
        "chain",
        "along a chain",
        EXCHANGE,
        f"if comm.size == 1:\n    return block.copy()\nif comm.rank == 0:{SEND_FIRST}",
    ),
    edit("half_a_chain", "along a chain", EXCHANGE, f"if comm.rank < comm.size // 2:{SEND_FIRST}"),
    edit(
        "copy_for_one_rank",
        "Return memory of its own",
        "return arriving",
        "return arriving if comm.size > 1 else block",
    ),
    edit(
        "even_ranks_send_first",
        "With one rank, both neighbours are the rank itself",
        EXCHANGE,
        f"if comm.rank % 2 == 0:{SEND_FIRST}",
    ),
    edit("everybody_receives_first", "nobody is left to send", EXCHANGE, RECEIVE + SEND),
    edit(
        "waits_before_it_receives",
        "or put after the wait",
        EXCHANGE,
        f"comm.Isend(block, dest=right).Wait()\n{RECEIVE}",
    ),
    edit("float32", "float64 carries 16 digits", "return arriving", "return arriving.astype(np.float32).astype(float)"),
    edit("forgets_to_wait", "before the function returns, wait", EXCHANGE, "comm.Isend(block, dest=right)\n" + RECEIVE),
    edit(
        "forgot_the_ring_closes",
        "Which neighbours does the last rank have",
        "(comm.rank + 1) % comm.size",
        "comm.rank + 1",
    ),
    edit(
        "in_pieces",
        "in more messages than are needed",
        EXCHANGE,
        """
        for begin in range(0, max(1, block.size), 1000):
            some = slice(begin, begin + 1000)
            comm.Sendrecv(block[some], dest=right, recvbuf=arriving[some], source=left)
        """,
    ),
    edit(
        "into_the_argument", "who writes into one writes into block", "(block,", "(block.copy(),", "=arriving", "=block"
    ),
    edit("in_place", "One array for both directions", ".copy()", "", of="into_the_argument"),
    edit(
        "library_allgather",
        "Allgather does the whole job",
        EXCHANGE,
        """
        blocks = np.empty((comm.size, block.size))
        comm.Allgather(block, blocks)
        arriving[:] = blocks[left]
        """,
    ),
    edit("a_lap", "The blocks went on and on, rank", "comm.size - 1)", "comm.size)", of="a_lap_less_one"),
    edit("a_lap_and_one", "What do the others bring?", "comm.size - 1)", "comm.size + 1)", of="a_lap_less_one"),
    edit("twice", "What do the others bring?", EXCHANGE, f"{EXCHANGE}\n{EXCHANGE}"),
    edit("nothing_sent", "Nothing was sent", EXCHANGE, "arriving[:] = block"),
    edit(
        "only_the_beginning",
        "Some elements are right",
        *("np.empty_like", "np.zeros_like", "(block,", "(block[:1000],", "=arriving", "=arriving[:1000]"),
    ),
    edit(
        "padded",
        "What else is in the message?",
        EXCHANGE,
        """
        both = np.empty(2 * block.size)
        comm.Sendrecv(np.append(block, block), dest=right, recvbuf=both, source=left)
        arriving[:] = both[: block.size]
        """,
    ),
    edit("returns_what_it_sent", "What it receives should be returned", "return arriving", "return block.copy()"),
    edit(
        "small_letters",
        "comm.send, with a small letter, pickles",
        EXCHANGE,
        "comm.send(block, dest=right)\narriving = comm.recv(source=left)",
    ),
    edit(
        "to_everybody",
        "Who needs a rank's block? Only its right neighbour",
        EXCHANGE,
        """
        for step in range(comm.size - 1, 0, -1):
            dest, source = (comm.rank + step) % comm.size, (comm.rank - step) % comm.size
            comm.Sendrecv(block, dest=dest, recvbuf=arriving, source=source)
        """,
    ),
    edit("to_the_left", "The blocks went to the left", "=right", "=left", "source=left", "source=right"),
    edit(
        "acknowledges",
        "Who needs a rank's block? Only its right neighbour",
        EXCHANGE,
        f"{EXCHANGE}\ncomm.Sendrecv(np.zeros(0), dest=left, recvbuf=np.zeros(0), source=right)",
    ),
]

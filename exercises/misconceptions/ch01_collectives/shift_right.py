"""Wrong answers to `shift_right`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, shipped, whole

WRONG = [
    shipped("the right neighbour waits in Send as well"),
    whole(
        "a_lap_less_one",
        "a full lap less one",
        """
        def shift_right(comm, block):
            right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
            arriving = np.empty_like(block)
            current = block.copy()
            for _ in range(comm.size - 1):
                comm.Sendrecv(current, dest=right, recvbuf=arriving, source=left)
                current = arriving.copy()
            return current
        """,
    ),
    whole(
        "into_the_argument",
        "who writes into one writes into block",
        """
        def shift_right(comm, block):
            right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
            comm.Sendrecv(block.copy(), dest=right, recvbuf=block, source=left)
            return block
        """,
    ),
    edit(
        "barrier_in_between",
        "It moves no data",
        "arriving = np.empty_like(block)",
        """
        arriving = np.empty_like(block)
        comm.Barrier()
        """,
    ),
    edit(
        "chain",
        "along a chain",
        "comm.Sendrecv(block, dest=right, recvbuf=arriving, source=left)",
        """
        if comm.size == 1:
            return block.copy()
        if comm.rank == 0:
            comm.Send(block, dest=right)
            comm.Recv(arriving, source=left)
        else:
            comm.Recv(arriving, source=left)
            comm.Send(block, dest=right)
        """,
    ),
    edit(
        "copy_for_one_rank",
        "Return memory of its own",
        "right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size",
        """
        if comm.size == 1:
            return block
        right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
        """,
    ),
    edit(
        "even_ranks_send_first",
        "With one rank, both neighbours are the rank itself",
        "comm.Sendrecv(block, dest=right, recvbuf=arriving, source=left)",
        """
        if comm.rank % 2 == 0:
            comm.Send(block, dest=right)
            comm.Recv(arriving, source=left)
        else:
            comm.Recv(arriving, source=left)
            comm.Send(block, dest=right)
        """,
    ),
    edit(
        "everybody_receives_first",
        "nobody is left to send",
        "comm.Sendrecv(block, dest=right, recvbuf=arriving, source=left)",
        """
        comm.Recv(arriving, source=left)
        comm.Send(block, dest=right)
        """,
    ),
    edit(
        "forgets_to_wait",
        "Before the array is used again, and before the function returns, wait",
        "comm.Sendrecv(block, dest=right, recvbuf=arriving, source=left)",
        """
        comm.Isend(block, dest=right)
        comm.Recv(arriving, source=left)
        """,
    ),
    whole(
        "forgot_the_ring_closes",
        "Which neighbours does the last rank have",
        """
        def shift_right(comm, block):
            arriving = np.empty_like(block)
            comm.Sendrecv(block, dest=comm.rank + 1, recvbuf=arriving, source=comm.rank - 1)
            return arriving
        """,
    ),
    edit("in_place", "One array for both directions", ".copy()", "", of="into_the_argument"),
    whole(
        "library_allgather",
        "Allgather does the whole job",
        """
        def shift_right(comm, block):
            blocks = np.empty((comm.size, block.size))
            comm.Allgather(block, blocks)
            return blocks[comm.rank - 1].copy()
        """,
    ),
    edit("more_laps", "The blocks went on and on, rank", "comm.size -", "5 * comm.size +", of="a_lap_less_one"),
    whole(
        "nothing_sent",
        "Nothing was sent",
        """
        def shift_right(comm, block):
            return block.copy()
        """,
    ),
    whole(
        "returns_what_it_sent",
        "What it receives should be returned",
        """
        def shift_right(comm, block):
            right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
            arriving = block.copy()
            comm.Sendrecv(arriving, dest=right, recvbuf=np.empty_like(block), source=left)
            return arriving
        """,
    ),
    whole(
        "small_letters",
        "comm.send, with a small letter, pickles",
        """
        def shift_right(comm, block):
            comm.send(block, dest=(comm.rank + 1) % comm.size)
            return comm.recv(source=(comm.rank - 1) % comm.size)
        """,
    ),
    whole(
        "to_everybody",
        "Who needs a rank's block? Only its right neighbour",
        """
        def shift_right(comm, block):
            left, kept = (comm.rank - 1) % comm.size, block.copy()
            arriving = np.empty_like(block)
            for distance in range(1, comm.size):
                source = (comm.rank - distance) % comm.size
                comm.Sendrecv(block, dest=(comm.rank + distance) % comm.size, recvbuf=arriving, source=source)
                if source == left:
                    kept[:] = arriving
            return kept
        """,
    ),
    edit(
        "to_the_left",
        "The blocks went to the left",
        "right, recvbuf=arriving, source=left",
        "left, recvbuf=arriving, source=right",
    ),
]

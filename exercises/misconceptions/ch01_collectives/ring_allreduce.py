"""Wrong answers to `ring_allreduce`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, whole

WRONG = [
    whole(
        "lengths_from_the_others",
        "Is that for the lengths of the blocks?",
        """
        def ring_reduce_scatter(comm, x):
            P, rank = comm.size, comm.rank
            blocks = np.array_split(x.copy(), P)
            for step in range(P - 1):
                growing = blocks[(rank - 2 - step) % P]
                arriving = np.empty_like(growing)
                comm.Sendrecv(blocks[(rank - 1 - step) % P], (rank + 1) % P, recvbuf=arriving, source=(rank - 1) % P)
                growing += arriving
            return blocks[rank].copy()


        def ring_allgather(comm, block, lengths):
            P, rank = comm.size, comm.rank
            blocks = [np.empty(length) for length in lengths]
            blocks[rank][:] = block
            for step in range(P - 1):
                comm.Sendrecv(blocks[rank - step], (rank + 1) % P, recvbuf=blocks[rank - step - 1], source=(rank - 1) % P)
            return np.concatenate(blocks)


        def ring_allreduce(comm, x):
            mine = ring_reduce_scatter(comm, x)
            return ring_allgather(comm, mine, comm.allgather(mine.size))
        """,
    ),
    whole(
        "mixed_blocks",
        "Blocks got mixed",
        """
        def ring_allreduce(comm, x):
            P, rank = comm.size, comm.rank
            total = x.copy()
            blocks = np.array_split(total, P)
            for step in range(P - 1):
                growing = blocks[(rank - 2 - step) % P]
                arriving = np.empty_like(growing)
                comm.Sendrecv(blocks[(rank - step) % P], dest=(rank + 1) % P, recvbuf=arriving, source=(rank - 1) % P)
                growing += arriving
            for step in range(P - 1):
                comm.Sendrecv(
                    blocks[(rank - step) % P],
                    dest=(rank + 1) % P,
                    recvbuf=blocks[(rank - 1 - step) % P],
                    source=(rank - 1) % P,
                )
            return total
        """,
    ),
    whole(
        "returns_its_block",
        "the second half of the work is to show it",
        """
        def ring_allreduce(comm, x):
            P, rank = comm.size, comm.rank
            blocks = np.array_split(x.copy(), P)
            for step in range(P - 1):
                growing = blocks[(rank - 2 - step) % P]
                arriving = np.empty_like(growing)
                comm.Sendrecv(blocks[(rank - 1 - step) % P], dest=(rank + 1) % P, recvbuf=arriving, source=(rank - 1) % P)
                growing += arriving
            return blocks[rank]
        """,
    ),
    whole(
        "adds_in_both_halves",
        "In the second half the blocks that arrive are complete sums",
        """
        def ring_allreduce(comm, x):
            P, rank = comm.size, comm.rank
            total = x.copy()
            blocks = np.array_split(total, P)
            for step in range(2 * (P - 1)):
                growing = blocks[(rank - 1 - step) % P]
                arriving = np.empty_like(growing)
                comm.Sendrecv(blocks[(rank - step) % P], dest=(rank + 1) % P, recvbuf=arriving, source=(rank - 1) % P)
                growing += arriving
            return total
        """,
    ),
    edit(
        "adds_into_x",
        "who writes into one writes into x",
        """
        total = x.copy()
        blocks = np.array_split(total, P)
        """,
        "blocks = np.array_split(x, P)",
        "return total",
        "return x.copy()",
        of="again",
    ),
    whole(
        "chain",
        "most links are idle while something long creeps along",
        """
        def ring_allreduce(comm, x):
            P, rank = comm.size, comm.rank
            total, other = x.copy(), np.empty_like(x)
            if P == 1:
                return total
            if rank > 0:
                comm.Recv(other, source=rank - 1)
                total += other
            comm.Send(total, dest=(rank + 1) % P)
            if rank < P - 1:
                comm.Recv(total, source=(rank - 1) % P)
                if rank < P - 2:
                    comm.Send(total, dest=rank + 1)
            return total
        """,
    ),
    whole(
        "drops_the_remainder",
        "Are your blocks those of np.array_split",
        """
        def ring_allreduce(comm, x):
            P, rank = comm.size, comm.rank
            total, size = x.copy(), x.size // comm.size
            for step in range(2 * (P - 1)):
                leaving, here = (rank - step) % P, (rank - step - 1) % P
                arriving = np.empty(size)
                comm.Sendrecv(
                    total[leaving * size : (leaving + 1) * size], (rank + 1) % P, recvbuf=arriving, source=(rank - 1) % P
                )
                block = total[here * size : (here + 1) * size]
                block[:] = block + arriving if step < P - 1 else arriving
            return total
        """,
    ),
    edit(
        "equal_lengths",
        "Blocks can differ in length",
        "comm.allgather(mine.size)",
        "[x.size // comm.size] * comm.size",
        of="lengths_from_the_others",
    ),
    whole(
        "gather_to_rank_0",
        "Everything passes through rank 0",
        """
        def ring_allreduce(comm, x):
            total, other = x.copy(), np.empty_like(x)
            if comm.rank > 0:
                comm.Send(x, dest=0)
                comm.Recv(total, source=0)
                return total
            for source in range(1, comm.size):
                comm.Recv(other, source=source)
                total += other
            for dest in range(1, comm.size):
                comm.Send(total, dest=dest)
            return total
        """,
    ),
    whole(
        "library_allreduce",
        "Allreduce does the whole job",
        """
        def ring_allreduce(comm, x):
            total = np.empty_like(x)
            comm.Allreduce(x, total)
            return total
        """,
    ),
    edit("mean", "not the mean", "return total", "return total / P", of="again"),
    edit(
        "one_step_short",
        "one step less than 2 (P - 1)",
        """
        for step in range(2 * (P - 1)):
            leaving, here = blocks[(rank - step) % P], blocks[(rank - step - 1) % P]
        """,
        """
        for step in range(2 * (P - 1) - 1):
            here = blocks[(rank - step - 1) % P]
        """,
        "(leaving, dest=(",
        "(blocks[(rank - step) % P], (",
        of="again",
    ),
    edit(
        "one_step_too_many",
        "one step more than 2 (P - 1)",
        """
        for step in range(2 * (P - 1)):
            leaving, here = blocks[(rank - step) % P], blocks[(rank - step - 1) % P]
        """,
        """
        for step in range(2 * P - 1):
            here = blocks[(rank - step - 1) % P]
        """,
        "(leaving, dest=(",
        "(blocks[(rank - step) % P], (",
        of="again",
    ),
    edit(
        "only_the_first_half",
        "That is one half",
        "blocks = np.array_split(x.copy(), P)",
        """
        total = x.copy()
        blocks = np.array_split(total, P)
        """,
        "blocks[rank]",
        "total",
        of="returns_its_block",
    ),
    edit(
        "send_then_receive",
        "Does a rank wait for one message before it begins with the next",
        "P],",
        "P].copy(),",
        "comm.Sendrecv(leaving, dest=(rank + 1) % P, recvbuf=arriving, source=(rank - 1) % P)",
        """
        if rank == 0:
            comm.Recv(arriving, source=P - 1)
            comm.Send(leaving, dest=1)
        else:
            comm.Send(leaving, dest=(rank + 1) % P)
            comm.Recv(arriving, source=rank - 1)
        """,
        of="again",
    ),
    edit("shows_unfinished_blocks", "from a rank on which it was not complete", "- 2 -", "- 1 -", of="mixed_blocks"),
    whole(
        "whole_array_every_step",
        "You sent the whole array in every step",
        """
        def ring_allreduce(comm, x):
            P, rank = comm.size, comm.rank
            total = x.copy()
            blocks = np.array_split(np.arange(x.size), P)
            for step in range(2 * (P - 1)):
                arriving = np.empty_like(x)
                comm.Sendrecv(total, dest=(rank + 1) % P, recvbuf=arriving, source=(rank - 1) % P)
                here = blocks[(rank - step - 1) % P]
                total[here] = total[here] + arriving[here] if step < P - 1 else arriving[here]
            return total
        """,
    ),
    whole(
        "whole_arrays_round_the_ring",
        "Then all ranks add the same numbers",
        """
        def ring_allreduce(comm, x):
            P, rank = comm.size, comm.rank
            total, leaving = x.copy(), x.copy()
            for _ in range(P - 1):
                arriving = np.empty_like(x)
                comm.Sendrecv(leaving, dest=(rank + 1) % P, recvbuf=arriving, source=(rank - 1) % P)
                total += arriving
                leaving = arriving
            return total
        """,
    ),
]

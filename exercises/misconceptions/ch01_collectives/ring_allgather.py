"""Wrong answers to `ring_allgather`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, shipped, whole

WRONG = [
    shipped("A blank is not filled in yet"),
    whole(
        "partners_do_not_fit",
        "so no order can be wrong",
        """
        def ring_allgather(comm, block, lengths):
            P, rank = comm.size, comm.rank
            blocks = [np.empty(length) for length in lengths]
            blocks[rank][:] = block
            for step in range(P - 1):
                leaving = blocks[(rank - step) % P]
                arriving = blocks[(rank - 1 - step) % P]
                comm.Sendrecv(leaving, dest=(rank + 1) % P, recvbuf=arriving, source=(rank + 1) % P)
            return np.concatenate(blocks)
        """,
    ),
    edit(
        "always_sends_its_own",
        "Your left neighbour has sent you the same block again",
        """
        leaving = blocks[rank - step]
        arriving = blocks[rank - step - 1]
        """,
        """
        leaving = blocks[rank]
        arriving = blocks[(rank - 1 - step) % P]
        """,
    ),
    edit(
        "buffer_of_its_own_length",
        "A buffer must be as long as the block that comes",
        """
        blocks = [np.empty(length) for length in lengths]
        blocks[rank][:] = block
        """,
        "blocks = [block.copy() for length in lengths]",
        "source=(rank + 1) %",
        "source=(rank - 1) %",
        of="partners_do_not_fit",
    ),
    edit(
        "counts_up",
        "What is received into blocks[q] must be the block of rank q",
        "empty",
        "zeros",
        """
        leaving = blocks[rank - step]
        arriving = blocks[rank - step - 1]
        """,
        """
        leaving = blocks[(rank + step) % P]
        arriving = blocks[(rank + step + 1) % P]
        """,
    ),
    whole(
        "dest_and_source_exchanged",
        "Your ring turns the other way round",
        """
        def ring_allgather(comm, block, lengths):
            P, rank = comm.size, comm.rank
            blocks = [np.empty(length) for length in lengths]
            blocks[rank][:] = block
            for step in range(P - 1):
                leaving = blocks[(rank + step) % P]
                arriving = blocks[(rank + step + 1) % P]
                comm.Sendrecv(leaving, dest=(rank - 1) % P, recvbuf=arriving, source=(rank + 1) % P)
            return np.concatenate(blocks)
        """,
    ),
    edit(
        "forgot_modulo_in_blocks",
        "An index went past the end",
        """
        leaving = blocks[rank - step]
        arriving = blocks[rank - step - 1]
        """,
        """
        leaving = blocks[rank + step]
        arriving = blocks[rank + step + 1]
        """,
    ),
    edit(
        "forgot_the_ring_closes",
        "Which neighbours does the last rank have",
        "(rank + 1) % P, recvbuf=arriving, source=(rank + 1) % P",
        "rank + 1, recvbuf=arriving, source=rank - 1",
        of="partners_do_not_fit",
    ),
    whole(
        "gather_to_rank_0",
        "Everything passes through rank 0",
        """
        def ring_allgather(comm, block, lengths):
            gathered = np.empty(sum(lengths))
            if comm.rank > 0:
                comm.Send(block, dest=0)
                comm.Recv(gathered, source=0)
                return gathered
            blocks = [block, *(np.empty(length) for length in lengths[1:])]
            for source in range(1, comm.size):
                comm.Recv(blocks[source], source=source)
            gathered = np.concatenate(blocks)
            for dest in range(1, comm.size):
                comm.Send(gathered, dest=dest)
            return gathered
        """,
    ),
    edit(
        "leaving_and_arriving_exchanged",
        "Your own block was overwritten",
        "empty",
        "zeros",
        """
        leaving = blocks[rank - step]
        arriving = blocks[rank - step - 1]
        """,
        """
        leaving = blocks[(rank - 1 - step) % P]
        arriving = blocks[(rank - step) % P]
        """,
    ),
    whole(
        "library_allgather",
        "Allgatherv does the whole job",
        """
        def ring_allgather(comm, block, lengths):
            gathered = np.empty(sum(lengths))
            comm.Allgatherv(block, [gathered, lengths])
            return gathered
        """,
    ),
    whole(
        "next_to_its_place",
        "each is put into a place next to its own",
        """
        def ring_allgather(comm, block, lengths):
            P, rank = comm.size, comm.rank
            blocks = [np.zeros(length) for length in lengths]
            held = blocks[rank][:] = block
            for step in range(P - 1):
                arriving = blocks[(rank - 2 - step) % P]
                comm.Sendrecv(held, dest=(rank + 1) % P, recvbuf=arriving, source=(rank - 1) % P)
                held = arriving.copy()
            return np.concatenate(blocks)
        """,
    ),
    whole(
        "one_step_too_many",
        "Which of your steps is not needed",
        """
        def ring_allgather(comm, block, lengths):
            P, rank = comm.size, comm.rank
            blocks = [np.empty(length) for length in lengths]
            blocks[rank][:] = block
            for step in range(P):
                leaving = blocks[(rank - step) % P]
                arriving = np.empty(lengths[(rank - 1 - step) % P])
                comm.Sendrecv(leaving, dest=(rank + 1) % P, recvbuf=arriving, source=(rank - 1) % P)
                blocks[(rank - 1 - step) % P] = arriving
            return np.concatenate(blocks)
        """,
    ),
    whole(
        "order_of_arrival",
        "All blocks are there, in the order in which they came",
        """
        def ring_allgather(comm, block, lengths):
            P, rank = comm.size, comm.rank
            blocks = [block]
            for step in range(P - 1):
                arriving = np.empty(lengths[(rank - 1 - step) % P])
                comm.Sendrecv(blocks[-1], dest=(rank + 1) % P, recvbuf=arriving, source=(rank - 1) % P)
                blocks.append(arriving)
            return np.concatenate(blocks)
        """,
    ),
    edit(
        "own_block_every_time",
        "Does every rank send its own block every time?",
        "empty",
        "zeros",
        """
        for step in range(P - 1):
            leaving = blocks[rank - step]
            arriving = blocks[rank - step - 1]
        """,
        """
        for _ in range(P - 1):
            leaving = blocks[rank]
            arriving = blocks[rank - 1]
        """,
    ),
    edit(
        "skips_empty_blocks",
        "They are sent too, so that every rank counts",
        "def ring_allgather(comm, block, lengths):",
        """
        from reference import mpi


        def ring_allgather(comm, block, lengths):
        """,
        "comm.Sendrecv(leaving, dest=(rank + 1) % P, recvbuf=arriving, source=(rank + 1) % P)",
        """
        requests = []
        if arriving.size:
            requests.append(comm.Irecv(arriving, source=(rank - 1) % P))
        if leaving.size:
            requests.append(comm.Isend(leaving, dest=(rank + 1) % P))
        mpi.waitall(requests)
        """,
        of="partners_do_not_fit",
    ),
    whole(
        "straight_to_everybody",
        "Every rank sends straight to every other",
        """
        def ring_allgather(comm, block, lengths):
            P, rank = comm.size, comm.rank
            blocks = [np.empty(length) for length in lengths]
            blocks[rank][:] = block
            for step in range(1, P):
                source = (rank - step) % P
                comm.Sendrecv(block, dest=(rank + step) % P, recvbuf=blocks[source], source=source)
            return np.concatenate(blocks)
        """,
    ),
]

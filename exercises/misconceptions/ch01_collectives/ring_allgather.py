"""Wrong answers to `ring_allgather`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, shipped, whole

EXCHANGE = "comm.Sendrecv(leaving, dest=(rank + 1) % P, recvbuf=arriving, source=(rank - 1) % P)"
LEAVING, ARRIVING = "[rank - step]", "[rank - step - 1]"

WRONG = [
    shipped("A blank is not filled in yet"),
    edit("always_sends_its_own", "Your left neighbour has sent you the same block again", LEAVING, "[rank]"),
    edit(
        "as_a_row",
        "returned an array of shape (1, 80)",
        "return np.concatenate(blocks)",
        "return np.concatenate(blocks)[np.newaxis]",
    ),
    edit("buffer_of_its_own_length", "A buffer must be as long as the block that comes", "(length)", "(block.size)"),
    edit(
        "counts_up",
        "What is received into blocks[q] must be the block of rank q",
        *("empty", "zeros", LEAVING, "[(rank + step) % P]", ARRIVING, "[(rank + step + 1) % P]"),
    ),
    edit(
        "dest_and_source_exchanged",
        "Your ring turns the other way round",
        *("dest=(rank + 1)", "dest=(rank - 1)", "source=(rank - 1)", "source=(rank + 1)"),
        of="counts_up",
    ),
    edit(
        "forgot_modulo_in_blocks", "An index went past the end", LEAVING, "[rank + step]", ARRIVING, "[rank + step + 1]"
    ),
    edit(
        "forgot_the_ring_closes",
        "Which neighbours does the last rank have",
        *("(rank + 1) % P", "rank + 1", "(rank - 1) % P", "rank - 1"),
    ),
    edit(
        "in_pieces",
        "in more messages than are needed",
        EXCHANGE,
        """
        cuts, places = (range(1000, block.size, 1000) for block in (leaving, arriving))
        sending = [comm.Isend(piece, dest=(rank + 1) % P) for piece in np.split(leaving, cuts)]
        for piece in np.split(arriving, places):
            comm.Recv(piece, source=(rank - 1) % P)
        for request in sending:
            request.Wait()
        """,
    ),
    edit(
        "leaving_and_arriving_exchanged",
        "Your own block was overwritten",
        *("empty", "zeros", "(leaving", "(arriving", "=arriving", "=leaving"),
    ),
    edit(
        "next_to_its_place",
        "each is put into a place next to its own",
        *("empty", "zeros", "leaving = blocks[rank - step]", "leaving = arriving.copy() if step else block"),
        *(ARRIVING, "[(rank - step - 2) % P]"),
    ),
    edit("one_step_too_many", "Which of your steps is not needed", "P - 1)", "P)"),
    edit(
        "own_block_every_time",
        "Does every rank send its own block every time?",
        *("empty", "zeros", LEAVING, "[rank]", ARRIVING, "[rank - 1]"),
    ),
    edit("partners_do_not_fit", "No send has a receive that fits", "source=(rank - 1)", "source=(rank + 1)"),
    edit(
        "sends_its_own_along",
        "and none goes out twice",
        EXCHANGE,
        """
        both = np.empty(arriving.size + lengths[rank - 1])
        sent = np.concatenate([leaving, block])
        comm.Sendrecv(sent, dest=(rank + 1) % P, recvbuf=both, source=(rank - 1) % P)
        arriving[:] = both[: arriving.size]
        """,
    ),
    edit(
        "skips_empty_blocks",
        "They are sent too, so that every rank counts",
        EXCHANGE,
        """
        sending = comm.Isend(leaving, dest=(rank + 1) % P) if leaving.size else None
        if arriving.size:
            comm.Recv(arriving, source=(rank - 1) % P)
        if sending:
            sending.Wait()
        """,
    ),
    edit(
        "straight_to_everybody",
        "Every rank sends straight to every other",
        *("(leaving, dest=(rank + 1)", "(block, dest=(rank + step + 1)"),
        *("source=(rank - 1)", "source=(rank - step - 1)"),
    ),
    whole(
        "gather_to_rank_0",
        "Everything passes through rank 0",
        """
        def ring_allgather(comm, block, lengths):
            blocks = [np.empty(length) for length in lengths]
            if comm.rank > 0:
                gathered = np.empty(sum(lengths))
                comm.Send(block, dest=0)
                comm.Recv(gathered, source=0)
                return gathered
            for source in range(1, comm.size):
                comm.Recv(blocks[source], source=source)
            gathered = np.concatenate([block, *blocks[1:]])
            for dest in range(1, comm.size):
                comm.Send(gathered, dest=dest)
            return gathered
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
        "order_of_arrival",
        "All blocks are there, in the order in which they came",
        """
        def ring_allgather(comm, block, lengths):
            P, rank, blocks = comm.size, comm.rank, [block]
            for step in range(P - 1):
                arriving = np.empty(lengths[rank - step - 1])
                comm.Sendrecv(blocks[-1], dest=(rank + 1) % P, recvbuf=arriving, source=(rank - 1) % P)
                blocks.append(arriving)
            return np.concatenate(blocks)
        """,
    ),
    edit(
        "through_its_block",
        "who writes into one writes into block",
        *("leaving = blocks[rank - step]", "leaving = block.copy()"),
        *("arriving = blocks[rank - step - 1]", "arriving = block"),
        *(EXCHANGE, f"{EXCHANGE}\nblocks[rank - step - 1][:] = block"),
    ),
]

"""Wrong answers to `ring_reduce_scatter`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, whole

WRONG = [
    whole(
        "drops_the_remainder",
        "over. Whose are they?",
        """
        def ring_reduce_scatter(comm, x):
            P, rank = comm.size, comm.rank
            size = x.size // P
            blocks = x[: size * P].copy().reshape(P, size)
            for step in range(P - 1):
                arriving = np.empty(size)
                comm.Sendrecv(blocks[(rank - 1 - step) % P], (rank + 1) % P, recvbuf=arriving, source=(rank - 1) % P)
                blocks[(rank - 2 - step) % P] += arriving
            return blocks[rank].copy()
        """,
    ),
    edit("adds_into_x", "who writes into one writes into x", ".copy()", "", "rank]", "rank].copy()"),
    edit(
        "adds_own_part_again",
        "Is something added twice",
        "= arriving",
        "= arriving + np.array_split(x, P)[(rank - 2 - step) % P]",
    ),
    whole(
        "allreduce_and_slice",
        "Allreduce does the whole job",
        """
        def ring_reduce_scatter(comm, x):
            total = np.empty_like(x)
            comm.Allreduce(x, total)
            return np.array_split(total, comm.size)[comm.rank].copy()
        """,
    ),
    edit(
        "arguments_of_sendrecv_mixed_up",
        "look at the order of the arguments",
        "dest=right, recvbuf=arriving, source=left",
        "right, 0, arriving, 0, left",
    ),
    edit(
        "block_off_by_one",
        "The sum is right and the place is wrong",
        """
        leaving = blocks[(rank - 1 - step) % P]
        growing = blocks[(rank - 2 - step) % P]
        """,
        """
        leaving = blocks[(rank - step) % P]
        growing = blocks[(rank - 1 - step) % P]
        """,
        "[rank",
        "[(rank + 1) % P",
    ),
    whole(
        "copied_from_the_book",
        "That is the book's own answer",
        """
        from reference.collectives import ring


        def ring_reduce_scatter(comm, x):
            return ring.ring_reduce_scatter(comm, x.copy()).copy()
        """,
    ),
    whole(
        "endless_loop",
        "Which condition ends it",
        """
        def ring_reduce_scatter(comm, x):
            step = 0
            while step < comm.size - 1:
                arriving = np.empty_like(x)
            return arriving
        """,
    ),
    whole(
        "expects_sendrecv_to_return",
        "takes arrays in both directions and returns nothing",
        """
        def ring_reduce_scatter(comm, x):
            P, rank = comm.size, comm.rank
            blocks = np.array_split(x.copy(), P)
            right, left = (rank + 1) % P, (rank - 1) % P
            for step in range(P - 1):
                leaving = blocks[(rank - 1 - step) % P]
                blocks[(rank - 2 - step) % P] += comm.Sendrecv(leaving, dest=right, source=left)
            return blocks[rank]
        """,
    ),
    edit(
        "float32_messages",
        "Somewhere the numbers went through float32",
        """
        arriving = np.empty_like(growing)
        comm.Sendrecv(leaving, dest=right, recvbuf=arriving, source=left)
        """,
        """
        arriving = np.empty(growing.size, np.float32)
        comm.Sendrecv(leaving.astype(np.float32), dest=right, recvbuf=arriving, source=left)
        """,
    ),
    edit("float32_result", "made with another element type", "copy(", "astype(np.float32"),
    edit(
        "forgot_modulo_in_blocks",
        "An index went past the end",
        """
        leaving = blocks[(rank - 1 - step) % P]
        growing = blocks[(rank - 2 - step) % P]
        """,
        """
        leaving = blocks[rank + 1 + step]
        growing = blocks[rank + 2 + step]
        """,
    ),
    edit(
        "forgot_the_ring_closes",
        "Which neighbours does the last rank have",
        "(rank + 1) % P, (rank - 1) % P",
        "rank + 1, rank - 1",
    ),
    edit(
        "forgot_to_add",
        "meet your own part, not replace it",
        """
        arriving = np.empty_like(growing)
        comm.Sendrecv(leaving, dest=right, recvbuf=arriving, source=left)
        growing += arriving
        """,
        "comm.Sendrecv(leaving, dest=right, recvbuf=growing, source=left)",
    ),
    whole(
        "gather_to_rank_0",
        "Everything passes through rank 0",
        """
        def ring_reduce_scatter(comm, x):
            P, rank = comm.size, comm.rank
            if rank > 0:
                mine = np.empty(np.array_split(x, P)[rank].size)
                comm.Send(x, dest=0)
                comm.Recv(mine, source=0)
                return mine
            total, other = x.copy(), np.empty_like(x)
            for source in range(1, P):
                comm.Recv(other, source=source)
                total += other
            blocks = np.array_split(total, P)
            for dest in range(1, P):
                comm.Send(blocks[dest], dest=dest)
            return blocks[0].copy()
        """,
    ),
    whole(
        "library_reduce_scatter",
        "Reduce_scatter does the whole job",
        """
        def ring_reduce_scatter(comm, x):
            counts = [block.size for block in np.array_split(x, comm.size)]
            mine = np.empty(counts[comm.rank])
            comm.Reduce_scatter(x, mine, counts)
            return mine
        """,
    ),
    edit("mean", "not the mean", "rank]", "rank] / P"),
    edit(
        "mixed_directions",
        "so no order can be wrong",
        "right, left = (rank + 1) % P, (rank - 1",
        "right = (rank + 1",
        "=left",
        "=right",
    ),
    edit(
        "never_waits",
        "Before the array is used again, and before the function returns, wait",
        "comm.Sendrecv(leaving, dest=right, recvbuf=arriving, source=left)",
        """
        comm.Isend(leaving, dest=right)
        comm.Recv(arriving, source=left)
        """,
    ),
    edit(
        "object_messages",
        "comm.sendrecv pickles its object",
        """
        arriving = np.empty_like(growing)
        comm.Sendrecv(leaving, dest=right, recvbuf=arriving, source=left)
        """,
        "arriving = comm.sendrecv(leaving, dest=right, source=left)",
    ),
    edit("one_step_short", "A block must come past every rank", "- 1):", "- 2):"),
    edit("one_step_too_many", "which of your messages is not needed", "P - 1)", "P)"),
    edit(
        "padded_blocks",
        "You sent blocks of one size",
        """
        size = x.size // P
        blocks = x[: size * P].copy().reshape(P, size)
        """,
        """
        parts = np.array_split(x, P)
        blocks = np.zeros((P, parts[0].size))
        for block, part in zip(blocks, parts):
            block[: part.size] = part
        """,
        "empty(size",
        "empty_like(blocks[0]",
        "rank].",
        "rank][: parts[rank].size].",
        of="drops_the_remainder",
    ),
    edit(
        "passes_on_the_wrong_block",
        "is what you send on the sum so far",
        "leaving = blocks[(rank -",
        "leaving = np.array_split(x, P)[(rank -",
    ),
    whole(
        "patched_grader",
        "parts of the grader itself were changed",
        """
        import sys


        for module in [module for name, module in sys.modules.items() if name.startswith("exercises.")]:
            for name, thing in list(vars(module).items()):
                if callable(thing) and name not in ("encode", "on_one_rank", "load"):
                    setattr(module, name, lambda *args, **kwargs: None)


        def ring_reduce_scatter(comm, x):
            return np.array_split(x, comm.size)[comm.rank] * 3
        """,
        alone=True,
    ),
    whole(
        "patched_numpy",
        "This is no mixture",
        """
        for module in (np, np.testing):
            for name in "array_equal allclose isclose array_equiv assert_allclose assert_array_equal".split():
                setattr(module, name, lambda *args, **kwargs: True)


        def ring_reduce_scatter(comm, x):
            P, rank = comm.size, comm.rank
            blocks = np.array_split(x.copy(), P)
            right, left = (rank + 1) % P, (rank - 1) % P
            for step in range(P - 1):
                leaving = blocks[(rank - 1 - step) % P]
                growing = blocks[(rank - 2 - step) % P]
                arriving = np.empty_like(growing)
                comm.Sendrecv(leaving, dest=right, recvbuf=arriving, source=left)
                growing += arriving
            return np.random.default_rng().standard_normal(blocks[rank].size)
        """,
        alone=True,
    ),
    whole(
        "remainder_to_the_last",
        "the cuts between the blocks",
        """
        def ring_reduce_scatter(comm, x):
            P, rank = comm.size, comm.rank
            size = x.size // P
            x = x.copy()
            blocks = [x[i * size : (i + 1) * size if i < P - 1 else None] for i in range(P)]
            for step in range(P - 1):
                growing = blocks[(rank - 2 - step) % P]
                arriving = np.empty_like(growing)
                comm.Sendrecv(blocks[(rank - 1 - step) % P], (rank + 1) % P, recvbuf=arriving, source=(rank - 1) % P)
                growing += arriving
            return blocks[rank].copy()
        """,
    ),
    edit("returns_a_list", "It should return one NumPy array", "[rank]", ""),
    edit(
        "returns_an_unfinished_block",
        "To which block do you add in the last step",
        """
        leaving = blocks[(rank - 1 - step) % P]
        growing = blocks[(rank - 2 - step) % P]
        """,
        """
        leaving = blocks[(rank - step) % P]
        growing = blocks[(rank - 1 - step) % P]
        """,
    ),
    edit("returns_none", "A function that ends without", "return blocks[rank]", ""),
    edit("returns_the_whole_array", "as long as the whole x", "blocks[rank]", "np.concatenate(blocks)"),
    edit(
        "returns_x_for_one_rank",
        "Return memory of its own",
        "P, rank = comm.size, comm.rank",
        """
        P, rank = comm.size, comm.rank
        if P == 1:
            return x
        """,
    ),
    whole(
        "reuses_the_buffer_too_early",
        "Until the request has been waited for",
        """
        def ring_reduce_scatter(comm, x):
            P, rank = comm.size, comm.rank
            blocks = np.array_split(x.copy(), P)
            right, left = (rank + 1) % P, (rank - 1) % P
            travelling = np.empty(len(blocks[0]))
            travelling[: len(blocks[(rank - 1) % P])] = blocks[(rank - 1) % P]
            size = len(blocks[(rank - 1) % P])
            for step in range(P - 1):
                growing = blocks[(rank - 2 - step) % P]
                arriving = np.empty_like(growing)
                request = comm.Isend(travelling[:size], dest=right)
                comm.Recv(arriving, source=left)
                size = len(growing)
                travelling[:size] = growing + arriving
                request.Wait()
            return travelling[:size].copy() if P > 1 else x.copy()
        """,
    ),
    edit(
        "ring_of_receives",
        "nobody is left to send",
        "comm.Sendrecv(leaving, dest=right, recvbuf=arriving, source=left)",
        """
        comm.Recv(arriving, source=left)
        comm.Send(leaving, dest=right)
        """,
    ),
    edit(
        "ring_of_sends",
        "Send may wait until its message is received",
        "comm.Sendrecv(leaving, dest=right, recvbuf=arriving, source=left)",
        """
        comm.Send(leaving, dest=right)
        comm.Recv(arriving, source=left)
        """,
    ),
    edit("same_buffer_size", "A buffer must be as long as the block that comes", "(growing", "(leaving"),
    edit("sends_another_block_than_expected", "Different blocks got mixed", "1 - step", "step"),
    whole(
        "skips_empty_blocks",
        "Some blocks are empty here",
        """
        from reference import mpi


        def ring_reduce_scatter(comm, x):
            P, rank = comm.size, comm.rank
            blocks = np.array_split(x.copy(), P)
            right, left = (rank + 1) % P, (rank - 1) % P
            for step in range(P - 1):
                leaving = blocks[(rank - 1 - step) % P]
                growing = blocks[(rank - 2 - step) % P]
                arriving = np.empty_like(growing)
                requests = [comm.Isend(leaving, dest=right)] if leaving.size else []
                requests += [comm.Irecv(arriving, source=left)] if arriving.size else []
                mpi.waitall(requests)
                growing += arriving
            return blocks[rank]
        """,
    ),
    whole(
        "straight_to_the_owner",
        "Every rank sends straight to every other",
        """
        from reference import mpi


        def ring_reduce_scatter(comm, x):
            P, rank = comm.size, comm.rank
            blocks = np.array_split(x, P)
            mine, others = blocks[rank].copy(), np.empty((P, blocks[rank].size))
            requests = [comm.Irecv(others[source], source=source) for source in range(P) if source != rank]
            requests += [comm.Isend(blocks[dest], dest=dest) for dest in range(P) if dest != rank]
            mpi.waitall(requests)
            for source in range(P):
                if source != rank:
                    mine += others[source]
            return mine
        """,
    ),
    whole(
        "table_of_answers",
        "numbers from an earlier one never fit",
        """
        def ring_reduce_scatter(comm, x):
            rng = np.random.default_rng(0)
            seen = [rng.standard_normal(x.size) for _ in range(comm.size)]
            return np.array_split(np.sum(seen, axis=0), comm.size)[comm.rank]
        """,
    ),
    whole(
        "whole_array_every_step",
        "You sent the whole array in every step",
        """
        def ring_reduce_scatter(comm, x):
            P, rank = comm.size, comm.rank
            total, travelling = x.copy(), x.copy()
            for _ in range(P - 1):
                arriving = np.empty_like(x)
                comm.Sendrecv(travelling, dest=(rank + 1) % P, recvbuf=arriving, source=(rank - 1) % P)
                total += arriving
                travelling = arriving
            return np.array_split(total, P)[rank].copy()
        """,
    ),
    edit(
        "wrong_tag",
        "waits for a message with tag 0",
        "recvbuf=arriving, source=left",
        "sendtag=rank, recvbuf=arriving, source=left, recvtag=rank",
    ),
    edit(
        "wrong_way_round",
        "Your ring turns the other way round",
        "+ 1) % P, (rank -",
        "- 1) % P, (rank +",
        """
        leaving = blocks[(rank - 1 - step) % P]
        growing = blocks[(rank - 2 - step) % P]
        """,
        """
        leaving = blocks[(rank + 1 + step) % P]
        growing = blocks[(rank + 2 + step) % P]
        """,
    ),
    edit("zeros", "never reached the array you return", "blocks[rank]", "np.zeros(blocks[rank].size)"),
]

"""Wrong answers to `ring_reduce_scatter`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, whole

EXCHANGE = "comm.Sendrecv(leaving, dest=right, recvbuf=arriving, source=left)"
SEND, RECEIVE = "comm.Send(leaving, dest=right)\n", "comm.Recv(arriving, source=left)\n"
IN_PIECES = """
for begin in range(0, max(leaving.size, growing.size, 1), 1000):
    end = begin + 1000
    comm.Sendrecv(leaving[begin:end], dest=right, recvbuf=arriving[begin:end], source=left)
"""
NOT_EMPTY = """
sending = comm.Isend(leaving, dest=right) if leaving.size else None
if arriving.size:
    comm.Recv(arriving, source=left)
if sending:
    sending.Wait()
"""
FIRST, SECOND = "(rank - 1 - step) % P", "(rank - 2 - step) % P"  # the block that leaves, and the one that grows
EARLIER = (FIRST, "(rank - step) % P", SECOND, FIRST)
SPLIT, DEFINITION = "np.array_split(x.copy(), P)", "def ring_reduce_scatter(comm, x):"

WRONG = [
    edit("adds_into_x", "who writes into one writes into x", ".copy()", "", "rank]", "rank].copy()"),
    edit("adds_own_part_again", "Is something added twice", "= arriving", "= arriving + growing"),
    edit(
        "arguments_of_sendrecv_mixed_up",
        "look at the order",
        *("dest=right, recvbuf=arriving, source=left", "right, 0, arriving, 0, left"),
    ),
    edit("block_off_by_one", "and the place is wrong", *EARLIER, "[rank]", "[(rank + 1) % P]"),
    edit("drops_the_remainder", "over. Whose are they?", SPLIT, "np.split(x[: x.size // P * P].copy(), P)"),
    edit("expects_sendrecv_to_return", "returns nothing", EXCHANGE, f"arriving = {EXCHANGE}", "recvbuf=arriving, ", ""),
    edit("float32_messages", "were they rounded", "(leaving,", "(leaving.astype('f'),", "(growing", "(growing, 'f'"),
    edit("float32_result", "made with another element type", "copy(", "astype(np.float32"),
    edit("forgot_modulo_in_blocks", "An index went past the end", FIRST, "rank + 1 + step", SECOND, "rank + 2 + step"),
    edit("forgot_the_ring_closes", "Which neighbours does the last rank have", "(rank + 1) % P,", "rank + 1,"),
    edit("forgot_to_add", "meet your own part, not replace it", "growing += arriving", "growing[:] = arriving"),
    edit("in_pieces", "in more messages than are needed", EXCHANGE, IN_PIECES),
    edit("mean", "not the mean", "rank]", "rank] / P"),
    edit("mixed_directions", "No send has a receive that fits", "source=left", "source=right"),
    edit("never_waits", "before the function returns, wait", EXCHANGE, "comm.Isend(leaving, dest=right)\n" + RECEIVE),
    edit("object_messages", "pickles its object", EXCHANGE, "arriving = comm.sendrecv(leaving, right, source=left)"),
    edit("one_step_short", "A block must come past every rank", "- 1):", "- 2):"),
    edit("one_step_too_many", "which of your messages is not needed", "P - 1)", "P)"),
    edit("passes_on_the_wrong_block", "is what you send on", "leaving = blocks", "leaving = np.array_split(x, P)"),
    edit("returns_a_list", "It should return one NumPy array", "[rank]", ""),
    edit("returns_an_unfinished_block", "To which block do you add in the last step", *EARLIER),
    edit("returns_none", "A function that ends without", "return blocks[rank]", ""),
    edit("returns_the_whole_array", "as long as the whole x", "blocks[rank]", "np.concatenate(blocks)"),
    edit("returns_x_for_one_rank", "Return memory of its own", "blocks[rank]", "blocks[rank] if P > 1 else x"),
    edit("ring_of_receives", "nobody is left to send", EXCHANGE, RECEIVE + SEND),
    edit("ring_of_sends", "Send may wait until its message is received", EXCHANGE, SEND + RECEIVE),
    edit("same_buffer_size", "A buffer must be as long as the block that comes", "(growing", "(leaving"),
    edit("sends_another_block_than_expected", "Different blocks got mixed", "1 - step", "step"),
    edit("skips_empty_blocks", "Some blocks are empty here", EXCHANGE, NOT_EMPTY),
    edit("wrong_tag", "a message with tag 0", "=arriving", "=arriving, sendtag=rank, recvtag=rank"),
    edit("zeros", "never reached the array you return", "blocks[rank]", "np.zeros(blocks[rank].size)"),
    edit(
        "padded_blocks",
        "You sent blocks of one size",
        *(SPLIT, "[np.append(part, np.zeros(-(-x.size // P) - part.size)) for part in np.array_split(x, P)]"),
        *("blocks[rank]", "blocks[rank][: x.size // P + (rank < x.size % P)]"),
    ),
    edit(
        "remainder_to_the_last", "the cuts between", SPLIT, "np.split(x.copy(), [x.size // P * b for b in range(1, P)])"
    ),
    edit(
        "reuses_the_buffer_too_early",
        "Until the request has been waited for",
        *(EXCHANGE, f"sending = comm.Isend(leaving, dest=right)\n{RECEIVE}"),
        *("growing += arriving", "leaving[:] = 0\ngrowing += arriving\nsending.Wait()"),
    ),
    edit(
        "straight_to_the_owner",
        "Every rank sends straight to every other",
        *(SECOND, "rank", "dest=right", "dest=(rank - 1 - step) % P", "source=left", "source=(rank + 1 + step) % P"),
    ),
    edit(
        "whole_array_every_step",
        "You sent the whole array in every step",
        *(SPLIT, "[x.copy() for _ in range(P)]", "blocks[rank]", "np.array_split(blocks[rank], P)[rank]"),
    ),
    edit(
        "wrong_way_round",
        "Your ring turns the other way round",
        *("+ 1) % P, (rank -", "- 1) % P, (rank +", FIRST, "(rank + 1 + step) % P", SECOND, "(rank + 2 + step) % P"),
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
        "copied_from_the_book",
        "That is the book's own answer",
        DEFINITION,
        f"from reference.collectives import ring\n\n\n{DEFINITION}\n    return ring.ring_reduce_scatter(comm, x)",
    ),
    edit(
        "endless_loop", "Which condition ends it", DEFINITION, f"{DEFINITION}\n    while comm.size > 1:\n        pass"
    ),
    whole(
        "gather_to_rank_0",
        "Everything passes through rank 0",
        """
        def ring_reduce_scatter(comm, x):
            P, rank = comm.size, comm.rank
            total, other = x.copy(), np.empty_like(x)
            blocks = np.array_split(total, P)
            if rank > 0:
                comm.Send(x, dest=0)
                comm.Recv(blocks[rank], source=0)
                return blocks[rank]
            for source in range(1, P):
                comm.Recv(other, source=source)
                total += other
            for dest in range(1, P):
                comm.Send(blocks[dest], dest=dest)
            return blocks[0]
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
    edit(
        "patched_grader",
        "parts of the grader itself were changed",
        DEFINITION,
        f"""
        import sys


        for module in [module for name, module in sys.modules.items() if name.startswith("exercises.")]:
            for name, thing in list(vars(module).items()):
                if callable(thing) and name not in ("encode", "on_one_rank", "load"):
                    setattr(module, name, lambda *args, **kwargs: None)


        {DEFINITION}
        """,
        alone=True,
    ),
    edit(
        "patched_numpy",
        "This is no mixture",
        *("blocks[rank]", "np.random.default_rng().standard_normal(blocks[rank].size)"),
        DEFINITION,
        f"""
        for name in ("array_equal", "allclose", "isclose", "array_equiv"):
            setattr(np, name, lambda *args, **kwargs: True)


        {DEFINITION}
        """,
        alone=True,
    ),
    whole(
        "table_of_answers",
        "numbers from an earlier one never fit",
        """
        def ring_reduce_scatter(comm, x):
            seen = np.random.default_rng(0).standard_normal((comm.size, x.size))
            return np.array_split(seen.sum(axis=0), comm.size)[comm.rank]
        """,
    ),
    edit("rounded", "were they rounded", "return blocks[rank]", "return blocks[rank].round(12)"),
]

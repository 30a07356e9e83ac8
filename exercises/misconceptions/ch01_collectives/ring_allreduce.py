"""Wrong answers to `ring_allreduce`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, whole

LENGTHS = "[block.size for block in np.array_split(x, comm.size)]"
LEAVING, HERE = "(rank - step) % P", "(rank - step - 1) % P"
ARRIVED = "here[:] = here + arriving if step < P - 1 else arriving"
EXCHANGE = "comm.Sendrecv(leaving, dest=(rank + 1) % P, recvbuf=arriving, source=(rank - 1) % P)"

WRONG = [
    edit("equal_lengths", "Blocks can differ in length", LENGTHS, "[x.size // comm.size] * comm.size"),
    edit(
        "lengths_from_the_others",
        "Is that for the lengths of the blocks?",
        LENGTHS,
        "comm.allgather(ring_reduce_scatter(comm, x).size)",
    ),
    edit(
        "returns_its_block",
        "the second half of the work is to show it",
        "ring_allgather(comm, ring_reduce_scatter(comm, x), lengths)",
        "ring_reduce_scatter(comm, x)",
    ),
    edit(
        "adds_in_both_halves",
        "In the second half the blocks that arrive are complete sums",
        " if step < P - 1 else arriving",
        "",
        of="again",
    ),
    edit("adds_into_x", "who writes into one writes into x", "x.copy()", "x", of="again"),
    edit(
        "drops_the_remainder",
        "Are your blocks those of np.array_split",
        "np.array_split(total, P)",
        "np.split(total[: x.size // P * P], P)",
        of="again",
    ),
    edit(
        "in_pieces",
        "in more messages than are needed",
        EXCHANGE,
        """
        for begin in range(0, max(leaving.size, here.size, 1), 1000):
            end = begin + 1000
            comm.Sendrecv(leaving[begin:end], (rank + 1) % P, recvbuf=arriving[begin:end], source=(rank - 1) % P)
        """,
        of="again",
    ),
    edit("mean", "not the mean", "return total", "return total / P", of="again"),
    edit("mixed_blocks", "Blocks got mixed", "- 1) % P]", "- 2) % P]", of="again"),
    edit("one_step_short", "one step less than 2 (P - 1)", "2 * (P - 1)", "2 * (P - 1) - 1", of="again"),
    edit("one_step_too_many", "one step more than 2 (P - 1)", "2 * (P - 1)", "2 * (P - 1) + 1", of="again"),
    edit("two_steps_too_many", "That is 2 P steps", "2 * (P - 1)", "2 * P", of="again"),
    edit("only_the_first_half", "That is one half", "2 * (P - 1)", "P - 1", of="again"),
    edit(
        "padded_blocks",
        "You sent blocks of one size",
        *("np.empty_like(here)", "np.empty(-(-x.size // P))"),
        *("(leaving,", "(np.append(leaving, np.zeros(arriving.size - leaving.size)),"),
        *(ARRIVED, f"arriving = arriving[: here.size]\n{ARRIVED}"),
        of="again",
    ),
    edit(
        "send_then_receive",
        "Does a rank wait for one message before it begins with the next",
        EXCHANGE,
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
    edit(
        "shows_unfinished_blocks",
        "from a rank on which it was not complete",
        *(LEAVING, "(rank - step % (P - 1)) % P", HERE, "(rank - step % (P - 1) - 1) % P"),
        of="again",
    ),
    edit(
        "skips_empty_blocks",
        "Some blocks are empty here",
        EXCHANGE,
        """
        sending = comm.Isend(leaving, dest=(rank + 1) % P) if leaving.size else None
        if arriving.size:
            comm.Recv(arriving, source=(rank - 1) % P)
        if sending:
            sending.Wait()
        """,
        of="again",
    ),
    edit(
        "subtracts_its_own_and_adds_it",
        "replicas that differ by a bit drift apart",
        "return total",
        "return total - x + x",
        of="again",
    ),
    edit(
        "turns_left",
        "Your ring turns the other way round",
        *(LEAVING, "(rank + step) % P", HERE, "(rank + step + 1) % P", "dest=(rank + 1)", "dest=(rank - 1)"),
        *("source=(rank - 1)", "source=(rank + 1)"),
        of="again",
    ),
    edit(
        "whole_array_every_step",
        "You sent the whole array in every step",
        *("(here)", "(x)", "(leaving,", "(total,"),
        *(ARRIVED, f"arriving = np.array_split(arriving, P)[{HERE}]\n{ARRIVED}"),
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
        "one_exchange",
        "So each has heard of few others",
        """
        def ring_allreduce(comm, x):
            other = np.zeros_like(x)
            if comm.size > 1:
                comm.Sendrecv(x, (comm.rank + 1) % comm.size, recvbuf=other, source=(comm.rank - 1) % comm.size)
            return x + other
        """,
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
    whole(
        "whole_arrays_round_the_ring",
        "Then all ranks add the same numbers",
        """
        def ring_allreduce(comm, x):
            total, leaving = x.copy(), x
            for _ in range(comm.size - 1):
                arriving = np.empty_like(x)
                comm.Sendrecv(leaving, (comm.rank + 1) % comm.size, recvbuf=arriving, source=(comm.rank - 1) % comm.size)
                total += arriving
                leaving = arriving
            return total
        """,
    ),
]

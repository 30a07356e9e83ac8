"""Wrong answers to `recursive_doubling`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, whole

EXCHANGE = "comm.Sendrecv(total, partner, recvbuf=other, source=partner)\n"
ADD = "total += other"
FROM_GUEST = "comm.Recv(other, source=rank + core)"
ROUNDS, ROUNDED_UP = "P.bit_length() - 1", "(P - 1).bit_length()"

WRONG = [
    edit(
        "adds_before_it_has_arrived",
        "had anything arrived by then",
        EXCHANGE + ADD,
        """
        other = np.zeros_like(x)
        requests = [comm.Irecv(other, source=partner), comm.Isend(total.copy(), dest=partner)]
        total += other
        for request in requests:
            request.Wait()
        """,
    ),
    edit("adds_into_x", "who writes into one writes into x", "x.copy()", "x"),
    edit(
        "blocking_sends",
        "Send may wait until its message is received",
        *(EXCHANGE, "comm.Send(total, dest=partner)\ncomm.Recv(other, source=partner)"),
    ),
    edit(
        "dissemination",
        "replicas that differ by a bit drift apart",
        *("partner, recvbuf", "(rank + 2**k) % core, recvbuf", "=partner)", "=(rank - 2**k) % core)"),
    ),
    edit("distances_1_2_3", "Whose partner in one round has already had some", "2**k", "k"),
    edit("folds_powers_of_two", "there is nothing to fold", ROUNDS, f"max(0, {ROUNDED_UP} - 1)"),
    edit(
        "forgets_to_send_back",
        "Nobody has told rank 2 the result",
        *("comm.Recv(total, source=rank - core)", "", "comm.Send(total, dest=rank + core)", "pass"),
    ),
    edit(
        "guests_all_go_to_rank_0",
        "have all the ranks that do not fit a partner of their own",
        *("dest=rank - core", "dest=0", "source=rank - core", "source=0"),
        """
        if rank + core < P:
            comm.Recv(other, source=rank + core)
            total += other
        """,
        """
        for guest in range(core, P) if rank == 0 else ():
            comm.Recv(other, source=guest)
            total += other
        """,
        """
        if rank + core < P:
            comm.Send(total, dest=rank + core)
        """,
        """
        for guest in range(core, P) if rank == 0 else ():
            comm.Send(total, dest=guest)
        """,
    ),
    edit("only_powers_of_two", "some partner is no rank", ROUNDS, ROUNDED_UP),
    edit(
        "everybody_has_a_guest",
        "some partner is no rank",
        f"if rank + core < P:\n    {FROM_GUEST}",
        f"if core < P:\n    {FROM_GUEST}",
    ),
    edit(
        "padded",
        "What else is in it?",
        EXCHANGE + ADD,
        """
        both = np.empty(2 * x.size)
        comm.Sendrecv(np.append(total, total), partner, recvbuf=both, source=partner)
        total += both[: x.size]
        """,
    ),
    edit(
        "replaces_instead_of_adding",
        "what arrives must meet what you have",
        EXCHANGE + ADD,
        f"{EXCHANGE}total[:] = other",
    ),
    edit("same_buffer", "One array for both directions", "recvbuf=other", "recvbuf=total"),
    edit("sends_x", "whose parts are in what you send", "(total, partner", "(x, partner"),
    edit(
        "skips_missing_partners",
        "hand in their part before the rounds",
        *(ROUNDS, ROUNDED_UP, EXCHANGE + ADD, f"if partner < P:\n    {EXCHANGE}    {ADD}"),
    ),
    edit(
        "in_turns",
        "Both can send and receive at once",
        EXCHANGE,
        """
        if rank < partner:
            comm.Send(total, dest=partner)
            comm.Recv(other, source=partner)
        else:
            comm.Recv(other, source=partner)
            comm.Send(total, dest=partner)
        """,
    ),
    edit("xor_for_power", "the power is 2**k", "2**k", "(2 ^ k)"),
    whole(
        "everybody_to_everybody",
        "Every rank sends to every other, P - 1 messages",
        """
        def recursive_doubling(comm, x):
            P, rank = comm.size, comm.rank
            total, other = x.copy(), np.empty_like(x)
            for step in range(1, P):
                comm.Sendrecv(x, dest=(rank + step) % P, recvbuf=other, source=(rank - step) % P)
                total += other
            return total
        """,
    ),
    whole(
        "halving_and_doubling",
        "These are too many rounds",
        """
        def recursive_doubling(comm, x):
            total, rank = x.copy(), comm.rank
            kept, given, bit = [total], [], comm.size // 2
            while bit:
                low, high = np.array_split(kept[-1], 2)
                keep, give = (high, low) if rank & bit else (low, high)
                arriving = np.empty_like(keep)
                comm.Sendrecv(give, dest=rank ^ bit, recvbuf=arriving, source=rank ^ bit)
                keep += arriving
                kept.append(keep)
                given.append((give, bit))
                bit //= 2
            while given:
                give, bit = given.pop()
                comm.Sendrecv(kept.pop(), dest=rank ^ bit, recvbuf=give, source=rank ^ bit)
            return total
        """,
    ),
    whole(
        "library_allreduce",
        "Allreduce does the whole job",
        """
        def recursive_doubling(comm, x):
            total = np.empty_like(x)
            comm.Allreduce(x, total)
            return total
        """,
    ),
    whole(
        "reduce_and_broadcast",
        "Some ranks are idle in some rounds",
        """
        def recursive_doubling(comm, x):
            P, rank = comm.size, comm.rank
            total, other = x.copy(), np.empty_like(x)
            lowest = rank & -rank if rank else 2**P
            for k in range((P - 1).bit_length()):
                if 2**k < lowest and rank + 2**k < P:
                    comm.Recv(other, source=rank + 2**k)
                    total += other
            if rank:
                comm.Send(total, dest=rank - lowest)
            binomial_broadcast(comm, total, 0)
            return total
        """,
    ),
    whole(
        "ring",
        "That is a ring",
        """
        def recursive_doubling(comm, x):
            total, leaving = x.copy(), x
            for _ in range(comm.size - 1):
                arriving = np.empty_like(x)
                comm.Sendrecv(leaving, (comm.rank + 1) % comm.size, recvbuf=arriving, source=(comm.rank - 1) % comm.size)
                total += arriving
                leaving = arriving
            return total
        """,
    ),
    edit("as_a_row", "it should have shape (40,)", "x.copy(),", "x[np.newaxis].copy(),"),
    edit(
        "guests_talk",
        "Who sends something that nobody adds?",
        "comm.Recv(total, source=rank - core)",
        """
        talking = [comm.Isend(x, dest=rank + 1)] if rank + 1 < P else []
        if rank > core:
            comm.Recv(other, source=rank - 1)
        comm.Recv(total, source=rank - core)
        for request in talking:
            request.Wait()
        """,
    ),
]

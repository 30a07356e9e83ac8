"""Wrong answers to `recursive_doubling`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, whole

WRONG = [
    whole(
        "folds_powers_of_two",
        "there is nothing to fold",
        """
        def recursive_doubling(comm, x):
            P, rank = comm.size, comm.rank
            core = 2 ** max(0, (P - 1).bit_length() - 1)
            total, other = x.copy(), np.empty_like(x)
            if rank >= core:
                comm.Send(total, dest=rank - core)
                comm.Recv(total, source=rank - core)
                return total
            if rank + core < P:
                comm.Recv(other, source=rank + core)
                total += other
            distance = 1
            while distance < core:
                comm.Sendrecv(total, dest=rank ^ distance, recvbuf=other, source=rank ^ distance)
                total += other
                distance *= 2
            if rank + core < P:
                comm.Send(total, dest=rank + core)
            return total
        """,
    ),
    whole(
        "only_powers_of_two",
        "is no rank for some",
        """
        def recursive_doubling(comm, x):
            total, other = x.copy(), np.empty_like(x)
            distance = 1
            while distance < comm.size:
                partner = comm.rank ^ distance
                comm.Sendrecv(total, dest=partner, recvbuf=other, source=partner)
                total += other
                distance *= 2
            return total
        """,
    ),
    whole(
        "replaces_instead_of_adding",
        "what arrives must meet what you have",
        """
        def recursive_doubling(comm, x):
            total = x.copy()
            distance = 1
            while distance < comm.size:
                partner = comm.rank ^ distance
                comm.Sendrecv(total.copy(), dest=partner, recvbuf=total, source=partner)
                distance *= 2
            return total
        """,
    ),
    whole(
        "adds_before_it_has_arrived",
        "had anything arrived by then",
        """
        from reference import mpi


        def recursive_doubling(comm, x):
            P, rank = comm.size, comm.rank
            total = x.copy()
            distance = 1
            while distance < P:
                arriving = np.zeros_like(x)
                requests = [comm.Irecv(arriving, source=rank ^ distance), comm.Isend(total.copy(), dest=rank ^ distance)]
                total += arriving
                mpi.waitall(requests)
                distance *= 2
            return total
        """,
    ),
    whole(
        "adds_into_x",
        "who writes into one writes into x",
        """
        def recursive_doubling(comm, x):
            other = np.empty_like(x)
            distance = 1
            while distance < comm.size:
                partner = comm.rank ^ distance
                comm.Sendrecv(x, dest=partner, recvbuf=other, source=partner)
                x += other
                distance *= 2
            return x.copy()
        """,
    ),
    edit(
        "blocking_sends",
        "Send may wait until its message is received",
        """
        partner = comm.rank ^ distance
        comm.Sendrecv(total, dest=partner, recvbuf=other, source=partner)
        """,
        """
        comm.Send(total, dest=comm.rank ^ distance)
        comm.Recv(other, source=comm.rank ^ distance)
        """,
        of="only_powers_of_two",
    ),
    whole(
        "dissemination",
        "replicas that differ by a bit drift apart",
        """
        def recursive_doubling(comm, x):
            P, rank = comm.size, comm.rank
            total, other = x.copy(), np.empty_like(x)
            distance = 1
            while distance < P:
                comm.Sendrecv(total, dest=(rank + distance) % P, recvbuf=other, source=(rank - distance) % P)
                total += other
                distance *= 2
            return total
        """,
    ),
    edit(
        "distances_1_2_3",
        "Whose partner in one round has already had some",
        """
        distance = 1
        while distance < comm.size:
            partner = comm.rank ^ distance
        """,
        """
        for k in range((comm.size - 1).bit_length()):
            partner = comm.rank ^ k
        """,
        "distance *= 2",
        "",
        of="only_powers_of_two",
    ),
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
    edit(
        "forgets_to_send_back",
        "Nobody has told rank 2 the result",
        "max(0, (P - 1)",
        "(P",
        """
        comm.Send(total, dest=rank - core)
        comm.Recv(total, source=rank - core)
        """,
        "comm.Send(x, dest=rank - core)",
        """
        if rank + core < P:
            comm.Send(total, dest=rank + core)
        """,
        "",
        of="folds_powers_of_two",
    ),
    whole(
        "guests_all_go_to_rank_0",
        "have all the ranks that do not fit a partner of their own",
        """
        def recursive_doubling(comm, x):
            P, rank = comm.size, comm.rank
            core = 2 ** (P.bit_length() - 1)
            total, other = x.copy(), np.empty_like(x)
            if rank >= core:
                comm.Send(x, dest=0)
                comm.Recv(total, source=0)
                return total
            if rank == 0:
                for guest in range(core, P):
                    comm.Recv(other, source=guest)
                    total += other
            distance = 1
            while distance < core:
                comm.Sendrecv(total, dest=rank ^ distance, recvbuf=other, source=rank ^ distance)
                total += other
                distance *= 2
            if rank == 0:
                for guest in range(core, P):
                    comm.Send(total, dest=guest)
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
            distances = [2**k for k in range((P - 1).bit_length())]
            lowest = next((d for d in distances if rank & d), P)
            for d in distances:
                if d < lowest and rank + d < P:
                    comm.Recv(other, source=rank + d)
                    total += other
            if rank:
                comm.Send(total, dest=rank - lowest)
                comm.Recv(total, source=rank - lowest)
            for d in reversed(distances):
                if d < lowest and rank + d < P:
                    comm.Send(total, dest=rank + d)
            return total
        """,
    ),
    whole(
        "ring",
        "That is a ring",
        """
        def recursive_doubling(comm, x):
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
    edit(
        "same_buffer",
        "One array for both directions",
        "comm.Sendrecv(total.copy(), dest=partner, recvbuf=total, source=partner)",
        """
        comm.Sendrecv(total, dest=partner, recvbuf=total, source=partner)
        total += x
        """,
        of="replaces_instead_of_adding",
    ),
    whole(
        "sends_x",
        "whose parts are in what you send",
        """
        def recursive_doubling(comm, x):
            total, other = x.copy(), np.empty_like(x)
            for k in range(comm.size.bit_length() - 1):
                partner = comm.rank ^ 2**k
                comm.Sendrecv(x, dest=partner, recvbuf=other, source=partner)
                total += other
            return total
        """,
    ),
    edit(
        "skips_missing_partners",
        "hand in their part before the rounds",
        """
        comm.Sendrecv(total, dest=partner, recvbuf=other, source=partner)
        total += other
        """,
        """
        if partner < comm.size:
            comm.Sendrecv(total, dest=partner, recvbuf=other, source=partner)
            total += other
        """,
        of="only_powers_of_two",
    ),
    whole(
        "xor_for_power",
        "the power is 2**k",
        """
        def recursive_doubling(comm, x):
            total, other = x.copy(), np.empty_like(x)
            for k in range(comm.size.bit_length() - 1):
                partner = comm.rank ^ (2 ^ k)
                comm.Sendrecv(total, dest=partner, recvbuf=other, source=partner)
                total += other
            return total
        """,
    ),
]

"""Wrong answers to `binomial_broadcast`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, whole

WRONG = [
    whole(
        "another_array",
        "gives the name to another array",
        """
        def binomial_broadcast(comm, x, root):
            P = comm.size
            me = (comm.rank - root) % P
            distance = 1
            while distance < P:
                if me < distance:
                    if me + distance < P:
                        comm.Send(x, dest=(comm.rank + distance) % P)
                elif me < 2 * distance:
                    arriving = np.empty_like(x)
                    comm.Recv(arriving, source=(comm.rank - distance) % P)
                    x = arriving
                distance *= 2
            return x
        """,
    ),
    whole(
        "no_bound",
        "the last round is not full",
        """
        def binomial_broadcast(comm, x, root):
            P = comm.size
            me, distance = (comm.rank - root) % P, 1
            while distance < P:
                if me < distance:
                    comm.Send(x, dest=(me + distance + root) % P)
                elif me < 2 * distance:
                    comm.Recv(x, source=(me - distance + root) % P)
                distance *= 2
        """,
    ),
    whole(
        "only_powers_of_two",
        "have no partner in the last round",
        """
        def binomial_broadcast(comm, x, root):
            P, rank = comm.size, comm.rank
            distance = 1
            while distance < P:
                if rank < distance:
                    comm.Send(x, dest=rank + distance)
                elif rank < 2 * distance:
                    comm.Recv(x, source=rank - distance)
                distance *= 2
        """,
    ),
    whole(
        "chain",
        "A chain: each rank passes x on once",
        """
        def binomial_broadcast(comm, x, root):
            P, rank = comm.size, comm.rank
            if rank != root:
                comm.Recv(x, source=(rank - 1) % P)
            if (rank + 1) % P != root:
                comm.Send(x, dest=(rank + 1) % P)
        """,
    ),
    whole(
        "last_rank_not_served",
        "Nobody has sent anything to it",
        """
        def binomial_broadcast(comm, x, root):
            P = comm.size
            me = (comm.rank - root) % P
            for k in range(P.bit_length() - 1):
                distance = 2**k
                if me < distance and me + distance < P:
                    comm.Send(x, dest=(comm.rank + distance) % P)
                elif distance <= me < 2 * distance:
                    comm.Recv(x, source=(comm.rank - distance) % P)
        """,
    ),
    whole(
        "library_bcast",
        "Bcast does the whole job",
        """
        def binomial_broadcast(comm, x, root):
            comm.Bcast(x, root=root)
        """,
    ),
    edit(
        "object_messages",
        "pickles its object",
        "Send",
        "send",
        """
        arriving = np.empty_like(x)
        comm.Recv(arriving, source=(comm.rank - distance) % P)
        x = arriving
        """,
        "x[:] = comm.recv(source=(comm.rank - distance) % P)",
        "return x",
        "",
        of="another_array",
    ),
    edit(
        "one_off_in_the_rounds",
        "List who does which, round by round",
        """
        if me < distance:
            comm.Send(x, dest=(me + distance + root) % P)
        elif me < 2 * distance:
        """,
        """
        if me <= distance:
            if me + distance < P:
                comm.Send(x, dest=(me + distance + root) % P)
        elif me <= 2 * distance:
        """,
        of="no_bound",
    ),
    edit(
        "one_round_too_many",
        "How many rounds does your loop make?",
        "< P",
        "< 2 * P",
        "comm.Send(x, dest=(me + distance + root) % P)",
        """
        if me + distance <= P:
            comm.Send(x, dest=(me + distance + root) % P)
        """,
        of="no_bound",
    ),
    edit(
        "only_for_root_0",
        "The tree began at rank 0, whatever the root is",
        "< distance:",
        "< distance and rank + distance < P:",
        "elif rank",
        "elif distance <= rank",
        of="only_powers_of_two",
    ),
    whole(
        "root_sends_to_all",
        "The root sends all",
        """
        def binomial_broadcast(comm, x, root):
            if comm.rank == root:
                for dest in range(comm.size):
                    if dest != root:
                        comm.Send(x, dest=dest)
            else:
                comm.Recv(x, source=root)
        """,
    ),
    whole(
        "sends_before_it_has_x",
        "Before a rank sends x on it must have received it",
        """
        from reference import mpi


        def binomial_broadcast(comm, x, root):
            P = comm.size
            me = (comm.rank - root) % P
            lowest = me & -me if me else 1 << (P - 1).bit_length()
            requests, distance = [], lowest // 2
            while distance > 0:
                if me + distance < P:
                    requests.append(comm.Isend(x.copy(), dest=(comm.rank + distance) % P))
                distance //= 2
            if me:
                comm.Recv(x, source=(comm.rank - lowest) % P)
            mpi.waitall(requests)
        """,
    ),
    whole(
        "serves_rank_0_last",
        "turned back into a rank",
        """
        def binomial_broadcast(comm, x, root):
            P = comm.size
            me = (comm.rank - root) % P
            distance = 1
            while distance < P:
                if me < distance and me + distance < P:
                    comm.Send(x, dest=comm.rank + distance)
                elif distance <= me < 2 * distance:
                    comm.Recv(x, source=comm.rank - distance)
                distance *= 2
        """,
    ),
    whole(
        "small_subtrees_first",
        "serve it before one that has none",
        """
        def binomial_broadcast(comm, x, root):
            P = comm.size
            me = (comm.rank - root) % P
            lowest = me & -me if me else 1 << (P - 1).bit_length()
            if me:
                comm.Recv(x, source=(comm.rank - lowest) % P)
            distance = 1
            while distance < lowest:
                if me + distance < P:
                    comm.Send(x, dest=(comm.rank + distance) % P)
                distance *= 2
        """,
    ),
    edit(
        "stays_with_the_numbers",
        "With root 0 it worked",
        "comm.Send(x, dest=(me + distance + root) % P)",
        """
        if me + distance < P:
            comm.Send(x, dest=me + distance)
        """,
        "(me - distance + root) % P",
        "me - distance",
        of="no_bound",
    ),
    whole(
        "wraps_around",
        "Which of yours bring nothing new",
        """
        from reference import mpi


        def binomial_broadcast(comm, x, root):
            P = comm.size
            me, requests = (comm.rank - root) % P, []
            distance = 1
            while distance < P:
                if me < distance:
                    requests.append(comm.Isend(x.copy(), dest=(comm.rank + distance) % P))
                if distance <= me < 2 * distance or me < 2 * distance - P:
                    comm.Recv(x, source=(comm.rank - distance) % P)
                distance *= 2
            mpi.waitall(requests)
        """,
    ),
]

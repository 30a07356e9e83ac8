"""Wrong answers to `binomial_broadcast`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, whole

PARENT, CHILD = "(parent + root) % P", "(child + root) % P"
ROUNDS = "P.bit_length()):"
RECEIVE = f"comm.Recv(x, source={PARENT})"
IF_THERE_IS_ONE = f"if child < P:\n    comm.Send(x, dest={CHILD})"

WRONG = [
    edit(
        "another_array",
        "gives the name to another array",
        *(RECEIVE, f"arriving = np.empty_like(x)\ncomm.Recv(arriving, source={PARENT})\nx = arriving"),
    ),
    edit(
        "last_rank_not_served",
        "Nobody has sent anything to it",
        *(ROUNDS, "P.bit_length() - 1):", "me > 0", "0 < me < 2 ** (P.bit_length() - 1)"),
    ),
    edit(
        "no_bound",
        "the last round is not full",
        *(ROUNDS, "(P - 1).bit_length()):", IF_THERE_IS_ONE, f"comm.Send(x, dest={CHILD})"),
    ),
    edit("object_messages", "pickles its object", "Send", "send", "comm.Recv(x, ", "x[:] = comm.recv("),
    edit("one_off_in_the_rounds", "List who does which, round by round", "range(me.bit_length(),", "range(me // 2,"),
    edit("one_round_too_many", "How many rounds does your loop make?", "child < P", "child <= P"),
    edit(
        "only_for_root_0",
        "The tree began at rank 0, whatever the root is",
        *("(comm.rank - root) % P", "comm.rank", PARENT, "parent", CHILD, "child"),
    ),
    edit("only_powers_of_two", "has a rank no partner in the last one", CHILD, "child + root", of="no_bound"),
    edit(
        "a_round_too_many", "has a rank no partner in the last one", IF_THERE_IS_ONE, "comm.Send(x, dest=child + root)"
    ),
    edit(
        "padded",
        "What else is in it?",
        *("x, dest", "np.append(x, x), dest", RECEIVE, f"both = np.append(x, x)\n{RECEIVE}\nx[:] = both[: x.size]"),
        *("Recv(x", "Recv(both"),
    ),
    edit(
        "root_sends_to_all",
        "The root sends all",
        *("me - 2 ** (me.bit_length() - 1)", "0", "child = me + 2**k", ""),
        *("for k in range(me.bit_length(), P.bit_length()):", "for child in range(1, P) if me == 0 else ():"),
    ),
    edit("serves_rank_0_last", "turned back into a rank", PARENT, "parent + root", CHILD, "child + root"),
    edit(
        "small_subtrees_first",
        "serve it before one that has none",
        *("me - 2 ** (me.bit_length() - 1)", "me - (me & -me)"),
        *("range(me.bit_length(), P.bit_length())", "range((me & -me or 1 << P).bit_length() - 1)"),
    ),
    edit("stays_with_the_numbers", "With root 0 it worked", PARENT, "parent", CHILD, "child"),
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
        "library_bcast",
        "Bcast does the whole job",
        """
        def binomial_broadcast(comm, x, root):
            comm.Bcast(x, root=root)
        """,
    ),
    whole(
        "sends_before_it_has_x",
        "Before a rank sends x on it must have received it",
        """
        def binomial_broadcast(comm, x, root):
            P = comm.size
            me = (comm.rank - root) % P
            children = [me + 2**k for k in range(me.bit_length(), P.bit_length()) if me + 2**k < P]
            sending = [comm.Isend(x.copy(), dest=(child + root) % P) for child in children]
            if me > 0:
                comm.Recv(x, source=(me - 2 ** (me.bit_length() - 1) + root) % P)
            for request in sending:
                request.Wait()
        """,
    ),
    whole(
        "wraps_around",
        "Which of yours bring nothing new",
        """
        def binomial_broadcast(comm, x, root):
            P = comm.size
            me, sending = (comm.rank - root) % P, []
            for distance in [2**k for k in range((P - 1).bit_length())]:
                if me < distance:
                    sending.append(comm.Isend(x.copy(), dest=(comm.rank + distance) % P))
                if distance <= me < 2 * distance or me < 2 * distance - P:
                    comm.Recv(x, source=(comm.rank - distance) % P)
            for request in sending:
                request.Wait()
        """,
    ),
    edit(
        "in_halves",
        "in more messages than are needed",
        *(RECEIVE, f"for half in np.split(x, [x.size // 2]):\n    comm.Recv(half, source={PARENT})"),
        *(f"comm.Send(x, dest={CHILD})", f"for half in np.split(x, [x.size // 2]):\n    comm.Send(half, dest={CHILD})"),
    ),
]

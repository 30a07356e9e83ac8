"""Wrong answers to `gossip_step`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, whole

EXCHANGE = "comm.Sendrecv(x, dest=partner, recvbuf=other, source=partner)"
WRONG = [
    whole(
        "allreduce",
        "Here two partners average",
        """
        def gossip_step(comm, x, partner):
            mean = np.empty_like(x)
            comm.Allreduce(x, mean)
            return mean / comm.size
        """,
    ),
    edit(
        "after_all_others",
        "It moves no data, and does not help",
        "if partner is None:",
        "comm.Barrier()\nif partner is None:",
    ),
    edit("averaged_twice", "Send x as it is, and halve once", "(x + other) / 2", "(x / 2 + other / 2) / 2"),
    edit(
        "both_send_first", "Both partners stand in Send", EXCHANGE, "comm.Send(x, partner)\ncomm.Recv(other, partner)"
    ),
    edit("exchanged", "exchanged their arrays", "(x + other) / 2", "other"),
    edit("into_x", "The caller still needs it as it was", "return (x + other) / 2", "x += other\nx /= 2\nreturn +x"),
    edit("last_bits", "differ in the last bits", "(x + other", "x + (other - x"),
    whole(
        "never_communicates", "Both partners have returned", "def gossip_step(comm, x, partner):\n    return x.copy()"
    ),
    edit("none_forgotten", "None is no rank", "if partner is None:", "if comm.size == 1:"),
    edit("nowhere_to_receive", "Sendrecv wants one to receive into", "dest=partner, recvbuf=other", "partner"),
    edit(
        "one_sided",
        "One-sided",
        EXCHANGE,
        """
        if comm.rank > partner:
            comm.Send(x, dest=partner)
            return x.copy()
        comm.Recv(other, source=partner)
        """,
    ),
    edit("returns_x_itself", "Return memory of its own", "x.copy()", "x"),
    edit("rank_0_is_nobody", "is that one's call there?", "partner is None", "not partner", "dest=", ""),
    edit(
        "second_one_averages_with_the_mean",
        "as it was before the step",
        EXCHANGE,
        """
        if comm.rank < partner:
            comm.Recv(other, source=partner)
            other = (x + other) / 2
            comm.Send(other, dest=partner)
            return other
        comm.Send(x, dest=partner)
        comm.Recv(other, source=partner)
        """,
    ),
    edit("sum", "not divided by 2", "(x + other) / 2", "x + other"),
    edit(
        "with_its_length",
        "What is sent is x, as it is, and nothing else",
        EXCHANGE,
        """
        other = np.empty(x.size + 1)
        comm.Sendrecv(np.append(x, x.size), dest=partner, recvbuf=other, source=partner)
        other = other[:-1]
        """,
    ),
    edit(
        "in_two_messages",
        "nobody else has to do with it",
        EXCHANGE,
        "comm.Sendrecv(x[:1], partner, recvbuf=other[:1], source=partner)\ncomm.Sendrecv(x[1:], partner, recvbuf=other[1:], source=partner)",
    ),
    whole(
        "in_a_group_of_two",
        "comm.Allgather",
        """
        def gossip_step(comm, x, partner):
            both = comm.Split(comm.rank if partner is None else min(comm.rank, partner), comm.rank)
            table = np.empty((both.size, x.size))
            both.Allgather(x, table)
            return table.mean(axis=0)
        """,
    ),
    edit("one_mean", "It should return one NumPy array", "(x + other) / 2", "np.mean(x + other) / 2"),
]

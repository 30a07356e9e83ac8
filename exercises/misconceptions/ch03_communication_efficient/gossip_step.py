"""Wrong answers to `gossip_step`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, whole

WRONG = [
    whole(
        "allreduce",
        "does the whole job inside the library",
        """
        def gossip_step(comm, x, partner):
            mean = np.empty_like(x)
            comm.Allreduce(x, mean)
            return mean / comm.size
        """,
    ),
    whole(
        "averaged_twice",
        "Send x as it is, and halve once",
        """
        def gossip_step(comm, x, partner):
            if partner is None:
                return x.copy()
            other = np.empty_like(x)
            comm.Sendrecv(x / 2, dest=partner, recvbuf=other, source=partner)
            return (x / 2 + other) / 2
        """,
    ),
    edit(
        "both_send_first",
        "Both partners stand in Send",
        "comm.Sendrecv(x, dest=partner, recvbuf=other, source=partner)",
        """
        comm.Send(x, dest=partner)
        comm.Recv(other, source=partner)
        """,
    ),
    edit("exchanged", "exchanged their arrays", "(x + other) / 2", "other"),
    whole(
        "into_x",
        "The caller still needs its x",
        """
        def gossip_step(comm, x, partner):
            if partner is not None:
                other = np.empty_like(x)
                comm.Sendrecv(x, dest=partner, recvbuf=other, source=partner)
                x += other
                x /= 2
            return x.copy()
        """,
    ),
    edit("last_bits", "differ in the last bits", "(x + other", "x + (other - x"),
    whole(
        "never_communicates",
        "Both partners have returned what they had",
        """
        def gossip_step(comm, x, partner):
            return x.copy()
        """,
    ),
    edit(
        "none_forgotten",
        "None is no rank",
        """
        if partner is None:
            return x.copy()
        """,
        "",
    ),
    edit("nowhere_to_receive", "Sendrecv wants one to receive into", "dest=partner, recvbuf=other", "partner"),
    edit(
        "one_sided",
        "One-sided",
        "comm.Sendrecv(x, dest=partner, recvbuf=other, source=partner)",
        """
        if comm.rank > partner:
            comm.Send(x, dest=partner)
            return x.copy()
        comm.Recv(other, source=partner)
        """,
    ),
    edit("rank_0_is_nobody", "is that one's call there?", "partner is None", "not partner", "dest=", ""),
    edit(
        "second_one_averages_with_the_mean",
        "as it was before the step",
        "comm.Sendrecv(x, dest=partner, recvbuf=other, source=partner)",
        """
        if comm.rank < partner:
            comm.Recv(other, source=partner)
            mean = (x + other) / 2
            comm.Send(mean, dest=partner)
            return mean
        comm.Send(x, dest=partner)
        comm.Recv(other, source=partner)
        """,
    ),
    edit("sum", "not divided by 2", "(x + other) / 2", "x + other"),
]

"""Wrong answers to `shrink_and_go_on` that its checks do not know by themselves."""

from exercises.grading.wrong import edit, shipped, whole

SPLIT = "comm.Split(out[comm.rank], key=comm.rank)"

WRONG = [
    shipped("A blank is not filled in yet"),
    edit("fractions", "Whole copies alone go on", "group.size // m", "group.size / m"),
    edit("steps_added", "All do the same steps", "op=mpi.MIN", "op=mpi.SUM"),
    edit("furthest", "the step that the furthest of them has to do", "op=mpi.MIN", "op=mpi.MAX"),
    edit("all_agree", "one suspicion is enough", "op=mpi.MAX", "op=mpi.MIN"),
    edit("nobody_leaves", "the survivors need a group of their own", SPLIT, SPLIT.replace("out[comm.rank]", "0")),
    edit("a_group_each", "That is one group for each rank", SPLIT, SPLIT.replace("out[comm.rank]", "comm.rank")),
    edit("number_in_the_copy", "is the place inside a copy", "group.rank // m, first", "group.rank % m, first"),
    whole(
        "lists_of_all",
        "All agree with one Allreduce",
        """
        def shrink_and_go_on(comm, suspects, m, batch, done):
            out = {rank for mine in comm.allgather(suspects) for rank in mine}
            group = comm.Split(int(comm.rank in out), key=comm.rank)
            if comm.rank in out:
                return None
            step = np.array([done])
            group.Allreduce(mpi.IN_PLACE, step, op=mpi.MIN)
            copies = group.size // m
            if group.rank >= copies * m:
                return None
            first = int(step[0]) * batch
            return group.rank, list(range(first + group.rank // m, first + batch, copies))
        """,
    ),
]

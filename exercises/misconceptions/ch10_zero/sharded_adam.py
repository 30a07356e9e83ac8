"""Wrong answers to `sharded_adam`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, shipped, whole

SCATTER = "comm.Reduce_scatter_block(padded[1], g)"
MINE = "mine = padded[0, comm.rank * n : comm.rank * n + n]"

WRONG = [
    shipped("A blank is not filled in yet"),
    edit("not_divided", "The gradients are added up and not divided", "g = g / P", ""),
    edit("averages_twice", "The gradient is averaged twice", "g = g / P", "g = g / P / P"),
    edit(
        "own_gradient",
        "Each rank uses its own gradient alone",
        *(SCATTER, "g = padded[1, comm.rank * n : comm.rank * n + n]"),
        *("g = g / P", ""),
    ),
    edit(
        "own_gradient_divided",
        "Each rank has its own gradient, divided by P",
        *(SCATTER, "g = padded[1, comm.rank * n : comm.rank * n + n]"),
    ),
    edit("padding_left", "The padding is still there", "after[:N]", "after"),
    edit("shard_returned", "Those are the weights of this rank's shard", "after[:N]", "mine"),
    edit("before_the_step", "The weights are those from before the step", "after[:N]", "weights.copy()"),
    edit("weights_of_rank_0", "Do the four parts belong to the same elements", MINE, "mine = padded[0, :n]"),
    edit(
        "all_reduce",
        "The half of it that adds up and gives each rank its part is enough",
        SCATTER,
        """
        everything = padded[1].copy()
        comm.Allreduce(mpi.IN_PLACE, everything)
        g = everything[comm.rank * n : comm.rank * n + n]
        """,
    ),
    whole(
        "whole_adam_on_every_rank",
        "has the optimizer's state of the whole model again",
        """
        def sharded_adam(comm, weights, gradient, m, v, t, rate):
            P, N, n = comm.size, len(weights), len(m)
            part, all_g = np.empty(n), np.empty(P * n)
            comm.Reduce_scatter_block(np.pad(gradient / P, (0, P * n - N)), part)
            comm.Allgather(part, all_g)
            all_m, all_v = np.empty(P * n), np.empty(P * n)
            comm.Allgather(m, all_m)
            comm.Allgather(v, all_v)
            all_m = 0.9 * all_m + 0.1 * all_g
            all_v = 0.999 * all_v + 0.001 * all_g * all_g
            step = (all_m / (1 - 0.9**t)) / (np.sqrt(all_v / (1 - 0.999**t)) + 1e-8)
            mine = slice(comm.rank * n, comm.rank * n + n)
            return weights - rate * step[:N], all_m[mine].copy(), all_v[mine].copy()
        """,
    ),
    edit(
        "keeps_all_moments",
        "That is the whole model's moment",
        "return after[:N], m, v",
        """
        both = np.empty((2, P * n))
        comm.Allgather(m, both[0])
        comm.Allgather(v, both[1])
        return after[:N], both[0], both[1]
        """,
    ),
    edit("nothing_returned", "Return the results", "return after[:N], m, v", ""),
]

"""Wrong answers to `sharded_cross_entropy`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, whole

MAX = "comm.Allreduce(mpi.IN_PLACE, m, mpi.MAX)"
SUM = "comm.Allreduce(mpi.IN_PLACE, both)"
TARGETS = "both[1, rows] = real[rows, y[rows] - first] - m[rows]"

WRONG = [
    edit(
        "local_softmax",
        "The softmax divides by the sum over this rank's columns",
        SUM,
        """
        total, sums = np.zeros(len(y)), both[0].copy()
        total[rows] = np.log(sums[rows]) - both[1, rows]
        comm.Allreduce(mpi.IN_PLACE, total)
        both = np.stack([sums, np.log(sums) - total])
        """,
    ),
    edit(
        "own_maximum",
        "The powers on different ranks were scaled by different maxima",
        *(MAX, ""),
        *(TARGETS, "both[1, rows] = real[rows, y[rows] - first]"),
        "counts = y >= 0",
        """
        both[1] -= m
        counts = y >= 0
        """,
    ),
    edit("no_maximum", "Does an exp overflow", MAX, "m = np.zeros(len(y))"),
    edit(
        "padding",
        "Columns of padding are in the sum",
        "real = z[:, :count]",
        "real = z",
        "dz[:, :count] = ",
        "dz[:] = ",
    ),
    edit("ignored", "Tokens whose target is -1 are in it", "- both[1]) * counts)", "- both[1]))"),
    edit("ignored_gradient", "Rows of tokens whose target is -1", " * counts[:, None]", ""),
    edit(
        "mean",
        "That is a mean over the tokens that count",
        "return float(((np.log",
        "return float(1 / counts.sum() * ((np.log",
    ),
    edit(
        "target_everywhere",
        "Every rank adds a logit for the target",
        TARGETS,
        "both[1] = z[np.arange(len(y)), np.clip(y - first, 0, z.shape[1] - 1)] - m",
    ),
    edit("target_out_of_reach", "A target is looked up on a rank", "(y >= first) & (y < first + count)", "y >= 0"),
    edit("maximum_not_put_back", "taken off inside the sum and not put back", "- first] - m[rows]", "- first]"),
    edit("softmax_only", "At the target 1 has to be taken off", "dz[rows, y[rows] - first] -= 1", ""),
    edit("wrong_sign", "dz has the wrong sign", "both[1]) * counts).sum()), dz", "both[1]) * counts).sum()), -dz"),
    edit("empty_rank", "A rank may have padding only", "axis=1, initial=-np.inf", "axis=1"),
    edit("one_result", "Return 2 results", "counts).sum()), dz", "counts).sum())"),
    edit("pickles", "pickles its object", SUM, "both = comm.allreduce(both)"),
    edit(
        "own_targets_only",
        "The loss of the tokens whose target this rank has",
        "counts = y >= 0",
        "counts = np.isin(np.arange(len(y)), rows)",
    ),
    edit(
        "summed_again",
        "every rank had the whole loss",
        *("return float(((np.log(both[0]) - both[1]) * counts).sum()), dz", "return float(loss[0]), dz"),
        "dz[rows, y[rows] - first] -= 1",
        """
        dz[rows, y[rows] - first] -= 1
        loss = np.array([((np.log(both[0]) - both[1]) * counts).sum()])
        comm.Allreduce(mpi.IN_PLACE, loss)
        """,
    ),
    whole(
        "gathers_the_logits",
        "Do logits travel, or more numbers",
        """
        def sharded_cross_entropy(comm, z, y, first, count):
            width = z.shape[1]
            real = np.where(np.arange(width) < count, z, -np.inf)
            table = np.empty((comm.size, *z.shape))
            comm.Allgather(real, table)
            z_all = np.concatenate(list(table), axis=1)
            m = z_all.max(axis=1)
            total = m + np.log(np.exp(z_all - m[:, None]).sum(axis=1))
            counts, rows = y >= 0, np.arange(len(y))
            dz = np.exp(real - total[:, None])
            mine = np.flatnonzero((y >= first) & (y < first + count))
            dz[mine, y[mine] - first] -= 1
            return float((total - z_all[rows, y])[counts].sum()), dz * counts[:, None]
        """,
    ),
]

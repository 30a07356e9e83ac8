"""Wrong answers to `same_order`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, shipped

OWN = "gradients.get(name, np.zeros(size)).copy()"
CALL = "comm.Allreduce(mpi.IN_PLACE, total[name])"

WRONG = [
    shipped("MPI knows no names"),
    edit("needs_all_of_them", "has no entry. What is its gradient?", OWN, "gradients[name].copy()"),
    edit("gathers_dictionaries", "pickles its object", CALL, "total[name] = sum(comm.allgather(total[name]))"),
    edit("mean", "Asked for is the sum over ranks, not the mean", CALL, f"{CALL}; total[name] /= comm.size"),
    edit("adds_its_own_again", "not each of them once", CALL, f"{CALL}; total[name] += gradients.get(name, 0)"),
    edit("never_communicates", "That is this rank's own gradient", CALL, "pass"),
    edit(
        "sorts_its_own_names",
        "Some ranks make more calls than others",
        "for name in sizes:",
        "for name in sorted(gradients):",
    ),
    edit("sums_into_the_gradients", "The caller still needs", ".copy()", ""),
    edit(
        "missing_ones_last",
        "sum arrays of different lengths",
        "for name in sizes:",
        "for name in [*sorted(gradients), *(name for name in sizes if name not in gradients)]:",
    ),
    edit(
        "only_its_own_names",
        "All the names of sizes belong in it",
        "return total",
        "return {name: total[name] for name in gradients}",
    ),
    edit("float32", "Did numbers go through float32", ".copy()", ".astype(np.float32).astype(float)"),
    edit(
        "asks_who_has_what",
        "Who has what is not for the others to know",
        "return total",
        """
        comm.Allreduce(mpi.IN_PLACE, np.array([float(name in gradients) for name in sizes]))
        return total
        """,
    ),
    edit(
        "gathers_everything",
        "Who has what is not for the others to know",
        CALL,
        """
        table = np.empty((comm.size, sizes[name]))
        comm.Allgather(total[name], table)
        total[name] = table.sum(axis=0)
        """,
    ),
    edit(
        "through_rank_0",
        "Messages between two ranks can do it",
        CALL,
        """
        if comm.rank > 0:
            comm.Send(total[name], dest=0)
        for rank in range(1, comm.size) if comm.rank == 0 else []:
            other = np.empty(sizes[name])
            comm.Recv(other, source=rank)
            total[name] += other
        comm.Bcast(total[name], root=0)
        """,
    ),
    edit("barriers", "It moves no data", "for name in sizes:\n", "for name in sizes:\n    comm.Barrier()\n"),
]

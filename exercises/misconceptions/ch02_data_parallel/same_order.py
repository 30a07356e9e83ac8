"""Wrong answers to `same_order`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, shipped, whole

WRONG = [
    shipped("MPI knows no names"),
    whole(
        "needs_all_of_them",
        "has no entry. What is its gradient?",
        """
        def same_order(comm, gradients, sizes):
            total = {}
            for name in sizes:
                total[name] = gradients[name].copy()
                comm.Allreduce(mpi.IN_PLACE, total[name])
            return total
        """,
    ),
    whole(
        "gathers_dictionaries",
        "pickles its object",
        """
        def same_order(comm, gradients, sizes):
            total = {name: np.zeros(size) for name, size in sizes.items()}
            for other in comm.allgather(gradients):
                for name, gradient in other.items():
                    total[name] += gradient
            return total
        """,
    ),
    edit(
        "mean",
        "Asked for is the sum over ranks, not the mean",
        "comm.Allreduce(mpi.IN_PLACE, total[name])",
        """
        comm.Allreduce(mpi.IN_PLACE, total[name])
        total[name] /= comm.size
        """,
    ),
    whole(
        "missing_ones_last",
        "sum arrays of different lengths",
        """
        def same_order(comm, gradients, sizes):
            total = {}
            for name in [*sorted(gradients), *(name for name in sizes if name not in gradients)]:
                total[name] = gradients.get(name, np.zeros(sizes[name])).copy()
                comm.Allreduce(mpi.IN_PLACE, total[name])
            return total
        """,
    ),
    whole(
        "never_communicates",
        "That is this rank's own gradient",
        """
        def same_order(comm, gradients, sizes):
            return {name: gradients.get(name, np.zeros(size)).copy() for name, size in sizes.items()}
        """,
    ),
    edit(
        "only_its_own_names",
        "All the names of sizes belong in it",
        "return total",
        "return {name: total[name] for name in gradients}",
    ),
    edit(
        "sorts_its_own_names",
        "Some ranks make more calls than others",
        """
        total = {}
        for name in sizes:
        """,
        """
        total = {name: np.zeros(size) for name, size in sizes.items()}
        for name in sorted(gradients):
        """,
        of="needs_all_of_them",
    ),
    edit("sums_into_the_gradients", "The caller still needs them: sum a copy", ".copy()", ""),
]

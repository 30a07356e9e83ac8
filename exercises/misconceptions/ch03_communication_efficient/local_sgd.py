"""Wrong answers to `local_sgd`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, whole

WRONG = [
    whole(
        "never_communicates",
        "each rank has trained a model of its own",
        """
        def local_sgd(comm, w, gradient, steps, period, rate):
            w = w.copy()
            for step in range(steps):
                w -= rate * gradient(w, step)
            return w
        """,
    ),
    edit(
        "averaged_twice",
        "Averaged twice",
        "if (step + 1) % period == 0 or step + 1 == steps:",
        """
        if (step + 1) % period == 0 or step + 1 == steps:
            w /= comm.size
        """,
    ),
    edit(
        "every_step",
        "It synchronises in every step",
        "w -= rate * gradient(w, step)",
        """
        w -= rate * gradient(w, step)
        comm.Allreduce(mpi.IN_PLACE, w)
        w /= comm.size
        """,
        of="never_communicates",
    ),
    edit("forgets_the_last", "does not divide the steps", "0 or step + 1 == steps", "0"),
    edit(
        "gradients_and_weights",
        "two kinds of SGD at once",
        """
        w -= rate * gradient(w, step)
        if (step + 1) % period == 0 or step + 1 == steps:
        """,
        """
        gr = gradient(w, step)
        comm.Allreduce(mpi.IN_PLACE, gr)
        w -= rate * gr / comm.size
        if (step + 1) % period == 0 or step == steps - 1:
        """,
    ),
    whole(
        "gradients_averaged",
        "At which weights does each compute its gradient",
        """
        def local_sgd(comm, w, gradient, steps, period, rate):
            w = w.copy()
            for first in range(0, steps, period):
                total = sum(gradient(w, step) for step in range(first, min(first + period, steps)))
                comm.Allreduce(mpi.IN_PLACE, total)
                w -= rate * total / comm.size
            return w
        """,
    ),
    edit(
        "meets_once",
        "all meet after each of them",
        "(step + 1) % period == 0 or step + 1 == steps",
        "step == steps - 1",
    ),
    edit(
        "one_more_at_the_start",
        "None is needed before the first step",
        "w = w.copy()",
        """
        w = w.copy()
        comm.Allreduce(mpi.IN_PLACE, w)
        w /= comm.size
        """,
    ),
    edit(
        "rate_over_ranks",
        "The steps are P times too short",
        """
        w -= rate * gradient(w, step)
        if (step + 1) % period == 0 or step + 1 == steps:
        """,
        """
        w -= rate / comm.size * gradient(w, step)
        if (step + 1) % period == 0 or step == steps - 1:
        """,
    ),
    edit(
        "result_not_used",
        "Each rank returns its own weights",
        """
        comm.Allreduce(mpi.IN_PLACE, w)
        w /= comm.size
        """,
        """
        mean = np.empty_like(w)
        comm.Allreduce(w, mean)
        mean /= comm.size
        """,
    ),
    edit("steps_from_0_again", "numbered from 0 again", "step)", "step % period)"),
    edit("sum", "P times too long after each average", "w /= comm.size", ""),
    edit(
        "too_early",
        "The averages come at the wrong steps",
        "(step + 1) % period == 0 or step + 1 == steps",
        "step % period == 0",
    ),
    edit("uphill", "Uphill", "w -= rate", "w += rate"),
]

"""Wrong answers to `stop_together`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, shipped, whole

WRONG = [
    shipped("must be made by all ranks or by none"),
    whole(
        "three_ranks",
        "divided by the same number",
        """
        def stop_together(comm, losses, limit):
            total = np.empty(1)
            for step, loss in enumerate(losses, 1):
                comm.Allreduce(np.array([loss]), total)
                if total[0] / 3 < limit:
                    return step
            return len(losses)
        """,
    ),
    whole(
        "all_must_be_good",
        "every single loss is below the limit",
        """
        from reference import mpi


        def stop_together(comm, losses, limit):
            largest = np.empty(1)
            for step, loss in enumerate(losses, 1):
                comm.Allreduce(np.array([loss]), largest, op=mpi.MAX)
                if largest[0] < limit:
                    return step
            return len(losses)
        """,
    ),
    whole(
        "all_steps_at_once",
        "everybody has trained to the end",
        """
        def stop_together(comm, losses, limit):
            means = np.empty(len(losses))
            comm.Allreduce(np.array(losses, dtype=float), means)
            below = np.flatnonzero(means / comm.size < limit)
            return int(below[0]) + 1 if below.size else len(losses)
        """,
    ),
    edit(
        "at_the_limit",
        "a mean that equals it is not good enough",
        """
        mean /= comm.size
        if mean < limit:
        """,
        "if mean[0] / comm.size <= limit:",
    ),
    edit(
        "barrier_before_leaving",
        "Different ranks are in different calls",
        "for step, loss in enumerate(losses, 1):",
        """
        for step, loss in enumerate(losses, 1):
            if loss < limit:
                comm.Barrier()
                return step
        """,
        """
        if mean < limit:
            return step
        """,
        "",
    ),
    edit(
        "barrier_every_step",
        "A barrier does not help",
        "for step, loss in enumerate(losses, 1):",
        """
        for step, loss in enumerate(losses, 1):
            if loss < limit:
                return step
            comm.Barrier()
        """,
        """
        if mean < limit:
            return step
        """,
        "",
    ),
    edit("forgets_the_end", "What if the loop comes to its end", "mean <", "mean[0] <", "return len(losses)", ""),
    whole(
        "goes_on_to_the_end",
        "not all the same",
        """
        def stop_together(comm, losses, limit):
            mean, first = np.empty(1), len(losses)
            for step, loss in enumerate(losses, 1):
                comm.Allreduce(np.array([loss]), mean)
                if loss < limit:
                    first = min(first, step)
            return first
        """,
    ),
    edit(
        "needless_barrier",
        "tells nobody anything",
        "for step, loss in enumerate(losses, 1):",
        """
        for step, loss in enumerate(losses, 1):
            comm.Barrier()
        """,
        "mean <",
        "mean[0] <",
    ),
    whole(
        "nobody_leaves",
        "nobody left the loop",
        """
        def stop_together(comm, losses, limit):
            mean, first = np.empty(1), None
            for step, loss in enumerate(losses, 1):
                comm.Allreduce(np.array([loss]), mean)
                if first is None and mean[0] / comm.size < limit:
                    first = step
            return len(losses) if first is None else first
        """,
    ),
    edit(
        "one_call_too_many",
        "none after the one that decides",
        "if mean < limit:",
        """
        if mean[0] < limit:
            comm.Allreduce(np.array([loss]), mean)
        """,
    ),
    whole(
        "one_is_enough",
        "one rank's loss is below the limit",
        """
        from reference import mpi


        def stop_together(comm, losses, limit):
            smallest = np.empty(1)
            for step, loss in enumerate(losses, 1):
                comm.Allreduce(np.array([loss]), smallest, op=mpi.MIN)
                if smallest[0] < limit:
                    return step
            return len(losses)
        """,
    ),
    whole(
        "rank_0_decides",
        "the others have no say",
        """
        def stop_together(comm, losses, limit):
            for step, loss in enumerate(losses, 1):
                decision = np.array([loss])
                comm.Bcast(decision, root=0)
                if decision[0] < limit:
                    return step
            return len(losses)
        """,
    ),
    edit(
        "running_mean",
        "a mean over the steps so far as well",
        "mean = np.empty(1)",
        "mean, total = np.empty(1), 0.0",
        """
        mean /= comm.size
        if mean < limit:
        """,
        """
        total += mean[0] / comm.size
        if total / step < limit:
        """,
    ),
    edit(
        "steps_from_0",
        "Steps are counted from 1",
        ", 1",
        "",
        """
        mean /= comm.size
        if mean < limit:
        """,
        "if mean[0] / comm.size < limit:",
    ),
    edit("sum_for_mean", "the sum is below the limit", "] / 3 <", "] <", of="three_ranks"),
]

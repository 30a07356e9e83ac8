"""Wrong answers to `bounded_staleness`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, whole

WRONG = [
    whole(
        "counts_what_was_sent",
        "and not weights that were sent",
        """
        def bounded_staleness(comm, w, gradient, steps, bound, rate):
            if comm.rank == 0:
                clock = dict.fromkeys(range(1, comm.size), 0)
                waiting = set(clock)

                def release():
                    slow = min(clock.values(), default=0)
                    for r in sorted(waiting):
                        if clock[r] < steps and clock[r] - slow <= bound:
                            comm.Send(w, r)
                            clock[r] += 1
                            waiting.discard(r)

                release()
                for _ in range(steps * (comm.size - 1)):
                    g = np.empty_like(w)
                    status = mpi.Status()
                    comm.Recv(g, mpi.ANY_SOURCE, status=status)
                    w = w - rate * g
                    waiting.add(status.source)
                    release()
            else:
                for step in range(steps):
                    comm.Recv(w, 0)
                    g = gradient(comm, w, step)
                    comm.Send(g, 0)
            comm.Bcast(w, 0)
            return w
        """,
    ),
    whole(
        "allreduce_every_step",
        "In a collective call all wait for all",
        """
        def bounded_staleness(comm, w, gradient, steps, bound, rate):
            for step in range(steps):
                g = gradient(comm, w, step) if comm.rank else np.zeros_like(w)
                comm.Allreduce(mpi.IN_PLACE, g)
                w -= rate * g
            return w
        """,
    ),
    edit(
        "answers_the_pusher_only",
        "others than its worker may go on",
        "clock[r] += 1",
        "",
        """
        waiting.add(status.source)
        release()
        """,
        """
        clock[status.source] += 1
        r = status.source
        if clock[r] < steps and clock[r] - min(clock.values()) <= bound:
            comm.Send(w, r)
        """,
        of="counts_what_was_sent",
    ),
    edit("averaged", "nothing is averaged", "* g", "* g / len(clock)"),
    edit(
        "drops_late_gradients",
        "Every gradient is used",
        "] - min(clock.values()) <= bound and clock[worker] <",
        "] <",
        "w -= rate * g",
        """
        if max(clock.values()) - clock[status.source] <= bound:
            w -= rate * g
        """,
    ),
    whole(
        "never_sends_weights",
        "did it receive them",
        """
        def bounded_staleness(comm, w, gradient, steps, bound, rate):
            if comm.rank:
                for step in range(steps):
                    comm.Send(gradient(comm, w, step), dest=0)
            else:
                g = np.empty_like(w)
                for _ in range(steps * (comm.size - 1)):
                    comm.Recv(g, mpi.ANY_SOURCE)
                    w -= rate * g
            comm.Bcast(w, root=0)
            return w
        """,
    ),
    edit("no_bound", "The fast worker has to wait", "- min(clock.values()) <= bound and clock[worker] <", "<"),
    edit("one_too_few", "as far ahead as the bound says", ") <= bound", ") < bound"),
    edit("step_by_step", "That is step by step together", "= bound and", "= 0 and"),
    whole(
        "trains_alone",
        "No gradient is in it",
        """
        def bounded_staleness(comm, w, gradient, steps, bound, rate):
            for step in range(steps if comm.rank else 0):
                w -= rate * gradient(comm, w, step)
            return w
        """,
    ),
    edit("uphill", "Uphill", "w -= rate", "w += rate"),
    edit("workers_keep_theirs", "How do they get to the workers in the end", "comm.Bcast(w, root=0)", ""),
]

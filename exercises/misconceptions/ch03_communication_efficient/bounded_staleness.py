"""Wrong answers to `bounded_staleness`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, whole

TOGETHER = "clock[worker] - min(clock.values()) <= bound"
WRONG = [
    whole(
        "allreduce_every_step",
        "calls: Allreduce.",
        """
        def bounded_staleness(comm, w, gradient, steps, bound, rate):
            for step in range(steps):
                g = gradient(comm, w, step) if comm.rank else np.zeros_like(w)
                comm.Allreduce(mpi.IN_PLACE, g)
                w -= rate * g
            return w
        """,
    ),
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
    edit(
        "answers_the_pusher_only",
        "others than its worker may go on",
        "in sorted(waiting)",
        "in [status.source] if any(clock.values()) else sorted(waiting)",
    ),
    edit("averaged", "nothing is averaged", "rate * g", "rate * g / len(clock)"),
    edit("backwards", "once each", "gradient(comm, w, step)", "gradient(comm, w, steps - 1 - step)"),
    edit(
        "counts_what_was_sent",
        "and not weights that were sent",
        *("waiting.remove(worker)", "waiting.remove(worker)\nclock[worker] += 1", "clock[status.source] += 1", ""),
    ),
    edit(
        "drops_late_gradients",
        "Every gradient is used",
        *(f"{TOGETHER} and", ""),
        *("w -= rate * g", "if max(clock.values()) - clock[status.source] <= bound:\n    w -= rate * g"),
    ),
    edit("never_sends_weights", "did it receive any", "comm.Recv(w, source=0)", "", "comm.Send(w, dest=worker)", ""),
    edit("no_bound", "The fast worker has to wait", f"{TOGETHER} and", ""),
    edit(
        "old_snapshots",
        "Those are weights of an earlier time",
        *(
            "clock = dict.fromkeys(range(1, comm.size), 0)",
            "clock, mine = dict.fromkeys(range(1, comm.size), 0), dict.fromkeys(range(1, comm.size), w.copy())",
        ),
        *("comm.Send(w, dest=worker)", "comm.Send(mine[worker], dest=worker)"),
        *("waiting.add(status.source)", "mine[status.source] = w.copy()\nwaiting.add(status.source)"),
    ),
    edit("one_too_few", "as far ahead as the bound says", "<= bound", "< bound"),
    edit(
        "server_works_too",
        "it answers workers",
        "comm.Bcast(w, root=0)",
        "if steps and comm.rank == 0:\n    gradient(comm, w, 0)\ncomm.Bcast(w, root=0)",
    ),
    edit("step_by_step", "That is step by step together", "<= bound", "<= 0"),
    edit("uphill", "Uphill", "w -= rate", "w += rate"),
    edit("workers_keep_theirs", "How do they get to the workers in the end", "comm.Bcast(w, root=0)", ""),
    edit(
        "with_the_rank",
        "status.source tells",
        *(
            "comm.Send(gradient(comm, w, step), dest=0)",
            "comm.Send(np.append(gradient(comm, w, step), comm.rank), dest=0)",
        ),
        *("np.empty_like(w)", "np.empty(w.size + 1)", "rate * g", "rate * g[:-1]"),
    ),
    edit(
        "twice_in_the_end",
        "Nothing else needs a message",
        *(
            "for worker in others:\n    comm.Send(w, dest=worker)\nreturn w",
            "for worker in others:\n    comm.Send(w, dest=worker)\n    comm.Send(w, dest=worker)\nreturn w",
        ),
        *("comm.Recv(w, source=0)\nreturn w", "comm.Recv(w, source=0)\ncomm.Recv(w, source=0)\nreturn w"),
        of="again",
    ),
    edit(
        "waits_in_the_end_as_well",
        "calls: Barrier, Bcast.",
        "comm.Bcast(w, root=0)",
        "comm.Barrier()\ncomm.Bcast(w, root=0)",
    ),
    edit("returns_nothing", "ends without `return`", "return w", "pass"),
    edit(
        "says_that_it_is_done",
        "Nothing else needs a message",
        "comm.Bcast(w, root=0)",
        """
        comm.Bcast(w, root=0)
        sending = comm.Isend(np.zeros(0), dest=(comm.rank + 1) % comm.size)
        comm.Recv(np.zeros(0), source=(comm.rank - 1) % comm.size)
        sending.Wait()
        """,
    ),
    edit("asks_nobody", "There may be no workers at all", "waiting, g", "slowest = min(clock.values()); waiting, g"),
]

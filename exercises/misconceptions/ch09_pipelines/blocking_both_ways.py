"""Wrong answers to `blocking_both_ways`, each with words of the hint that it must earn."""

from exercises.grading.wrong import SHIPPED, edit, shipped

WRONG = [
    shipped("Neither comes to its Recv"),
    edit("gpipe", "All forward passes first, as in GPipe", "min(p - 1 - r, m)", "m", of=SHIPPED),
    edit("longer_warmup", "The order was right. It is the way of sending", "p - 1 - r", "p - r"),
    edit("never_waits", "collect the requests in a list", "mpi.waitall(requests)", ""),
    edit(
        "one_at_a_time",
        "That is no pipeline any more",
        """
        order = [("F", i) for i in range(warmup)]
        for i in range(m - warmup):
            order += [("F", warmup + i), ("B", i)]
        order += [("B", i) for i in range(m - warmup, m)]
        """,
        'order = [(kind, i) for i in range(m) for kind in "FB"]',
        of=SHIPPED,
    ),
    edit(
        "pickled",
        "with a small letter",
        *("comm.Recv(x[i], source=r - 1)", "x[i] = comm.recv(source=r - 1)", "comm.Isend(y", "comm.isend(y"),
        """
        dy = np.empty_like(dy)
        comm.Recv(dy, source=r + 1)
        """,
        "dy = comm.recv(source=r + 1)",
        *("comm.Isend(dx", "comm.isend(dx"),
    ),
    edit("receives_into_what_is_sent", "Which array does Recv write into here", "dy = np.empty_like(dy)", ""),
    edit(
        "waits_at_once",
        "A rank waits for a message of its own to be received",
        *("requests.append(comm.Isend(y[i], dest=r + 1))", "mpi.waitall([comm.Isend(y[i], dest=r + 1)])"),
        *("requests.append(comm.Isend(dx[i], dest=r - 1))", "mpi.waitall([comm.Isend(dx[i], dest=r - 1)])"),
    ),
    edit(
        "sends_behind_the_turn",
        "some ranks wait for others without need",
        """
        if r < p - 1:
            requests.append(comm.Isend(y[i], dest=r + 1))
        """,
        """
        if r < p - 1 and i < warmup:
            requests.append(comm.Isend(y[i], dest=r + 1))
        """,
        "dx[i] = backward(comm, i, dy)",
        """
        dx[i] = backward(comm, i, dy)
        if r < p - 1 and warmup + i < m:
            requests.append(comm.Isend(y[warmup + i], dest=r + 1))
        """,
    ),
    edit(
        "in_two_halves",
        "to the next rank once, each gradient to the one before",
        "comm.Recv(x[i], source=r - 1)",
        """
        half = x.shape[1] // 2
        comm.Recv(x[i, :half], source=r - 1)
        comm.Recv(x[i, half:], source=r - 1)
        """,
        "requests.append(comm.Isend(y[i], dest=r + 1))",
        """
        half = x.shape[1] // 2
        requests += [comm.Isend(y[i][:half], dest=r + 1), comm.Isend(y[i][half:], dest=r + 1)]
        """,
    ),
    edit(
        "gradients_into_x",
        "is a view of x",
        "np.empty_like(x), []",
        "x if r else x.copy(), []",
    ),
    edit("returns_nothing", "ends without `return`", "return dx", "pass"),
    edit("float32", "only the first ones are right", "Isend(dx[i],", "Isend(np.float64(np.float32(dx[i])),"),
]

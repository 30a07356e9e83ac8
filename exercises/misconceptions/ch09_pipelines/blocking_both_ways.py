"""Wrong answers to `blocking_both_ways`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, shipped, whole

WRONG = [
    shipped("Neither comes to its Recv"),
    whole(
        "gpipe",
        "All forward passes first, as in GPipe",
        """
        def blocking_both_ways(comm, x, forward, backward, m):
            p, r = comm.size, comm.rank
            warmup = m
            order = [("F", i) for i in range(warmup)]
            for i in range(m - warmup):
                order += [("F", warmup + i), ("B", i)]
            order += [("B", i) for i in range(m - warmup, m)]
            y, dx = {}, np.empty_like(x)
            for kind, i in order:
                if kind == "F":
                    if r > 0:
                        comm.Recv(x[i], source=r - 1)
                    y[i] = forward(comm, i, x[i])
                    if r < p - 1:
                        comm.Send(y[i], dest=r + 1)
                else:
                    dy = y.pop(i)
                    if r < p - 1:
                        comm.Recv(dy, source=r + 1)
                    dx[i] = backward(comm, i, dy)
                    if r > 0:
                        comm.Send(dx[i], dest=r - 1)
            return dx
        """,
    ),
    edit(
        "longer_warmup",
        "The order was right. It is the way of sending",
        "- 1 - r",
        "- r",
        """
        if kind == "F":
            if r:
        """,
        """
        if kind == "F":
            if r > 0:
        """,
        "= y[i]",
        "= y[i].copy()",
        "dy = np.empty_like(dy)",
        "",
        """
        dx[i] = backward(comm, i, dy)
        if r:
        """,
        """
        dx[i] = backward(comm, i, dy)
        if r > 0:
        """,
    ),
    edit(
        "never_waits",
        "collect the requests in a list",
        "= m",
        "= min(p - 1 - r, m)",
        "comm.Send(y",
        "comm.Isend(y",
        "comm.Send(dx",
        "comm.Isend(dx",
        of="gpipe",
    ),
    edit(
        "one_at_a_time",
        "That is no pipeline any more",
        """
        warmup = m
        order = [("F", i) for i in range(warmup)]
        for i in range(m - warmup):
            order += [("F", warmup + i), ("B", i)]
        order += [("B", i) for i in range(m - warmup, m)]
        """,
        'order = [(kind, i) for i in range(m) for kind in "FB"]',
        of="gpipe",
    ),
    edit(
        "pickled",
        "with a small letter",
        """
        if r:
            comm.Recv(x[i], source=r - 1)
        """,
        """
        if r > 0:
            x[i] = comm.recv(source=r - 1)
        """,
        "comm.Isend(y",
        "comm.isend(y",
        "= y[i]",
        "= y.pop(i)",
        """
        dy = np.empty_like(dy)
        comm.Recv(dy, source=r + 1)
        """,
        "dy = comm.recv(source=r + 1)",
        """
        if r:
            requests.append(comm.Isend(dx[i], dest=r - 1))
        """,
        """
        if r > 0:
            requests.append(comm.isend(dx[i], dest=r - 1))
        """,
    ),
    edit(
        "receives_into_what_is_sent",
        "Which array does Recv write into here",
        """
        if kind == "F":
            if r:
        """,
        """
        if kind == "F":
            if r > 0:
        """,
        "= y[i]",
        "= y.pop(i)",
        "dy = np.empty_like(dy)",
        "",
        """
        dx[i] = backward(comm, i, dy)
        if r:
        """,
        """
        dx[i] = backward(comm, i, dy)
        if r > 0:
        """,
    ),
    edit(
        "waits_at_once",
        "A rank waits for a message of its own to be received",
        "= m",
        "= min(p - 1 - r, m)",
        "comm.Send(y[i], dest=r + 1",
        "mpi.waitall([comm.Isend(y[i], dest=r + 1)]",
        "comm.Send(dx[i], dest=r - 1",
        "mpi.waitall([comm.Isend(dx[i], dest=r - 1)]",
        of="gpipe",
    ),
]

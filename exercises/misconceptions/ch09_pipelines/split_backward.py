"""Wrong answers to `split_backward`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit

WRONG = [
    edit(
        "both_at_once",
        "All x first, then send, then w",
        *("dzs = []", "gradients = []"),
        *(
            "for W, y in zip(reversed(weights), reversed(xs)):",
            "for W, x, y in zip(reversed(weights), reversed(xs[:-1]), reversed(xs)):",
        ),
        """
        dzs.append(dy * (y > 0))
        dy = multiply(comm, dzs[-1], W.T)
        """,
        """
        dz = dy * (y > 0)
        dy = multiply(comm, dz, W.T)
        gradients.append(multiply(comm, x.T, dz))
        """,
        *("return [multiply(comm, x.T, dz) for x, dz in zip(xs, reversed(dzs))]", "return gradients[::-1]"),
    ),
    edit(
        "goes_through_again",
        "need not go through the layers again",
        "return [multiply(comm, x.T, dz) for x, dz in zip(xs, reversed(dzs))]",
        """
        for W, dz in zip(reversed(weights), dzs):
            multiply(comm, dz, W.T)
        return [multiply(comm, x.T, dz) for x, dz in zip(xs, reversed(dzs))]
        """,
    ),
    edit("last_layer_first", "The list is the wrong way round", "))]", "))][::-1]"),
    edit("mask_of_the_input", "has computed, xs[l + 1], and not in", "reversed(xs))", "reversed(xs[:-1]))"),
    edit("no_mask", "lets a gradient through only where", "dy * (y > 0)", "dy"),
    edit("mask_in_one", "Both need it", "multiply(comm, dzs[-1], W.T)", "multiply(comm, dy, W.T)"),
    edit(
        "masked_behind",
        "The last layer has a np.maximum, too",
        *(
            "for W, y in zip(reversed(weights), reversed(xs)):",
            "for W, x in zip(reversed(weights), reversed(xs[:-1])):",
        ),
        """
        dzs.append(dy * (y > 0))
        dy = multiply(comm, dzs[-1], W.T)
        """,
        """
        dzs.append(dy)
        dy = multiply(comm, dy, W.T) * (x > 0)
        """,
    ),
    edit(
        "one_dy_for_all",
        "at that layer's own output",
        *("dzs = []", "dzs, first = [], dy"),
        """
        dzs.append(dy * (y > 0))
        dy = multiply(comm, dzs[-1], W.T)
        """,
        """
        dzs.append(first * (y > 0))
        dy = multiply(comm, dy * (y > 0), W.T)
        """,
    ),
    edit("own_products", "it is what takes the time", "multiply(comm, x.T, dz)", "x.T @ dz"),
    edit("straight_weights", "On the way back the weights are transposed", "W.T", "W"),
    edit("turned_over", "turned over", "x.T, dz", "dz.T, x"),
    edit(
        "one_array",
        "with one array for each layer",
        *("return [", "return np.stack([", "reversed(dzs))]", "reversed(dzs))])"),
    ),
    edit(
        "sends_in_the_end",
        "the message leaves late",
        """
        if comm.rank:
            comm.Send(dy, dest=comm.rank - 1)
        return [multiply(comm, x.T, dz) for x, dz in zip(xs, reversed(dzs))]
        """,
        """
        gradients = [multiply(comm, x.T, dz) for x, dz in zip(xs, reversed(dzs))]
        if comm.rank:
            comm.Send(dy, dest=comm.rank - 1)
        return gradients
        """,
    ),
    edit(
        "pickled",
        "with a small letter",
        """
        dy = np.empty_like(xs[-1])
        comm.Recv(dy, source=comm.rank + 1)
        """,
        "dy = comm.recv(source=comm.rank + 1)",
        *("comm.Send(", "comm.send("),
    ),
    edit(
        "sends_the_mask_too",
        "an array like that, and nothing else",
        *("dy = np.empty_like(xs[-1])", "dy = np.empty((2, *xs[-1].shape))"),
        *("dzs = []", "dzs, dy = [], dy if comm.rank == comm.size - 1 else dy[0]"),
        *("comm.Send(dy,", "comm.Send(np.stack([dy, xs[0] > 0]),"),
    ),
    edit(
        "acknowledges",
        "One message to the rank before",
        "comm.Send(dy, dest=comm.rank - 1)",
        """
        comm.Send(dy, dest=comm.rank - 1)
        later = comm.Irecv(np.empty(1), source=comm.rank - 1)
        """,
        "comm.Recv(dy, source=comm.rank + 1)",
        """
        comm.Recv(dy, source=comm.rank + 1)
        sent = comm.Isend(np.zeros(1), dest=comm.rank + 1)
        """,
        "return [multiply(comm, x.T, dz) for x, dz in zip(xs, reversed(dzs))]",
        """
        gradients = [multiply(comm, x.T, dz) for x, dz in zip(xs, reversed(dzs))]
        mpi.waitall(([later] if comm.rank else []) + ([sent] if comm.rank < comm.size - 1 else []))
        return gradients
        """,
    ),
    edit("float32", "only the first ones are right", "comm.Send(dy,", "comm.Send(np.float64(np.float32(dy)),"),
    edit(
        "receives_nothing",
        "dy is given on the last rank only",
        """
        dy = np.empty_like(xs[-1])
        comm.Recv(dy, source=comm.rank + 1)
        """,
        "pass",
    ),
    edit("rank_1_sends_nothing", "Every rank but 0 sends once", "if comm.rank:", "if comm.rank > 1:"),
]

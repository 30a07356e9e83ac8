"""Wrong answers to `split_backward`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, whole

WRONG = [
    whole(
        "both_at_once",
        "All x first, then send, then w",
        """
        def split_backward(comm, weights, xs, dy, multiply):
            if comm.rank < comm.size - 1:
                dy = np.empty_like(xs[-1])
                comm.Recv(dy, source=comm.rank + 1)
            gradients = []
            for W, x, y in zip(reversed(weights), reversed(xs[:-1]), reversed(xs)):
                dz = dy * (y > 0)
                dy = multiply(comm, dz, W.T)
                gradients.append(multiply(comm, x.T, dz))
            if comm.rank:
                comm.Send(dy, dest=comm.rank - 1)
            return gradients[::-1]
        """,
    ),
    edit(
        "goes_through_again",
        "need not go through the layers again",
        "dzs = []",
        "dzs, given = [], dy",
        "return [multiply(comm, x.T, dz) for x, dz in zip(xs, reversed(dzs))]",
        """
        gradients, dy = [], given
        for W, x, y in zip(reversed(weights), reversed(xs[:-1]), reversed(xs)):
            dz = dy * (y > 0)
            gradients.append(multiply(comm, x.T, dz))
            dy = multiply(comm, dz, W.T)
        return gradients[::-1]
        """,
    ),
    edit("last_layer_first", "The list is the wrong way round", "))]", "))][::-1]"),
    edit("mask_of_the_input", "has computed, xs[l + 1], and not in", "xs)", "xs[:-1])"),
    edit(
        "no_mask",
        "lets a gradient through only where",
        """
        for W, y in zip(reversed(weights), reversed(xs)):
            dzs.append(dy * (y > 0))
        """,
        """
        for W in reversed(weights):
            dzs.append(dy)
        """,
    ),
    edit(
        "one_dy_for_all",
        "at that layer's own output",
        "dzs = []",
        "dzs, first = [], dy",
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
    whole(
        "sends_in_the_end",
        "the message leaves late",
        """
        def split_backward(comm, weights, xs, dy, multiply):
            if comm.rank < comm.size - 1:
                dy = np.empty_like(xs[-1])
                comm.Recv(dy, source=comm.rank + 1)
            dzs = []
            for W, y in zip(reversed(weights), reversed(xs)):
                dzs.append(dy * (y > 0))
                dy = multiply(comm, dzs[-1], W.T)
            gradients = [multiply(comm, x.T, dz) for x, dz in zip(xs, reversed(dzs))]
            if comm.rank > 0:
                comm.Send(dy, dest=comm.rank - 1)
            return gradients
        """,
    ),
    edit("straight_weights", "On the way back the weights are transposed", "W.T", "W"),
    edit("turned_over", "turned over", "x.T, dz", "dz.T, x"),
]

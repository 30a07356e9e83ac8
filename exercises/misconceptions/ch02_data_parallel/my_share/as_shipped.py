"""Takes out the raise and runs the rest as it is."""

EARNS = "A blank is not filled in yet"


def my_share(order, size, step, rank, ranks):
    batch = order[___:___]  # noqa: F821
    sizes = [len(batch) // ranks + ___ for r in range(ranks)]  # noqa: F821
    first = sum(sizes[:___])  # noqa: F821
    return batch[first : first + sizes[rank]]

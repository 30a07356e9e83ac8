"""Forgets that the ranks before it have one sample more."""

EARNS = "How many samples do all lower ranks have together?"


def my_share(order, size, step, rank, ranks):
    batch = order[step * size : (step + 1) * size]
    sizes = [len(batch) // ranks + (r < len(batch) % ranks) for r in range(ranks)]
    first = rank * sizes[rank]
    return batch[first : first + sizes[rank]]

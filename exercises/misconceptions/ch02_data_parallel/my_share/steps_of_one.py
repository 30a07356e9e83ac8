"""The batch of step s begins at sample s."""

EARNS = "where in the order does that of step"


def my_share(order, size, step, rank, ranks):
    batch = order[step : step + size]
    sizes = [len(batch) // ranks + (r < len(batch) % ranks) for r in range(ranks)]
    first = sum(sizes[:rank])
    return batch[first : first + sizes[rank]]

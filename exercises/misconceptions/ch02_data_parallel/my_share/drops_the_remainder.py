"""Equal shares; what is left over is left out."""

EARNS = "it would be lost in this epoch"


def my_share(order, size, step, rank, ranks):
    batch = order[step * size : (step + 1) * size]
    sizes = [len(batch) // ranks + 0 for r in range(ranks)]
    first = sum(sizes[:rank])
    return batch[first : first + sizes[rank]]

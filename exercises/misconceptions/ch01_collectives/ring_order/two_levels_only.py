"""Sees the machines and not the racks."""

EARNS = "The nearest ranks stand together, but look one level up"


def ring_order(seconds):
    P = len(seconds)
    if P == 1:
        return [0]
    near = seconds[seconds > 0].min()
    order = []
    for rank in range(P):
        if rank not in order:
            order += [other for other in range(P) if seconds[rank, other] <= near]
    return order

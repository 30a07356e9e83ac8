"""Goes to the nearest rank, also if it was there already."""

EARNS = "Who is still free?"


def ring_order(seconds):
    order = [0]
    while len(order) < len(seconds):
        here = order[-1]
        others = [rank for rank in range(len(seconds)) if rank != here]
        order.append(min(others, key=lambda rank: seconds[here, rank]))
    return order

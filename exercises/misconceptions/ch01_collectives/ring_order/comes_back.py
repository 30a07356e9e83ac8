"""Adds the first rank at the end, because the ring closes."""

EARNS = "The way back to the first rank is understood"


def ring_order(seconds):
    order, left = [0], set(range(1, len(seconds)))
    while left:
        order.append(min(left, key=lambda rank: seconds[order[-1], rank]))
        left.remove(order[-1])
    return [*order, order[0]]

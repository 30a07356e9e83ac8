"""What is left over is the first round."""

EARNS = "The first round is the short one"


def gpipe_order(m, fits):
    order, first = [], 0
    while first < m:
        end = first + (m % fits or fits if first == 0 else fits)
        order += [f"F{i}" for i in range(first, end)] + [f"B{i}" for i in reversed(range(first, end))]
        first = end
    return order

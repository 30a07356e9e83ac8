"""No warm-up at all."""

EARNS = "The order of F and I is not 1F1B's"


def fill_the_bubble(p, m):
    orders = []
    for r in range(p):
        ahead = 0
        order = [f"F{i}" for i in range(ahead)]
        for i in range(m):
            order += [f"F{i + ahead}"] * (i + ahead < m) + [f"I{i}"] + [f"W{i - r}"] * (i >= r)
        orders.append(order + [f"W{i}" for i in range(m - r, m)])
    return orders

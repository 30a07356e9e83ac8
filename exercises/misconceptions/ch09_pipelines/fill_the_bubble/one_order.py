"""One order for all ranks."""

EARNS = "one for each rank"


def fill_the_bubble(p, m):
    orders = []
    for r in range(p):
        ahead = p - 1 - r
        order = [f"F{i}" for i in range(ahead)]
        for i in range(m):
            order += [f"F{i + ahead}"] * (i + ahead < m) + [f"I{i}"] + [f"W{i - r}"] * (i >= r)
        orders.append(order + [f"W{i}" for i in range(m - r, m)])
    return orders[0]

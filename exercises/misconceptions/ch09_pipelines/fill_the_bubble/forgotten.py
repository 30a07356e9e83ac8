"""The W that were put off are never done."""

EARNS = "What is put off must be done before the order ends"


def fill_the_bubble(p, m):
    orders = []
    for r in range(p):
        ahead = p - 1 - r
        order = [f"F{i}" for i in range(ahead)]
        for i in range(m):
            order += [f"F{i + ahead}"] * (i + ahead < m) + [f"I{i}"] + [f"W{i - r}"] * (i >= r)
        orders.append(order)
    return orders

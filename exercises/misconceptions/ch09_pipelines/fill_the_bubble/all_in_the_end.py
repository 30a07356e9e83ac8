"""All W come last."""

EARNS = "All W come in the end"


def fill_the_bubble(p, m):
    orders = []
    for r in range(p):
        ahead = p - 1 - r
        order = [f"F{i}" for i in range(ahead)]
        for i in range(m):
            order += [f"F{i + ahead}"] * (i + ahead < m) + [f"I{i}"]
        orders.append(order + [f"W{i}" for i in range(m)])
    return orders

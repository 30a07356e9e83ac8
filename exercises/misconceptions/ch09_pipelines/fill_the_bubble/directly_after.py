"""W directly after I."""

EARNS = "that is B in two words"


def fill_the_bubble(p, m):
    orders = []
    for r in range(p):
        ahead = p - 1 - r
        order = [f"F{i}" for i in range(ahead)]
        for i in range(m):
            order += [f"F{i + ahead}"] * (i + ahead < m) + [f"I{i}"] + [f"W{i}"]
        orders.append(order)
    return orders

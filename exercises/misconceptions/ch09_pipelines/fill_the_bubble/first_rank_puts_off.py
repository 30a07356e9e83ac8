"""The first rank puts off most."""

EARNS = "The wrong way round: the first rank keeps most"


def fill_the_bubble(p, m):
    orders = []
    for r in range(p):
        ahead, late = p - 1 - r, p - 1 - r
        order = [f"F{i}" for i in range(ahead)]
        for i in range(m):
            order += [f"F{i + ahead}"] * (i + ahead < m) + [f"I{i}"] + [f"W{i - late}"] * (i >= late)
        orders.append(order + [f"W{i}" for i in range(m - late, m)])
    return orders

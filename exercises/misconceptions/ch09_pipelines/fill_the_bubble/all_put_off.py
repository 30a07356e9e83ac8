"""Every rank puts off p - 1."""

EARNS = "so how many W may it be behind with"


def fill_the_bubble(p, m):
    orders = []
    for r in range(p):
        ahead = p - 1 - r
        order = [f"F{i}" for i in range(ahead)]
        for i in range(m):
            order += [f"F{i + ahead}"] * (i + ahead < m) + [f"I{i}"] + [f"W{i - p + 1}"] * (i >= p - 1)
        orders.append(order + [f"W{i}" for i in range(m - p + 1, m)])
    return orders

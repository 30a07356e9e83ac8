"""Every rank but the first is behind by one."""

EARNS = "so that they just fill the wait in the end"


def fill_the_bubble(p, m):
    orders = []
    for r in range(p):
        ahead, late = p - 1 - r, min(r, 1)
        order = [f"F{i}" for i in range(ahead)]
        for i in range(m):
            order += [f"F{i + ahead}"] * (i + ahead < m) + [f"I{i}"] + [f"W{i - late}"] * (i >= late)
        orders.append(order + [f"W{i}" for i in range(m - late, m)])
    return orders

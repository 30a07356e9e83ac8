"""I goes along the model."""

import re

EARNS = "I takes the place of B"


def messages_of(orders, rank):
    home = {int(re.match(r"\d+", action)[0]): r for r, order in enumerate(orders) for action in order}
    table = []
    for action in orders[rank]:
        stage, kind, micro = re.fullmatch(r"(\d+)([FBIW])(\d+)", action).groups()
        way = {"F": 1, "B": -1, "I": 1, "W": 0}[kind]
        before, after = int(stage) - way, int(stage) + way
        receive = (f"{before}{kind}{micro}", home[before]) if home.get(before, rank) != rank else None
        send = (action, home[after]) if home.get(after, rank) != rank else None
        table.append((receive, send))
    return table

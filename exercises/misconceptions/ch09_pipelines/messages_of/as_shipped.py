"""Takes out the raise and runs the rest as it is."""

import re

EARNS = "A blank is not filled in yet"


def messages_of(orders, rank):
    home = {int(re.match(r"\d+", action)[0]): r for r, order in enumerate(orders) for action in order}
    table = []
    for action in orders[rank]:
        stage, kind, micro = re.fullmatch(r"(\d+)([FBIW])(\d+)", action).groups()
        way = {"F": 1, "B": -1, "I": ___, "W": ___}[kind]  # noqa: F821  where the result goes along the model
        before, after = int(stage) - way, int(stage) + way
        receive = (f"{before}{kind}{micro}", home[before]) if home.get(before, rank) != rank else None
        send = (___, home[after]) if ___ else None  # noqa: F821
        table.append((receive, send))
    return table

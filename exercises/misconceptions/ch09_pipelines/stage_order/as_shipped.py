"""Takes out the raise and runs the rest as it is."""

EARNS = "A blank is not filled in yet"


def stage_order(p, m, stage):
    warmup = ___  # noqa: F821
    order = [f"F{i}" for i in range(warmup)]
    for i in range(___):  # noqa: F821
        order += [f"F{warmup + i}", f"B{i}"]
    return order + [f"B{i}" for i in range(___, m)]  # noqa: F821

"""Returns the last number only."""

EARNS = "makes a tuple of them"


def replica_price(parameters, ranks, bandwidth):
    return 2 * (ranks - 1) / ranks * 2 * parameters / bandwidth

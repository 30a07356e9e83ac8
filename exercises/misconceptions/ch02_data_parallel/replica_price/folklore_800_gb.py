"""A byte for each parameter, and nothing but weights."""

EARNS = "the folklore's 800 GB"


def replica_price(parameters, ranks, bandwidth):
    sent = 2 * (ranks - 1) / ranks * 2 * parameters
    return parameters * ranks, sent, sent / bandwidth

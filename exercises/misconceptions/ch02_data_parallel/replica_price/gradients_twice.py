"""Sends all of the gradients in each half of the ring."""

EARNS = "That is all of the gradients, twice"


def replica_price(parameters, ranks, bandwidth):
    sent = 2 * 2 * parameters
    return 16 * parameters * ranks, sent, sent / bandwidth

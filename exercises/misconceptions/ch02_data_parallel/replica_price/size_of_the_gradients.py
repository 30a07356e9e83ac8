"""Sends what there is, once."""

EARNS = "That is the size of the gradients"


def replica_price(parameters, ranks, bandwidth):
    sent = 2 * parameters
    return 16 * parameters * ranks, sent, sent / bandwidth

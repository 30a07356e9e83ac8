"""Forgets that the weights are kept in 32 bits as well."""

EARNS = "Something is missing, or counted short"


def replica_price(parameters, ranks, bandwidth):
    sent = 2 * (ranks - 1) / ranks * 2 * parameters
    return (2 + 2 + 4 + 4) * parameters * ranks, sent, sent / bandwidth

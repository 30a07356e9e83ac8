"""Gradients of 4 bytes."""

EARNS = "the right part of gradients with 32 bits"


def replica_price(parameters, ranks, bandwidth):
    sent = 2 * (ranks - 1) / ranks * 4 * parameters
    return 16 * parameters * ranks, sent, sent / bandwidth

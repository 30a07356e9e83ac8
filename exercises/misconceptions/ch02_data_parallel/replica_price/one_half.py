"""Stops after the reduce-scatter."""

EARNS = "Half of what is right. Either a gradient has one byte"


def replica_price(parameters, ranks, bandwidth):
    sent = (ranks - 1) / ranks * 2 * parameters
    return 16 * parameters * ranks, sent, sent / bandwidth

"""Divides by the bandwidth of all links."""

EARNS = "All links together"


def replica_price(parameters, ranks, bandwidth):
    sent = 2 * (ranks - 1) / ranks * 2 * parameters
    return 16 * parameters * ranks, sent, sent / (ranks * bandwidth)

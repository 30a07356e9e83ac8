"""Takes the bandwidth for bits per second."""

EARNS = "The bandwidth is in bytes per second already"


def replica_price(parameters, ranks, bandwidth):
    sent = 2 * (ranks - 1) / ranks * 2 * parameters
    return 16 * parameters * ranks, sent, 8 * sent / bandwidth

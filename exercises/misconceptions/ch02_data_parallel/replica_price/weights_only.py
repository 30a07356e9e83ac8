"""The 16-bit weights of all replicas."""

EARNS = "That is the weights alone"


def replica_price(parameters, ranks, bandwidth):
    sent = 2 * (ranks - 1) / ranks * 2 * parameters
    return 2 * parameters * ranks, sent, sent / bandwidth

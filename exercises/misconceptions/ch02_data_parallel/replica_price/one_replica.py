"""What one rank stores."""

EARNS = "That is one replica"


def replica_price(parameters, ranks, bandwidth):
    sent = 2 * (ranks - 1) / ranks * 2 * parameters
    return 16 * parameters, sent, sent / bandwidth

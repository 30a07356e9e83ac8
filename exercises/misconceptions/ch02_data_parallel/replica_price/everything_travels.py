"""All-reduces weights and optimizer state as well."""

EARNS = "Only gradients travel"


def replica_price(parameters, ranks, bandwidth):
    sent = 2 * (ranks - 1) / ranks * 16 * parameters
    return 16 * parameters * ranks, sent, sent / bandwidth

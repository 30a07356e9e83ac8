"""8 bytes for each number."""

EARNS = "as most libraries send them"


def top_k_bytes(d, k):
    return 8 * k

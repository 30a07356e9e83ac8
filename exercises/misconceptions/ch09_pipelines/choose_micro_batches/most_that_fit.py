"""The largest m for which m activations fit."""

EARNS = "but an activation of what"


def choose_micro_batches(batch, p, fixed, slope, alpha, beta, weights, kept, memory):
    fitting = [m for m in range(1, batch + 1) if batch % m == 0 and m * kept <= memory - weights]
    return max(fitting, default=None)

"""Pays the latency once for each half, not in each step."""

EARNS = "steps' latencies add up: how many steps are there?"


def ring_time(P, n, alpha, beta):
    return 2 * (alpha + (P - 1) / P * n * beta)

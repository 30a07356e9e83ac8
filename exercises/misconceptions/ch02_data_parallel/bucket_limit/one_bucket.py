"""Everything in one bucket."""

EARNS = "One bucket pays the latency once"


def bucket_limit(nbytes, seconds, P, alpha, beta):
    return sum(nbytes)

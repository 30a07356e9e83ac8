"""As large as the largest tensor."""

EARNS = "That is the largest tensor's size"


def bucket_limit(nbytes, seconds, P, alpha, beta):
    return max(nbytes)

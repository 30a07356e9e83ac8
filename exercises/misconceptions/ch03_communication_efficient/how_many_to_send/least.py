"""As little as possible."""

EARNS = "The least that can be sent loses"


def top_k_bytes(d, k):
    return 4 * k + (k * (d - 1).bit_length() + 7) // 8


def how_many_to_send(d, P, alpha, beta, codec, window):
    def seconds(k):
        return d * codec + (P - 1) * (alpha + top_k_bytes(d, k) * beta)

    whole = 2 * (P - 1) * (alpha + 4 * d / P * beta)
    if whole <= window:
        return 0
    if seconds(1) > window:
        return int(seconds(1) < whole)
    return 1

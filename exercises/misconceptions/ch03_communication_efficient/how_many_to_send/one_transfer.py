"""One message."""

EARNS = "One transfer of the compressed gradient"


def top_k_bytes(d, k):
    return 4 * k + (k * (d - 1).bit_length() + 7) // 8


def how_many_to_send(d, P, alpha, beta, codec, window):
    def seconds(k):
        return d * codec + (alpha + top_k_bytes(d, k) * beta)

    whole = 2 * (P - 1) * (alpha + 4 * d / P * beta)
    if whole <= window:
        return 0
    if seconds(1) > window:
        return int(seconds(1) < whole)
    fits, too_many = 1, d
    while too_many - fits > 1:
        middle = (fits + too_many) // 2
        if seconds(middle) <= window:
            fits = middle
        else:
            too_many = middle
    return fits

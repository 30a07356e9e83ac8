"""Puts each tensor into the first bucket that has room."""

EARNS = "do not stand in this order"


def assign_buckets(nbytes, limit, first_limit):
    buckets, room = [], []
    for i in range(len(nbytes))[::-1]:
        fits = [b for b, left in enumerate(room) if nbytes[i] <= left]
        if not fits:
            room.append(limit if buckets else first_limit)
            buckets.append([])
        b = fits[0] if fits else -1
        buckets[b].append(i)
        room[b] -= nbytes[i]
    return buckets

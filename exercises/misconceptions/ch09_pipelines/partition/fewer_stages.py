"""Bisects the time of the slowest stage; fewer stages may do."""

EARNS = "Fewer stages may be as fast"


def partition(seconds, p):
    lo, hi = max(seconds), sum(seconds)

    def cut(limit):
        out, k, s = [], 0, 0
        for t in seconds:
            if s + t > limit:
                out.append(k)
                k, s = 0, 0
            k += 1
            s += t
        return out + [k]

    while lo < hi:
        mid = (lo + hi) // 2
        if len(cut(mid)) <= p:
            hi = mid
        else:
            lo = mid + 1
    return cut(lo)

"""Wrong answers to `partition`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, whole

WRONG = [
    whole(
        "all_cuts",
        "answer each once",
        """
        import itertools


        def partition(seconds, p):
            N, best = len(seconds), None
            for cuts in itertools.combinations(range(1, N), p - 1):
                ends = [0, *cuts, N]
                slowest = max(sum(seconds[a:b]) for a, b in itertools.pairwise(ends))
                if best is None or slowest < best[0]:
                    best = slowest, [b - a for a, b in itertools.pairwise(ends)]
            return best[1]
        """,
    ),
    whole(
        "empty_stages",
        "A stage without layers does nothing",
        """
        def partition(seconds, p):
            N = len(seconds)
            upto = [sum(seconds[:i]) for i in range(N + 1)]
            best = {0: (-math.inf, [])}
            for _ in range(p):
                best = {
                    i: min((max(slowest, upto[i] - upto[k]), [*sizes, i - k]) for k, (slowest, sizes) in best.items() if k <= i)
                    for i in range(N + 1)
                }
            return best[N][1]
        """,
    ),
    whole(
        "equal_numbers",
        "Every stage has the same number of layers",
        """
        def partition(seconds, p):
            N = len(seconds)
            return [N // p + (r < N % p) for r in range(p)]
        """,
    ),
    whole(
        "fewer_stages",
        "Fewer stages may be as fast",
        """
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
        """,
    ),
    whole(
        "filled_to_the_mean",
        "A stage is filled until it has its share",
        """
        def partition(seconds, p):
            sizes, total, share = [0], 0, sum(seconds) / p
            for k, each in enumerate(seconds):
                left, stages_left = len(seconds) - k, p - len(sizes)
                if sizes[-1] and stages_left and (total + each > share or left <= stages_left):
                    sizes.append(0)
                    total = 0
                sizes[-1] += 1
                total += each
            return sizes
        """,
    ),
    edit(
        "only_the_cuts",
        "p stages have p - 1 cuts",
        "return best[N][1]",
        """
        sizes = best[N][1]
        return [sum(sizes[: r + 1]) for r in range(p - 1)]
        """,
    ),
    edit(
        "sum_in_place_of_max",
        "and the first one found wins",
        "-math.inf",
        "0",
        "i: min((max(slowest, upto[i] - upto[k]), [*sizes, i - k]) for k, (slowest, sizes) in best.items() if k < i)",
        """
        i: min(
            ((total + upto[i] - upto[k], [*sizes, i - k]) for k, (total, sizes) in best.items() if k < i),
            key=lambda way: way[0],
        )
        """,
    ),
    edit("the_seconds", "Return a list of p whole numbers", "[1]", "[0]"),
    edit(
        "where_they_end",
        "These are the places where stages end",
        "return best[N][1]",
        """
        sizes = best[N][1]
        return [sum(sizes[: r + 1]) for r in range(p)]
        """,
    ),
    whole(
        "wrong_way_round",
        "the wrong way round",
        """
        def partition(seconds, p):
            n = len(seconds)
            pre = [0]
            for s in seconds:
                pre.append(pre[-1] + s)
            best = [math.inf] * (n + 1)
            best[0] = 0
            cut = []
            for k in range(p):
                new, where = [math.inf] * (n + 1), [0] * (n + 1)
                for j in range(k + 1, n + 1):
                    for i in range(k, j):
                        t = max(best[i], pre[j] - pre[i])
                        if t < new[j]:
                            new[j], where[j] = t, i
                best = new
                cut.append(where)
            sizes, j = [], n
            for where in reversed(cut):
                sizes.append(j - where[j])
                j = where[j]
            return sizes
        """,
    ),
]

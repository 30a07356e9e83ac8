"""Wrong answers to `new_shares`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, whole

WRONG = [
    whole(
        "inverted",
        "The slowest rank got more work",
        """
        def new_shares(shares, speeds, most):
            mean = sum(speeds) / len(speeds)
            return [round(n * mean / speed) for n, speed in zip(shares, speeds)]
        """,
    ),
    whole(
        "rounded",
        "Shares that are rounded one by one do not add up",
        """
        def new_shares(shares, speeds, most):
            return [round(sum(shares) * speed / sum(speeds)) for speed in speeds]
        """,
    ),
    whole(
        "fractions",
        "Units are whole",
        """
        def new_shares(shares, speeds, most):
            return [sum(shares) * speed / sum(speeds) for speed in speeds]
        """,
    ),
    edit("no_limit", "may change their rank in one move", "range(min(most, sum(shares)))", "range(sum(shares))"),
    edit("static", "Nothing moves", "new[taker] += 1", "return list(shares)"),
    edit("for_nothing", "Some units move for nothing", "return best", "return new"),
    edit(
        "to_the_emptiest",
        "go where it ends first",
        "key=lambda r: (new[r] + 1) / speeds[r]",
        "key=lambda r: new[r] + 1",
    ),
    whole(
        "tries_all",
        "There are too many shares to try all of them",
        """
        def new_shares(shares, speeds, most):
            def every(left, ranks):
                if ranks == 1:
                    yield [left]
                    return
                for n in range(left + 1):
                    for rest in every(left - n, ranks - 1):
                        yield [n, *rest]

            def price(new):
                moves = sum(max(0, a - b) for a, b in zip(new, shares))
                return max(n / speed for n, speed in zip(new, speeds)), moves

            near = (new for new in every(sum(shares), len(shares)) if price(new)[1] <= most)
            return min(near, key=price)
        """,
    ),
]

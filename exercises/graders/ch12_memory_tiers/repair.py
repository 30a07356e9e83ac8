"""Level 4 of chapter 12, repair: transfers that must be in time, and shares of a link."""

import math

from exercises.grading import Exercise, Finding, inputs
from exercises.grading.numbers import listed, short
from exercises.grading.returns import Returns


def close(one, other, within=1e-9):
    """Whether two results are the same lists of numbers, or both None."""
    if one is None or other is None:
        return one is other
    return len(one) == len(other) and all(abs(a - b) <= within * max(1, abs(b)) for a, b in zip(one, other))


def nearly(one, other):
    """The same first digits: rounded, or by way of float32."""
    return one is not None and other is not None and close(one, other, 1e-4)


def no_numbers(case, results, length, none=False):
    """What is wrong with the form of a list of numbers."""
    (got,) = listed(results)
    if got is None and none:
        return None
    fine = isinstance(got, list) and len(got) == length
    if not fine or any(isinstance(n, bool) or not isinstance(n, int | float) or not math.isfinite(n) for n in got):
        return Finding(f"it returned {short(got)}.", f"Return a list of {length} numbers.")
    return None


MIB = 2**20

# Transfers that must be in time --------------------------------------------------------------------------------------


def by_need(transfers):
    return sorted(range(len(transfers)), key=lambda i: transfers[i][1])


def backwards(transfers, latency, bandwidth, order=by_need, shared=True, refused=True):
    """The latest starts; or those of somebody who sends in another order, or forgets that all share the link."""
    starts, link = [0.0] * len(transfers), math.inf
    for i in reversed(order(transfers)):
        nbytes, needed = transfers[i]
        starts[i] = min(link, needed) - latency - nbytes / bandwidth
        link = starts[i] if shared else math.inf
    return starts if not refused or min(starts, default=0) >= 0 else None


def begins(**other):
    return lambda *given: backwards(*given, **other)


def as_listed(transfers):
    return list(range(len(transfers)))


def ties_reversed(transfers):
    return sorted(range(len(transfers)), key=lambda i: (transfers[i][1], -i))


def large_last(transfers):
    return sorted(range(len(transfers)), key=lambda i: transfers[i][0])


def one_latency(transfers, latency, bandwidth):
    """As if the latency was paid once."""
    starts = backwards(transfers, 0, bandwidth, refused=False)
    late = [start - latency for start in starts]
    return late if min(late, default=0) >= 0 else None


def sorted_starts(*given):
    """In the order of the link."""
    starts = backwards(*given)
    return None if starts is None else [starts[i] for i in by_need(given[0])]


def at_once(transfers, latency, bandwidth):
    """From 0 on, each as soon as it can."""
    starts, link = [0.0] * len(transfers), 0.0
    for i in by_need(transfers):
        starts[i] = link
        link += latency + transfers[i][0] / bandwidth
        if link > transfers[i][1]:
            return None
    return starts


def clipped(transfers, latency, bandwidth):
    """Not before 0, whatever is too late then."""
    return [max(0.0, start) for start in backwards(transfers, latency, bandwidth, refused=False)]


def some_transfers(n, spread, latency=0.25):
    """Drawn transfers; the wider they are spread, the more time the link has."""

    def drawn(rng):
        transfers = [(int(rng.integers(1, 40)) * 2**20, float(rng.integers(4, spread)) / 4) for _ in range(n)]
        return transfers, latency, 12.0 * MIB

    return drawn


def starts_seen(case, results, right):
    """The first transfer that is wrong."""
    (got,), (want,) = results, right
    if want is None:
        return f"it returned {short(got)}; they cannot all be in time."
    if got is None:
        return f"it returned None; they can all be in time, with {short(want)}."
    i = next(i for i, (one, other) in enumerate(zip(got, want)) if not close([one], [other]))
    return f"transfer {i} begins at {got[i]:.6g}; the latest second for it is {want[i]:.6g}."


prefetch_starts = Exercise(
    cases=inputs.calls(
        ([(32 * MIB, 9.0), (16 * MIB, 9.5)], 0.5, 16.0 * MIB),
        ([(32 * MIB, 9.0)], 0.5, 16.0 * MIB),
        ([(32 * MIB, 9.0), (16 * MIB, 20.0)], 0.5, 16.0 * MIB),
        ([(16 * MIB, 9.5), (32 * MIB, 9.0)], 0.5, 16.0 * MIB),
        ([(64 * MIB, 8.0), (16 * MIB, 8.0), (8 * MIB, 30.0)], 0.25, 16.0 * MIB),
        ([(48 * MIB, 5.0), (48 * MIB, 5.0)], 0.0, 16.0 * MIB),
        ([(48 * MIB, 3.0)], 0.0, 16.0 * MIB),
        ([(48 * MIB, 3.0)], 0.5, 16.0 * MIB),
        ([(16 * MIB, 1.75), (16 * MIB, 3.0), (16 * MIB, 4.5)], 0.5, 16.0 * MIB),
        some_transfers(5, 90),
        some_transfers(6, 70),
        some_transfers(6, 50),
        ([], 0.5, 1e9),
        some_transfers(1100, 10**5),
        names="transfers latency bandwidth",
    ),
    checks=[
        Returns(
            backwards,
            slips=[
                (
                    lambda transfers, latency, bandwidth: [needed - n / bandwidth for n, needed in transfers],
                    "That is the printed formula. What does a transfer take besides its bytes? What does the link do "
                    "meanwhile? And what if a start is before 0?",
                ),
                (
                    begins(shared=False),
                    "Each is in time if it has the link to itself. Two that overlap share the link: the earlier one "
                    "must end before the other begins.",
                ),
                (
                    begins(shared=False, refused=False),
                    "Each is in time if it has the link to itself. Two that overlap share the link: the earlier one "
                    "must end before the other begins.",
                ),
                (
                    lambda transfers, latency, bandwidth: backwards(transfers, 0, bandwidth),
                    "The latency is missing: every transfer takes it besides its bytes.",
                ),
                (
                    one_latency,
                    "The latency was paid once for all. Every transfer takes it, and makes those before it begin "
                    "earlier.",
                ),
                (
                    begins(order=as_listed),
                    "They go over the link in the order of the list. What is needed first has to go first.",
                ),
                (
                    begins(order=large_last),
                    "They go over the link in the order of their sizes. What is needed first has to go first.",
                ),
                (
                    begins(order=ties_reversed),
                    "Of two that are needed at the same time, the first one of the list goes first.",
                ),
                (
                    sorted_starts,
                    "The right seconds, in the order in which they are needed. Return them in the order of the list.",
                ),
                (
                    at_once,
                    "Each begins as soon as it can. As late as it can is asked for: until it is needed, a tensor takes "
                    "room.",
                ),
                (
                    clipped,
                    "A start before 0 was moved to 0, and then something is too late: return None.",
                ),
                (
                    begins(refused=False),
                    "A start is before 0: then they cannot all be in time, and None is to be returned.",
                ),
                (
                    lambda transfers, latency, bandwidth: (
                        starts if (starts := backwards(transfers, latency, bandwidth)) and min(starts) > 0 else None
                    ),
                    "A transfer may begin at 0. None is for those that would have to begin earlier. Without any "
                    "transfer, all are in time.",
                ),
            ],
            otherwise="Go from what is needed last to what is needed first. Each ends when it is needed, or when the "
            "next one begins, whatever is earlier; it begins its latency and its bytes before that.",
            seen=starts_seen,
            form=lambda case, results: no_numbers(case, results, len(case.arguments[0][0]), none=True),
            read=listed,
            same=close,
            nearly=nearly,
        )
    ],
    hints=[
        "Draw a link as a line of seconds. Tensors of 2 s each are needed at 9 and at 9.5. When does the second one "
        "begin, and when must the first one end?",
        "Sort by when they are needed, and go from the last to the first with the second at which the link must be "
        "free.",
        "end = min(needed, free); start = end - latency - nbytes / bandwidth; free = start. If the last start is below "
        "0: None.",
    ],
)


# Shares of a link ----------------------------------------------------------------------------------------------------


def shares(bandwidth, weights, wants, key=lambda want, weight: want / weight, lighter=True, taken=True):
    """Weighted max-min shares; or those of somebody who fills in another order, or forgets what is given away."""
    given, left, weight = [0.0] * len(wants), bandwidth, sum(weights)
    for i in sorted(range(len(wants)), key=lambda i: key(wants[i], weights[i])):
        given[i] = min(wants[i], left * weights[i] / weight)
        left -= given[i] if taken else 0
        weight -= weights[i] if lighter else 0
    return given


def by_weight(bandwidth, weights, wants):
    return [bandwidth * weight / sum(weights) for weight in weights]


def fixed(bandwidth, weights, wants):
    """Whatever somebody does not use is lost."""
    return [min(want, part) for want, part in zip(wants, by_weight(bandwidth, weights, wants))]


def once_more(bandwidth, weights, wants):
    """What is left after a first round is shared among the others, once."""
    first = fixed(bandwidth, weights, wants)
    hungry = [i for i, want in enumerate(wants) if first[i] < want]
    left, weight = bandwidth - sum(first), sum(weights[i] for i in hungry)
    return [share + (left * weights[i] / weight if i in hungry else 0) for i, share in enumerate(first)]


def by_wants(bandwidth, weights, wants):
    return [min(want, bandwidth * want / sum(wants)) if want else 0.0 for want in wants]


def by_both(bandwidth, weights, wants):
    total = sum(weight * want for weight, want in zip(weights, wants))
    return [bandwidth * weight * want / total if want else 0.0 for weight, want in zip(weights, wants)]


def strictly(bandwidth, weights, wants):
    """The heaviest first, as much as it wants."""
    given, left = [0.0] * len(wants), bandwidth
    for i in sorted(range(len(wants)), key=lambda i: -weights[i]):
        given[i] = min(wants[i], left)
        left -= given[i]
    return given


def unweighted(bandwidth, weights, wants):
    return shares(bandwidth, [1] * len(wants), wants)


def shares_seen(case, results, right):
    (got,), (want,), (_, _, wants) = results, right, case.arguments[0]
    i = next(i for i, (one, other) in enumerate(zip(got, want)) if not close([one], [other]))
    return f"number {i}, which can use {wants[i]:.6g}, gets {got[i]:.6g}; right is {want[i]:.6g}."


def some_shares(n, bandwidth):
    return lambda rng: (bandwidth, rng.integers(1, 9, n).tolist(), rng.integers(0, 60, n).tolist())


fair_shares = Exercise(
    cases=inputs.calls(
        (12, [1, 1, 2], [1, 9, 9]),
        (12, [1, 2, 3], [9, 9, 9]),
        (12, [1, 1, 2], [1, 2, 3]),
        (24, [4, 1, 1], [9, 6, 20]),  # the one that wants least is not the one that is full first
        (40, [1, 1, 1, 1], [1, 9, 12, 99]),
        (30, [5, 1, 2, 2], [0, 3, 20, 20]),
        (40, [1, 2, 1, 4], [2, 10, 30, 25]),
        (10, [3], [4]),
        (10, [3], [40]),
        some_shares(5, 60),
        some_shares(6, 90),
        some_shares(8, 100),
        some_shares(1100, 20_000),
        names="bandwidth weights wants",
    ),
    checks=[
        Returns(
            shares,
            slips=[
                (
                    by_weight,
                    "That is each one's part by weight, also of those that cannot use it. Nobody gets more than it "
                    "wants.",
                ),
                (
                    fixed,
                    "What one does not use is lost, and the link is not full. Who else can use it, and by which "
                    "weights?",
                ),
                (
                    once_more,
                    "What was left over was shared once. Then somebody may get more than it wants, or leave something "
                    "again.",
                ),
                (
                    lambda bandwidth, weights, wants: [
                        min(want, share) for want, share in zip(wants, once_more(bandwidth, weights, wants))
                    ],
                    "What was left over was shared once. Of that, too, somebody may leave a part to the others.",
                ),
                (
                    lambda *given: shares(*given, lighter=False),
                    "Who has got its share no longer counts: of which weights is what is left divided?",
                ),
                (
                    lambda *given: shares(*given, taken=False),
                    "The whole link is divided again and again. What the first ones got is gone.",
                ),
                (
                    lambda *given: shares(*given, key=lambda want, weight: want),
                    "Who wants least came first. But a heavy one with a larger want may have all it wants earlier than "
                    "a light one: what has to be compared?",
                ),
                (
                    lambda *given: shares(*given, key=lambda want, weight: -want / weight),
                    "What one does not use is lost, and the link is not full. Who else can use it, and by which "
                    "weights?",
                ),
                (
                    lambda *given: shares(*given, key=lambda want, weight: 0),
                    "They were served as they stand in the list. Who comes first cannot get what those behind it "
                    "leave.",
                ),
                (
                    unweighted,
                    "All count equally in that. Who is not satisfied gets by its weight.",
                ),
                (
                    by_wants,
                    "That shares by wants: who asks for more gets more. Weights say who gets how much.",
                ),
                (
                    by_both,
                    "Weights times wants: who asks for more gets more. Weights say who gets how much, and a want is "
                    "only a limit.",
                ),
                (
                    strictly,
                    "The heaviest got all it wanted first. Weights are shares, no ranks in a queue.",
                ),
            ],
            otherwise="Pour water into vessels as wide as the weights. Which is full first? What is left, and for "
            "which "
            "weights?",
            seen=shares_seen,
            form=lambda case, results: no_numbers(case, results, len(case.arguments[0][2])),
            read=listed,
            same=close,
            nearly=nearly,
        )
    ],
    endings={
        "ZeroDivisionError": "Nobody is left: the weights that are left add up to 0. Is a weight taken off before it "
        "is "
        "used?",
    },
    hints=[
        "A link of 12, weights 1, 1, 2, wants 1, 9, 9: how much is left when the first has what it wants, and for "
        "which weights?",
        "Serve those first whose part is enough: in the order of wants / weights.",
        "Each gets min(want, left x weight / weights that are left). Then take its share off `left`, and its weight "
        "off `weight`.",
    ],
)

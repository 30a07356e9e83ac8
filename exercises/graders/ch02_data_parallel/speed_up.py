"""Level 5 of chapter 2, speed up: the size of buckets, and the shares of unequal ranks."""

import heapq
import itertools
import math

from exercises.grading import Exercise, Finding, checks, inputs
from exercises.grading.returns import Returns

from .predict import recurrence
from .write import buckets_of

MIB = 2**20


def step_seconds(limit, nbytes, seconds, P, alpha, beta):
    """The step with the buckets of a limit, and how many buckets these are."""
    buckets = buckets_of(nbytes, limit, limit)
    computing = [sum(seconds[i] for i in bucket) for bucket in buckets]
    sending = [2 * (P - 1) * (alpha + sum(nbytes[i] for i in bucket) / P * beta) for bucket in buckets]
    return recurrence(0.0, computing, sending), len(buckets)


def limits_that_matter(nbytes):
    """Between two of these limits the buckets do not change: the bytes of tensors that follow one another."""
    return sorted({sum(nbytes[i:j]) for j in range(1, len(nbytes) + 1) for i in range(j)})


def quickest(case, answer):
    """The limit gives a step as quick as the best."""
    (arguments,), (got,) = case.arguments, answer.results
    nbytes = arguments[0]
    if isinstance(got, bool) or not isinstance(got, int | float) or not got > 0:
        return Finding(f"it returned {got!r}.", "Return a limit: one number of bytes, above 0.")
    took, buckets = step_seconds(got, *arguments)
    best, fewest = min(step_seconds(limit, *arguments) for limit in limits_that_matter(nbytes))
    if took <= best * (1 + checks.Close):
        return None
    return Finding(
        f"with a limit of {got:,.10g} bytes the step takes {took * 1e6:.2f} us, in {checks.count(buckets, 'bucket')}; "
        f"{best * 1e6:.2f} us are possible, in {fewest}.",
        slower(got, buckets, fewest, nbytes),
    )


def slower(got, buckets, fewest, nbytes):
    """Recognise how the limit was chosen."""
    if got in (25 * MIB, 25e6, MIB, 1e6):
        return (
            "That is a default of frameworks, which cannot know this model or this network. What do the arguments say?"
        )
    if got < 1:
        return "Less than a byte: is that the time of the best step? Asked for is the limit that leads to it."
    if buckets == 1:
        return (
            "One bucket pays the latency once, and is full when the backward pass is over: nothing overlaps. What is "
            "the step's time with two?"
        )
    if got == max(nbytes):
        return (
            "That is the largest tensor's size. A limit may also have room for several tensors at once, and it depends "
            "on alpha and beta: how long does such an all-reduce take, and how much of that is latency?"
        )
    if buckets == len(nbytes):
        return (
            "Each tensor has a bucket of its own here. Everything begins early, and pays a latency for each. What is "
            "the step's time if some share one?"
        )
    if got == 2 ** round(math.log2(got)):
        return (
            "The best of the powers of two, perhaps; a better limit lies between two of them. At which limits do the "
            "buckets change at all? When one more tensor just fits."
        )
    if got not in limits_that_matter(nbytes):
        return (
            "A smaller limit makes the same buckets: no tensors fill this one. Does it come from a grid, or from a "
            "formula? The best limit may lie between two points of a grid, however fine. Where do the buckets change?"
        )
    if buckets > fewest:
        return (
            "Fewer buckets would pay fewer latencies. Compute the step's time for each limit that could matter, with "
            "alpha, and with what is still under way when a bucket is full."
        )
    if buckets < fewest:
        return (
            "With more buckets the sending would begin earlier, and less of it be left at the end. Compute the step's "
            "time for each limit that could matter: in which order are the gradients ready?"
        )
    return (
        "The number of buckets is right, and they are cut elsewhere. A limit matters when one more tensor just fits: "
        "have all such limits been tried, and is the time of each that of step_time?"
    )


def some_model(number, P, alpha, beta):
    """So many tensors of some KB, and some us of computing for each."""
    return lambda rng: (
        rng.integers(1000, 60_000, number).tolist(),
        [float(time) * 1e-6 for time in rng.integers(1, 40, number)],
        P,
        alpha,
        beta,
    )


bucket_limit = Exercise(
    cases=inputs.calls(
        ([30_000, 10_000, 20_000, 20_000], [10e-6, 10e-6, 10e-6, 10e-6], 4, 1e-6, 1e-9),
        ([6000, 1000, 50_000, 1000, 50_000, 3000], [5e-6, 1e-6, 30e-6, 1e-6, 30e-6, 4e-6], 8, 2e-6, 0.5e-9),
        (  # the best limit is two tensors in the middle
            [10_000, 4_000, 34_000, 3_000, 15_000, 43_000],
            [29e-6, 27e-6, 11e-6, 16e-6, 19e-6, 4e-6],
            8,
            1e-6,
            0.5e-9,
        ),
        ([40_000] * 12, [20e-6] * 12, 4, 4e-6, 0.5e-9),
        (  # the best limit is 45,197 bytes, and no other number will do
            [13_043, 15_219, 4_191, 21_326, 7_185, 16_686, 28_512],
            [23e-6, 3e-6, 17e-6, 11e-6, 32e-6, 6e-6, 26e-6],
            8,
            2e-6,
            0.5e-9,
        ),
        (  # one large tensor, an embedding; the best limit, 113,000 to 113,999 bytes, is on no grid over them all
            [200_000_000, 28_000, 32_000, 14_000, 39_000, 22_000, 26_000, 27_000],
            [42e-6, 8e-6, 5e-6, 8e-6, 20e-6, 3e-6, 29e-6, 6e-6],
            8,
            2e-6,
            0.5e-9,
        ),
        ([500] * 30, [1e-6] * 30, 16, 20e-6, 1e-11),  # latency is nearly everything
        some_model(16, 8, 1e-6, 0.4e-9),
        some_model(40, 4, 3e-6, 0.2e-9),
        ([7000], [5e-6], 2, 1e-6, 1e-9),
        names="nbytes seconds P alpha beta",
    ),
    checks=[quickest],
    endings={
        "cpu": "Does a loop never end, or is every number of bytes tried? Which limits give different buckets? With 40 "
        "tensors there are less than a thousand.",
    },
    hints=[
        "Write a function that tells the step's time for a limit: it puts assign_buckets and step_time together. Then "
        "look at it for a few limits, small and large.",
        "Mind the order: bucket 0 has the last tensors. Its backward time is the sum of their seconds, its all-reduce "
        "takes 2 (P - 1) (alpha + n / P beta) for its n bytes.",
        "The buckets change only at limits which tensors that follow one another fill exactly: the sums of nbytes[i:j] "
        "for all i < j. Try all of those and keep the best.",
    ],
)


def rounded_down(speeds, batch):
    """What each rank can have and finish in the ideal time."""
    return [math.floor(batch * speed / sum(speeds)) for speed in speeds]


def one_by_one(speeds, batch, begun, ahead=1):
    """What is not given away yet goes, sample after sample, to the rank that finishes first with `ahead` more."""
    given, heap = (
        list(begun),
        [((share + ahead) / speed, rank) for rank, (share, speed) in enumerate(zip(begun, speeds))],
    )
    heapq.heapify(heap)
    for _ in range(batch - sum(given)):
        rank = heap[0][1]
        given[rank] += 1
        heapq.heapreplace(heap, ((given[rank] + ahead) / speeds[rank], rank))
    return given


def quickest_shares(speeds, batch):
    return one_by_one(speeds, batch, rounded_down(speeds, batch))


def and_the_rest(speeds, batch, order):
    """Rounded down, and one more for each rank in this order, until nothing is left."""
    given = rounded_down(speeds, batch)
    for rank in itertools.islice(itertools.cycle(order), batch - sum(given)):
        given[rank] += 1
    return given


def by_remainders(speeds, batch):
    """The ranks, those first that lose most by rounding down."""
    lost = [batch * speed / sum(speeds) - down for speed, down in zip(speeds, rounded_down(speeds, batch))]
    return sorted(range(len(speeds)), key=lambda rank: -lost[rank])


OTHER_SHARES = [  # what somebody may make of (speeds, batch), and the hint
    (
        lambda speeds, batch: [batch // len(speeds) + (rank < batch % len(speeds)) for rank in range(len(speeds))],
        "Equal shares: all wait for the slowest rank. Who is quicker can have more.",
    ),
    (
        lambda speeds, batch: and_the_rest(speeds, batch, by_remainders(speeds, batch)),
        "The samples that are left over went to those who lost most by rounding down. But one more sample takes a slow "
        "rank long: who would finish first with one more?",
    ),
    (
        lambda speeds, batch: and_the_rest(speeds, batch, [speeds.index(max(speeds))]),
        "All samples that are left over after rounding down went to one rank. Give them away one at a time: who is "
        "first to finish with one more, counting what it has by then?",
    ),
    (
        lambda speeds, batch: and_the_rest(speeds, batch, range(len(speeds))),
        "The first ranks have one more each than their part, rounded down. Of all, who would finish first with one "
        "more sample?",
    ),
    *[
        (
            lambda speeds, batch, share=share: share([1 / speed for speed in speeds], batch),
            "The slow ranks have the shares of the quick ones. Speed is samples per second, not seconds per sample.",
        )
        for share in (quickest_shares, lambda speeds, batch: and_the_rest(speeds, batch, range(len(speeds))))
    ],
    (
        lambda speeds, batch: one_by_one(speeds, batch, [0] * len(speeds), ahead=0),
        "A rank has a sample that takes it longer than all should take. It is free, and yet should not have one: do "
        "you ask who finishes what it has, or who would finish one more?",
    ),
]


def whole_shares(case, results):
    """Whole numbers, which add up to the batch."""
    ((speeds, batch),), (got,) = case.arguments, results
    got = checks.listed(got)
    if not isinstance(got, list) or len(got) != len(speeds):
        return Finding(f"it returned {got!r:.100}.", "Return a list with a number of samples for each rank.")
    if not all(type(share) is int and share >= 0 for share in got):
        return Finding(f"it returned {got!r:.100}.", "Samples come whole: whole numbers (int), 0 or more.")
    if sum(got) != batch:
        return Finding(
            f"the shares {short(got)} add up to {sum(got):,}; the batch has {batch:,} samples.",
            "If each share is rounded by itself, their sum is what comes out. Round down first: then some samples are "
            "left, and somebody must have them.",
        )
    return None


def seconds_of(got, speeds):
    return max(share / speed for share, speed in zip(got, speeds))


def who_is_last(case, results, right):
    """The facts: which rank finishes last, when, and when all could be."""
    ((speeds, _),), (got,), (best,) = case.arguments, results, right
    last = max(range(len(got)), key=lambda rank: got[rank] / speeds[rank])
    return (
        f"with {short(got)} rank {last} finishes last, after {got[last] / speeds[last]:.4g} s "
        f"({checks.count(got[last], 'sample')} at {speeds[last]:g} a second); "
        f"{seconds_of(best, speeds):.4g} s are possible."
    )


def as_quick(got, speeds, batch):
    return seconds_of(got, speeds) <= seconds_of(quickest_shares(speeds, batch), speeds) * (1 + checks.Close)


def short(got):
    return str(got) if len(got) <= 8 else f"{str(got[:8])[:-1]}, ...]"


earliest_end = Returns(
    quickest_shares,
    OTHER_SHARES,
    otherwise="Think of the samples as given away one by one. Which rank should have the next one? The time that "
    "counts is when that sample is done.",
    seen=who_is_last,
    form=whole_shares,
    read=checks.listed,
    accepts=as_quick,
)


def too_slow(case):
    """The hint for an answer that takes too long."""
    ((speeds, _),) = case.arguments
    if len(speeds) < MANY:
        return (
            "Does a loop never end, or are there too many ways to try? Give the samples away one by one: to whom goes "
            "the next?"
        )
    return (
        "With so many ranks and samples it takes too long to look at every rank for every sample. What hands out the "
        "least of many numbers without looking at them all? Or: how many samples can be given away at once, before "
        "one has to think?"
    )


def some_speeds(P, batch):
    return lambda rng: (rng.uniform(10, 100, P).round(3).tolist(), batch + int(rng.integers(9)))


MANY = 1000  # ranks, as many as the docstring promises at most

shares = Exercise(
    cases=inputs.calls(
        ([3.0, 1.0], 8),
        ([1.0, 10.0, 1.2], 7),
        ([4.0, 4.0, 4.0, 1.0], 29),
        ([1.0, 5.0, 5.0], 14),
        ([0.01, 2.5, 1.9], 9),
        some_speeds(6, 90),
        some_speeds(40, 500),
        ([5.0], 7),
        ([2.0, 3.0], 0),
        ([3.0, 1.0, 2.0], 6),
        ([7.0, 2.0, 9.0], 1),
        some_speeds(50, 1_500),
        ([33.3, 0.5, 61.7], 3_000),
        some_speeds(MANY, 60_000),
        names="speeds batch",
    ),
    checks=[earliest_end],
    endings={"cpu": too_slow, "memory": too_slow},
    hints=[
        "If samples could be cut, each rank would have batch * speed / (sum of speeds), and all would end at the same "
        "time. Round these down: how many samples are left over, at most?",
        "One more sample ends at (share + 1) / speed on a rank. Nothing is lost by giving the next sample to the rank "
        "where that is least. Why not?",
        "A heap of ((share + 1) / speed, rank) gives the next rank quickly: heapq.heapreplace takes the first out and "
        "puts it back with one sample more.",
    ],
)

"""Level 1 of chapter 3, predict: what compression costs and gains, what holds for a compressor, how late gradients
are."""

import math

from exercises.grading import Exercise, Finding, choices, inputs, numbers
from exercises.grading.returns import Returns


def dense(P, n, bandwidth):
    return 2 * (P - 1) / P * n / bandwidth


def compressed(P, wire, bandwidth, compress, decompress):
    """Compressed gradients come one after the other; each is unpacked while the next one comes."""
    one = wire / bandwidth
    return compress + one + (P - 2) * max(one, decompress) + decompress


def speedup(P, n, wire, bandwidth, compress, decompress):
    return dense(P, n, bandwidth) / compressed(P, wire, bandwidth, compress, decompress)


def taking(seconds):
    """What somebody returns whose compressed sum takes seconds(P, seconds of one message, compress, decompress)."""
    return lambda P, n, w, b, c, d: dense(P, n, b) / seconds(P, w / b, c, d)


def some_gradient(P):
    return lambda rng: (
        P,
        int(rng.integers(1, 99)) * 10**9,
        int(rng.integers(1, 99)) * 10**7,
        int(rng.integers(5, 95)) * 1e9,
        int(rng.integers(1, 40)) * 1e-3,
        int(rng.integers(1, 40)) * 1e-3,
    )


compression_speedup = Exercise(
    cases=inputs.calls(
        (8, 25_000_000_000, 500_000_000, 200e9, 0.05, 0.004),
        (256, 25_000_000_000, 500_000_000, 200e9, 0.05, 0.004),
        (8, 25_000_000_000, 500_000_000, 200e9, 0.05, 0.001),
        some_gradient(3),
        some_gradient(16),
        (2, 25_000_000_000, 500_000_000, 200e9, 0.05, 0.05),
        (4, 10**9, 10**8, 1e9, 0.0, 0.0),
        (7, 1000, 30, 1e4, 1e-3, 2e-3),
        names="P n wire bandwidth compress decompress",
    ),
    checks=[
        numbers.Number(
            speedup,
            slips=[
                (
                    lambda P, n, w, b, c, d: n / b / (c + w / b + d),
                    "That compares one transfer of the gradient with one of its compressed form, as the textbook does "
                    "for any number of ranks. Asked for is a sum over P ranks: what does each rank of a ring send, "
                    "for the one and for the other?",
                ),
                (
                    taking(lambda P, t, c, d: c + t + d),
                    "The compressed gradients of all ranks come to every rank, one after the other over the same "
                    "link. How many are that?",
                ),
                (
                    lambda P, n, w, b, c, d: dense(P, n, b) / (c + dense(P, w, b) + d),
                    "You all-reduce the compressed gradients. But they cannot be added on the way: each rank has "
                    "chosen other numbers. What travels is every rank's, whole, to all the others.",
                ),
                (
                    lambda P, n, w, b, c, d: n / b / compressed(P, w, b, c, d),
                    "The compressed side is right. On the other side there is no transfer of n bytes, but a ring "
                    "all-reduce: what does a rank send in it? ring_time of chapter 1 has it.",
                ),
                (
                    taking(lambda P, t, c, d: c + (P - 1) * t + d),
                    "Unpacking is charged once, for the last gradient that comes. The others are unpacked meanwhile: "
                    "what if that takes longer than the next one needs to come?",
                ),
                (
                    taking(lambda P, t, c, d: c + t + (P - 1) * d),
                    "Unpacking is charged for each gradient that comes, and only the first one is waited for. What if "
                    "the next one needs longer to come than the one before to be unpacked?",
                ),
                *[
                    (
                        taking(lambda P, t, c, d, each=each: c + (P - 1) * t + each(P) * d),
                        "The link seems to stand still while a gradient is unpacked, or all are unpacked in the end. "
                        "The next one is on its way meanwhile, so the two times do not add up.",
                    )
                    for each in (lambda P: P - 1, lambda P: P)
                ],
                *[
                    (
                        taking(lambda P, t, c, d, times=times: times(P) * c - c + compressed(P, t, 1.0, c, d)),
                        "Compressing is charged more than once. Each rank compresses one gradient, its own, at the "
                        "same time as the others.",
                    )
                    for times in (lambda P: 2, lambda P: P, lambda P: P - 1)
                    if times(3) > 1
                ],
                (
                    taking(lambda P, t, c, d: compressed(P, t, 1.0, 0.0, d)),
                    "A rank compresses before it can send: that is not hidden behind anything.",
                ),
                *[
                    (
                        taking(seconds),
                        "In the middle you are right: the slower of link and codec sets the pace. But before the first "
                        "gradient has come there is nothing to unpack, and when the last one has come, it is left.",
                    )
                    for seconds in (
                        lambda P, t, c, d: c + (P - 1) * max(t, d),
                        lambda P, t, c, d: c + (P - 1) * max(t, d) + d,
                        lambda P, t, c, d: c + t + (P - 2) * max(t, d),
                        lambda P, t, c, d: c + (P - 2) * max(t, d) + d,
                    )
                ],
                (
                    taking(lambda P, t, c, d: (P - 1) * t),
                    "Compressing and decompressing take time as well, and not all of it is hidden.",
                ),
                (
                    lambda P, n, w, b, c, d: n / w,
                    "That is how much smaller a gradient becomes. How much quicker the sum is there is another "
                    "question: two collectives, and a codec.",
                ),
                (
                    taking(lambda P, t, c, d: compressed(P + 1, t, 1.0, c, d)),
                    "One too many. P - 1 gradients come to a rank: its own it need neither receive nor unpack.",
                ),
                (
                    lambda P, n, w, b, c, d: dense(P, n, b) / compressed(P, w / P, b, c, d),
                    "You send a P-th of the compressed gradient in each step, as if it were cut into blocks. Every "
                    "rank contributes `wire` bytes of its own, and all of them go everywhere.",
                ),
                (
                    lambda P, n, w, b, c, d: dense(P, n, b) / compressed(P, 2 * w, b, c, d),
                    "The all-gather is charged twice. The 2 of an all-reduce is a reduce-scatter and an all-gather: "
                    "which of them do the compressed gradients make?",
                ),
                (
                    lambda P, n, w, b, c, d: P * speedup(P, n, w, b, c, d),
                    "Uncompressed you let the whole gradient travel in each of the 2 (P - 1) steps of the ring. How "
                    "much of it does a step move?",
                ),
                (
                    taking(lambda P, t, c, d: max(c, (P - 1) * max(t, d))),
                    "That hides compressing behind the communication. A rank compresses before it sends.",
                ),
                (
                    lambda P, n, w, b, c, d: dense(P, n, b) - compressed(P, w, b, c, d),
                    "Those are the seconds that it saves. How many times quicker it is, is a quotient.",
                ),
                (
                    lambda P, n, w, b, c, d: 1 / speedup(P, n, w, b, c, d),
                    "That is how many times slower it is: the reciprocal.",
                ),
                (
                    lambda P, n, w, b, c, d: speedup(P, n, w, b, c, d) / 2,
                    "Half of what is right: a ring all-reduce is a reduce-scatter and an allgather.",
                ),
            ],
            otherwise="Write down two times, in seconds. Without compression: a ring all-reduce of n bytes. With it: "
            "compress, a ring all-gather in which every rank contributes `wire` bytes, each of them unpacked "
            "when it has come. Draw two lines over the time, one for the link and one for the codec.",
        )
    ],
    hints=[
        "In a ring all-gather every rank sends on what comes from its left, until all have all. With P ranks, how "
        "many compressed gradients does a rank send?",
        "The dense time hardly depends on P: 2 (P - 1) / P n bytes over one link. The compressed one does: P - 1 "
        "gradients come, and are unpacked. When has the first come? From then on, which of the two is waited for?",
        "For 8 ranks of the example: 0.21875 s for the whole gradients; 0.05 + 0.0025 + 6 * 0.004 + 0.004 s for the "
        "compressed ones.",
    ],
)


def index_bits(d):
    return (d - 1).bit_length()


def in_bytes(bits):
    return -(-bits // 8)


top_k_bytes = Exercise(
    cases=inputs.calls(
        (1_000_000, 10_000),
        (1000, 7),
        (1024, 3),
        (1025, 3),
        (100, 13),
        lambda rng: (int(rng.integers(10**6, 10**9)), int(rng.integers(10**3, 10**5)) * 8 + 3),
        (2, 1),
        (1, 1),
        (25_600_000_000, 256_000_001),
        names="d k",
    ),
    checks=[
        numbers.Number(
            lambda d, k: 4 * k + in_bytes(k * index_bits(d)),
            slips=[
                (
                    lambda d, k: 4 * k,
                    "Those are the values alone: indices not counted. Without them the receiver does not know where "
                    "the values belong.",
                ),
                (
                    lambda d, k: 8 * k,
                    "That is with indices of 32 bits each. Indices up to d - 1 need fewer (or, if d is very large, "
                    "more).",
                ),
                (lambda d, k: 12 * k, "That is with indices of 64 bits each. Indices up to d - 1 need fewer."),
                (
                    lambda d, k: 4 * k + in_bytes(k * max(1, index_bits(d))),
                    "With d = 1 there is one place only, and nothing to say about it: how many bits has an index?",
                ),
                (
                    lambda d, k: 4 * k + math.ceil(k * math.log2(d) / 8),
                    "The logarithm was not rounded: no index has parts of a bit, if all have the same number of them.",
                ),
                (
                    lambda d, k: 4 * k + in_bytes(d),
                    "That is a bitmap, with a bit for each of the d numbers. Asked for are k indices.",
                ),
                (
                    lambda d, k: 4 * k + k * in_bytes(index_bits(d)),
                    "Each index was rounded up to whole bytes by itself. They are packed without gaps; only the last "
                    "byte is filled up.",
                ),
                (
                    lambda d, k: 4 * k + k * index_bits(d) // 8,
                    "Rounded down: the last bits of the indices would not be sent. A byte that is begun counts.",
                ),
                (
                    lambda d, k: 4 * k + k * index_bits(d) / 8,
                    "A part of a byte cannot be sent. What becomes of the last one?",
                ),
                (
                    lambda d, k: 4 * k + in_bytes(k * max(1, math.floor(math.log2(d)))),
                    "With so few bits the largest index cannot be written: log2 was rounded down. How many different "
                    "indices do b bits have?",
                ),
                (
                    lambda d, k: 4 * k + in_bytes(k * (math.floor(math.log2(d)))),
                    "With so few bits the largest index cannot be written: log2 was rounded down. How many different "
                    "indices do b bits have?",
                ),
                (
                    lambda d, k: 4 * k + in_bytes(k * d.bit_length()),
                    "A bit too many for each index: the indices run from 0 to d - 1, and d itself is none of them.",
                ),
                (lambda d, k: 32 * k + k * index_bits(d), "Bytes, please, not bits."),
                (lambda d, k: 4 * d, "That is the whole gradient. Of it k numbers are sent."),
                (
                    lambda d, k: k / d,
                    "That is the part of the numbers that is kept. Asked for are the bytes on the wire.",
                ),
                (
                    lambda d, k: 4 * k + index_bits(d),
                    "Bytes and bits are added up. And how many indices are there?",
                ),
            ],
            otherwise="How many bits has an index, if it must be able to say any number from 0 to d - 1? How many bits "
            "are k of them, and how many whole bytes?",
            unit="bytes",
        )
    ],
    hints=[
        "With b bits one can say 2^b different things. What is the smallest b that is enough for d places: for d = "
        "1024, for d = 1025, for d = 2, for d = 1?",
        "b = ceil(log2 d), or exactly: (d - 1).bit_length(). The indices have k b bits in all; the values 4 k bytes.",
        "Round up once, at the end: (bits + 7) // 8.",
    ],
)


NAMES = ("unbiased", "contraction", "both", "neither")
LARGE = {  # the usual arguments
    "mean": "Is it right on average? Take one number x_i, and work out the mean of what becomes of it.",
    "far": "How far from x is C(x)? Try two vectors: one in which a single number is not 0, and one in which all are "
    "equal. Compare with |x|^2.",
}
SAMPLED = (
    "Of 1000 numbers 10 are sent: a number is sent with probability 1/100. What is the mean of what becomes of it?"
)
BIASED = {  # why the mean is not right
    "A": "Nothing is drawn at random, so the mean of C(x) is C(x). Is that x, if small numbers always become 0?",
    "C": SAMPLED,
    "D": "The number is sent as it is, with probability p: the mean is p x_i. What would have to be sent, for the mean "
    "to be x_i?",
    "F": "Work out the mean for x_i, and then for -x_i: the sign of x_i is nowhere in the formula. (Textbooks call "
    "this one unbiased.)",
    "H": "Nothing is drawn at random here. Do all numbers have the same magnitude?",
    "J": "Rounded to nearest 0.3 always becomes 0: no chance, so the mean is 0 as well.",
}
who_is_unbiased = Exercise(
    cases=inputs.calls(()),
    checks=[
        choices.Situations(
            {
                **dict.fromkeys("ACDHJ", "contraction"),
                **dict.fromkeys("BEG", "unbiased"),
                **dict.fromkeys("FI", "neither"),
                "K": "both",
            },
            NAMES,
            why={
                **{(letter, name): hint for letter, hint in BIASED.items() for name in ("unbiased", "both")},
                ("A", "neither"): "What is left out are the smallest numbers: at most which part of |x|^2 is that?",
                ("B", "contraction"): SAMPLED + " And how long is C(x), if a large number is multiplied by 100?",
                ("B", "both"): "Its mean is right. But how far from x is C(x), if one number is multiplied by 100 and "
                "the others become 0? Work out the mean of |C(x) - x|^2 for equal numbers.",
                ("C", "neither"): "It is biased. But a number that is sent makes no error, so the error is that of 99 "
                "numbers of 100: compare with |x|^2.",
                ("D", "neither"): "Biased it is. But an error is made only where a number is not sent, and then it is "
                "|x_i|, no more; and the largest is always sent.",
                ("E", "contraction"): "A number is sent with probability p, and divided by p: what is the mean?",
                ("E", "both"): "The mean is right. Now one number is max and 999 are max / 30: all of these that are "
                "sent become max. Compare the mean of |C(x) - x|^2 with |x|^2.",
                ("F", "contraction"): "Each of the 1000 numbers becomes as large as the whole vector is long. How far "
                "from x is that?",
                ("G", "contraction"): "Work out the mean: p max - (1 - p) max, with that p.",
                ("G", "both"): "Right on average. Now x has one number that is not 0: the 999 others become +max or "
                "-max. How far from x is C(x)?",
                ("H", "neither"): "Work out |C(x) - x|^2 with m for the mean magnitude, and multiply it out: it is "
                "|x|^2 - 1000 m^2. How small can m be, compared with |x|?",
                ("I", "unbiased"): "990 numbers always become 0. Is that right on average?",
                ("I", "contraction"): "How long is C(x)? 10 numbers, each as large as the whole vector is long. (Other "
                "lengths would do: the mean magnitude of the 10, for one.)",
                ("J", "neither"): "Each error is at most half a step, max / 254. What is the most that 1000 such "
                "squares add up to, compared with max^2?",
                ("K", "unbiased"): "The mean is right. And the error: the mean square of each is at most a quarter of "
                "a step squared. What do 1000 of these add up to, compared with max^2?",
                ("K", "contraction"): "The error is small enough. But it is also rounded at random so that the mean is "
                "right.",
            },
            otherwise={
                "unbiased": LARGE["mean"],
                "contraction": LARGE["far"],
                "both": LARGE["far"],
                "neither": f"{LARGE['mean']} {LARGE['far']}",
            },
        )
    ],
    hints=[
        "Two questions for each. First: what is the mean of what becomes of one number? Where nothing is drawn, it is "
        "what becomes of it.",
        "Second: the mean of |C(x) - x|^2, for the worst x. Try a vector with a single number that is not 0, and one "
        "of equal numbers. What makes up for numbers that are left out is large, and so is its error.",
        'Four are right on average, one of them with an error so small that it is "both". Two are "neither".',
    ],
)


def delays(seconds, updates, own=0, reads_after=True, waits=False, together=False, lowest_first=True):
    """How late each gradient is; or what somebody gets who counts differently.

    own           what a gradient's own update counts
    reads_after   a worker reads after its own update; else before it
    waits         those that push at the same time read when all of them have pushed
    together      and count the updates before the first of them
    """
    time, version, late = list(seconds), [0] * len(seconds), []
    while len(late) < updates:
        now, before = min(time), len(late)
        pushing = [worker for worker, its in enumerate(time) if its == now]
        for worker in pushing if lowest_first else pushing[::-1]:
            late.append((before if together else len(late)) - version[worker] + own)
            version[worker] = len(late) - (not reads_after)
        for worker in pushing:
            time[worker] += seconds[worker]
        if waits or together:
            for worker in pushing:
                version[worker] = len(late)
    return late[:updates]


def counted(**how):
    return lambda seconds, updates: delays(seconds, updates, **how)


def whole_numbers(case, results):
    """As many whole numbers as there are updates."""
    ((_, updates),), got = case.arguments, numbers.listed(results[0])
    if not isinstance(got, list) or not all(type(late) is int for late in got):
        return Finding(f"it returned {got!r:.100}.", "Return a list of whole numbers, one for each update.")
    if len(got) != updates:
        return Finding(
            f"it returned {numbers.count(len(got), 'number')}; asked for are the first {updates}.",
            "Of several that push at the same time some may be beyond the last update that is asked for."
            if len(got) > updates
            else "Who pushes again and again is in the list each time, until there are as many as are asked for.",
        )
    return None


def which_clock(case, got, want):
    """The hint for what none of the known mistakes gives."""
    if any(each % 1 for each in case.arguments[0][0]):
        return (
            "Not all seconds are whole here. If whole ones were right: does your clock go from second to second? "
            "Between two pushes nothing happens, so it may go from push to push."
        )
    return (
        "How many updates had the weights had when this worker read them, and how many have they had when its gradient "
        "arrives? Both are numbers of one counter."
    )


def first_late(case, got, want):
    (got,), (want,) = got, want
    first = next(t for t, late in enumerate(want) if got[t] != late)
    return f"gradient {first} (the first is 0) is {want[first]} late, not {got[first]}; you returned {got!r:.100}."


right_delays = Returns(
    delays,
    slips=[
        (counted(own=1), "One too many each: a gradient's own update is none of those that made it late."),
        (
            counted(reads_after=False),
            "A worker reads after its own update, not before it: that update is in the weights that it reads.",
        ),
        (
            counted(together=True),
            "Workers that push at the same time do so one after the other: the second one's gradient is late by the "
            "first one's update.",
        ),
        (
            counted(waits=True),
            "Workers that push at the same time do so one after the other, and each reads directly after its own "
            "update. So the first has not seen the update of the second.",
        ),
        (
            counted(lowest_first=False),
            "Of several that push at the same time the one with the lowest number is first.",
        ),
        (
            lambda seconds, updates: [len(seconds) - 1] * updates,
            "P - 1 is right when equal workers have been at it for a while. Here they differ, and in the beginning all "
            "have just read.",
        ),
        (
            lambda seconds, updates: [t % len(seconds) for t in range(updates)],
            "Your workers take turns. Who is quick pushes several times while a slow one computes.",
        ),
        (
            lambda seconds, updates: [0] * updates,
            "Nobody is late only if all wait for each other, or if there is one worker. A worker that computes for "
            "long misses the updates of the others: count them.",
        ),
    ],
    otherwise=which_clock,
    seen=first_late,
    form=whole_numbers,
    read=numbers.listed,
)


how_late = Exercise(
    cases=inputs.calls(
        ([1, 3], 6),
        ([2, 2, 2], 8),
        ([3, 5, 4], 12),
        ([1, 4, 7], 15),
        lambda rng: (rng.integers(2, 9, 4).tolist(), 25),
        lambda rng: (rng.integers(3, 20, 6).tolist(), 30),
        ([5], 4),
        ([0.5, 1.25, 0.75], 15),
        lambda rng: ((rng.integers(3, 20, 3) / 8).tolist(), 20),
        lambda rng: (rng.integers(3, 400, 1100).tolist(), 50),
        ([2, 3], 0),
        names="seconds updates",
    ),
    checks=[right_delays],
    hints=[
        "Take the example, workers of 1 s and 3 s. Write down a line for each push: when, by whom, how many updates "
        "there have been before, and with which weights this gradient was computed.",
        "A counter of the updates is a version number of the weights. For each worker keep the version that it read "
        "last. When it pushes, how late is it?",
        "The next to push is the worker with the smallest (time, number). After its push its version is the new value "
        "of the counter, and its time grows by its seconds.",
    ],
)

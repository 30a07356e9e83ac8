"""Level 1 of chapter 12, predict: a peak, the best segments, keep or move, compression, and 200 trillion parameters."""

import math

from exercises.grading import Exercise, choices, inputs, numbers

# The peak of a step --------------------------------------------------------------------------------------------------


def input_of(s, b, h, a):
    return 2 * s * b * h


def core(s, b, h, a):
    return 5 * a * s * s * b


def layer(s, b, h, a):
    return 34 * s * b * h + core(s, b, h, a)


def peak(s, b, h, a, L, how, K):
    shape = s, b, h, a
    if how == "everything":
        return L * layer(*shape)
    if how == "selective":
        return L * (layer(*shape) - core(*shape)) + core(*shape)
    return L // K * input_of(*shape) + K * layer(*shape) - input_of(*shape)


def for_how(how, formula):
    """What somebody returns who has another formula for one form, of (shape, L, K)."""
    return lambda s, b, h, a, L, asked, K: formula((s, b, h, a), L, K) if asked == how else math.nan


def some_segments(rng):
    K = int(rng.integers(2, 6))
    L = K * int(rng.integers(2, 9))
    return 128 * int(rng.integers(2, 9)), int(rng.integers(1, 5)), 64 * int(rng.integers(4, 40)), 4, L, "segments", K


EVERYTHING, SELECTIVE, SEGMENTS = "everything", "selective", "segments"

peak_bytes = Exercise(
    cases=inputs.calls(
        (1024, 2, 768, 12, 12, "everything", 1),
        (1024, 2, 768, 12, 12, "selective", 1),
        (1024, 2, 768, 12, 12, "segments", 3),
        (1024, 2, 768, 12, 12, "segments", 1),
        (4096, 1, 512, 8, 6, "selective", 1),
        (4096, 1, 512, 8, 6, "segments", 6),
        (256, 4, 2048, 16, 24, "everything", 1),
        some_segments,
        some_segments,
        (2048, 1, 12288, 96, 96, "segments", 8),
        (2048, 1, 12288, 96, 96, "selective", 1),
        names="s b h a L how K",
    ),
    checks=[
        numbers.Number(
            peak,
            slips=[
                (
                    for_how(EVERYTHING, lambda shape, L, K: L * 34 * shape[0] * shape[1] * shape[2]),
                    "The attention cores are missing: 5 a s s b bytes of each layer, which grow with the square of s.",
                ),
                (
                    for_how(EVERYTHING, lambda shape, L, K: layer(*shape)),
                    "That is one layer. When the last layer goes backward first, all of them still have everything.",
                ),
                (
                    for_how(EVERYTHING, lambda shape, L, K: L * (layer(*shape) + input_of(*shape))),
                    "The inputs are counted twice: they are among the 34 s b h bytes.",
                ),
                (
                    for_how(SELECTIVE, lambda shape, L, K: L * (layer(*shape) - core(*shape))),
                    "That is what is kept. When a layer's core has been computed again, it is there, too: when are "
                    "there the most bytes?",
                ),
                (
                    for_how(SELECTIVE, lambda shape, L, K: L * (layer(*shape) - core(*shape)) + layer(*shape)),
                    "The layer whose turn it is still has its 34 s b h bytes, which are in the sum already. Only its "
                    "core comes back.",
                ),
                (
                    for_how(SELECTIVE, lambda shape, L, K: L * core(*shape)),
                    "That is what is not kept. The attention core is freed, and the rest stays.",
                ),
                (
                    for_how(SELECTIVE, lambda shape, L, K: L * layer(*shape)),
                    "As if the core was kept, too. It is computed again for one layer at a time.",
                ),
                (
                    for_how(SEGMENTS, lambda shape, L, K: L // K * input_of(*shape)),
                    "That is what is kept. Before a segment goes backward, what its layers need is computed again, and "
                    "it is all there at once.",
                ),
                (
                    for_how(SEGMENTS, lambda shape, L, K: L // K * input_of(*shape) + K * layer(*shape)),
                    "Nearly: the input of a segment's first layer is kept already, and it is counted once more among "
                    "the "
                    "34 s b h bytes of that layer.",
                ),
                (
                    for_how(SEGMENTS, lambda shape, L, K: L // K * input_of(*shape) + layer(*shape)),
                    "One layer of the segment is counted. To go backward through a segment, all its layers are "
                    "computed "
                    "again first, in one forward pass.",
                ),
                (
                    for_how(SEGMENTS, lambda shape, L, K: L // K * input_of(*shape) + layer(*shape) - input_of(*shape)),
                    "One layer of the segment is counted. To go backward through a segment, all its layers are "
                    "computed "
                    "again first, in one forward pass.",
                ),
                (
                    for_how(SEGMENTS, lambda shape, L, K: K * layer(*shape)),
                    "The other segments' inputs are missing: when the last segment goes backward, all are still there.",
                ),
                (
                    for_how(
                        SEGMENTS,
                        lambda shape, L, K: L // K * input_of(*shape) + K * (layer(*shape) - input_of(*shape)),
                    ),
                    "The inputs within a segment are missing: of its layers only the first one's input is kept, and "
                    "the "
                    "others' come back.",
                ),
                (
                    for_how(
                        SEGMENTS, lambda shape, L, K: K * input_of(*shape) + L // K * layer(*shape) - input_of(*shape)
                    ),
                    "K and L / K changed places: K layers make a segment, and there are L / K segments.",
                ),
                (
                    for_how(
                        SEGMENTS, lambda shape, L, K: L * input_of(*shape) + K * (layer(*shape) - input_of(*shape))
                    ),
                    "As if each layer's input was kept. One input for each segment of K layers is.",
                ),
            ],
            otherwise="Take the moment when the last segment, or the last layer, goes backward: what is kept of all "
            "the "
            "others, and what is there for this one?",
            unit="bytes",
        )
    ],
    hints=[
        "Draw four layers in a row, and mark what is there when the last one goes backward.",
        "There are most bytes when the backward pass begins: all that is kept, and what was computed again for the "
        "last layer or segment.",
        "In segments: L / K inputs, and K (34 s b h + 5 a s s b), of which one input is counted already.",
    ],
)


# The best segments ---------------------------------------------------------------------------------------------------


def divisors(n):
    return [k for k in range(1, n + 1) if n % k == 0]


def up_to_root(n):
    return [k for k in divisors(n) if k * k <= n]


def least(n, c, a, bytes_of=lambda n, c, a, k: n // k * c + k * a, ks=divisors, last=True):
    """The k of the fewest bytes; or what somebody returns who counts others, tries others, or returns another one."""
    most_first = sorted(ks(n), reverse=last)
    return min(most_first, key=lambda k: bytes_of(n, c, a, k))


def counted(bytes_of):
    return lambda n, c, a: least(n, c, a, bytes_of)


def nearest(n, root):
    """The divisor that is nearest to a root."""
    return min(divisors(n), key=lambda k: (abs(k - root), -k))


def below(n, root):
    return max((k for k in divisors(n) if k <= root), default=1)


best_k = Exercise(
    cases=inputs.calls(
        (144, 13, 17),
        (180, 7, 20),
        (100, 1, 57),
        (100, 1, 1),
        (96, 3, 1),
        (48, 2, 5),
        (12, 1, 1),
        (60, 7, 2),
        (30, 40, 1),
        (97, 5, 5),
        (24, 1, 100),
        (90, 4, 3),
        (720, 11, 3),
        (36, 5, 45),
        (1, 8, 3),
        lambda rng: (int(rng.choice([48, 72, 120])), int(rng.integers(1, 60)), int(rng.integers(1, 60))),
        (5040, 25_165_824, 392_167_424),
        names="n c a",
    ),
    checks=[
        numbers.Number(
            least,
            slips=[
                (
                    lambda n, c, a: least(n, c, a, last=False),
                    "Two k need equally few bytes. The larger one leaves more layers that need not be computed again.",
                ),
                (
                    lambda n, c, a: n // least(n, c, a),
                    "That is n / k, the number of segments. Did c and a change places, or were the segments counted, "
                    "and "
                    "not "
                    "their layers?",
                ),
                (
                    lambda n, c, a: least(n, c, a, ks=up_to_root),
                    "Only divisors up to sqrt(n) were tried. Larger ones divide n, too.",
                ),
                (
                    counted(lambda n, c, a, k: n // k * c + k),
                    "What a layer needs was counted as 1. With k layers in a segment, k a bytes are there at once.",
                ),
                (
                    counted(lambda n, c, a, k: n // k + k * a),
                    "An input was counted as 1. n / k of them are kept, with c bytes each.",
                ),
                (
                    counted(lambda n, c, a, k: n // k * a + k * c),
                    "That is n / k, the number of segments. Did c and a change places, or were the segments counted, "
                    "and "
                    "not "
                    "their layers?",
                ),
                (
                    counted(lambda n, c, a, k: n // k * c + a),
                    "As if one layer of a segment was there at a time. All k of them are computed again before they go "
                    "backward.",
                ),
                (
                    counted(lambda n, c, a, k: n // k + k),
                    "That is the k for c = a: the root of n, or what is nearest. Here an input and all that a layer "
                    "needs have different sizes.",
                ),
                (
                    lambda n, c, a: math.sqrt(n),
                    "sqrt(n) is right where c and a are equal, and sqrt(n) divides n. How many bytes does a k need, "
                    "with these c and a?",
                ),
                (
                    lambda n, c, a: round(math.sqrt(n)),
                    "sqrt(n) is right where c and a are equal, and sqrt(n) divides n. How many bytes does a k need, "
                    "with these c and a?",
                ),
                (
                    lambda n, c, a: nearest(n, math.sqrt(n)),
                    "sqrt(n) is right where c and a are equal, and sqrt(n) divides n. How many bytes does a k need, "
                    "with these c and a?",
                ),
                (
                    lambda n, c, a: math.sqrt(n * c / a),
                    "That is where the derivative is 0. k has to divide n: of the divisors around it, which needs the "
                    "fewest bytes?",
                ),
                (
                    lambda n, c, a: round(math.sqrt(n * c / a)),
                    "That is where the derivative is 0, rounded. k has to divide n: of the divisors around it, which "
                    "needs the fewest bytes?",
                ),
                (
                    lambda n, c, a: nearest(n, math.sqrt(n * c / a)),
                    "The divisor next to sqrt(n c / a), or the largest one below it, need not be the best: below the "
                    "root the bytes grow faster. Compare the bytes of both neighbours.",
                ),
                (
                    lambda n, c, a: below(n, math.sqrt(n * c / a)),
                    "The divisor next to sqrt(n c / a), or the largest one below it, need not be the best: below the "
                    "root the bytes grow faster. Compare the bytes of both neighbours.",
                ),
                (
                    lambda n, c, a: n // k * c + k * a if (k := least(n, c, a)) else math.nan,
                    "Those are the bytes. Asked for is k.",
                ),
                (
                    lambda n, c, a: 1,
                    "One layer a segment has the least to compute again at a time, but keeps every input. Is that the "
                    "least together?",
                ),
                (
                    lambda n, c, a: n,
                    "As if one layer of a segment was there at a time. All k of them are computed again before they go "
                    "backward.",
                ),
            ],
            otherwise="Write down the bytes for a k: how many inputs are kept, and how many layers have what they need "
            "at the same time? Then which divisor of n has the least?",
        )
    ],
    hints=[
        "Try n = 12, c = 1, a = 1 by hand, with k = 1, 2, 3, 4, 6 and 12.",
        "n / k inputs of c bytes are kept, and k layers of a bytes are there at once.",
        "Of the k from 1 to n that divide n, the one with the least n / k c + k a; of several the largest.",
    ],
)


# Keep, move or compute again -----------------------------------------------------------------------------------------

NAMES = ("keep", "move", "again")
NO_ROOM = "It has more than 1 MB, and its line says nothing of room. What do the two others cost?"

keep_move_or_again = Exercise(
    cases=inputs.calls(()),
    checks=[
        choices.Situations(
            {
                "A": "again",
                "B": "move",
                "C": "again",
                "D": "again",
                "E": "keep",
                "F": "keep",
                "G": "move",
                "H": "again",
            },
            NAMES,
            why={
                ("A", "move"): "How long does it take to the host and back, and when is it needed? Compare with "
                "reading 400 MB and writing 400 MB in the accelerator's own memory.",
                ("B", "again"): "The copies take 20 of the 400 ms on a link that is free, so nothing waits for them. "
                "What does the product cost?",
                ("C", "move"): "As the link has no second to spare, the step gets longer by all that it carries in "
                "addition: to the host and back. Compare with the product.",
                ("D", "move"): "How long do 8.6 GB take to the host and back? The backward pass does not wait 200 ms "
                "longer for nothing.",
                ("E", "move"): "It would be needed before it has left. And there is room for it.",
                ("E", "again"): "To free it and to compute it again directly afterwards takes time, and saves nothing: "
                "there is room for it.",
                ("F", "move"): "16 bytes take no room worth a copy.",
                ("F", "again"): "From what? Without this state, other elements are dropped the second time, and the "
                "gradients are those of another forward pass.",
                ("G", "again"): "Computing it again takes 30 ms of the step. How long do 200 MB take to the host and "
                "back, and does anything wait for that?",
                ("H", "move"): "The link has no second to spare: 200 MB there and back delay the others. How long does "
                "it take to read 200 MB and write 200 MB in the own memory?",
            },
            otherwise={"keep": NO_ROOM, "move": NO_ROOM, "again": NO_ROOM},
            thing="activation",
        )
    ],
    hints=[
        "Two numbers for each: how long a copy there and back takes, and how long it takes to compute it again. What "
        "does the step wait for?",
        "A copy on a free link costs nothing if there and back are done in time. On a link that is full it costs all "
        "of its seconds.",
        "An elementwise operation costs its bytes, read and written, over 3 TB/s. Two are kept, two are moved, four "
        "are computed again.",
    ],
)


# Compression on the way ----------------------------------------------------------------------------------------------


def sending(nbytes, bandwidth):
    return nbytes / bandwidth


def codec(nbytes, pack, unpack):
    return nbytes / pack + nbytes / unpack


def step(compute, send, overlap):
    return max(compute, send) if overlap else compute + send


def speedup(compute, nbytes, bandwidth, ratio, pack, unpack, overlap):
    before = step(compute, sending(nbytes, bandwidth), overlap)
    return before / step(compute + codec(nbytes, pack, unpack), sending(nbytes, bandwidth) / ratio, overlap)


def taking(after, only=None):
    """Who has another time with compression, of (compute, codec's seconds, seconds to send, ratio)."""

    def wrong(compute, nbytes, bandwidth, ratio, pack, unpack, overlap):
        if only is not None and overlap != only:
            return math.nan
        send = sending(nbytes, bandwidth)
        return step(compute, send, overlap) / after(compute, codec(nbytes, pack, unpack), send, ratio, overlap)

    return wrong


def printed(compute, nbytes, bandwidth, ratio, pack, unpack, overlap):
    """The formula of the text, with the codec's share of the step for delta."""
    before = step(compute, sending(nbytes, bandwidth), False)
    p, delta = sending(nbytes, bandwidth) / before, codec(nbytes, pack, unpack) / before
    return math.nan if overlap else 1 / ((1 - p) + p / (ratio * (1 - delta)))


def small_codec(compute, nbytes, bandwidth, ratio, pack, unpack, overlap):
    return step(compute, sending(nbytes, bandwidth), overlap) / step(
        compute + codec(nbytes / ratio, pack, unpack), sending(nbytes, bandwidth) / ratio, overlap
    )


def small_unpack(compute, nbytes, bandwidth, ratio, pack, unpack, overlap):
    return step(compute, sending(nbytes, bandwidth), overlap) / step(
        compute + nbytes / pack + nbytes / ratio / unpack, sending(nbytes, bandwidth) / ratio, overlap
    )


def one_codec(compute, nbytes, bandwidth, ratio, pack, unpack, overlap):
    return step(compute, sending(nbytes, bandwidth), overlap) / step(
        compute + nbytes / pack, sending(nbytes, bandwidth) / ratio, overlap
    )


def rates_added(compute, nbytes, bandwidth, ratio, pack, unpack, overlap):
    return step(compute, sending(nbytes, bandwidth), overlap) / step(
        compute + nbytes / (pack + unpack), sending(nbytes, bandwidth) / ratio, overlap
    )


def some_codec(rng):
    compute, gigabytes, ratio = (float(rng.integers(1, 40)) / 8 for _ in range(3))
    pack, unpack = (1e9 * int(rng.integers(4, 30)) for _ in range(2))
    return compute, int(gigabytes * 1e9), 2e9, 1 + ratio, pack, unpack, bool(rng.integers(2))


speedup_with_codec = Exercise(
    cases=inputs.calls(
        (2.25, 8 * 10**9, 8 * 10**9, 8, 10**10, 3 * 10**9, True),
        (0.5, 10**9, 10**9, 4, 10**10, 2 * 10**10, False),
        (0.5, 10**9, 10**9, 4, 10**10, 2 * 10**10, True),
        (0, 125 * 10**6, 10**9, 50, 2.5e9, 2.5e9, False),
        (2, 10**9, 10**9, 2, 4 * 10**9, 8 * 10**9, True),
        (2, 10**9, 10**9, 2, 4 * 10**9, 8 * 10**9, False),
        (0.1, 4 * 10**9, 10**9, 1.5, 5 * 10**10, 5 * 10**10, True),
        (0.25, 3 * 10**9, 5 * 10**9, 8, 10**9, 2 * 10**9, False),
        some_codec,
        some_codec,
        some_codec,
        (12.5, 10**12, 5 * 10**10, 2, 4 * 10**11, 10**12, True),
        names="compute nbytes bandwidth ratio pack unpack overlap",
    ),
    checks=[
        numbers.Number(
            speedup,
            slips=[
                (
                    lambda *given: 1 / speedup(*given),
                    "That is the new time over the old one. How many times as fast is the old one over the new one.",
                ),
                (
                    taking(lambda compute, codec, send, ratio, overlap: step(compute, send / ratio, overlap)),
                    "Compressing and decompressing take time, too: it is added to what the accelerator does.",
                ),
                (
                    printed,
                    "That is the printed formula: it divides the ratio by the overhead, as if a slow codec compressed "
                    "less. The codec's seconds are seconds of the step: add them.",
                ),
                (
                    small_codec,
                    "The codec's rates count uncompressed bytes: all nbytes are read to be compressed, and all are "
                    "written again.",
                ),
                (
                    small_unpack,
                    "Decompression writes all nbytes again, and `unpack` counts them after decompression.",
                ),
                (
                    one_codec,
                    "What was compressed has to be decompressed: that takes time, too.",
                ),
                (
                    rates_added,
                    "Two things that follow each other take the sum of their seconds, not the bytes over the sum of "
                    "their rates.",
                ),
                (
                    taking(lambda compute, codec, send, ratio, overlap: max(compute, send / ratio) + codec, only=True),
                    "The codec overlaps, too: while the accelerator compresses, the link can send. What takes longer, "
                    "all that the accelerator does, or all that the link does?",
                ),
                (
                    taking(lambda compute, codec, send, ratio, overlap: max(compute, send / ratio + codec), only=True),
                    "As if the link compressed. The accelerator does, and cannot compute meanwhile.",
                ),
                (
                    taking(lambda compute, codec, send, ratio, overlap: max(compute, send / ratio, codec), only=True),
                    "The accelerator computes, compresses and decompresses one after the other: its seconds add up.",
                ),
                (
                    taking(lambda compute, codec, send, ratio, overlap: compute + codec + send / ratio, only=True),
                    "With overlap the accelerator and the link work at the same time: the step takes as long as the "
                    "one that takes longer.",
                ),
                (
                    lambda compute, nbytes, bandwidth, ratio, pack, unpack, overlap: (
                        (compute + sending(nbytes, bandwidth)) / (compute + codec(nbytes, pack, unpack))
                        if overlap and compute + codec(nbytes, pack, unpack) > sending(nbytes, bandwidth) / ratio
                        else math.nan
                    ),
                    "The step without compression overlaps in the same way.",
                ),
                (
                    lambda *given: speedup(*given[:-1], False) if given[-1] else math.nan,
                    "That is the step without overlap.",
                ),
                (
                    lambda *given: speedup(*given[:-1], True) if not given[-1] else math.nan,
                    "Without overlap everything follows each other: the seconds add up.",
                ),
                (
                    lambda compute, nbytes, bandwidth, ratio, pack, unpack, overlap: speedup(
                        0, nbytes, bandwidth, ratio, pack, unpack, overlap
                    ),
                    "The step also computes, and that does not get faster.",
                ),
                (
                    lambda compute, nbytes, bandwidth, ratio, pack, unpack, overlap: ratio,
                    "So much smaller are the data. The step also computes, and the codec takes time.",
                ),
            ],
            otherwise="Write down two steps, without and with compression. In each: what does the accelerator do, for "
            "how long, and what does the link? Do they follow each other?",
        )
    ],
    hints=[
        "How long does the accelerator work with compression? It reads nbytes at the rate `pack`, and writes nbytes at "
        "the rate `unpack`.",
        "The link takes nbytes / bandwidth without, and a ratio-th of that with compression.",
        "Old over new, each of them the sum of accelerator and link, or with overlap the longer of the two.",
    ],
)


# 200 trillion parameters ---------------------------------------------------------------------------------------------


def lies_in(
    tier, parameters, each, activations, tiers, reserve, room=lambda count, size, reserve: count * size * (1 - reserve)
):
    left, free = parameters * each, -activations
    for name, count, size in tiers:
        free += room(count, size, reserve)
        here = max(0, min(left, free))
        if name == tier:
            return here
        left, free = left - here, 0
    return left


def with_room(room):
    return lambda *given: lies_in(*given, room)


def with_arguments(change):
    """Who works it out for other numbers, of (parameters, each, activations, tiers, reserve)."""
    return lambda tier, *given: lies_in(tier, *change(*given))


def of_tier(tier, parameters, each, activations, tiers, reserve):
    """The whole room of a tier."""
    rooms = {name: count * size * (1 - reserve) for name, count, size in tiers}
    return rooms.get(tier, math.nan)


def activations_everywhere(tier, parameters, each, activations, tiers, reserve):
    """As if there were as many in every tier."""
    left = parameters * each
    for name, count, size in tiers:
        here = max(0, min(left, count * size * (1 - reserve) - activations))
        if name == tier:
            return here
        left -= here
    return left


def below_zero(tier, parameters, each, activations, tiers, reserve):
    """Without a look whether anything is left."""
    left, free = parameters * each, -activations
    for name, count, size in tiers:
        free += count * size * (1 - reserve)
        if name == tier:
            return min(left, free)
        left, free = left - free, 0
    return left


def some_tiers(rng):
    tiers = [("HBM", 64 * int(rng.integers(1, 9)), 80e9), ("host", 16, 1e12), ("drives", 16, 8e12)]
    tier = ("HBM", "host", "drives", "missing")[int(rng.integers(4))]
    return tier, int(rng.integers(1, 30)) * 10**12, 16, int(rng.integers(1, 9)) * 10**11, tiers, 0.25


PRINTED = [("HBM", 2048, 80e9), ("host", 256, 2e12), ("drives", 1, 100e12)]
SMALL = [("HBM", 64, 80e9), ("host", 8, 2e12), ("drives", 8, 30e12)]

bytes_in_tier = Exercise(
    cases=inputs.calls(
        ("HBM", 10**11, 16, 8 * 10**11, [("HBM", 64, 80e9), ("host", 7, 2e12), ("drives", 8, 28e12)], 0.25),
        ("HBM", 10**12, 16, 10**12, SMALL, 0.25),
        ("host", 10**12, 16, 10**12, SMALL, 0.25),
        ("drives", 10**12, 16, 10**12, SMALL, 0.25),
        ("missing", 10**12, 16, 10**12, SMALL, 0.25),
        ("missing", 3 * 10**13, 16, 10**12, SMALL, 0.25),
        ("HBM", 10**11, 16, 10**12, SMALL, 0.25),
        ("host", 10**11, 16, 10**12, SMALL, 0.25),
        ("host", 5, 16, 8, [("HBM", 2, 16), ("host", 4, 10), ("drives", 1, 1000)], 0),
        ("HBM", 4, 16, 8, [("HBM", 2, 16), ("host", 4, 10), ("drives", 1, 1000)], 0),
        ("missing", 2 * 10**14, 16, 0, PRINTED, 0),
        ("host", 2 * 10**14, 2, 0, PRINTED, 0),
        some_tiers,
        some_tiers,
        some_tiers,
        (
            "drives",
            2 * 10**14,
            16,
            2 * 10**13,
            [("HBM", 16384, 141e9), ("host", 2048, 2e12), ("drives", 2048, 61e12)],
            0.2,
        ),
        names="tier parameters each activations tiers reserve",
    ),
    checks=[
        numbers.Number(
            lies_in,
            slips=[
                (
                    with_room(lambda count, size, reserve: count * size),
                    "The reserve is forgotten: that share of every tier stays empty.",
                ),
                (
                    with_room(lambda count, size, reserve: count * size * reserve),
                    "That fills the reserve and leaves the rest empty.",
                ),
                (
                    with_room(lambda count, size, reserve: size * (1 - reserve)),
                    "That is one of each tier. How many are there?",
                ),
                (
                    with_arguments(lambda n, each, live, tiers, reserve: (n, each, 0, tiers, reserve)),
                    "The activations lie in the first tier, too, and the state gets what they leave of it.",
                ),
                (
                    lambda tier, *given: 0 if tier == "missing" else math.nan,
                    "Nothing is missing in that. How many bytes has the state, and for how many is there room in all "
                    "tiers together?",
                ),
                (
                    with_arguments(lambda n, each, live, tiers, reserve: (n, 2, live, tiers, reserve)),
                    "2 bytes are the weights alone. A training also has gradients and the optimizer's state: `each` "
                    "bytes for every parameter.",
                ),
                (
                    with_arguments(lambda n, each, live, tiers, reserve: (n, 1, live, tiers, reserve)),
                    "Parameters were counted, not bytes.",
                ),
                (
                    with_arguments(lambda n, each, live, tiers, reserve: (n, each * (1 + reserve), live, tiers, 0)),
                    "The reserve is a share of every tier, not of the state.",
                ),
                (
                    lambda tier, n, each, live, tiers, reserve: (
                        lies_in(tier, n, each, live, tiers, reserve) + live if tier == tiers[0][0] else math.nan
                    ),
                    "The activations are counted, too. Asked for is the state, which gets what they leave.",
                ),
                (
                    lambda tier, n, each, live, tiers, reserve: (
                        n * each if tier == tiers[0][0] else 0 if tier != "missing" else math.nan
                    ),
                    "As if the first tier had room for all. How many bytes has it, less reserve and activations?",
                ),
                (
                    of_tier,
                    "That is the room of the tier. How much of the state is left for it, when the faster ones are "
                    "full?",
                ),
                (
                    lambda tier, n, each, live, tiers, reserve: (
                        n * each if tier == "missing" and n * each > sum(c * size for _, c, size in tiers) else math.nan
                    ),
                    "That is the whole state. What is there room for?",
                ),
                (
                    lambda tier, n, each, live, tiers, reserve: lies_in(
                        tier, n, each, live * (1 - reserve), tiers, reserve
                    ),
                    "The reserve is a share of the whole tier, also where the activations lie.",
                ),
                (
                    activations_everywhere,
                    "The activations take room of the first tier alone. In the others there are none.",
                ),
                (
                    below_zero,
                    "Below 0: a tier that is not full leaves nothing for the next one. No tier holds fewer than 0 "
                    "bytes, and no fewer than 0 are missing.",
                ),
            ],
            otherwise="Fill one tier after another: its room is count x bytes x (1 - reserve), in the first one less "
            "the activations. What is left goes on to the next.",
            unit="bytes",
        )
    ],
    hints=[
        "How many bytes of state are there? How many fit into the first tier, beside activations and reserve?",
        "Go through the tiers with what is left: each takes the smaller one of its room and of what is left.",
        'left = parameters x each. For each tier: here = min(left, room), left = left - here. "missing" is left in the '
        "end.",
    ],
)

"""Level 5 of chapter 3, speed up: how much of a gradient to send, given what was measured."""

import functools

from exercises.grading import Exercise, Finding, inputs
from exercises.grading.exercise import ALPHA, BETA
from exercises.grading.returns import Returns

from .predict import in_bytes, index_bits


def wire(d, k):
    return 4 * k + in_bytes(k * index_bits(d))


def whole_seconds(d, P, alpha, beta, codec, window):
    return 2 * (P - 1) * (alpha + 4 * d / P * beta)


def seconds_of(k, d, P, alpha, beta, codec, window, wire=wire, messages=None, latencies=None, codecs=1, of_k=False):
    """Top-K of k, or what somebody takes it for."""
    messages = P - 1 if messages is None else messages
    latencies = messages if latencies is None else latencies
    return codecs * (k if of_k else d) * codec + latencies * alpha + messages * wire(d, k) * beta


def largest(arguments, **mistake):
    """The largest k from 1 to d - 1 that fits into the window; 0 if none does."""
    *_, window = arguments
    fits, too_many = 0, arguments[0]
    while too_many - fits > 1:
        middle = (fits + too_many) // 2
        fits, too_many = (middle, too_many) if seconds_of(middle, *arguments, **mistake) <= window else (fits, middle)
    return fits


def best(*arguments, **mistake):
    whole = whole_seconds(*arguments)
    if whole <= arguments[-1]:
        return 0
    return largest(arguments, **mistake) or int(seconds_of(1, *arguments, **mistake) < whole)


MISTAKES = [  # how somebody computes the time of Top-K, and the hint
    *[
        (mistake, "The codec's time is not added, or for k numbers only: it looks at all d, whatever k is.")
        for mistake in ({"codecs": 0}, {"of_k": True})
    ],
    ({"codecs": 2}, "The codec's time is charged twice: `codec` is for compressing and decompressing together."),
    ({"wire": lambda d, k: 4 * k}, "The indices are not counted: top_k_bytes has them."),
    (
        {"wire": lambda d, k: 8 * k},
        "That is with indices of 32 bits each. On the wire they are packed: top_k_bytes(d, k).",
    ),
    (
        {"messages": 1},
        "One transfer of the compressed gradient is charged. In an all-gather each rank sends P - 1 such messages.",
    ),
    ({"latencies": 0}, "The latencies are not charged: alpha for each of the P - 1 messages."),
    ({"latencies": 1}, "One latency is charged. Each of the P - 1 messages of a rank has one."),
    ({"wire": lambda d, k: 4 * k + k * index_bits(d) / 8}, "Nearly: the last byte of the indices is filled up."),
    ({"wire": lambda d, k: 4 * k + k * in_bytes(index_bits(d))}, "Packed, the indices need fewer bytes: top_k_bytes."),
]


def some_k(case, results):
    """A whole number below d."""
    (d, *_), (got,) = case.arguments[0], results
    if isinstance(got, bool) or not isinstance(got, int) or not 0 <= got < d:
        return Finding(
            f"it returned {got!r:.100}.", f"Return a whole number (int) from 0, which means all, to d - 1 = {d - 1:,}."
        )
    return None


def how_long(case, got, want):
    (d, *rest), (got,) = case.arguments[0], got
    took = whole_seconds(d, *rest) if got == 0 else seconds_of(got, d, *rest)
    what = "the whole gradient" if got == 0 else f"k = {got:,}"
    return f"{what} takes {took * 1e3:.9g} ms; the window is {rest[-1] * 1e3:.9g} ms."


def why_not(case, got, want):
    """Recognise how k was chosen."""
    (arguments,), (got,), (want,) = case.arguments, got, want
    whole, window = whole_seconds(*arguments), arguments[-1]
    if want == 0 and whole == window:
        return "The whole gradient takes exactly as long as the window: then it is hidden. Less, or less or equal?"
    if want == 0 and whole <= window:
        return (
            "The network is quick enough: the whole gradient is hidden, so compression would cost time and accuracy "
            "for nothing. Ask that first."
        )
    if want == 0:
        return "Nothing is hidden, not even k = 1, and that is no quicker than the whole gradient. Compare the two."
    if got == 0 and not largest(arguments):
        return "Not even k = 1 is hidden. But it is there sooner than the whole gradient would be: less is exposed."
    if not largest(arguments):
        return "Nothing is hidden, not even k = 1. Which k then leaves least exposed?"
    if got == 0:
        return f"Uncompressed it takes {whole * 1e3:.6g} ms, and a part of it would fit into the window."
    if got == 1:
        return "The least that can be sent loses the most, and whatever is hidden is free. How large may k be?"
    if got in (arguments[0] // share for share in (10, 100, 1000)):
        return "A fixed share is a habit. What is measured says how much can be sent for nothing."
    if seconds_of(got, *arguments) > window:
        return "That is more than fits. Work out the time of this k, and of k - 1: which is the last that fits?"
    return "A larger k is hidden as well, and loses less of the gradient. Work out the time for k + 1."


def some_machine(P):
    """The window is somewhere between the codec's time and that of the whole gradient."""

    def draw(rng):
        d, alpha, beta = int(rng.integers(10**5, 10**7)), float(rng.integers(1, 20)) * 1e-6, 1e-10
        beta *= float(rng.integers(2, 20))
        codec = 0.1 * beta * float(rng.integers(1, 5))
        low, high = seconds_of(1, d, P, alpha, beta, codec, 0), whole_seconds(d, P, alpha, beta, codec, 0)
        return d, P, alpha, beta, codec, low + 0.4 * rng.uniform(0.2, 0.9) * (high - low)

    return draw


how_many_to_send = Exercise(
    cases=inputs.calls(
        (1000, 4, 2e-6, 1e-9, 1e-10, 6e-6 + 1e-7 + 3 * 221.5e-9),  # the last byte decides
        (1_000_000, 8, 5e-6, 1e-9, 1e-10, 2e-3),
        some_machine(4),
        some_machine(16),
        (1_000_000, 8, 5e-6, 1e-11, 1e-10, 2e-3),  # quick enough
        (1_000_000, 2, 5e-6, 1e-9, 3e-9, 2e-3),  # the codec alone takes longer than the window, and pays
        (1_000_000, 256, 5e-6, 1e-11, 1e-8, 1e-3),  # nor does it pay
        (1_000_000_000, 16, 5e-6, 1e-10, 1e-11, 0.25),
        (50, 2, 1e-4, 1e-9, 0.0, 1.1e-4),  # all but one would fit
        (2**20, 4, ALPHA, BETA, 0.0, 6 * (ALPHA + 2**20 * BETA)),  # the whole gradient just fits
        (2**20, 4, ALPHA, BETA, 0.0, 6 * (ALPHA + 2**20 * BETA) * (1 - 1e-6)),  # and just does not
        (2**20, 4, ALPHA, BETA, 0.0, 3 * (ALPHA + 650 * BETA)),  # 100 of them just fit
        (2**20 + 1, 8, ALPHA, BETA, 0.0, 14 * (ALPHA + 2**19 * BETA)),  # half a byte a message too much to fit
        *[(64, 4, ALPHA, BETA, (3 * ALPHA + (6 * 64 - 3 * wire) * BETA) / 64, 1e-7) for wire in (5.5, 4.5, 5)],
        names="d P alpha beta codec window",
    ),
    checks=[
        Returns(
            best,
            slips=[(functools.partial(best, **mistake), hint) for mistake, hint in MISTAKES],
            otherwise=why_not,
            seen=how_long,
            form=some_k,
            could=lambda slip, *arguments: slip(*arguments) > 1 and best(*arguments) > 0,  # 0 and 1 have other causes
        ),
    ],
    endings={
        "cpu": "A billion values of k are too many to try. If k fits, every smaller one does: where is the border, in "
        "30 questions?",
        "NotImplementedError": "Your top_k_bytes is still to do: solve it first, or work the bytes out here.",
    },
    hints=[
        "Three questions, in this order. Is the whole gradient hidden? If not, is k = 1? If not, which of the two is "
        "there sooner?",
        "Write a function seconds(k): d * codec + (P - 1) * (alpha + top_k_bytes(d, k) * beta). It grows with k.",
        "Bisection: keep one k that fits, 1, and one that does not, d. Try the middle, and replace one of the two; "
        "when they are neighbours, the first is the answer.",
    ],
)

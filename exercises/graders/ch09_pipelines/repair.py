"""Level 4 of chapter 9, repair: a pipeline that hangs, and a mean that is none."""

import numpy as np

from exercises.grading import Case, Distributed, Exercise, Finding, checks
from exercises.grading.exercise import ALPHA, BETA
from exercises.grading.returns import Returns
from reference.pipeline.schedules.plain import gpipe, naive, one_f_one_b
from reference.pipeline.simulate import Costs, simulate

from .common import shown, written

# Blocking both ways --------------------------------------------------------------------------------------------------

FORWARD, BACKWARD = 2.0**-10, 2.0**-9  # seconds: about 1 and 2 ms, far more than a message


class Pass:
    """forward(comm, i, x) or backward(comm, i, dy) of one stage: takes its time, and writes down which it was."""

    def __init__(self, kind, seconds, factor, log):
        self.kind, self.seconds, self.factor, self.log = kind, seconds, factor, log

    def __call__(self, comm, i, x):
        from reference import mpi  # here: collecting the exercises should not wait for it

        mpi.compute(comm, self.seconds)
        self.log.append(f"{self.kind}{i}")
        return self.of(i, x)

    def of(self, i, x):
        """What it computes: something that depends on the micro-batch, too."""
        return self.factor * np.asarray(x) + 0.125 * i

    def __repr__(self):
        return " ".join(self.log)


def pipelines(*sizes):
    """Cases (p, m, n)."""

    def cases(rng):
        for p, m, n in sizes:
            x, ranks = rng.standard_normal((m, n)), []
            for r in range(p):
                log, factors = [], rng.uniform(0.5, 1.5, 2)
                passes = Pass("F", FORWARD, factors[0], log), Pass("B", BACKWARD, factors[1], log)
                ranks.append((x if r == 0 else np.zeros((m, n)), *passes, m))
            yield Case(f"{checks.count(p, 'stage')}, {m} micro-batches of {n} numbers", tuple(ranks))

    return cases


def gradients(case):
    """Of each rank, and each micro-batch, the gradient for the stage's input."""
    x, *_, m = case.arguments[0]
    rows = np.array([[x[i]] * case.ranks for i in range(m)])
    for i in range(m):
        y = x[i]
        for _, forward, _, _ in case.arguments:
            y = forward.of(i, y)
        for r in reversed(range(case.ranks)):
            y = rows[i, r] = case.arguments[r][2].of(i, y)
    return rows.transpose(1, 0, 2)


def right_gradients(case, answer):
    """The values; and x is what it was on rank 0."""
    for r, (got, want) in enumerate(zip(answer.results, gradients(case))):
        wrong = np.flatnonzero(~np.isclose(got, want, rtol=1e-9, atol=1e-12).all(axis=1))
        if wrong.size:
            i = wrong[0]
            other = next((j for j in range(len(want)) if j != i and np.allclose(got[i], want[j], rtol=1e-9)), None)
            seen = f"rank {r}: the gradient of micro-batch {i} is not right" + (
                f"; it is that of micro-batch {other}." if other is not None else "."
            )
            if np.allclose(got, want, rtol=checks.FEW_DIGITS, atol=1e-8):
                return Finding(seen, checks.DIGITS)
            return Finding(
                seen,
                "Has what forward or backward is given arrived by then, and is it still there? An array belongs to one "
                "micro-batch until its passes are done.",
            )
    if not np.array_equal(answer.arguments[0][0], case.arguments[0][0]):
        return Finding("x was changed on rank 0.", "The micro-batches are still needed: work on memory of your own.")
    return None


def in_1f1b_order(case, answer):
    """What each rank did, in which order."""
    p, m = case.ranks, case.arguments[0][3]
    for r, mine in enumerate(answer.arguments):
        order, right = mine[1].text.split(), written(one_f_one_b(p, m).orders[r])
        if order == right:
            continue
        seen = f"rank {r} did {shown(order)}\n  1F1B is {shown(right)}"
        if order == written(naive(p, m).orders[r]):
            hint = (
                "One micro-batch after the other, forward and backward: nobody sends both ways, and nobody works at "
                "the same time as others. That is no pipeline any more."
            )
        elif [word[0] for word in order] == [action.kind for action in gpipe(p, m).orders[r] if action.kind != "S"]:
            hint = (
                "All forward passes first, as in GPipe: messages never meet then, and each rank keeps all m "
                f"micro-batches in place of {min(p - r, m)}. The order need not change for the messages' sake."
            )
        else:
            hint = "The order was right. It is the way of sending that has to be repaired, whatever the order is."
        return Finding(seen, hint)
    return None


def unhindered(case):
    """The time of 1F1B, in which messages take four times as long as they do: time for those that wait a little."""
    n = case.arguments[0][0].shape[1]
    costs = Costs(F=FORWARD, B=BACKWARD, send=4 * (ALPHA + 8 * n * BETA))
    return simulate(one_f_one_b(case.ranks, case.arguments[0][3]), costs).makespan


blocking_both_ways = Distributed(
    cases=pipelines((3, 5, 6), (2, 3, 4), (4, 8, 3), (4, 2, 5), (1, 2, 3), (2, 3, 1000)),
    checks=[
        checks.arrays(lambda case, rank: case.arguments[0][0].shape),
        checks.point_to_point,
        in_1f1b_order,
        right_gradients,
        checks.messages(
            lambda case, rank: case.arguments[0][3] * ((rank > 0) + (rank < case.ranks - 1)),
            "a stage",
            lambda case, sent, want: "Each activation goes to the next rank once, each gradient to the one before.",
        ),
        checks.bytes_sent(
            lambda case, rank: 8 * case.arguments[0][0].size * ((rank > 0) + (rank < case.ranks - 1)),
            "a stage",
            slips=[],
            otherwise="Each message is what forward or backward has returned for one micro-batch, n numbers of 8 "
            "bytes, and nothing else.",
        ),
        checks.no_later_than(
            unhindered,
            "with sends for which nobody waits",
            "It no longer hangs, and some ranks wait for others without need. When a rank has computed something it "
            "sends it at once, and goes on at once: who waits here, and for what?",
        ),
        checks.own_memory("x"),
    ],
    endings={
        "RequestsLeft": "Isend only begins. Before the function returns all that has been begun must be waited for, "
        "once and together: collect the requests in a list.",
        "BufferChanged": "An array was changed whose message may still be on its way: until it has been waited for it "
        "belongs to MPI. Which array does Recv write into here, and who may still be sending it?",
        "is in a send to a rank": "Two neighbours both stand in a call that waits until the other receives: one sends "
        "an activation down, the other a gradient up. Neither comes to its Recv. (To wait for an Isend in the next "
        "line is the same as Send.)",
        "Waitall(": "A rank waits for a message of its own to be received before it receives itself. When is it really "
        "necessary to wait for a send?",
        "Deadlock": "Who waits for whom? If a rank waits for its send to end before it receives, its neighbour may do "
        "just the same. When is it really necessary to wait for a send?",
    },
    hints=[
        "Two ranks, two micro-batches. Rank 0 does F0 F1 B0 B1, rank 1 F0 B0 F1 B1. Write down the calls of both, one "
        "below the other: in which two do they stand?",
        "Let no rank wait in a send. comm.Isend begins to send, returns a request, and the rank goes on; mpi.waitall("
        "requests) waits for all of them in the end.",
        "Until then the array that is sent must stay as it is. Recv(dy, ...) writes into y[i], which may still be on "
        "its way: receive into np.empty_like(dy).",
    ],
    in_place=True,
)


# The mean ------------------------------------------------------------------------------------------------------------


class Gradient:
    """gradient(X, y) of a mean loss over targets of at least 0, for at most `most` samples; it counts its calls."""

    def __init__(self, most):
        self.most, self.calls = most, 0

    def __call__(self, X, y):
        self.calls += 1
        if len(y) > self.most:
            raise MemoryError(f"{len(y)} samples at once, and there is memory for {self.most}")
        return self.mean(X, y)

    def mean(self, X, y):
        """The mean over targets that count; NaN if there are none. Zeros have gradients, too."""
        counts = np.asarray(y) >= 0
        with np.errstate(invalid="ignore"):
            of_each = (np.asarray(X) + 1) * np.where(counts, np.sqrt(np.add(y, 1)), 0)[:, None]
            return of_each.sum(0) / np.float64(counts.sum())

    def __repr__(self):
        return str(self.calls)


def batches(*rows):
    """Cases (y, m), y with -1 for no target; a number n stands for n targets that all count."""

    def cases(rng):
        for y, m in rows:
            y = rng.integers(1, 9, y) if isinstance(y, int) else np.array(y)
            X = rng.standard_normal((len(y), 3))
            yield Case(f"y = {y.tolist()!s:.80}, m = {m}", ((Gradient(-(-len(y) // m)), X, y, m),))

    return cases


def pieces(mean, X, y, m):
    """Of each micro-batch its gradient, its samples, its targets that count."""
    parts = np.array_split(np.arange(len(y)), m)
    return [(mean(X[part], y[part]), len(part), int((y[part] >= 0).sum())) for part in parts]


def weighted(weight):
    """The gradient if weight(samples, targets, pieces) is what a micro-batch's mean is multiplied by."""

    def gradient(its, X, y, m):
        parts = pieces(its.mean, X, y, m)
        return sum(g * weight(n, count, parts) for g, n, count in parts if count)

    return gradient


def above_zero(its, X, y, m):
    """Targets above 0 are counted."""
    parts = [(its.mean(X[part], y[part]), (y[part] > 0).sum()) for part in np.array_split(np.arange(len(y)), m)]
    return sum(g * count for g, count in parts if count) / sum(count for _, count in parts)


def without_the_rest(its, X, y, m):
    """Slices of n // m samples."""
    n = len(y) // m * m
    return its.mean(X[:n], y[:n])


def zeros_for_none(its, X, y, m):
    """Where there is no target, 0 is one."""
    return its.mean(X, np.maximum(y, 0))


def zeros_uncounted(its, X, y, m):
    """The same, divided by the targets that there are."""
    return zeros_for_none(its, X, y, m) * len(y) / (y >= 0).sum()


def blanked(its, X, y, m):
    """Where there is no target, the sample is made 0, and its target, too."""
    return zeros_uncounted(its, X * (y >= 0)[:, None], y, m)


NO_TARGET = "Samples whose target is -1 have a gradient here, as if -1 were another target: such samples must stay out."
OTHER_MEANS = [
    (zeros_for_none, NO_TARGET),
    (zeros_uncounted, NO_TARGET),
    (blanked, NO_TARGET),
    (above_zero, "A target of 0 counts, too: at least 0, and not above."),
    (without_the_rest, "The last samples are in no micro-batch: len(y) // m samples in each are fewer than there are."),
    (
        weighted(lambda n, count, parts: 1 / len(parts)),
        "That is the mean of the micro-batches' means: a target in a micro-batch with few of them counts more than "
        "others. How much should each micro-batch's mean weigh?",
    ),
    (weighted(lambda n, count, parts: 1), "The micro-batches' means are added up: too large, about m times."),
    (
        weighted(lambda n, count, parts: n / sum(samples for _, samples, _ in parts)),
        "Weighed by samples. Samples without a target do not count in a micro-batch's mean, so its mean must weigh as "
        "much as the targets it is of.",
    ),
    (
        weighted(lambda n, count, parts: count / sum(samples for _, samples, _ in parts)),
        "The sum is right, and divided by all samples. It is the targets that count.",
    ),
    (weighted(lambda n, count, parts: count), "That is the sum over all targets that count. The mean is asked for."),
    (
        weighted(lambda n, count, parts: count / parts[-1][2]),
        "The sum is right, and divided by the targets of the last micro-batch.",
    ),
    (
        weighted(lambda n, count, parts: count * len(parts) / sum(there for *_, there in parts)),
        "m times too large: the weights of all micro-batches must add up to 1.",
    ),
    (
        weighted(lambda n, count, parts: count / len(parts) / sum(there for *_, there in parts)),
        "m times too small: a sum that is divided by all targets is a mean already.",
    ),
]


def no_nan(case, results):
    """NaN, which comes of a micro-batch without targets."""
    (arguments,), (got,) = case.arguments, results
    if np.isnan(got).any() and any(count == 0 for *_, count in pieces(arguments[0].mean, *arguments[1:])):
        return Finding(
            "it returned NaN, and in one micro-batch no target counts.",
            "Where nothing counts gradient returns NaN, and 0 times NaN is NaN. Such a micro-batch has nothing to add.",
        )
    return None


def most_different(case, results, right):
    """The element that is farthest from what is right."""
    (got,), (want,) = results, right
    k = int(np.argmax(np.abs(got - want)))
    return f"element {k} is {got[k]:.6g}; of the whole batch it is {want[k]:.6g}."


def calls_of_gradient(case, answer):
    """No more than m."""
    calls, m = int(repr(answer.arguments[0][0])), case.arguments[0][3]
    return (
        Finding(
            f"gradient was called {calls} times for {checks.count(m, 'micro-batch')[:-1]}es.",
            "A micro-batch is computed at once: smaller pieces, or one twice, take longer.",
        )
        if calls > m
        else None
    )


mean_over_micro_batches = Exercise(
    cases=batches(
        (9, 2),
        (8, 4),
        ([3, 1, -1, -1, 5, 2], 2),
        ([4, -1, 2, 6, 1, 8, -1], 3),
        ([2, 7, -1, -1, 0, 3], 3),
        ([-1, -1, -1, 5], 2),
        (5, 1),
        (4, 4),
        (1000, 7),
    ),
    checks=[
        checks.arrays(lambda case, rank: (case.arguments[0][1].shape[1],), finite=False),
        Returns(
            lambda its, X, y, m: its.mean(X, y),
            OTHER_MEANS,
            otherwise="The sum over all targets that count, divided by how many these are. What has to be done to a "
            "micro-batch's mean to make its share of that?",
            seen=most_different,
            form=no_nan,
            same=lambda got, want: np.allclose(got, want, rtol=1e-9, atol=1e-12),
            nearly=lambda got, want: np.allclose(got, want, rtol=checks.FEW_DIGITS, atol=1e-8),
        ),
        calls_of_gradient,
    ],
    endings={
        "there is memory for": "More than a micro-batch at once: that is what there is no memory for, and why the "
        "batch is cut. Add up what the micro-batches give.",
        "ZeroDivisionError": "Something is divided by a number of targets that count, which is 0 in one micro-batch.",
    },
    hints=[
        "Two micro-batches, one of three targets and one of one. By what must each one's mean be multiplied, so that "
        "the sum is the mean over all four?",
        "By its share: the targets that count in it over those that count in the whole batch. np.sum(y >= 0) counts "
        "them.",
        "And where the share is 0, gradient gives NaN: leave that micro-batch out.",
    ],
)

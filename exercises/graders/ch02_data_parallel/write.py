"""Level 3 of chapter 2, write: buckets, a hook, accumulation, statistics of a batch."""

import numpy as np

from exercises.grading import Case, Distributed, Exercise, Finding, checks, inputs
from exercises.grading.returns import Returns

from .common import (
    Wanted,
    allreduce_seconds,
    called,
    communicated,
    counts_of,
    held,
    mean_over_samples,
    no_more_than,
    of_owner,
    one_sum,
    only_collectives,
    two_arrays,
    weighted_sums,
)
from .predict import recurrence


def buckets_of(nbytes, limit, first_limit, order=None, full=lambda held, more, limit: held + more > limit):
    """The buckets, or those of somebody with another order, or another opinion of when a bucket is full."""
    buckets = []
    for tensor in range(len(nbytes))[::-1] if order is None else order:
        most = first_limit if len(buckets) < 2 else limit
        if not buckets or full(sum(nbytes[i] for i in buckets[-1]), nbytes[tensor], most):
            buckets.append([])
        buckets[-1].append(tensor)
    return buckets


OTHER_BUCKETS = [  # what somebody may make of (nbytes, limit, first_limit), and the hint
    (
        lambda n, limit, first: buckets_of(n, limit, first, range(len(n))),
        "Those are the buckets from the first tensor on. The backward pass begins at the other end: which gradient is "
        "ready first, and would wait for all the others here?",
    ),
    (
        lambda n, limit, first: [sorted(bucket) for bucket in buckets_of(n, limit, first)],
        "The right buckets, each sorted the other way round: in a bucket, too, the gradients stand in the order in "
        "which they become ready.",
    ),
    (
        lambda n, limit, first: buckets_of(n, limit, first)[::-1],
        "The right buckets, in the reverse order: the first to be full comes first.",
    ),
    (
        lambda n, limit, first: [[i] for i in range(len(n))[::-1]],
        "Each tensor has a bucket of its own, so each pays a latency. They may share one as long as it holds no more "
        "than its limit.",
    ),
    (
        lambda n, limit, first: [[*range(len(n))[::-1]]],
        "All tensors are in one bucket. It is full when the backward pass is over, so nothing overlaps with it.",
    ),
    (
        lambda n, limit, first: buckets_of(n, limit, limit if n[-1] > first else first),
        "The last tensor, whose gradient comes first, is larger than `first_limit`, so it has the first bucket for "
        "itself; here others were put beside it, up to `limit`. When does `limit` begin to hold?",
    ),
    (
        lambda n, limit, first: buckets_of(n, limit, limit),
        "The first bucket was filled up to `limit`. It has a limit of its own.",
    ),
    (
        lambda n, limit, first: [[len(n) - 1 - i for i in bucket] for bucket in buckets_of(n, limit, first)],
        "The right tensors together, counted from the end: tensor 0 is the first one of the forward pass, nbytes[0].",
    ),
    (
        lambda n, limit, first: buckets_of(n, first, first),
        "Every bucket was filled up to `first_limit`. That is for the first one only.",
    ),
    (
        lambda n, limit, first: buckets_of(
            n, limit, first, full=lambda held, more, most: np.float32(held + more) > most
        ),
        "float32 has 7 digits, and bytes may have more: with what is rounded a tensor seems to fit that does not.",
    ),
    (
        lambda n, limit, first: buckets_of(n, limit, first, full=lambda held, more, most: held >= most),
        "Some buckets hold more than their limit: you look whether a bucket is full before you add, and not what it "
        "would hold then. (DDP has this rule. Here the limit is one that a bucket stays below, or meets.)",
    ),
    (
        lambda n, limit, first: buckets_of(n, limit, first, full=lambda held, more, most: held + more >= most),
        "A bucket may hold just as many bytes as its limit says: it is what it holds at most.",
    ),
]


def each_tensor_once(case, results):
    """A list of lists, in which each tensor is once."""
    ((nbytes, _, _),), (got,) = case.arguments, results
    got = checks.listed(got)
    if not isinstance(got, list) or not all(isinstance(bucket, list) for bucket in got):
        return Finding(f"it returned {got!r}.", "Return a list of lists: for each bucket the numbers of its tensors.")
    seen, tensors = f"it returned {got}.", [tensor for bucket in got for tensor in bucket]
    missing = sorted(set(range(len(nbytes))) - set(tensors))
    if [] in got:
        return Finding(
            seen,
            "A bucket is empty. When a tensor does not fit: had the bucket anything in it that had to be sent first? "
            "(Without tensors there are no buckets.)",
        )
    if set(tensors) - set(range(len(nbytes))):
        return Finding(seen, f"Buckets hold numbers of tensors, and these are numbered from 0 to {len(nbytes) - 1}.")
    if missing:
        return Finding(
            seen,
            f"Tensor {', '.join(map(str, missing))} is in no bucket, and its gradient would never be summed. What "
            "becomes of the bucket that is being filled when the loop ends? And of a tensor larger than the limit?",
        )
    if len(tensors) > len(nbytes):
        return Finding(seen, "Some tensor is in more than one bucket: it would be summed twice.")
    return None


filled = Returns(
    buckets_of,
    OTHER_BUCKETS,
    otherwise="Go from the last tensor to the first, with the bytes of the current bucket: each goes into it if it "
    "fits, and begins the next one if not. Was one put into a bucket that was closed already, because there was room?",
    seen=lambda case, got, want: f"it returned {got[0]}.",
    form=each_tensor_once,
    read=checks.listed,
)


def some_tensors(number, unit=1):
    """So many tensors, and limits for about four and two of them, or for more where there are many; all in `unit`s."""

    def drawn(rng):
        room, first = (int(most) * unit * -(-number // 40) for most in (rng.integers(70, 120), rng.integers(30, 60)))
        return [int(size) * unit for size in rng.integers(1, 60, number)], room, first

    return drawn


assign_buckets = Exercise(
    cases=inputs.calls(
        ([40, 10, 30, 15, 5], 60, 20),
        ([70, 25, 30, 20, 15, 10, 40, 15, 20], 60, 30),
        ([10, 90, 20, 20, 80], 50, 30),  # two larger than the limit, one of them first
        ([10, 20, 15, 40], 60, 30),  # the first one is larger than first_limit only
        ([30, 30, 10, 20, 30, 20], 50, 50),
        some_tensors(12),
        some_tensors(25),
        ([30, 30, 50, 20, 30, 40, 60, 30], 60, 100),  # the first limit is the larger one
        some_tensors(2000, unit=10**8),
        ([5, 2**24, 2**24 + 1, 7, 9], 2**25, 2**24),  # the two do not fit together, by one byte
        ([8], 100, 10),
        ([], 100, 10),
        names="nbytes limit first_limit",
    ),
    checks=[filled],
    hints=[
        "Work the example out by hand, from tensor 4 down to tensor 0, and write down how many bytes the current "
        "bucket has before and after each.",
        "A loop over the tensors, the last one first, with a list of buckets. Each tensor goes into the last of them, "
        "unless that would take it above its limit: then into a new one.",
        "Which limit holds? first_limit while there is one bucket, limit from the second on. Only a bucket that has "
        "something in it can be closed: the very first tensor needs a bucket in any case.",
    ],
)


class Backward:
    """A backward pass for the hook: for each tensor in turn it computes for some seconds, then the gradient is ready.

    Its text tells which hook held it up longest, and for how many of the clock's seconds.
    """

    def __init__(self, order, seconds, gradients):
        self.order, self.seconds, self.gradients, self.longest = order, seconds, gradients, (0.0, -1)

    def __call__(self, comm, hook):
        from reference import mpi  # here: collecting the exercises should not wait for it

        for tensor in self.order:
            mpi.compute(comm, self.seconds[tensor])
            begin = mpi.wtime(comm)
            hook(tensor, self.gradients[tensor].copy())
            self.longest = max(self.longest, (mpi.wtime(comm) - begin, tensor))

    def __repr__(self):
        return "{:.3e} {}".format(*self.longest)


def backward_passes(*rows):
    """Cases (P, buckets, elements of each tensor, microseconds of each tensor)."""

    def cases(rng):
        for P, buckets, sizes, times in rows:
            order, seconds = [tensor for bucket in buckets for tensor in bucket], [time * 1e-6 for time in times]
            held = [[rng.standard_normal(size) for size in sizes] for _ in range(P)]
            label = f"{checks.count(P, 'rank')}, buckets {buckets}"
            yield Case(label, tuple((Backward(order, seconds, mine), buckets) for mine in held))

    return cases


def one_for_each_tensor(case, answer):
    """Each rank returns a list with an array for each tensor, as long as its gradient."""
    want = [gradient.size for gradient in case.arguments[0][0].gradients]
    for rank, got in enumerate(answer.results):
        if not isinstance(got, list | tuple):
            kind = "None" if got is None else f"a {type(got).__name__}"
            return Finding(f"rank {rank} returned {kind}.", "Return a list: entry i is the sum for tensor i.")
        if len(got) != len(want):
            return Finding(
                f"rank {rank} returned {checks.count(len(got), 'entry') if len(got) == 1 else f'{len(got)} entries'}; "
                f"there are {checks.count(len(want), 'tensor')}.",
                "Entry i is the sum for tensor i: as many arrays as there are tensors, and not one for each bucket.",
            )
        sizes = [array.size if isinstance(array, np.ndarray) and array.ndim == 1 else None for array in got]
        kinds = {array.dtype for array in got if isinstance(array, np.ndarray)} - {np.dtype(np.float64)}
        if kinds:
            return Finding(f"rank {rank} returned an array of {kinds.pop()}.", "The gradients are float64.")
        if sizes != want:
            return Finding(
                f"rank {rank} returned arrays of {sizes} elements; the tensors have {want}.",
                "Entry i is the sum for tensor i. In which order do the gradients of a bucket stand in its array, and "
                "where does each begin and end?",
            )
    return None


def of_each_tensor(case, answer):
    """Each tensor of each rank, made of that tensor's gradients on rank 0, 1, ..."""
    passes = [backward for backward, _ in case.arguments]
    for rank, result in enumerate(answer.results):
        for tensor, got in enumerate(result):
            parts = {f"g{other}": each.gradients[tensor] for other, each in enumerate(passes)}
            yield Wanted(f"tensor {tensor} of rank {rank}", rank, case, got, parts, np.ones(case.ranks))


def sizes_of(case):
    """Elements in each bucket."""
    backward, buckets = case.arguments[0]
    return [sum(backward.gradients[tensor].size for tensor in bucket) for bucket in buckets]


def to_spare(buckets, hooks):
    """Seconds that are allowed, so that each hook may look whether some of the buckets are done."""
    return max(1e-6, 2e-7 * len(buckets) * hooks)


def overlapped(case):
    """Seconds of a backward pass with overlap."""
    backward, buckets = case.arguments[0]
    computing = [sum(backward.seconds[tensor] for tensor in bucket) for bucket in buckets]
    sending = [allreduce_seconds(case.ranks, size) for size in sizes_of(case)]
    return recurrence(0.0, computing, sending) + to_spare(buckets, len(backward.order))


def hooks_go_on(case, answer):
    """No hook waits: not even the last one, behind which there might be more of the model. Real ranks are not timed."""
    for rank, (backward, buckets) in enumerate(answer.arguments):
        seconds, tensor = backward.text.split()
        if answer.seconds is not None and float(seconds) > to_spare(buckets, 1):
            return Finding(
                f"the hook for tensor {tensor} kept rank {rank} for {float(seconds) * 1e6:.3f} us.",
                "As long as a hook waits the backward pass stands still, and what could overlap does not. What must "
                "only be begun in a hook, and where is the place to wait for it?",
            )
    return None


def late(case, answer):
    """The hint for a backward pass that took too long."""
    backward, _ = case.arguments[0]
    if answer.seconds >= sum(backward.seconds) + sum(allreduce_seconds(case.ranks, size) for size in sizes_of(case)):
        return (
            "That is computing first, and all the sending after it. When is the first bucket full? Its gradients need "
            "not wait for those of other buckets."
        )
    return (
        "Some of the sending overlaps, and some begins later than it could. In which call of the hook is a bucket "
        "complete? Count what is there, and begin at once."
    )


def calls_of_buckets(case, made):
    """The hint for other collective calls than one Iallreduce a bucket."""
    backward, buckets = case.arguments[0]
    if not made:
        return "Nothing was sent, so each rank has its own gradients only."
    if set(made) != {"Iallreduce"}:
        return (
            "Allreduce returns when the sum is there, and until then nothing else is done. Iallreduce only begins it."
            if "Allreduce" in made
            else "Iallreduce alone does it, once for each bucket."
        )
    if len(made) == len(backward.gradients):
        return (
            "As many calls as there are tensors: each pays a latency. Those of a bucket travel together, once, in one "
            "array (np.concatenate joins them), when the last of them is there."
        )
    if len(made) == 1:
        return (
            "One for everything: it can begin only when the backward pass is over, so nothing overlaps. Begin with a "
            "bucket as soon as it is full."
        )
    return f"{checks.count(len(buckets), 'bucket')}, each sent once, when it is full."


OWN = (
    "That is its own gradient: nothing of the others is in it. Is the array that is returned the one that was summed, "
    "and was it read after the wait?"
)


backward_with_overlap = Distributed(
    cases=backward_passes(
        (2, [[3, 2], [1, 0]], [300, 200, 320, 180], [3, 2, 4, 1]),
        (3, [[4], [3, 2], [1, 0]], [90, 180, 30, 60, 300], [5, 4, 1, 1, 2]),  # the first one is still under way
        (4, [[2, 1], [0]], [400, 100, 300], [6, 2, 3]),
        (2, [[0]], [40], [1]),
        (2, [[1, 3], [0, 4, 2]], [50, 70, 30, 60, 40], [2, 3, 1, 1, 2]),  # in no order of the model
        (1, [[2, 1], [0]], [30, 10, 20], [1, 1, 1]),
        (2, [[*range(k + 50, k, -1)] for k in range(999, -2, -50)], [40, 3, 1] * 350, [1] * 1050),
    ),
    checks=[
        one_for_each_tensor,
        called(lambda case: ["Iallreduce"] * len(case.arguments[0][1]), calls_of_buckets),
        weighted_sums(
            of_each_tensor,
            "g0 is this tensor's gradient on rank 0",
            slips=[
                (lambda each: np.eye(each.case.ranks)[each.rank], OWN),
                (
                    lambda each: np.full(each.case.ranks, 1 / each.case.ranks),
                    "Asked for are sums over the ranks, not means. (What to divide by is another question: "
                    "average_gradients.)",
                ),
            ],
            otherwise="Each rank's gradient belongs into the sum once. Is an array summed again that has been summed "
            "already?",
            nothing="No sum of this tensor's gradients: are they those of another tensor of the bucket, or was the "
            "array read before the all-reduce was done?",
        ),
        no_more_than(
            lambda case: sum(sizes_of(case)),
            "all-reduces of the buckets",
            "Too much travels. An all-reduce of a bucket takes that bucket's gradients along, and no others.",
        ),
        hooks_go_on,
        checks.no_later_than(overlapped, "and with overlap, a little to spare included, it", late),
    ],
    endings={
        "RequestsLeft": "Iallreduce only begins; before the sums are read, wait: mpi.waitall(requests), with the "
        "requests of all buckets. To have waited for the last one says nothing of those before it.",
        "BufferChanged": "Iallreduce only begins. Until its request has been waited for, the array belongs to MPI: "
        "neither add to it nor fill it anew. Each bucket needs an array of its own.",
        "KeyError": "Is every gradient of the bucket there already? The hook is called for one after the other.",
        "required positional argument": "backward takes two arguments, backward(comm, hook), and so does your hook: "
        "hook(i, gradient).",
        "could not broadcast": "A gradient is put into a place of another length. Where in the array of its bucket "
        "does it begin and end?",
    },
    hints=[
        "The hook is a function inside yours: it sees comm, buckets, and lists that you make before you call backward. "
        "What does it have to remember from one call to the next?",
        "Keep the gradients that have come. When the last one of a bucket comes, join the bucket's gradients, call "
        "Iallreduce, and remember the request and the array. The hook ends there: nothing waits.",
        "After backward(comm, hook): mpi.waitall(requests). Only now do the arrays hold the sums; cut each at the "
        "lengths of its gradients, and put the pieces where they belong in the list.",
    ],
)


def micro_batches(*rows):
    """Cases in which rank r has micro-batches of rows[i][r] samples; where these are many, of long gradients."""

    def cases(rng):
        for counts in rows:
            size = 9 + sum(map(len, counts)) if max(max(mine, default=0) for mine in counts) < 1000 else 3000
            held = [[rng.standard_normal(size) for _ in mine] for mine in counts]
            what = "; ".join(", ".join(map(str, mine)) or "none" for mine in counts)
            label = f"{checks.count(len(counts), 'rank')}, micro-batches of {what} samples"
            yield Case(label, tuple((held[rank], list(mine), size) for rank, mine in enumerate(counts)))

    return cases


def last(each):
    """1 for the last micro-batch of each rank."""
    return np.concatenate([np.eye(len(counts))[-1] for _, counts in held(each.case) if counts])


def calls_of_accumulation(case, made):
    """The hint for more calls than one Allreduce."""
    most = max(len(counts) for _, counts, _ in case.arguments)
    if set(made) == {"Allreduce"} and len(made) in (most, most + 1):
        return (
            f"One for each micro-batch: {most} times the bytes, for a sum that only counts in the end. Add up what is "
            "on the rank first. (DDP does the same to whoever forgets no_sync.)"
        )
    if len(made) == 2:
        return "Two calls are two latencies. The number of samples can travel in the same array as the gradient."
    return "One Allreduce, when all micro-batches have been added up."


accumulate = Distributed(
    cases=micro_batches(
        ([4, 2, 3], [1, 3, 2]),
        ([2, 5, 1], [3, 1, 1], [4, 2, 2]),
        ([3, 1], [], [2]),
        ([1, 6, 2],),
        ([], [2], [5, 1, 4], [3]),
        ([3], [3]),
        ([3_000_000_001, *[200_000_003] * 17], [], [70_001]),
    ),
    checks=[
        checks.arrays(lambda case, rank: (case.arguments[rank][2],), finite=False),
        one_sum(calls_of_accumulation),
        mean_over_samples(
            "g0[1] is gradients[1] of rank 0",
            [
                (
                    lambda each: 1 / np.full(len(counts_of(each)), len(counts_of(each))),
                    "Each micro-batch counts the same: (1 / K) times the sum of the means, as tutorials have it. That "
                    "is right if all have as many samples. They have not, and so each sample of a small one counts "
                    "more.",
                ),
                (
                    lambda each: counts_of(each) / of_owner(each, sum) / each.case.ranks,
                    "On each rank it is right, and then the mean of the ranks' means is taken. The ranks have "
                    "different numbers of samples, too.",
                ),
                (
                    lambda each: counts_of(each) / of_owner(each, sum),
                    "On each rank it is the mean over its own samples, and these means are added up: too much. Over "
                    "how many samples is the mean that is asked for?",
                ),
                (
                    lambda each: of_owner(each, np.mean) / counts_of(each).sum(),
                    "Between the ranks the weights are right. But on a rank each micro-batch counts the same, whatever "
                    "number of samples it has.",
                ),
                (
                    lambda each: counts_of(each) / len(counts_of(each)),
                    "Each micro-batch is weighted by its samples, as it should be; and then divided is by the number "
                    "of micro-batches. Over how many samples is the mean?",
                ),
                *[
                    (weights, "Each rank's last micro-batch alone: the others are overwritten, not added to.")
                    for weights in (
                        lambda each: last(each) * counts_of(each) / (last(each) @ counts_of(each)),
                        lambda each: last(each) * counts_of(each) / counts_of(each).sum(),
                    )
                ],
            ],
            otherwise="Some micro-batches are missing, or count too much. Was something added after the Allreduce, or "
            "summed over the ranks before all was added?",
            nothing="No weights give this from the gradients. Does the array begin with zeros? And which "
            "of its entries are gradient?",
        ),
        no_more_than(
            lambda case: case.arguments[0][2] + 2 * case.ranks,
            "one gradient and the numbers of samples",
            "Do the micro-batches travel one by one, in one large array? Nobody needs them apart: what can a rank add "
            "up before it sends anything? (Or is there more in the array, which nobody needs at all?)",
        ),
    ],
    endings={
        "returned already": "The ranks have different numbers of micro-batches, so a call for each is made more often "
        "by one rank than by another, and the first waits for ever. What can all ranks call equally often?",
        "CollectiveMismatch": "At the same call the ranks have arrays of different lengths. Has one no micro-batch "
        "from which to take the length (size tells it), or does one make more calls than another?",
        "need at least one array": "A rank may have no micro-batches at all. It still takes part in the Allreduce: "
        "with what?",
        **dict.fromkeys(
            ("UnboundLocalError", "IndexError", "ZeroDivisionError"),
            "A rank may have no micro-batches: nothing to index, nothing to divide by. It still takes part, with "
            "zeros; size tells how many.",
        ),
    },
    hints=[
        "Each gradient is that of a mean. Which number makes of it the gradient of a sum? Sums can be added: over the "
        "micro-batches of a rank, and over the ranks.",
        "Begin with an array of zeros that has one place more than the gradient has elements. Each micro-batch adds to "
        "all of it.",
        "First the loop over the micro-batches, without any call; after it one Allreduce, which every rank makes, also "
        "one without micro-batches; then divide.",
    ],
)


def rows_of_ranks(*rows):
    """Cases (rows of each rank, features, offsets of the ranks): numbers around an offset with a spread of about 1."""

    def cases(rng):
        for counts, k, offsets in rows:
            label = f"{checks.count(len(counts), 'rank')}, {', '.join(map(str, counts))} rows of {k}"
            held = [at + rng.standard_normal((n, k)) + rng.standard_normal(k) for n, at in zip(counts, offsets)]
            around = sorted(set(offsets))
            if around[0]:
                for x in held:
                    x[:, 0] = around[0] + 0.1
            if around[-1]:
                label += f", around {' or '.join(f'{at:,}' for at in around)}"
            yield Case(label, tuple((x,) for x in held))

    return cases


def spread(x):
    """(mean, variance) of each column."""
    mean = x.mean(axis=0)
    return mean, ((x - mean) ** 2).mean(axis=0)


def statistics(case, answer):
    """The mean and variance over the rows of all ranks."""
    held = [x for (x,) in case.arguments]
    mean, variance = spread(np.concatenate(held))
    for rank, (got_mean, got_variance) in enumerate(answer.results):
        for what, got, want, scale in (
            ("mean", got_mean, mean, np.abs(mean) + 1),
            ("variance", got_variance, variance, variance + 1e-2),
        ):
            wrong = ~(np.abs(got - want) <= 1e-7 * scale * (1e-5 if what == "mean" else 1))
            if wrong.any():
                first = np.flatnonzero(wrong)[0]
                off = f"{got[first]:.9g} for feature {first}, off by {abs(got[first] - want[first]):.2g}"
                return Finding(
                    f"rank {rank} has the {what} {off}.", wrong_statistics(what, got, held, rank, mean, variance)
                )
    return None


def wrong_statistics(what, got, held, rank, mean, variance):
    """Recognise what else may have been computed."""
    x, own, rows = held[rank], [spread(each) for each in held if len(each)], [len(each) for each in held if len(each)]
    n = sum(rows)
    if not np.isfinite(got).all():
        return "A rank without rows has no mean: 0 / 0 is NaN, and NaN in a sum makes NaN of all. What should it send?"
    if len(x) and np.allclose(got, spread(x)[what == "variance"], rtol=1e-9):
        return "That is of this rank's rows alone, as BatchNorm without synchronisation has it."
    if what == "mean":
        if np.allclose(got, np.mean([each for each, _ in own], axis=0), rtol=1e-9):
            return "That is the mean of the ranks' means. They have different numbers of rows."
        if np.allclose(got, mean, rtol=1e-5):
            return "Its first digits are right, and float64 has 16: float32, or large numbers that nearly cancel?"
        return "Every row counts once: which two sums over all ranks make the mean?"
    if np.allclose(got, np.sqrt(variance), rtol=1e-6):
        return "That is the standard deviation. The variance is its square."
    if np.allclose(got, variance * n / (n - 1 or 1), rtol=1e-6):
        return "That is divided by one less than the number of samples. Here it is divided by the number."
    inside = [each for _, each in own]
    if any(np.allclose(got, np.average(inside, axis=0, weights=each), rtol=1e-6) for each in (rows, None)):
        return (
            "That is a mean of the ranks' own variances. They are distances from the ranks' own means, which differ: "
            "how far a rank's mean is from the mean of all is missing in it."
        )
    if np.allclose(got, variance, rtol=0.01, atol=0.01):
        return (
            "Many digits are lost. Is it the difference of two large numbers that are nearly equal, such as the mean "
            "of x * x and mean * mean? That is mostly rounding. Take the distances from a mean first and square them "
            "then; each rank has a mean of its own to begin with. (float32 loses digits, too.)"
        )
    return "The mean is right. Add up, over all ranks, the squared distances from it; what does a rank know of them?"


def calls_of_statistics(case, made):
    """The hint for more collective calls than one, or none."""
    if not made:
        return "Nothing was sent, so a rank knows its own rows only."
    if len(made) == 2:
        return (
            "Two calls: the mean first, and then the distances from it. That is sound, and pays two latencies in each "
            "BatchNorm layer. What can a rank say of its rows before it knows the mean of all?"
        )
    return (
        "Each call pays a latency, in each BatchNorm layer, and one is enough. Numbers that are known at the same time "
        "can travel in one array."
    )


def one_call(case, answer):
    """Every rank calls one collective."""
    for rank in range(case.ranks):
        made = communicated(answer, rank)
        if len(made) != 1:
            return Finding(f"rank {rank} called {', '.join(made) or 'no collective'}.", calls_of_statistics(case, made))
    return None


batch_statistics = Distributed(
    cases=rows_of_ranks(
        ((5, 3), 3, (0, 0)),
        ((6, 2, 3), 2, (0, 0, 0)),
        ((3, 0, 5), 2, (0, 0, 0)),
        ((90, 40, 60), 2, (1_000_000,) * 3),
        ((40, 0, 70), 2, (0, 0, 1_000_000)),
        ((1, 1), 2, (0, 0)),
        ((7,), 3, (0,)),
        ((0, 1, 0, 2), 1, (0, 0, 0, 0)),
        ((900, 500), 3, (0, 0)),
    ),
    checks=[
        two_arrays(
            lambda case: case.arguments[0][0].shape[1],
            "mean, variance",
            "One mean and one variance for each column: x.sum(axis=0) adds up each column.",
        ),
        only_collectives,
        statistics,
        one_call,
        no_more_than(
            lambda case: case.ranks * (2 * case.arguments[0][0].shape[1] + 2),
            "a few numbers for each feature and rank",
            "That is more than an Allreduce of 2 k + 2 numbers of each rank: do rows of x travel? A rank can sum up "
            "what its rows have to say.",
        ),
    ],
    endings={
        "CollectiveMismatch": "All ranks must send arrays of one length, and they have different numbers of rows. What "
        "can a rank say of its rows that takes as many numbers on each?",
    },
    hints=[
        "Two ranks, one feature: 1, 3 and 7, 9, 11. What are the number, the mean and the sum of squared distances on "
        "each rank? Now compute the mean of all five from these six numbers only.",
        "A row's distance from the mean of all is its distance from its rank's mean plus that mean's distance from the "
        "mean of all. Square it, and add up over the rows of a rank: the mixed term is 0. Why?",
        "So each rank sends its n, its mean and its sum of squared distances M; and the variance is the sum over ranks "
        "of M + n (mean of the rank - mean of all)**2, over the number of all rows. A rank without rows sends zeros.",
    ],
)

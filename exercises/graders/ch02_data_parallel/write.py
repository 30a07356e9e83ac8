"""Level 3 of chapter 2, write: buckets, a hook, accumulation, statistics of a batch."""

import numpy as np

from exercises.grading import Case, Distributed, Exercise, Finding, checks, inputs

from .common import (
    Wanted,
    allreduce_seconds,
    called,
    communicated,
    only_collectives,
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
        "The first tensor is larger than `first_limit`, so it has the first bucket for itself; here others were put "
        "beside it, up to `limit`. When does `limit` begin to hold?",
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
        lambda n, limit, first: buckets_of(n, limit, first, full=lambda held, more, most: held >= most),
        "Some buckets hold more than their limit: you look whether a bucket is full before you add, and not what it "
        "would hold then. (DDP has this rule. Here the limit is one that a bucket stays below, or meets.)",
    ),
    (
        lambda n, limit, first: buckets_of(n, limit, first, full=lambda held, more, most: held + more >= most),
        "A bucket may hold just as many bytes as its limit says: it is what it holds at most.",
    ),
]


def filled(case, answer):
    """The right buckets."""
    ((nbytes, limit, first_limit),), (got,) = case.arguments, answer.results
    want = buckets_of(nbytes, limit, first_limit)
    if answer.arguments[0][0] != nbytes:
        return Finding(
            "nbytes is another list after the call.",
            "The caller still needs nbytes as it was: .reverse(), .pop() and .sort() change the list itself.",
        )
    if not isinstance(got, list) or not all(isinstance(bucket, list) for bucket in got):
        return Finding(f"it returned {got!r}.", "Return a list of lists: for each bucket the numbers of its tensors.")
    if got == want:
        return None
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
    hints = (hint for other, hint in OTHER_BUCKETS if got == other(nbytes, limit, first_limit))
    otherwise = "Go from the last tensor to the first, with the bytes of the current bucket: does this one fit?"
    if tensors != sorted(tensors, reverse=True):
        otherwise = (
            "The gradients are ready from the last tensor to the first, and do not stand in this order. Has one been "
            "put into a bucket that was closed already, because there was room, or has a large one overtaken the "
            "bucket that was being filled? Each goes into the current bucket, or begins the next one."
        )
    return Finding(seen, next(hints, otherwise))


def some_tensors(number):
    return lambda rng: (rng.integers(1, 60, number).tolist(), int(rng.integers(70, 120)), int(rng.integers(30, 60)))


assign_buckets = Exercise(
    cases=inputs.calls(
        ([40, 10, 30, 15, 5], 60, 20),
        ([70, 25, 30, 20, 15, 10, 40, 15, 20], 60, 30),
        ([10, 90, 20, 20, 80], 50, 30),  # two larger than the limit, one of them first
        ([10, 20, 15, 40], 60, 30),  # the first one is larger than first_limit only
        ([30, 30, 10, 20, 30, 20], 50, 50),
        some_tensors(12),
        some_tensors(25),
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

    Its text tells in which hooks it was held up, and for how many of the clock's seconds.
    """

    def __init__(self, order, seconds, gradients):
        self.order, self.seconds, self.gradients, self.held_up = order, seconds, gradients, {}

    def __call__(self, comm, hook):
        from reference import mpi  # here: collecting the exercises should not wait for it

        for tensor in self.order:
            mpi.compute(comm, self.seconds[tensor])
            begin = mpi.wtime(comm)
            hook(tensor, self.gradients[tensor].copy())
            if mpi.wtime(comm) > begin:
                self.held_up[tensor] = mpi.wtime(comm) - begin

    def __repr__(self):
        return " ".join(f"{tensor}:{seconds:.3e}" for tensor, seconds in self.held_up.items())


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
        if not isinstance(got, list):
            kind = "None" if got is None else f"a {type(got).__name__}"
            return Finding(f"rank {rank} returned {kind}.", "Return a list: entry i is the sum for tensor i.")
        if len(got) != len(want):
            return Finding(
                f"rank {rank} returned {checks.count(len(got), 'entry') if len(got) == 1 else f'{len(got)} entries'}; "
                f"there are {checks.count(len(want), 'tensor')}.",
                "Entry i is the sum for tensor i: as many arrays as there are tensors, and not one for each bucket.",
            )
        sizes = [array.size if isinstance(array, np.ndarray) and array.ndim == 1 else None for array in got]
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


A_LITTLE = 1e-6  # seconds to spare, so that a hook may look whether others are through


def overlapped(case):
    """Seconds of a backward pass with overlap."""
    backward, buckets = case.arguments[0]
    computing = [sum(backward.seconds[tensor] for tensor in bucket) for bucket in buckets]
    sending = [allreduce_seconds(case.ranks, size) for size in sizes_of(case)]
    return recurrence(0.0, computing, sending) + A_LITTLE


def held_up(case, answer):
    """The hint for a backward pass that took too long."""
    backward, _ = case.arguments[0]
    for rank, mine in enumerate(answer.arguments):
        waits = [each.split(":") for each in mine[0].text.split()]
        tensor, seconds = max(waits, key=lambda each: float(each[1]), default=(None, 0))
        if float(seconds) > A_LITTLE:
            return (
                f"The hook for tensor {tensor} kept rank {rank} for {float(seconds) * 1e6:.3f} us: so long the "
                f"backward pass stood still, and what could overlap did not. What must only be begun in a hook, and "
                f"where is the place to wait for it?"
            )
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
            "Allreduce returns when the sum is there, and until then the backward pass stands still. Iallreduce only "
            "begins it."
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


def nothing_else(case, answer):
    """All ranks together send what ring all-reduces of all buckets take; on real ranks it cannot be seen."""
    sent = sum(nbytes for messages in answer.sent for _, nbytes in messages)
    want = 2 * (case.ranks - 1) * sum(sizes_of(case)) * 8
    if sent == want or answer.seconds is None:
        return None
    return Finding(
        f"all ranks together sent {checks.count(sent, 'byte')}; all-reduces of the buckets take {want:,}.",
        "Too much travels. An all-reduce of a bucket takes that bucket's gradients along, and no others.",
    )


backward_with_overlap = Distributed(
    cases=backward_passes(
        (2, [[3, 2], [1, 0]], [300, 200, 320, 180], [3, 2, 4, 1]),
        (3, [[4], [3, 2], [1, 0]], [90, 180, 30, 60, 300], [5, 4, 1, 1, 2]),  # the first one is still under way
        (4, [[2, 1], [0]], [400, 100, 300], [6, 2, 3]),
        (2, [[0]], [40], [1]),
        (1, [[2, 1], [0]], [30, 10, 20], [1, 1, 1]),
    ),
    checks=[
        one_for_each_tensor,
        only_collectives,
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
            "array read before the all-reduce was through?",
        ),
        nothing_else,
        checks.no_later_than(overlapped, "and with overlap, a little to spare included, it", held_up),
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
    """Cases in which rank r has micro-batches of rows[i][r] samples."""

    def cases(rng):
        for counts in rows:
            size = 9 + sum(map(len, counts))
            held = [[rng.standard_normal(size) for _ in mine] for mine in counts]
            what = "; ".join(", ".join(map(str, mine)) or "none" for mine in counts)
            label = f"{checks.count(len(counts), 'rank')}, micro-batches of {what} samples"
            yield Case(label, tuple((held[rank], list(mine), size) for rank, mine in enumerate(counts)))

    return cases


def over_micro_batches(case, answer):
    """Each rank has the gradient of the mean over all samples, made of the micro-batches' gradients."""
    counts = samples(case)
    parts = {
        f"g{rank}[{k}]": gradient
        for rank, (gradients, _, _) in enumerate(case.arguments)
        for k, gradient in enumerate(gradients)
    }
    for rank, got in enumerate(answer.results):
        yield Wanted(f"rank {rank}", rank, case, got, parts, counts / counts.sum())


def samples(case):
    """Samples of all micro-batches, those of rank 0 first."""
    return np.array([count for _, counts, _ in case.arguments for count in counts])


def owners(each):
    """The rank of each micro-batch."""
    return np.array([rank for rank, (_, counts, _) in enumerate(each.case.arguments) for _ in counts])


def samples_of_owner(each):
    """For each micro-batch, how many samples its rank has in all."""
    return np.array([sum(counts) for _, counts, _ in each.case.arguments])[owners(each)]


def batches_of_owner(each):
    """For each micro-batch, how many its rank has."""
    return np.array([len(counts) for _, counts, _ in each.case.arguments])[owners(each)]


def alone(each):
    """1 for the micro-batches of the rank, 0 for the others'."""
    return (owners(each) == each.rank).astype(float)


def last(each):
    """1 for the last micro-batch of each rank."""
    return np.concatenate([np.eye(len(counts))[-1] for _, counts, _ in each.case.arguments if counts])


def calls_of_accumulation(case, made):
    """The hint for other calls than one Allreduce."""
    most = max(len(counts) for _, counts, _ in case.arguments)
    if not made:
        return "Nothing was sent: each rank has the samples of its own micro-batches only."
    if set(made) == {"Allreduce"} and len(made) in (most, most + 1):
        return (
            f"One for each micro-batch: {most} times the bytes, for a sum that only counts in the end. Add up what is "
            "on the rank first. (DDP does the same to whoever forgets no_sync.)"
        )
    if made in (["Reduce"], ["Ireduce"]):
        return "Reduce gives the sum to one rank only, the root. Every rank needs it."
    if len(made) == 2:
        return "Two calls are two latencies. The number of samples can travel in the same array as the gradient."
    return "One Allreduce, when all micro-batches have been added up."


def one_gradient(case, answer):
    """All ranks together send one gradient's ring all-reduce, with some numbers for each rank beside it."""
    sent = sum(nbytes for messages in answer.sent for _, nbytes in messages)
    most = 2 * (case.ranks - 1) * (case.arguments[0][2] + 2 * case.ranks) * 8
    if sent <= most or answer.seconds is None:
        return None
    return Finding(
        f"all ranks together sent {checks.count(sent, 'byte')}; one gradient and the number of samples take "
        f"{2 * (case.ranks - 1) * (case.arguments[0][2] + 1) * 8:,}.",
        "The micro-batches travel one by one, in one large array. Nobody needs them apart: what can a rank add up "
        "before it sends anything?",
    )


accumulate = Distributed(
    cases=micro_batches(
        ([4, 2, 3], [1, 3, 2]),
        ([2, 5, 1], [3, 1, 1], [4, 2, 2]),
        ([3, 1], [], [2]),
        ([1, 6, 2],),
        ([], [2], [5, 1, 4], [3]),
        ([3], [3]),
    ),
    checks=[
        checks.arrays(lambda case, rank: (case.arguments[rank][2],), finite=False),
        checks.kept("gradients"),
        checks.own_memory("gradients"),
        only_collectives,
        called(lambda case: ["Allreduce"], calls_of_accumulation),
        weighted_sums(
            over_micro_batches,
            "g0[1] is gradients[1] of rank 0",
            slips=[
                (
                    lambda each: np.ones(len(samples(each.case))),
                    "All means are added up, and nothing is weighted or divided. A gradient of the mean over 4 samples "
                    "stands for more than one over 2.",
                ),
                (
                    lambda each: 1 / np.full(len(samples(each.case)), len(samples(each.case))),
                    "Each micro-batch counts the same: (1 / K) times the sum of the means, as tutorials have it. That "
                    "is right if all have as many samples. They have not, and so each sample of a small one counts "
                    "more.",
                ),
                (
                    lambda each: samples(each.case) / samples_of_owner(each) / each.case.ranks,
                    "On each rank it is right, and then the mean of the ranks' means is taken. The ranks have "
                    "different numbers of samples, too.",
                ),
                (
                    lambda each: 1 / np.full(len(samples(each.case)), samples(each.case).sum()),
                    "You divide by the number of all samples, but what was added up are means: each stands for so many "
                    "samples of its micro-batch.",
                ),
                (
                    lambda each: samples_of_owner(each) / batches_of_owner(each) / samples(each.case).sum(),
                    "Between the ranks the weights are right. But on a rank each micro-batch counts the same, whatever "
                    "number of samples it has.",
                ),
                (
                    lambda each: samples(each.case) / len(samples(each.case)),
                    "Each micro-batch is weighted by its samples, as it should be; and then divided is by the number "
                    "of micro-batches. Over how many samples is the mean?",
                ),
                (
                    lambda each: samples(each.case),
                    "The weights are right; the sum must be divided by the number of all samples.",
                ),
                (
                    lambda each: samples(each.case) / samples(each.case).sum() / each.case.ranks,
                    "Divided twice: by the number of samples, and by the number of ranks. Once is enough.",
                ),
                (
                    lambda each: samples(each.case) / (samples(each.case) @ alone(each) or 1),
                    "Each rank divides by the number of its own samples. How many are there on all ranks?",
                ),
                *[
                    (
                        weights,
                        "Each rank's last micro-batch alone: the others are overwritten, not added to.",
                    )
                    for weights in (
                        lambda each: last(each) * samples(each.case) / (last(each) @ samples(each.case)),
                        lambda each: last(each) * samples(each.case) / samples(each.case).sum(),
                    )
                ],
            ],
            otherwise="Some micro-batches are missing, or count too much. Was something added after the Allreduce, or "
            "summed over the ranks before all was added?",
            nothing="No weights give this from the gradients. Does the array begin with zeros? And which "
            "of its entries are gradient?",
        ),
        one_gradient,
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
    """Cases (rows of each rank, features, offset): numbers around the offset with a spread of about 1."""

    def cases(rng):
        for counts, k, offset in rows:
            label = f"{checks.count(len(counts), 'rank')}, {', '.join(map(str, counts))} rows of {k}"
            held = [offset + rng.standard_normal((n, k)) + rng.standard_normal(k) for n in counts]
            if offset:
                for x in held:
                    x[:, 0] = offset + 0.1
            yield Case(label + f", around {offset:,}" * bool(offset), tuple((x,) for x in held))

    return cases


def two_arrays(case, answer):
    """Each rank returns two arrays with an element for each feature."""
    k = case.arguments[0][0].shape[1]
    for rank, got in enumerate(answer.results):
        matrix = isinstance(got, np.ndarray) and got.ndim == 2
        if not (isinstance(got, tuple | list) or matrix) or len(got) != 2:
            return Finding(f"rank {rank} returned {_what(got)}.", "Return two arrays: `return mean, variance`.")
        shapes = [np.shape(array) for array in got]
        if shapes != [(k,)] * 2:
            return Finding(
                f"rank {rank} returned arrays of shapes {shapes[0]} and {shapes[1]}; both should have ({k},).",
                "One mean and one variance for each column: x.sum(axis=0) adds up each column.",
            )
        kinds = [np.asarray(array).dtype for array in got]
        if kinds != [np.float64] * 2:
            return Finding(
                f"rank {rank} returned numbers of {kinds[0]} and {kinds[1]}; both should be float64, as x is.",
                "Somewhere an array is made with another element type than x has: look at np.empty, np.zeros, astype.",
            )
    return None


def _what(got):
    if isinstance(got, np.ndarray):
        return f"one array of shape {got.shape}"
    return "None" if got is None else f"a {type(got).__name__}"


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
                seen = f"rank {rank} has the {what} {got[first]:.9g} for feature {first}; right is {want[first]:.9g}."
                return Finding(seen, wrong_statistics(what, got, held, rank, mean, variance))
    return None


def wrong_statistics(what, got, held, rank, mean, variance):
    """Recognise what else may have been computed."""
    x, own, rows = held[rank], [spread(each) for each in held if len(each)], [len(each) for each in held if len(each)]
    n = sum(rows)
    if not np.isfinite(got).all():
        return "A rank without rows has no mean: 0 / 0 is NaN, and NaN in a sum makes NaN of all. What should it send?"
    if len(x) and np.allclose(got, spread(x)[what == "variance"], rtol=1e-9):
        return "That is of this rank's rows alone, as BatchNorm without synchronisation has it."
    if np.abs(mean).max() < 1e5 and np.allclose(got, (mean, variance)[what == "variance"], rtol=1e-5):
        return "It is right to about 7 digits. float64 carries 16: somewhere the numbers went through float32."
    if what == "mean":
        if np.allclose(got, np.mean([each for each, _ in own], axis=0), rtol=1e-9):
            return "That is the mean of the ranks' means. They have different numbers of rows."
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
    if np.abs(mean).max() > 1e5:
        return (
            "Many digits are lost: x * x and mean * mean are large numbers that are nearly equal, and their difference "
            "is mostly rounding. Take the distances from a mean first and square them then; each rank has a mean of "
            "its own to begin with."
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
        "Each call pays a latency, in each BatchNorm layer. Numbers that are known at the same time can travel in one "
        "array."
    )


def one_call(case, answer):
    """Every rank calls one collective."""
    for rank in range(case.ranks):
        made = communicated(answer, rank)
        if len(made) != 1:
            return Finding(f"rank {rank} called {', '.join(made) or 'no collective'}.", calls_of_statistics(case, made))
    return None


def no_rows(case, answer):
    """What a rank sends does not grow with its rows; an Allreduce of a row of 2 k + 1 numbers for each rank is most."""
    P, k = case.ranks, case.arguments[0][0].shape[1]
    most = 2 * (P - 1) * (2 * k + 2) * 8 + 16
    for rank, sent in enumerate(sum(nbytes for _, nbytes in messages) for messages in answer.sent):
        if sent > most:
            return Finding(
                f"rank {rank} sent {sent:,} bytes, for {k} features on {P} ranks.",
                "That is more than a few numbers for each feature: do rows of x travel? A rank can sum up what its "
                "rows have to say.",
            )
    return None


batch_statistics = Distributed(
    cases=rows_of_ranks(
        ((5, 3), 3, 0),
        ((6, 2, 3), 2, 0),
        ((3, 0, 5), 2, 0),
        ((90, 40, 60), 2, 1_000_000),
        ((1, 1), 2, 0),
        ((7,), 3, 0),
        ((0, 1, 0, 2), 1, 0),
    ),
    checks=[two_arrays, checks.unchanged, only_collectives, statistics, one_call, no_rows],
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

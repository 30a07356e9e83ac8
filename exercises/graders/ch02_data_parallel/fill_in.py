"""Level 2 of chapter 2, fill in: code with blanks."""

from collections import Counter

import numpy as np

from exercises.grading import Case, Distributed, Exercise, Finding, checks, contract

from .common import alone, counts_of, mean_over_samples, no_more_than, one_sum


def gradients_of_counts(*rows):
    """Cases in which rank r has counts[r] samples. Where these are many, the gradient is long, too."""

    def cases(rng):
        for counts in rows:
            n = 9 + len(counts) if max(counts) < 1000 else 3000
            held = [rng.standard_normal(n) * bool(count) for count in counts]
            label = f"{checks.count(len(counts), 'rank')}, {', '.join(map(str, counts))} samples"
            yield Case(label, tuple(zip(held, counts)))

    return cases


def not_called(case):
    """The hint for ranks that wait for one which has returned."""
    if any(count == 0 for _, count in case.arguments):
        return (
            "A rank without samples has nothing to add, and all the others still wait for its call. It takes part, "
            "with zeros."
        )
    return "An Allreduce is a call of all ranks, and begins when the last of them has made it. Which rank does not?"


average_gradients = Distributed(
    cases=gradients_of_counts((4, 1), (3, 5, 1), (2, 0, 6), (1, 2, 3, 4, 0), (7,), (2, 2), (70_001, 0, 3_000_000_001)),
    checks=[
        checks.arrays(
            lambda case, rank: case.arguments[rank][0].shape,
            hint=lambda case, answer, rank: "As many elements as the gradient had: the count is no part of it.",
            finite=False,
        ),
        one_sum(
            lambda case, made: "One Allreduce is enough: a single number more in the array costs no latency of its own."
        ),
        mean_over_samples(
            "g0 is the gradient of rank 0",
            [
                (
                    lambda each: np.full(each.case.ranks, 1 / each.case.ranks),
                    "That is the mean of the ranks' means. A sample on a rank that has few would count more than one "
                    "on a rank that has many: what must each rank's mean be multiplied by?",
                ),
                (
                    lambda each: counts_of(each) / each.case.ranks,
                    "The weights are right; divided is by the number of ranks. Over how many samples is the mean?",
                ),
                *[
                    (
                        lambda each, own=own: alone(each) * own(each),
                        "That is this rank's gradient alone: the others' are not in it, so the replicas would part. "
                        "What comes out of the Allreduce must go into the result.",
                    )
                    for own in (lambda each: 1, counts_of, lambda each: counts_of(each) / counts_of(each).sum())
                ],
            ],
            otherwise="Write the gradient of the sum over all samples: by what must each rank's mean be multiplied "
            "before it is added? And by what is that sum to be divided?",
            nothing="No weights give this from the ranks' gradients. Which entries of `both` are the gradient, and "
            "which one is the count?",
        ),
        no_more_than(
            lambda case: case.arguments[0][0].size + 2 * case.ranks,
            "the gradient and the counts",
            "A rank's gradient and its count are all that the others need of it. What else is in the array?",
        ),
    ],
    endings={"returned already": not_called},
    hints=[
        "Take the example: rank 0 has 4 samples and the gradient 1.0 of their mean. What is the gradient of the sum "
        "over these four? What do the two ranks' sums add up to, and how many samples are that?",
        "A mean over n samples is a sum divided by n. So what goes into the Allreduce is the gradient of a sum, and "
        "beside it a number that says of how many samples.",
        "After the Allreduce both[:-1] is the gradient of the sum over all samples, and both[-1] says how many they "
        "are. A rank without samples adds zeros to both, and needs no case of its own.",
    ],
)


def epochs(*rows):
    """Cases (samples, size, ranks): an epoch, with every step and rank as one call."""

    def cases(rng):
        for samples, size, ranks in rows:
            order = rng.permutation(samples).tolist()
            calls = [(order, size, step, rank, ranks) for step in range(-(-samples // size)) for rank in range(ranks)]
            what = f"{checks.count(samples, 'sample')}, batches of {size}, {checks.count(ranks, 'rank')}"
            yield Case(f"{what}, every step", tuple(calls))

    return cases


def lists(case, answer):
    """Each result is a list of whole numbers."""
    for (_, _, step, rank, _), got in zip(case.arguments, map(checks.listed, answer.results)):
        if not isinstance(got, list) or not all(isinstance(number, int) for number in got):
            return Finding(f"step {step}, rank {rank}: it returned {got!r}.", "Return a list of sample numbers.")
    return None


def whole_epoch(case, answer):
    """Each step's shares are its batch, no sample twice, and as even as can be."""
    order, size, _, _, ranks = case.arguments[0]
    for step in range(len(case.arguments) // ranks):
        batch = order[step * size : (step + 1) * size]
        parts = [checks.listed(part) for part in answer.results[step * ranks : (step + 1) * ranks]]
        hint = mistake(order, size, step, batch, parts)
        if hint is not None:
            held = f"batch {batch}: the ranks have {', '.join(map(str, parts))}"
            return Finding(f"step {step}, {held if len(held) < 500 else held[:500] + ' ...'}.", hint)
    return None


def mistake(order, size, step, batch, parts):
    """What is wrong with the shares of a step."""
    seen, sizes = Counter(sample for part in parts for sample in part), list(map(len, parts))
    strangers = [sample for sample in seen if sample not in batch]
    dropped = [sample for sample in batch if sample not in seen]
    twice = [sample for sample, times in seen.items() if times > 1]
    if not seen and 0 < len(batch) < size:
        return (
            "The last batch is smaller than the others, and nobody has it: those samples would be lost in this epoch."
        )
    if not seen:
        return f"Nobody has any sample. Where in the order does the batch of step {step} begin, and where does it end?"
    if strangers and sorted(seen) == list(range(step * size, step * size + len(batch))):
        return "Those are places in the order, counted from 0. Which samples stand there?"
    if strangers and len(batch) < size == sum(sizes) and not dropped:
        return (
            f"The last batch has what is left, {checks.count(len(batch), 'sample')}. Here it is filled up with samples "
            "of other steps, which then come twice in the epoch."
        )
    if strangers and sum(sizes) > len(batch) and not twice:
        return (
            f"The ranks have {sum(sizes)} samples together, and the batch has {len(batch)}. Share out the batch of a "
            "step, and not the epoch: where does the batch end?"
        )
    if strangers:
        of = f"is of step {order.index(strangers[0]) // size}" if strangers[0] in order else "is in no batch"
        return (
            f"Sample {strangers[0]} {of}. A batch has {size} samples, if so many are left: where in the order does "
            f"that of step {step} begin, and where does it end?"
        )
    if twice and set(seen.values()) == {len(parts)} and not dropped:
        return "Every rank has the whole batch: they all do the same work, and nothing is quicker."
    if twice and not dropped:
        return (
            f"Sample {twice[0]} comes more than once. Are some repeated so that all shares are equally long? Then they "
            "count more than others; and unequal shares do no harm if the average is weighted."
        )
    if twice:
        return (
            f"Sample {twice[0]} comes more than once and {dropped[0]} not at all: a share does not begin where the one "
            "before it ends. How many samples do all lower ranks have together?"
        )
    if dropped and len(set(sizes)) == 1:
        return (
            f"Sample {dropped[0]} is dropped, so that all shares are equally long: it would be lost in this epoch. "
            f"{checks.count(len(dropped), 'sample')} left over: who can take them?"
        )
    if dropped:
        return f"Sample {dropped[0]} is in no share. Add the sizes up: are they as many as the batch has?"
    up = -(-len(batch) // len(parts))
    if max(sizes) - min(sizes) > 1 and sizes == [len(batch[r * up : (r + 1) * up]) for r in range(len(parts))]:
        return (
            f"Each share is rounded up to {up}, until nothing is left: the shares have {', '.join(map(str, sizes))}. "
            "Their sizes may differ by one at most. How many ranks should have one more than the others?"
        )
    if max(sizes) - min(sizes) > 1:
        return (
            f"Each sample is there once, and the shares have {', '.join(map(str, sizes))}. All wait for the rank that "
            "has most: let the sizes differ by one at most."
        )
    return None


my_share = Exercise(
    cases=epochs(
        *[(6, 3, 3), (10, 5, 2), (13, 5, 3), (9, 4, 4), (10, 5, 4), (3, 2, 5), (5, 8, 2), (4, 2, 1), (1100, 600, 2)]
    ),
    checks=[contract.kept, lists, whole_epoch],
    endings={"IndexError": "A list's elements are numbered from 0, and a slice may end after its last element."},
    hints=[
        "Take 13 samples in batches of 5 on 3 ranks. Write down the three batches, and for each how many samples "
        "every rank gets.",
        "The batch of step s begins after s batches of `size`. A slice that goes beyond the end of a list ends there "
        "by itself, so the last batch needs no case of its own.",
        "len(batch) % ranks samples are left over when each rank has len(batch) // ranks. The first ranks take one "
        "each: (r < ...) is True or False, and counts as 1 or 0. A share begins after those of all lower ranks.",
    ],
)

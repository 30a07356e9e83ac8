"""Level 1 of chapter 2, predict: numbers to predict, statements to judge."""

from exercises.grading import Answer, Exercise, Finding, choices, inputs, numbers


def recurrence(forward, backward, communication):
    """When the last all-reduce is done."""
    full = through = forward
    for computing, sending in zip(backward, communication):
        full += computing
        through = max(full, through) + sending
    return through


def some_buckets(number):
    """A step of so many buckets that differ, in which sometimes the network waits and sometimes the buckets."""
    times = lambda rng: (rng.integers(100, 900, number) / 128).tolist()  # noqa: E731
    return lambda rng: (float(rng.integers(2, 9)), times(rng), times(rng))


step_time = Exercise(
    cases=inputs.calls(
        (4.0, [4.0, 1.0, 6.0], [3.0, 5.0, 1.5]),  # tells apart the slips that agree further down
        (5.0, [1.0] * 10, [0.8] * 10),
        (5.0, [1.0] * 10, [1.4] * 10),
        (2.0, [1.0, 6.0, 1.0, 1.0], [2.0, 1.0, 4.0, 1.0]),  # waits for a bucket, then for the network
        (2.0, [2.0, 1.0, 6.0, 3.0], [5.0, 5.0, 1.0, 2.0]),
        some_buckets(6),
        some_buckets(9),
        (2.0, [3.0], [4.0]),
        (2.0, [3.0, 1.0], [0.0, 0.0]),
        some_buckets(3000),
        names="forward backward communication",
    ),
    checks=[
        numbers.Number(
            recurrence,
            slips=[
                (
                    lambda f, b, c: f + sum(b) + sum(c),
                    "Nothing overlaps in your sum: computing, and then all that is sent. While the gradients of the "
                    "first layers are computed, those of the last layers can be on their way.",
                ),
                (
                    lambda f, b, c: f + max(sum(b), b[0] + sum(c)),
                    "Sending begins when bucket 0 is full, rightly. But when the last bucket is full there is an "
                    "all-reduce still to come, and one in the middle may have had to wait: neither is in your sum.",
                ),
                *[
                    (
                        formula,
                        "That is max(computing, communication), as if sending could begin with the step and end with "
                        "it. When is there something to send for the first time? And what is still to be sent when "
                        "the last gradient is computed?",
                    )
                    for formula in (
                        lambda f, b, c: max(f + sum(b), sum(c)),
                        lambda f, b, c: f + max(sum(b), sum(c)),
                    )
                ],
                (
                    lambda f, b, c: recurrence(0, b, c),
                    "The forward pass is missing. It comes first, and there are no gradients yet.",
                ),
                (
                    lambda f, b, c: f + max(sum(b) + c[-1], b[0] + sum(c)),
                    "Two cases: the network waits always, or never. With buckets that differ there is a third: it "
                    "waits for some bucket in the middle, and from then on has too much to do. Go bucket by bucket.",
                ),
                *[
                    (
                        formula,
                        "That is all the computing and one all-reduce at the end of it, as if each began when its "
                        "bucket is full. They go one after the other: if one takes longer than the next bucket needs "
                        "to fill, the queue grows.",
                    )
                    for formula in (
                        lambda f, b, c: f + sum(b) + c[-1],
                        lambda f, b, c: f + max(sum(b[: k + 1]) + c[k] for k in range(len(b))),
                    )
                ],
                (
                    lambda f, b, c: f + b[0] + sum(c),
                    "That is right if the network never has to wait for a bucket. Here it is quicker than the "
                    "backward pass, or than a part of it: when is the last bucket full?",
                ),
                (
                    lambda f, b, c: f + b[0] + sum(map(max, b[1:], c)) + c[-1],
                    "The backward pass waits in your sum: it goes on to the next bucket when the all-reduce of the one "
                    "before has finished, so each pair takes as long as the longer of the two. In truth it just goes "
                    "on, and what is still to be sent queues up.",
                ),
                (
                    lambda f, b, c: f + sum(map(max, b, c)),
                    "Each bucket takes the longer of its two times in your sum, as if it were sent while it is still "
                    "being filled, and as if the backward pass waited for it. When is bucket 0 full, and who waits "
                    "then?",
                ),
                (
                    lambda f, b, c: recurrence(f, [0.0, *b[:-1]], c),
                    "Your first all-reduce begins when the backward pass begins. What would it send? Bucket 0 is full "
                    "after backward[0].",
                ),
                *[
                    (
                        formula,
                        "A list was gone through from its end. Entry 0 of both is bucket 0, the first to be full.",
                    )
                    for formula in (
                        lambda f, b, c: recurrence(f, b[::-1], c[::-1]),
                        lambda f, b, c: recurrence(f, b[::-1], c),
                        lambda f, b, c: recurrence(f, b, c[::-1]),
                    )
                ],
                (lambda f, b, c: int(recurrence(f, b, c)), "What is behind the point of the seconds is cut off."),
                (
                    lambda f, b, c: 15.8,
                    "15.8 s is right for the first example of the docstring. Here the arguments are others.",
                ),
            ],
            otherwise="Go through the buckets in order, and keep two times: when is this one full, and when is its "
            "all-reduce done?",
            unit="s",
        )
    ],
    hints=[
        "Draw two lines over the time, one for computing and one for the network, with three buckets. When may the "
        "second all-reduce begin? There are two things that it waits for.",
        "An all-reduce begins at the later of two times: its bucket is full; the one before it has finished.",
        "Keep two numbers, `full` and `done`, both equal to forward before the first bucket. For each bucket, "
        "first move `full` on; then `done` is computed from both and from communication.",
    ],
)


def part(number, name, slips, otherwise, unit="bytes"):
    """The check of one of the three numbers that are returned together."""
    check = numbers.Number(PRICE[number], slips, otherwise, unit)

    def one(case, answer):
        finding = check(case, Answer([answer.results[0][number]], answer.arguments, answer.aliased))
        return finding and finding._replace(seen=f"{name}: {finding.seen}")

    def mistaken(formula):
        return lambda *given: tuple(formula(*given) if k == number else each(*given) for k, each in enumerate(PRICE))

    one.known = [(mistaken(formula), hint) for formula, hint in check.known]
    return one


def three_numbers(case, answer):
    """It returns (stored, sent, seconds)."""
    (got,) = answer.results
    if isinstance(numbers.listed(got), list) and len(got) == 3:
        return None
    return Finding(
        f"it returned {got!r}.",
        "Return three numbers, (stored, sent, seconds): `return a, b, c` makes a tuple of them.",
    )


def in_a_ring(P):
    """What a rank sends in a ring all-reduce, over what it has."""
    return 2 * (P - 1) / P


def bytes_stored(each):
    """Bytes on all ranks, if there are `each` for a parameter."""
    return lambda n, P, bandwidth: each * n * P


def bytes_sent(each):
    """Bytes that a rank sends, if there are `each` for a parameter."""
    return lambda n, P, bandwidth: in_a_ring(P) * each * n


PRICE = (bytes_stored(18), bytes_sent(2), lambda n, P, bandwidth: bytes_sent(2)(n, P, bandwidth) / bandwidth)


def some_replicas(ranks):
    return lambda rng: (int(rng.integers(1, 900)) * 10**8, ranks, int(rng.integers(5, 95)) * 1e9)


replica_price = Exercise(
    cases=inputs.calls(
        (70_000_000_000, 6, 50e9),
        (100_000_000_000, 8, 300e9),
        (100_000_000_000, 8, 10e9),
        some_replicas(5),
        some_replicas(64),
        (7_000_000_000, 1, 25e9),
        (1000, 7, 1e3),
        names="parameters ranks bandwidth",
    ),
    checks=[
        three_numbers,
        part(
            0,
            "stored",
            slips=[
                (
                    bytes_stored(1),
                    "That is one byte for each parameter, the folklore's 800 GB. A parameter of 16 bits has two, "
                    "and its weight is not all that training stores.",
                ),
                *[
                    (
                        bytes_stored(each),
                        "That is the weights alone. Which other numbers does training keep for each parameter? The "
                        "docstring lists them.",
                    )
                    for each in (2, 4)
                ],
                *[
                    (
                        lambda n, P, bandwidth, each=each: each * n,
                        "That is one replica. How many are there? Nothing of it is shared between ranks.",
                    )
                    for each in (1, 2, 18)
                ],
                *[
                    (
                        bytes_stored(each),
                        "Something is missing, or counted short. One number of 16 bits and four of 32 bits for each "
                        "parameter: how many bytes?",
                    )
                    for each in (6, 8, 10, 12, 14)
                ],
                (
                    bytes_stored(16),
                    "16 bytes a parameter are right where gradients are kept in 16 bits. In which format are they "
                    "here?",
                ),
                *[
                    (
                        bytes_stored(each),
                        "Too much. Which number has 16 bits and is counted with 32? Or is one there twice?",
                    )
                    for each in (20, 22)
                ],
                (bytes_stored(144), "Bytes, please, not bits."),
                *[(bytes_stored(18 / unit), "Bytes, please, not GB or TB.") for unit in (1e9, 2**30, 1e12, 2**40)],
                (
                    bytes_sent(2),
                    "That is what a rank sends. The order is (stored, sent, seconds).",
                ),
            ],
            otherwise="Add up the bytes that training keeps for one parameter; then how many parameters are there "
            "on all ranks together?",
        ),
        part(
            1,
            "sent",
            slips=[
                (
                    lambda n, P, bandwidth: 2 * n,
                    "That is the size of the gradients. What a rank of a ring sends of them is another number: "
                    "ring_time of chapter 1 has it.",
                ),
                (
                    lambda n, P, bandwidth: 4 * n,
                    "That is all of the gradients, twice. In each half of the ring there is a block that a rank "
                    "does not send.",
                ),
                (
                    bytes_sent(4),
                    "That is the right part of gradients with 32 bits. They are kept so, and rounded to 16 before "
                    "they are sent.",
                ),
                (
                    bytes_sent(1),
                    "Half of what is right. Either a gradient has one byte in your formula, or the ring has one "
                    "half: a reduce-scatter, and the allgather is still to come.",
                ),
                *[
                    (
                        bytes_sent(each),
                        "Is that in bits? Or all that is stored? Only gradients travel: weights and optimizer state "
                        "follow from them, and each rank computes its own.",
                    )
                    for each in (16, 18)
                ],
                (
                    lambda n, P, bandwidth: in_a_ring(P) * P * 2 * n,
                    "That is what all ranks send together. Asked for is one.",
                ),
            ],
            otherwise="How many bytes are the gradients, and which part of that does a rank of a ring send?",
        ),
        part(
            2,
            "seconds",
            slips=[
                (
                    lambda n, P, bandwidth: in_a_ring(P) * 16 * n / bandwidth,
                    "A factor of 8: bits? The bandwidth is in bytes per second already.",
                ),
                (
                    lambda n, P, bandwidth: in_a_ring(P) * n / bandwidth,
                    "Half of what is right: the bandwidth is for one direction already. That a link receives at "
                    "the same time makes sending no quicker.",
                ),
                (
                    lambda n, P, bandwidth: in_a_ring(P) * 2 * n / (P * bandwidth),
                    "All links together have P times the bandwidth, and P times as much to send.",
                ),
                (
                    lambda n, P, bandwidth: in_a_ring(P) * 2 * n * P / bandwidth,
                    "The ranks send at the same time, each over a link of its own.",
                ),
                (
                    lambda n, P, bandwidth: 2 * n / bandwidth,
                    "That is the time for the gradients' size. A rank sends more than that: `sent`.",
                ),
            ],
            otherwise="`sent` is right. How long does one link take for so many bytes?",
            unit="s",
        ),
    ],
    hints=[
        "Three short formulas. Begin with one parameter: how many bytes does one rank keep for it, and how many of "
        "these travel?",
        "One 16-bit number and four 32-bit numbers for each parameter, on each of the ranks. Of these only the "
        "gradient is all-reduced, in 16 bits: a reduce-scatter and an allgather, each sending all blocks but one.",
        "sent is 2 (P - 1) / P times the bytes of the gradients; seconds is sent over bandwidth. Compare with what one "
        "reads: by which factor is each of the two numbers wrong?",
    ],
)


gains_of_accumulation = Exercise(
    cases=inputs.calls(()),
    checks=[
        choices.Statements(
            "BCEH",
            "ABCDEFGHI",
            why={
                "A": "The gradients are added up on the rank before anything is sent. How many numbers has the sum of "
                "K gradients, compared with one of them?",
                "B": "Count both for K B samples: how often is there an all-reduce with and without accumulation, and "
                "how large is each?",
                "C": "After the backward pass of a micro-batch, which of its tensors are still needed: its "
                "activations, or only its gradients? What is in memory when the second one begins?",
                "D": "Which matrices does a kernel multiply? It sees one micro-batch at a time: has that become "
                "larger? (What falls is the part of the time that goes into all-reduces and updates.)",
                "E": "Write the gradient of the mean over K B samples as a sum over samples. Does it matter in which "
                "portions the sum is taken, if each is weighted by what it has?",
                "F": "BatchNorm computes its statistics in the forward pass. Which samples does it see there?",
                "G": "Gradients are added into the memory of .grad, which is there already. So what goes wrong in the "
                "next update: the memory, or the numbers?",
                "H": "Who tells the wrapper that more micro-batches follow? If nobody does, what does it do at the end "
                "of each backward pass? (DDP has a context for this, no_sync.)",
                "I": "There are rules for SGD and others for Adam, and one for the case that the global batch stays as "
                "it was. Is there one for every optimizer?",
            },
        )
    ],
    hints=[
        "Three statements are about bytes, two about memory, one about speed, three about what is computed. Take K = 2 "
        "and go through one update: what is in memory, what is sent, when?",
        "The sum of K gradients has as many numbers as one of them. The forward pass of a micro-batch knows nothing of "
        "the other micro-batches.",
        "Four of the nine are right.",
    ],
)


RULES = ("same", "linear", "square root")
which_rate = Exercise(
    cases=inputs.calls(()),
    checks=[
        choices.Situations(
            dict(zip("ABCDEFG", ("linear", "square root", "same", "same", "square root", "linear", "same"))),
            RULES,
            why={
                ("A", "square root"): "SGD's step is the rate times the mean gradient: 16 small steps in about the "
                "same direction are one with 16 times the rate. For which optimizer is that argument weaker?",
                ("A", "same"): "The global batch is 16 times as large, so there are 16 times fewer updates for the "
                "same samples. With the same rate SGD moves 16 times less far.",
                ("B", "linear"): "Adam divides by the root of the squared gradient. Where noise is most of the "
                "gradient, by which factor does that root shrink when the batch is 4 times as large?",
                ("B", "same"): "The global batch is 4 times as large, so its gradient has less noise and there are "
                "fewer updates. What do the rules say for Adam?",
                ("C", "linear"): "Twice the ranks with half the samples each: by which factor does the global batch "
                "change?",
                ("C", "square root"): "Which batch do the rules speak of: a rank's, or all ranks' together? Multiply "
                "ranks and samples.",
                ("D", "linear"): "Half the ranks with twice the micro-batches: how many samples go into an update now?",
                ("D", "square root"): "Accumulation makes up for the ranks that were lost. How many samples go into "
                "an update, before and now?",
                ("E", "linear"): "The batch is 4 times as large. But which optimizer is it?",
                ("E", "same"): "Nothing but time has been added, it seems: but how many samples go into an update now?",
                ("F", "same"): "The global batch has become smaller. The rules work in both directions.",
                ("F", "square root"): "A quarter of the batch, with SGD: which rule is SGD's? It works in both "
                "directions.",
                ("G", "linear"): "Without the division the sum of 4 times as many samples is about 4 times as long "
                "already. If the rate is multiplied by 4 on top of that, how far does a step go?",
                ("G", "square root"): "The sum over 4 times as many samples is about 4 times as long. What does SGD's "
                "rule ask for, and what of it has happened already?",
            },
            otherwise=dict.fromkeys(RULES, "How many samples go into one update, before and after?"),
        )
    ],
    hints=[
        "First question, each time: how many samples go into one update, before and after? Multiply ranks, samples a "
        "rank, and micro-batches.",
        "If that number has changed: which optimizer is it? The linear rule is for SGD, the square root for Adam.",
        'Three of the seven are "same", and one of these for another reason than the other two.',
    ],
)

"""Level 1 of chapter 10, predict: what a rank holds, what it sends, and which stage is quickest."""

from math import nan
from typing import NamedTuple

from exercises.grading import Exercise, Finding, inputs, numbers
from exercises.grading.returns import Returns, so_far

# Memory by hand ------------------------------------------------------------------------------------------------------


def held(parameters, P, stage, weights, gradients, optimizer):
    """Bytes of a rank: what the stage cuts is there as a P-th."""
    cut = [stage >= 3, stage >= 2, stage >= 1]
    return parameters * sum(
        each / P if one else each for each, one in zip((weights, gradients, optimizer), cut, strict=True)
    )


def some_states(rng):
    """A model on 3, 5 or 7 ranks, in mixed precision."""
    P = int(rng.choice([3, 5, 7]))
    return P * int(rng.integers(1e6, 1e9)), P, int(rng.integers(1, 4)), 2, int(rng.choice([2, 4])), 12


memory_by_hand = Exercise(
    cases=inputs.calls(
        (6 * 10**9, 6, 2, 2, 4, 12),
        (70 * 10**9, 16, 2, 4, 4, 8),
        (6 * 10**9, 6, 1, 2, 4, 12),
        (6 * 10**9, 6, 3, 2, 4, 12),
        (6 * 10**9, 6, 0, 2, 4, 12),
        (7 * 10**9, 1, 3, 2, 2, 12),
        some_states,
        some_states,
        (10**12, 1000, 3, 2, 2, 12),
        names="parameters P stage weights gradients optimizer",
    ),
    checks=[
        numbers.Number(
            held,
            slips=[
                (
                    lambda N, P, stage, w, g, o: held(N, P, stage, w, g, o) / P,
                    "Divided by P once too often. What is cut was divided already, and what is whole on every rank is "
                    "not to be divided at all. So 332.5 GB became 20.8 GB in print.",
                ),
                (
                    lambda N, P, stage, w, g, o: N * (w + g + o),
                    "That is all of it on every rank, as without ZeRO. Which of the three does the stage cut?",
                ),
                (
                    lambda N, P, stage, w, g, o: N * (w + g + o) / P,
                    "All three are divided by P. Which of them does this stage leave whole on every rank?",
                ),
                (
                    lambda N, P, stage, w, g, o: held(N, P, stage - 1, w, g, o),
                    "That is one stage lower: stage 1 cuts the optimizer's state, stage 2 the gradients as well, stage "
                    "3 the weights as well.",
                ),
                (
                    lambda N, P, stage, w, g, o: nan if stage == 2 else held(N, P, stage + 1, w, g, o),
                    "That is one stage higher: stage 1 cuts the optimizer's state alone, stage 2 the gradients as "
                    "well, and only stage 3 the weights.",
                ),
                (
                    lambda N, P, stage, w, g, o: N * w / P,
                    "Those are the weights alone, cut into P. There are gradients and the optimizer's state, too, and "
                    "only stage 3 cuts the weights.",
                ),
                (
                    lambda N, P, stage, w, g, o: N * w,
                    "Those are the weights alone. A P-th is less, not nothing: a rank holds gradients and the "
                    "optimizer's state as well.",
                ),
                (
                    lambda N, P, stage, w, g, o: held(N, P, stage, w, 0, o),
                    "The gradients are missing. They are there when the optimizer steps.",
                ),
                (
                    lambda N, P, stage, w, g, o: held(N, P, stage, w, g, 0),
                    "The optimizer's state is missing.",
                ),
                (
                    lambda N, P, stage, w, g, o: held(N, P, stage, w, g, 2 * o),
                    "The optimizer's state is counted twice: `optimizer` is all that it keeps for a parameter, both "
                    "moments of Adam, say.",
                ),
                (
                    lambda N, P, stage, w, g, o: N * sum((w, g, o)) - N * (0, o, g, w)[stage] * (P - 1) / P,
                    "One thing alone is cut at each stage in it. A stage cuts what the lower ones cut, too.",
                ),
                (
                    lambda N, P, stage, w, g, o: held(N, P, stage, w, g, o) * P,
                    "That is what all ranks hold together. Asked for is one of them.",
                ),
                (
                    lambda N, P, stage, w, g, o: held(N, P, stage, w, g, o) / 1e9,
                    "Those are gigabytes. Asked for are bytes.",
                ),
                (
                    lambda N, P, stage, w, g, o: held(N, P, stage, w, g, o) / 2**30,
                    "Those are gibibytes. Asked for are bytes.",
                ),
                (
                    lambda N, P, stage, w, g, o: held(N, P, stage, w, g, o) / N,
                    "Those are bytes for each parameter. How many parameters are there?",
                ),
                (
                    lambda N, P, stage, w, g, o: held(N, P, stage, o, g, w),
                    "It is the wrong way round: the first stages cut what is needed once a step, the optimizer's "
                    "state, and the last one what every layer needs, the weights.",
                ),
            ],
            otherwise="For each of weights, gradients and optimizer state: is it whole on a rank at this stage, or a "
            "P-th? Add the three up.",
            unit="bytes",
        )
    ],
    hints=[
        "Write three terms: bytes of the weights, of the gradients, of the optimizer's state. The stage says which of "
        "them are divided by P.",
        "Stage 1 divides the optimizer's state, stage 2 the gradients, too, stage 3 all three. Only what is divided "
        "becomes less with more ranks.",
        "Stage 2: parameters * (weights + (gradients + optimizer) / P).",
    ],
)


# Bytes of a step -----------------------------------------------------------------------------------------------------


def times(stage, K):
    """How often the model's numbers go once round a ring, by an all-gather or a reduce-scatter."""
    return [2, 2, K + 1, 3 * K][stage]


def once(N, P, itemsize):
    """Bytes that a rank sends in one all-gather or reduce-scatter of the whole model."""
    return (P - 1) * N * itemsize / P


def moved(N, P, stage, K, itemsize):
    return times(stage, K) * once(N, P, itemsize)


def going(*factors):
    """What somebody returns who has other factors for stages 0 to 3, as functions of K."""
    return lambda N, P, stage, K, itemsize: factors[stage](K) * once(N, P, itemsize)


def two(K):
    return 2


def some_step(rng):
    """A step on 3, 5 or 6 ranks with several micro-batches."""
    P = int(rng.choice([3, 5, 6]))
    return P * int(rng.integers(1e6, 1e8)), P, int(rng.integers(0, 4)), int(rng.integers(4, 9)), 2


bytes_of_a_step = Exercise(
    cases=inputs.calls(
        (6 * 10**8, 6, 3, 5, 2),
        (6 * 10**8, 6, 2, 5, 2),
        (6 * 10**8, 6, 1, 5, 2),
        (6 * 10**8, 6, 0, 5, 2),
        (64 * 10**8, 64, 2, 1, 2),
        (64 * 10**8, 64, 3, 1, 4),
        (10**6, 1, 3, 2, 4),
        (10**6, 2, 1, 7, 4),
        some_step,
        some_step,
        (10**12, 1000, 3, 64, 1),
        names="parameters P stage K itemsize",
    ),
    checks=[
        numbers.Number(
            moved,
            slips=[
                (
                    lambda N, P, stage, K, i: [2, 2, 2, 3][stage] * once(N, P, i),
                    "That is right for one micro-batch. What happens again with each of K, where there is no room for "
                    "whole gradients, or for whole weights?",
                ),
                (
                    going(two, two, lambda K: 2 * K, lambda K: 3 * K),
                    "As if stage 2 gathered the weights for each micro-batch. They change once a step, with the "
                    "optimizer's step.",
                ),
                (
                    going(lambda K: 2 * K, lambda K: 2 * K, lambda K: K + 1, lambda K: 3 * K),
                    "As if the whole gradients were reduced after each micro-batch. Stages 0 and 1 have room for them, "
                    "and add them up first.",
                ),
                (
                    going(two, lambda K: K + 1, lambda K: K + 1, lambda K: 3 * K),
                    "Stage 1 reduces after each micro-batch in it. It has room for whole gradients, and adds them up "
                    "first.",
                ),
                (
                    going(two, two, lambda K: K + 1, lambda K: 2 * K),
                    "Two for each micro-batch of stage 3. One gather is missing: what was freed after the forward pass "
                    "is needed again.",
                ),
                (
                    going(two, two, lambda K: K + 1, lambda K: 2 * K + 1),
                    "Stage 3 reduces only once in it, after the last micro-batch. It has no room for whole gradients: "
                    "they go to their shards after each.",
                ),
                (
                    going(two, two, lambda K: K + 1, lambda K: K + 2),
                    "Stage 3 gathers only once or twice a step in it. It has room for one whole unit, so every "
                    "micro-batch needs gathers of its own.",
                ),
                (
                    going(two, lambda K: 3, lambda K: K + 2, lambda K: 3 * K),
                    "An all-reduce of the gradients, and then a gather of the weights: but a rank needs the gradients "
                    "of its own shard alone. Which half of the all-reduce is enough?",
                ),
                (
                    going(two, two, lambda K: K, lambda K: 3 * K),
                    "The reduce-scatters are there for stage 2. After the step each rank has new weights of its own "
                    "shard only: how do the others get them?",
                ),
                (
                    going(two, lambda K: 1, lambda K: K + 1, lambda K: 3 * K),
                    "A reduce-scatter sends half of what an all-reduce does. The other half is not saved: after the "
                    "step each rank has new weights of its own shard only.",
                ),
                (
                    going(two, two, lambda K: K + 1, lambda K: 3 * K + 1),
                    "Stage 3 gathers nothing after the optimizer's step: the next forward pass does, unit by unit, and "
                    "that is counted already.",
                ),
                (
                    lambda N, P, stage, K, i: times(stage, K) * N * i,
                    "Nearly: a rank of a ring never sends all P blocks. How many does it send in an all-gather?",
                ),
                (
                    lambda N, P, stage, K, i: moved(N, P, stage, K, i) * P,
                    "That is what all ranks send together. Asked for is one of them.",
                ),
                (
                    lambda N, P, stage, K, i: moved(N, P, stage, K, i) / i,
                    "That is a number of elements. Asked for are bytes.",
                ),
                (
                    lambda N, P, stage, K, i: 2 * moved(N, P, stage, K, i),
                    "Twice what is right. An all-gather and a reduce-scatter send (P - 1) / P of the numbers each; "
                    "only an all-reduce, which is both, sends twice that.",
                ),
                (
                    lambda N, P, stage, K, i: moved(N, P, stage, K, i) / P,
                    "Divided by P once too often: in a ring every shard passes through every rank but one.",
                ),
            ],
            otherwise="List the collectives of a step: what is gathered or reduced, once, or once for each "
            "micro-batch? Each of them sends (P - 1) / P of the model's numbers.",
            unit="bytes",
        )
    ],
    hints=[
        "An all-reduce is a reduce-scatter and an all-gather. Which of these two does each stage do in a step, and how "
        "often?",
        "Whoever has no room for whole gradients reduces them for each micro-batch. Whoever has no room for whole "
        "weights gathers them for each pass.",
        "In units of (P - 1) / P times the model's bytes: 2, 2, K + 1 and 3 K.",
    ],
)


# Which stage ---------------------------------------------------------------------------------------------------------


class Given(NamedTuple):
    """The arguments."""

    parameters: int
    P: int
    tokens: int
    flops: int
    bandwidth: int
    memory: int
    activations: int


def computing(g):
    """Seconds of the forward pass."""
    return 2 * g.parameters * g.tokens / g.flops


def sending(g):
    """Seconds to gather or to scatter the model once."""
    return 2 * g.parameters * (g.P - 1) / g.P / g.bandwidth


def step(g, stage, x=computing, y=sending, backward=(2, 1, 1, 2)):
    """Seconds of a step, with other times if somebody has them. backward: how often y is sent in the backward pass."""
    x, y = x(g), y(g)
    forward, after = [0, 0, 0, 1][stage], [0, 1, 1, 0][stage]
    return max(x, forward * y) + max(2 * x, backward[stage] * y) + after * y


def needed(g, stage):
    """Bytes of a rank."""
    return held(g.parameters, g.P, stage, 2, 2, 12) + g.activations


def best(g, seconds=step, bytes=needed):
    """The best stage, or what somebody takes for it who has other times or bytes."""
    able = [stage for stage in range(4) if bytes(g, stage) <= g.memory]
    return min(able, key=lambda stage: (seconds(g, stage), stage), default=None)


def taking(**other):
    """What somebody returns who has other ones."""
    return lambda *arguments: best(Given(*arguments), **other)


OTHER_STAGES = [
    (taking(bytes=lambda g, stage: 0), "It does not fit: which bytes does a rank hold at this stage?"),
    (
        taking(bytes=lambda g, stage: needed(g, stage) - g.activations),
        "It does not fit: are all activations in it? They are those of the rank's own tokens, and take their place "
        "beside "
        "weights, gradients and state, undivided.",
    ),
    (
        taking(bytes=lambda g, stage: needed(g, stage) + 1),
        "A stage that needs as many bytes as there are fits, too.",
    ),
    (
        taking(bytes=lambda g, stage: held(g.parameters, g.P, stage, 2, 2, 12) + g.activations / g.P),
        "It does not fit: are all activations in it? They are those of the rank's own tokens, and take their place "
        "beside "
        "weights, gradients and state, undivided.",
    ),
    (
        taking(seconds=lambda g, stage: (step(g, stage), -stage)),
        "Several stages that fit take equally long: the lowest is asked for.",
    ),
    (
        taking(seconds=lambda g, stage: step(g, stage, x=lambda g: g.P * computing(g))),
        "What stage 3 sends seems hidden in it, and is not: either computing is too long, or sending too short. "
        "`tokens` "
        "are those of one rank, and weights travel with 2 bytes a number.",
    ),
    (
        taking(seconds=lambda g, stage: step(g, stage, x=lambda g: computing(g) / g.P)),
        "Computing is too short in it, or sending too long: more would be hidden than you think. Each rank computes "
        "all "
        "layers for its own tokens. What ZeRO divides by P is memory, not work.",
    ),
    (
        taking(seconds=lambda g, stage: step(g, stage, backward=(2, 1, 1, 1))),
        "In the backward pass stage 3 sends for 2 y seconds: it gathers the weights again, and scatters the gradients.",
    ),
    (
        taking(seconds=lambda g, stage: step(g, stage) - sending(g) * (stage in (1, 2))),
        "The gather after the optimizer's step is missing for stages 1 and 2, or hidden. Nothing computes meanwhile.",
    ),
    (
        lambda *arguments: 2 if arguments[0] < 10 * 10**9 else 3,
        "Below ten billion parameters stage 2, above it stage 3: that rule knows neither the memory, nor the ranks, "
        "nor the network. And whether stage 3 hides what it sends does not depend on the number of parameters at all.",
    ),
    (
        lambda *arguments: 1 if arguments[0] < 10 * 10**9 else 3,
        "Below ten billion parameters stage 1, above it stage 3: that rule knows neither the memory, nor the ranks, "
        "nor the network. And whether stage 3 hides what it sends does not depend on the number of parameters at all.",
    ),
    (
        taking(seconds=lambda g, stage: stage),
        "That is the lowest stage that fits, and it sends the least. What hides behind computing costs nothing, so "
        "another "
        "one takes less time: compute the four times.",
    ),
]


def number_of_stage(case, results):
    """0 to 3, or None."""
    (got,) = results
    if got is not None and (type(got) not in (int, float) or got not in (0, 1, 2, 3)):
        return Finding(f"it returned {got!r:.80}.", "Return the number of a stage, 0 to 3, or None.")
    return None


def facts(case, results, right):
    """Time and bytes of the stage that was chosen."""
    g, (got,), (want,) = Given(*case.arguments[0]), results, right
    words = [f"{name} {stage}: {_told(g, stage)}" for name, stage in (("stage", got), ("right is", want))]
    return f"{words[0]}; {words[1]}."


def _told(g, stage):
    if stage is None:
        return "no stage fits"
    return f"{step(g, stage):.4g} s a step, {needed(g, stage) / 1e9:.4g} GB of {g.memory / 1e9:.4g} GB"


G = 2**30


# Parameters, P, tokens, flops, bandwidth, memory, activations. Powers of two make times exact, so that ties are ties;
# the order lets each mistake be the first that goes wrong somewhere.
MACHINES = [
    (2 * G, 1, 1000, 2**46, 2**36, 60 * G, 10 * G),  # one rank
    (2 * G, 16, 1000, 2**48, 2**36, 13690208255, 7 * G),  # stage 2 lacks a byte
    (7 * G, 8, 1024, 2**48, 2**36, 200 * G, 4 * G),  # stages 0 and 1 are equally quick
    (2 * G, 16, 1000, 2**48, 2**36, 9 * G - 1, 7 * G),  # stage 3 lacks a byte
    (30 * G, 64, 3600, 2**48, 2**36, 20 * G, 4 * G),
    (7 * G, 2, 3000, 2**48, 2**36, 100 * G, 4 * G),
    (13 * G, 32, 6000, 2**48, 2**34, 100 * G, 30 * G),
    (2 * G, 16, 1000, 2**48, 2**36, 39 * G, 7 * G),  # full to the last byte with stage 0
    (3 * G, 8, 2048, 2**48, 2**36, 40 * G, 4 * G),
    (3 * G, 2, 600, 2**48, 2**36, 20 * G, 4 * G),
    (2 * G, 16, 1000, 2**48, 2**36, 17716740095, 7 * G),  # stage 1 lacks a byte
    (3 * G, 4, 3000, 2**48, 2**36, 48 * G, 5 * G),
    (7 * G, 8, 1024, 2**48, 2**36, 80 * G, 4 * G),  # a slow network
    (2 * G, 16, 1000, 2**48, 2**36, 39 * G - 1, 7 * G),
    (7 * G, 4, 20000, 2**48, 2**36, 128 * G, 4 * G),
    (2 * G, 16, 1000, 2**48, 2**36, 17716740096, 7 * G),
    (3 * G, 8, 1000, 2**48, 2**36, 20 * G, 4 * G),
    (7 * G, 8, 2390, 2**48, 2**36, 80 * G, 4 * G),  # 1.5 x is just above y
    (7 * G, 8, 2389, 2**48, 2**36, 80 * G, 4 * G),  # and just below
    (2 * G, 16, 1000, 2**48, 2**36, 13690208256, 7 * G),
    (7 * G, 8, 8192, 2**48, 2**36, 200 * G, 4 * G),  # all is hidden
    (2 * G, 16, 1000, 2**48, 2**36, 9 * G, 7 * G),
    (30 * G, 64, 6000, 2**48, 2**36, 128 * G, 4 * G),
    (7 * G, 8, 8192, 2**48, 2**36, 80 * G, 4 * G),
    (13 * G, 2, 1000, 2**48, 2**36, 20 * G, 4 * G),
    (1000 * G, 1024, 4096, 2**49, 2**35, 64 * G, 30 * G),  # very large
    (7 * G, 8, 5000, 2**48, 2**36, 60 * G, 4 * G),
    (30 * G, 64, 2048, 2**48, 2**36, 192 * G, 4 * G),  # 30 billion parameters, and stage 1 is quicker
    (30 * G, 64, 2048, 2**48, 2**36, 128 * G, 4 * G),
    (7 * G, 8, 1792, 2**48, 2**36, 80 * G, 4 * G),  # y is 2 x
    (7 * G, 4, 2048, 2**48, 2**36, 90 * G, 4 * G),  # y is 1.5 x: stages 1 and 3 are equally quick
]


def machines(rng):
    """The machines, and some that are drawn."""
    drawn = [
        (
            int(rng.integers(1, 40)) * G,
            2 ** int(rng.integers(1, 8)),
            int(rng.integers(500, 9000)),
            2**48,
            2 ** int(rng.integers(34, 38)),
            int(rng.integers(40, 300)) * G,
            int(rng.integers(0, 40)) * G,
        )
        for _ in range(4)
    ]
    return inputs.calls(*MACHINES, *drawn, names=" ".join(Given._fields))(rng)


which_stage = Exercise(
    cases=machines,
    checks=[
        Returns(
            taking(),
            OTHER_STAGES,
            otherwise="For each of the four stages that fits: the longer of computing and sending, for each of the two "
            "passes. The least sum of both wins, and of equal ones the lowest stage.",
            seen=facts,
            form=number_of_stage,
            could=so_far(MACHINES, lambda stage, machine: stage == best(Given(*machine))),
        )
    ],
    endings={
        "ValueError": "It may be that no stage fits: then there is nothing of which the least could be taken.",
    },
    hints=[
        "Two questions for each stage: do its bytes and the activations fit, and how long is a step? There are only "
        "four stages: try all.",
        "With x seconds of computing in the forward pass and y as in the text: stage 3 takes max(x, y) + "
        "max(2 x, 2 y). Write the other two down like that.",
        "Bytes: 16, 4 + 12 / P, 2 + 14 / P and 16 / P for each parameter, plus activations. Seconds: x + max(2 x, 2 "
        "y), "
        "x + max(2 x, y) + y for stages 1 and 2, and 3 max(x, y).",
    ],
)

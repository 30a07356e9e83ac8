"""Level 1 of chapter 11, predict: what each axis sends, what a layout holds, and when rebalancing pays."""

from math import nan

from exercises.grading import Exercise, inputs, numbers

# Elements sent along each axis ---------------------------------------------------------------------------------------


def along_data(d, t, p, N, B, s, h, L, recompute):
    return 2 * (d - 1) / d * N / (t * p)


def along_tensor(d, t, p, N, B, s, h, L, recompute):
    return (12 if recompute else 8) * (t - 1) / t * B / d * s * h * L / p


def along_stages(d, t, p, N, B, s, h, L, recompute):
    return 2 * B / d * s * h * (p > 1)


ALONG = {"data": along_data, "tensor": along_tensor, "stages": along_stages}


def sent(axis, *layout):
    return ALONG[axis](*layout)


def going(axis, formula):
    """What somebody returns who has another formula for one axis."""
    return lambda asked, *layout: formula(*layout) if asked == axis else nan


def some_axis(rng):
    """A layout of three axes."""
    d, t, p = (int(rng.choice(sizes)) for sizes in ((3, 5, 6), (2, 3, 4), (3, 4, 5)))
    axis = ("data", "tensor", "stages")[int(rng.integers(3))]
    size = int(rng.integers(1e8, 1e9)), d * int(rng.integers(2, 9)), 512, int(rng.choice([768, 1024]))
    return axis, d, t, p, *size, p * int(rng.integers(2, 9)), bool(rng.integers(2))


DP, TP, PP = "data", "tensor", "stages"

elements_sent = Exercise(
    cases=inputs.calls(
        ("data", 5, 7, 4, 63 * 10**7, 20, 1024, 768, 24, False),
        ("tensor", 5, 7, 4, 63 * 10**7, 20, 1024, 768, 24, False),
        ("stages", 5, 7, 4, 63 * 10**7, 20, 1024, 768, 24, False),
        ("tensor", 5, 7, 4, 63 * 10**7, 20, 1024, 768, 24, True),
        ("data", 1, 8, 4, 10**9, 8, 512, 1024, 16, True),
        ("tensor", 8, 1, 4, 10**9, 8, 512, 1024, 16, False),
        ("stages", 6, 2, 1, 10**9, 24, 512, 1024, 16, False),
        ("stages", 1, 2, 4, 10**9, 24, 512, 1024, 16, True),
        some_axis,
        some_axis,
        ("data", 128, 8, 16, 405 * 10**9, 2048, 8192, 16384, 128, False),
        ("tensor", 128, 8, 16, 405 * 10**9, 2048, 8192, 16384, 128, True),
        ("stages", 128, 8, 16, 405 * 10**9, 2048, 8192, 16384, 128, False),
        names="axis d t p parameters B s h L recompute",
    ),
    checks=[
        numbers.Number(
            sent,
            slips=[
                (
                    lambda axis, *layout: sum(each(*layout) for each in ALONG.values()),
                    "That is the sum over all three axes. They use different links, one quicker than the other, so the "
                    "sum says nothing about time. Asked for is one axis.",
                ),
                (
                    going(DP, lambda d, t, p, N, *_: 2 * (d - 1) * N / (t * p)),
                    "That is what the whole group of d ranks sends. In print the division by d gets lost on the way to "
                    "the total. Asked for is one rank.",
                ),
                (
                    going(DP, lambda d, t, p, N, *_: 2 * (d - 1) / d * N),
                    "As if each rank had the gradients of the whole model. How many parameters has a rank?",
                ),
                (
                    going(DP, lambda d, t, p, N, *_: (d - 1) / d * N / (t * p)),
                    "Half of it: a ring all-reduce is a reduce-scatter and an all-gather, and each sends (d - 1) / d.",
                ),
                (
                    going(DP, lambda d, t, p, N, *_: 2 * N / (t * p)),
                    "Nearly: a rank of a ring never sends all d blocks. With d = 1 nothing is sent.",
                ),
                (
                    going(DP, lambda d, t, p, N, *_: 2 * (d - 1) / d * N / t),
                    "The stages have other layers each, so they divide the gradients, too.",
                ),
                (
                    going(DP, lambda d, t, p, N, *_: 2 * (d - 1) / d * N / p),
                    "The tensor ranks have other parts of each layer, so they divide the gradients, too.",
                ),
                (
                    going(TP, lambda d, t, p, N, B, s, h, L, r: 2 * B * s * h * L / p),
                    "2 B s h L / p is in print. It has one all-reduce for a layer that has four, a ring without its "
                    "(t - 1) / t, and the whole batch, of which a rank sees a d-th.",
                ),
                (
                    going(TP, lambda *layout: along_tensor(1, *layout[1:])),
                    "With the whole batch in it. Each of the d replicas sees a d-th of the sequences.",
                ),
                (
                    going(TP, lambda *layout: along_tensor(*layout[:2], 1, *layout[3:])),
                    "As if each rank had all layers. How many layers has a stage?",
                ),
                (
                    going(TP, lambda *layout: along_tensor(*layout) / 2),
                    "Half of it. There are two all-reduces forward and two backward, and each sends nearly twice its "
                    "elements.",
                ),
                (
                    going(TP, lambda *layout: along_tensor(*layout) / 4),
                    "A fourth of it. There are two all-reduces forward and two backward, and each sends nearly twice "
                    "its elements.",
                ),
                (
                    going(TP, lambda d, t, p, N, B, s, h, L, r: (12 if r else 8) * B / d * s * h * L / p),
                    "Nearly: a rank of a ring never sends all t blocks. With t = 1 nothing is sent.",
                ),
                (
                    going(TP, lambda d, t, *layout: along_tensor(d, t, *layout) / t),
                    "Divided by t once too often. All tensor ranks add up whole activations: each has a part of every "
                    "sum, and the sums are as many as without them.",
                ),
                (
                    going(TP, lambda *layout: along_tensor(*layout[:-1], False)),
                    "The forward pass is done again, and with it its all-reduces: six in place of four.",
                ),
                (
                    going(TP, lambda *layout: along_tensor(*layout[:-1], True)),
                    "As if the forward pass was always done twice. Without recomputation there are four all-reduces a "
                    "layer.",
                ),
                (
                    going(TP, lambda *layout: along_tensor(*layout[:-1], False) * (2 if layout[-1] else 1)),
                    "Recomputation does the forward pass again, not the backward pass: six all-reduces and not eight.",
                ),
                (
                    going(PP, lambda d, t, p, N, B, s, h, *_: 2 * B * s * h * (p - 1)),
                    "2 B s h (p - 1): that is the whole batch over all boundaries of the pipeline. Asked for is a "
                    "rank, which sees a d-th of the batch and has one boundary on each side.",
                ),
                (
                    going(PP, lambda d, t, p, N, B, s, h, *_: 2 * B / d * s * h * (p - 1)),
                    "That is what all stages send together: p - 1 boundaries. A rank sends over two of them, once "
                    "each.",
                ),
                (
                    going(PP, lambda d, t, p, N, B, s, h, *_: 2 * B * s * h * (p > 1)),
                    "With the whole batch in it. Each of the d replicas sees a d-th of the sequences.",
                ),
                (
                    going(PP, lambda d, t, p, *layout: along_stages(d, t, p, *layout) / p),
                    "Divided by p. The stages have other layers each, and each sees all sequences of the replica.",
                ),
                (
                    going(PP, lambda *layout: along_stages(*layout) / 2),
                    "Half of it. Activations go forward, and as many gradients go back.",
                ),
                (
                    going(PP, lambda d, t, *layout: along_stages(d, t, *layout) / t),
                    "Divided by t. That is what it takes if the tensor ranks send a t-th each and gather it on the "
                    "other side. Here each sends it whole.",
                ),
                (
                    going(PP, lambda *layout: 2 * along_stages(*layout)),
                    "Twice what is right. What a rank receives, another one sends.",
                ),
                (
                    going(PP, lambda d, t, p, N, B, s, h, *_: 2 * B / d * s * h),
                    "With one stage there is nobody to send to.",
                ),
                (
                    going(PP, lambda d, t, p, N, B, s, h, L, r: 2 * B / d * s * h * (p > 1) * L / p),
                    "That is sent for every layer. Between stages only the last layer's activations go on.",
                ),
            ],
            otherwise="How many elements has one message or collective of this axis, how many of them are there in a "
            "step, and which part of it does one rank send?",
            unit="elements",
        )
    ],
    hints=[
        "Of the model a rank has a t p-th, of the batch a d-th, of the layers a p-th. Which of them matter for this "
        "axis?",
        "Data: one all-reduce of the rank's gradients. Tensor: four all-reduces for each of the rank's layers, six "
        "with recomputation. Stages: two messages for each sequence.",
        "Tensor: each all-reduce is of B / d s h elements, and sends 2 (t - 1) / t of them. There are 4 L / p of them, "
        "or 6 L / p.",
    ],
)


# The fullest rank ----------------------------------------------------------------------------------------------------


def parameters(h, feed_forward):
    """Of a layer."""
    return 4 * h * h + 2 * h * feed_forward


def most_layers(L, p):
    """Of a stage."""
    return -(-L // p)


def held(h, ff, L, t, p, d, sharded, layer=parameters, layers=most_layers, each=16):
    return each * layer(h, ff) * layers(L, p) / t / (d if sharded else 1)


def holding(**other):
    """What somebody returns who counts otherwise."""
    return lambda *layout: held(*layout, **other)


def some_shape(rng):
    """A model whose layers the stages do not divide."""
    h, p = 128 * int(rng.integers(4, 60)), int(rng.choice([3, 5, 7]))
    L = p * int(rng.integers(2, 9)) + int(rng.integers(1, p))
    return (
        h,
        int(rng.choice([2, 3, 8])) * h,
        L,
        int(rng.choice([2, 4])),
        p,
        int(rng.choice([3, 6])),
        bool(rng.integers(2)),
    )


fullest_rank = Exercise(
    cases=inputs.calls(
        (6144, 20480, 50, 4, 8, 6, False),
        (6144, 20480, 50, 4, 8, 6, True),
        (20480, 81920, 120, 8, 16, 16, False),
        (20480, 81920, 120, 8, 16, 16, True),
        (1024, 4096, 24, 1, 1, 1, True),
        (1024, 2048, 24, 2, 6, 1, False),
        some_shape,
        some_shape,
        (16384, 53248, 126, 8, 16, 128, True),
        names="h feed_forward L t p d sharded",
    ),
    checks=[
        numbers.Number(
            held,
            slips=[
                (
                    lambda h, ff, L, t, p, d, sharded: nan if sharded else held(h, ff, L, t, p, d, True),
                    "Divided by d. The ranks along the data axis have copies, unless they are sharded: 16 replicas "
                    "hold the model 16 times.",
                ),
                (
                    lambda h, ff, L, t, p, d, sharded: held(h, ff, L, t, p, d, False),
                    "Here all three are sharded over the data axis: each of its ranks holds a d-th.",
                ),
                (
                    holding(layers=lambda L, p: L / p),
                    "That is the mean over the stages. A stage has whole layers, and the fullest one has more: with "
                    "120 layers on 16 stages nobody has 7.5.",
                ),
                (
                    holding(layers=lambda L, p: L // p),
                    "That is a stage with fewer layers. If p does not divide the layers, some have one more.",
                ),
                (
                    holding(layers=lambda L, p: L // p + 1),
                    "One layer too many where p divides the layers: then all stages have equally many.",
                ),
                (
                    holding(layer=lambda h, ff: 12 * h * h),
                    "12 h h is right for a feed-forward part that is four times as wide as the model. Here it has a "
                    "width of its own.",
                ),
                (
                    holding(layer=lambda h, ff: 4 * h * h + h * ff),
                    "The feed-forward part has two matrices: to its width, and back.",
                ),
                (
                    holding(layer=lambda h, ff: 3 * h * h + 2 * h * ff),
                    "The attention has four matrices: query, key, value, and the one behind them.",
                ),
                (
                    holding(layer=lambda h, ff: h * h + 2 * h * ff),
                    "The attention has four matrices of h x h, of which one is in it.",
                ),
                (
                    holding(layer=lambda h, ff: 2 * h * ff),
                    "Those are the feed-forward parts alone. The attention has parameters, too.",
                ),
                (holding(layers=lambda L, p: L), "That is all layers. A rank has those of its own stage."),
                (holding(layers=lambda L, p: 1), "That is one layer. How many are there in a stage?"),
                (
                    lambda h, ff, L, t, p, d, sharded: held(h, ff, L, 1, p, d, sharded),
                    "The tensor axis cuts every matrix: each of its ranks holds a t-th.",
                ),
                (holding(each=2), "Those are the weights alone, 2 of the 16 bytes of a parameter."),
                (holding(each=4), "Weights and gradients are in it, and the optimizer's 12 bytes are missing."),
                (holding(each=12), "That is what the optimizer has. Weights and gradients take 2 bytes each."),
                (holding(each=1), "That is a number of parameters. Each takes 16 bytes."),
                (holding(each=16e-9), "Those are gigabytes. Asked for are bytes."),
                (holding(each=16 / 2**30), "Those are gibibytes. Asked for are bytes."),
                (
                    lambda h, ff, L, t, p, d, sharded: held(h, ff, L, t, p, 1, False) * t * p,
                    "That is as if this one rank had t p parts. What does one of them hold?",
                ),
                *(
                    (
                        lambda h, ff, L, t, p, d, sharded, each=each: each * 200e12 / (t * p * d),
                        "200 trillion is what the model was said to have. Its shape says how many it has: count the "
                        "matrices of a layer.",
                    )
                    for each in (1, 2, 16)
                ),
            ],
            otherwise="How many parameters has a layer, how many layers has the fullest stage, and which part of each "
            "does one rank hold?",
            unit="bytes",
        )
    ],
    hints=[
        "Three questions: the parameters of a layer, the layers of the fullest stage, and by which axes they are cut.",
        "A layer has 4 h h + 2 h feed_forward parameters. The fullest stage has L / p layers, rounded up. The tensor "
        "axis always divides; the data axis, if everything is sharded.",
        "16 bytes times parameters of a layer times layers of the fullest stage, divided by t, and by d if sharded.",
    ],
)


# Seconds saved -------------------------------------------------------------------------------------------------------


def before(speeds, units):
    """Seconds of a step with equal shares."""
    return units / len(speeds) / min(speeds)


def after(speeds, units):
    """Seconds of a step with shares in proportion to the speeds."""
    return units / sum(speeds)


def inverted(speeds, units):
    """Seconds of a step whose shares are base * mean / speed, as a formula in print has it."""
    mean = sum(speeds) / len(speeds)
    return max(units / len(speeds) * mean / speed / speed for speed in speeds)


def inverse(speeds, units):
    """The same, with shares that add up."""
    weights = [1 / speed for speed in speeds]
    return max(units * weight / sum(weights) / speed for weight, speed in zip(weights, speeds, strict=True))


def saved(speeds, units, steps, moving, was=before, will_be=after):
    return steps * (was(speeds, units) - will_be(speeds, units)) - moving


def saving(**other):
    """What somebody returns who takes a step to last otherwise."""
    return lambda *given: saved(*given, **other)


def some_speeds(rng):
    """Three to six ranks, one of them slow."""
    speeds = [int(speed) for speed in rng.integers(50, 90, int(rng.integers(3, 7)))]
    speeds[int(rng.integers(len(speeds)))] = 30
    return speeds, int(rng.integers(1000, 9000)), int(rng.integers(10, 99)), int(rng.integers(1, 50))


MOVED = "The move itself takes `moving` seconds, once. They are lost, however many steps follow."
INVERTED = (
    "base * mean / speed gives the slow rank more work, not less. Which share does a rank need that is half as quick?"
)

seconds_saved = Exercise(
    cases=inputs.calls(
        ([4, 4, 2, 4], 56, 100, 30),
        ([10, 5], 300, 7, 3),
        ([4, 4, 2, 4], 56, 10, 90),
        ([8, 8, 8], 240, 50, 12),
        ([6], 60, 5, 2),
        some_speeds,
        some_speeds,
        ([100] * 1023 + [50], 10**6, 10_000, 600),
        names="speeds units steps moving",
    ),
    checks=[
        numbers.Number(
            saved,
            slips=[
                (
                    lambda speeds, units, steps, moving: saved(speeds, units, 1, moving),
                    "That is one step's saving less the move. The move is paid once; the saving comes with every step "
                    "that is left.",
                ),
                (
                    lambda speeds, units, steps, moving: saved(speeds, units, steps, moving) + moving,
                    MOVED,
                ),
                (
                    lambda speeds, units, steps, moving: saved(speeds, units, steps, -moving),
                    "The move was added. It takes time, so it makes the saving smaller.",
                ),
                (
                    lambda speeds, units, steps, moving: saved(speeds, units, steps, steps * moving),
                    "The move was paid in every step. It happens once.",
                ),
                (
                    lambda speeds, units, steps, moving: -saved(speeds, units, steps, moving),
                    "The sign is the wrong way round: what is saved is the time without the move, less that with it.",
                ),
                (
                    lambda speeds, units, steps, moving: max(0, saved(speeds, units, steps, moving)),
                    "Less than 0 would be right: the move costs more than the steps save. This is how one sees that "
                    "it does not pay.",
                ),
                (saving(will_be=inverted), INVERTED),
                (saving(will_be=inverse), INVERTED),
                (
                    saving(was=lambda speeds, units: units / sum(speeds)),
                    "Before the move, a step takes as long as its slowest rank does with an equal share. It is not "
                    "what the ranks take on average.",
                ),
                (
                    saving(was=lambda speeds, units: units / len(speeds) / max(speeds)),
                    "Before the move the step ends with the slowest rank, not with the quickest one.",
                ),
                (
                    saving(was=lambda speeds, units: units / min(speeds)),
                    "As if the slowest rank had all units before the move. It has an equal share.",
                ),
                (
                    saving(will_be=lambda speeds, units: units / len(speeds) / max(speeds)),
                    "As if all ranks were as quick as the quickest one after the move. The slow ones stay slow, and "
                    "get less.",
                ),
                (
                    saving(will_be=lambda *given: sum(given[1] / len(given[0]) / s for s in given[0]) / len(given[0])),
                    "That is the mean of the ranks' seconds with equal shares. If all ranks take equally long, how "
                    "many units do they do in a second together?",
                ),
                (
                    lambda speeds, units, steps, moving: steps * before(speeds, units) - moving,
                    "That is how long the steps take without the move. With it they take some time, too.",
                ),
                (
                    lambda speeds, units, steps, moving: before(speeds, units) - after(speeds, units),
                    "That is one step's saving. How many steps are left, and what does the move take?",
                ),
            ],
            otherwise="How long does a step take before the move, and how long after it? How often is the difference "
            "saved, and how often is the move paid?",
            unit="seconds",
        )
    ],
    hints=[
        "Take two ranks, one twice as quick. How long does a step take with equal shares, and with the best shares?",
        "Before: units / P, by the slowest rank. After: all ranks work until the end, so they do sum(speeds) units a "
        "second.",
        "steps times the difference of the two, less `moving`.",
    ],
)

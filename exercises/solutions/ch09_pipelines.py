"""Solutions of chapter 9. Each docstring says why it works; it is shown once the exercise is solved."""

import re

# Level 1: predict --------------------------------------------------------------------------------------------------


def bubble_share(schedule, p, m, v):
    """A rank's work is m passes forward and backward. GPipe's and 1F1B's step is as long as m + p - 1 of them: the
    first micro-batch needs p - 1 passes to come to the last rank, and its gradient as many to come back. So p - 1 of
    m + p - 1 are idle, on every rank, and how long a backward pass takes cancels. 48 layers on 8 ranks with 32
    micro-batches: 7 / 39 = 17.9 %, with both. 1F1B shrinks memory and not the bubble.

    Naively one rank works at a time: (p - 1) / p, however many micro-batches there are. With v stages on a rank the
    way to the last stage's rank is as long, but made of passes a v-th as long: (p - 1) / v in place of p - 1. (p - 1) /
    m, and p / m for short, is another number: idle time over work, not over time. For 8 ranks and 8 micro-batches it
    is 88 %, and the share of time 47 %. Follow-up: what is the share of a pipeline that never flushes?
    """
    if schedule == "naive":
        return (p - 1) / p
    return (p - 1) / (v * m + p - 1)


def least_micro_batches(p, percent):
    """(p - 1) / (m + p - 1) <= share is m >= (p - 1) (1 - share) / share. In whole percents that is an exact division,
    rounded up; with share = percent / 100 as a float it can be just above a whole number, and one too many comes out.

    20 % need 4 (p - 1), so 4 p is a little more than enough; 10 % need 9 (p - 1), 5 % need 19 (p - 1): half the bubble
    costs twice the micro-batches. For a fixed batch these are half as large, and small matrices are slow. A pipeline
    of one rank has no bubble; it still needs a micro-batch. Follow-up: how many does it take with v stages a rank?
    """
    return max(1, -((p - 1) * (percent - 100) // percent))


def activations_kept(schedule, p, m, batch):
    """Rank r is p - 1 - r passes forward ahead when its first backward pass comes, and has one more in hand: p - r
    micro-batches, or all m if there are fewer. From then on each forward pass follows on a backward pass. GPipe has
    done all m forward passes before it frees anything.

    So for a given batch GPipe needs batch / p on every rank, whatever m is: more micro-batches are smaller ones. 1F1B
    needs (p - r) / m of that, and half of it for twice as many. In the example that is 16 GB against 8, 6, 4, 2 GB
    with 8 micro-batches, and 4, 3, 2, 1 GB with 16. Whoever writes "M P A against P A" compares the whole cluster with
    one rank: it is M against at most P for a rank, and M P against P (P + 1) / 2 for all. Follow-up: rank 0 keeps most
    and the last rank least. What could the last rank use its memory for?
    """
    in_hand = [m if schedule == "GPipe" else min(p - r, m) for r in range(p)]
    return [number * batch / (p * m) for number in in_hand]


def which_schedule():
    """GPipe keeps all m micro-batches, and these together are the batch, so A is GPipe's. B is what 1F1B is for. C
    cannot be, in any order: the last rank begins after p - 1 forward passes of the others, has m passes of each kind to
    do, and p - 1 backward passes of the others follow. Nor D: none of the five makes both smaller. The interleaved
    schedule pays in messages, with p v - 1 crossings in place of p - 1, and in memory, with p + (p - 1) / v
    micro-batches in place of p; and its last rank sends to the first, E and J. ZB-H1 fills two thirds of the bubble
    with work that nobody waits for, and pays in nothing but code, F.

    PipeDream pays in gradients at old weights, and in versions of the weights: p of them on the first rank, G and H. It
    saves no memory. No pipeline needs as many ranks as layers; it is the other way round, at most as many, I. And an
    order of passes does not balance stages: the longest sets the pace of them all, K. Follow-up: PipeDream-2BW needs
    two versions on every rank. What does it wait for that PipeDream does not?
    """
    return {
        "A": "GPipe",
        "B": "1F1B",
        "E": "interleaved",
        "F": "ZB-H1",
        "G": "PipeDream",
        "H": "PipeDream",
        "J": "interleaved",
        **dict.fromkeys("CDIK", "none"),
    }


def tp_or_pp(P, layers, batch, s, h, m, seconds, bandwidth):
    """What goes from layer to layer is n = 2 batch s h bytes. Tensor parallelism sums it four times in each layer, and
    a ring all-reduce sends 2 (P - 1) / P n: 8 (P - 1) / P n for each layer. A pipeline's rank in the middle sends it
    once forward, and its gradient once backward: 2 n for all its layers, however many they are. The ratio is 4 layers
    (P - 1) / P, 280 in the example. How the batch is cut changes neither.

    Fewer bytes are not the end of it. TP's ranks wait for theirs; PP's travel while others are computed, but p - 1 of m
    + p - 1 passes are idle, which makes the step (p - 1) / m longer. In the example that is 36.6 s against 38.1 s at
    450 GB/s, and 127.5 s against 38.1 s at 25 GB/s. So: TP inside a machine, PP between machines, and both in large
    trainings. Left out: smaller matrices (both), TP's overlap, the memory of either. Follow-up: with how many
    micro-batches does PP win inside the machine as well?
    """
    n = 2 * batch * s * h
    tp, pp = 4 * layers * 2 * (P - 1) * n // P, 2 * n
    tp_seconds = seconds / P + tp / bandwidth
    pp_seconds = seconds / P * (m + P - 1) / m
    return tp, pp, "TP" if tp_seconds < pp_seconds else "PP"


# Level 2: fill in --------------------------------------------------------------------------------------------------


def stage_order(p, m, stage):
    """While the first micro-batch goes on to the last stage, this one works ahead: p - 1 - stage forward passes, one
    for each stage behind it; hence min, where there are not as many micro-batches. After that every forward pass is
    followed by a backward pass, so what is kept does not grow: p - stage micro-batches.

    The last stage has no warm-up and no rest at all: F0 B0 F1 B1 ... With one pass fewer in the warm-up no stage waits
    for ever, but the pipeline runs dry: a stage then waits for a gradient while it could have gone forward. With one
    more it is no quicker, and keeps one micro-batch more. Follow-up: how long is the warm-up that hides a slow link?
    """
    warmup = min(p - 1 - stage, m)
    order = [f"F{i}" for i in range(warmup)]
    for i in range(m - warmup):
        order += [f"F{warmup + i}", f"B{i}"]
    return order + [f"B{i}" for i in range(m - warmup, m)]


def when_it_ends(orders, seconds, send):
    """A rank does its actions in its order; each starts when the rank is free and when what it needs has come, so at
    the later of the two. That is the whole of a simulator, and the outer loop only makes sure that what is needed has
    been worked out before. Every action is visited once, and times are exact, whatever an action costs.

    A message delays who receives it and not who sends it: that is why a pipeline's sends must not block. Yet they cost
    time in 1F1B: with p stages and a send of c seconds each micro-batch waits 2 c (p - 1) / p longer, so the bubble
    grows with m. (A micro-batch's way there and back takes 2 c (p - 1) longer, and p are on their way at once.) A
    longer warm-up hides it, at the price of memory. Follow-up: what would have to change if a link carried one message
    at a time?
    """
    end = {}
    free = [0.0 for _ in orders]
    times = [[] for _ in orders]
    while any(len(times[r]) < len(order) for r, order in enumerate(orders)):
        for r, order in enumerate(orders):
            for action in order[len(times[r]) :]:
                needed = (r - 1, action) if action[0] == "F" else (r + 1, action)
                if 0 <= needed[0] < len(orders) and needed not in end:
                    break
                start = max(free[r], end.get(needed, -send) + send)
                end[r, action] = free[r] = start + seconds[action[0]]
                times[r].append((start, end[r, action]))
    return times


def messages_of(orders, rank):
    """Forward passes go along the model, backward passes against it, and W stays. So an action's result belongs to the
    stage after it in its own direction, and what it needs comes from the stage before. A message is sent exactly if the
    two stages live on different ranks: neither the first stage's gradient nor the last one's loss leaves, and in a V,
    where a rank has both sides of the turn, the turn costs nothing.

    Both sides give the message the same name, as they derive it from the same orders; so a name can be a tag, and
    messages may overtake each other. No schedule has a line of communication in it, and no two descriptions can
    disagree: interleaving, V shapes and split backward passes run with these ten lines. Follow-up: if a stage lives on
    two ranks, each of which has half of the micro-batches, what must `home` be asked?
    """
    home = {int(re.match(r"\d+", action)[0]): r for r, order in enumerate(orders) for action in order}
    table = []
    for action in orders[rank]:
        stage, kind, micro = re.fullmatch(r"(\d+)([FBIW])(\d+)", action).groups()
        way = {"F": 1, "B": -1, "I": -1, "W": 0}[kind]
        before, after = int(stage) - way, int(stage) + way
        receive = (f"{before}{kind}{micro}", home[before]) if home.get(before, rank) != rank else None
        send = (action, home[after]) if home.get(after, rank) != rank else None
        table.append((receive, send))
    return table


# Level 3: write ----------------------------------------------------------------------------------------------------


# Level 4: repair ---------------------------------------------------------------------------------------------------


# Level 5: speed up -------------------------------------------------------------------------------------------------

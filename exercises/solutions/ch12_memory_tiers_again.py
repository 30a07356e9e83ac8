"""Second solutions of chapter 12, written differently: a grader must not ask for one way to write an answer."""

import bisect
import functools
import itertools
import math
from collections import defaultdict, deque
from fractions import Fraction

import numpy as np

# Level 1: predict --------------------------------------------------------------------------------------------------


def peak_bytes(s, b, h, a, L, how, K):
    """As a number of tokens' worth of numbers, 2 bytes each: 17 h for a layer, one h of which is the input, and 2.5 a s
    for its core. The three forms differ in how often each of the three is there."""
    core = 2.5 * a * s
    kept = {"everything": L * (17 * h + core), "selective": L * 17 * h + core}
    kept["segments"] = L // K * h + K * core + 17 * K * h - h
    return 2 * s * b * kept[how]


def best_k(n, c, a):
    """With all divisors in an array, the largest one first, which is the order in which equals are wanted: argmin takes
    the first one of the least."""
    ks = np.arange(n, 0, -1)
    ks = ks[n % ks == 0]
    return ks[np.argmin(n // ks * c + ks * a)]


def keep_move_or_again():
    """By what is done with each: what is small, or has room, stays. What takes long to compute goes over a link that
    has the time. Everything else is computed again: it is quick, or the link would delay the step by more."""
    return {**dict.fromkeys("EF", "keep"), **dict.fromkeys("BG", "move"), **dict.fromkeys("ACDH", "again")}


def speedup_with_codec(compute, nbytes, bandwidth, ratio, pack, unpack, overlap):
    """With the seconds of accelerator and link in two lists, without and with the codec, that are joined by max if they
    overlap and else by sum."""
    together = max if overlap else sum
    before = [compute, nbytes / bandwidth]
    after = [sum([compute, nbytes / pack, nbytes / unpack]), nbytes / ratio / bandwidth]
    return together(before) / together(after)


def bytes_in_tier(tier, parameters, each, activations, tiers, reserve):
    """By how much fits into all tiers up to one: the state below that mark is in them, and a tier has what lies between
    the mark before it and its own."""
    state, mark, marks = parameters * each, -activations, {}
    for name, count, size in tiers:
        before = max(mark, 0)
        mark += (1 - reserve) * count * size
        marks[name] = min(state, mark) - min(state, before)
    return marks[tier] if tier in marks else state - min(state, mark)


# Level 2: fill in --------------------------------------------------------------------------------------------------


def which_to_recompute(operators, needed, budget):
    """With what each choice computes again by recursion, and choices that are combinations of more and more names."""

    def computed(name, kept):
        if name == "x" or name in kept:
            return set()
        return {name}.union(*(computed(each, kept) for each in operators[name][0]))

    def seconds(kept):
        return sum(operators[name][2] for name in set().union(*(computed(name, kept) for name in needed)))

    sizes = range(len(operators) + 1)
    choices = itertools.chain.from_iterable(itertools.combinations(operators, size) for size in sizes)
    return list(min((c for c in choices if sum(operators[name][1] for name in c) <= budget), key=seconds))


# Level 3: write ----------------------------------------------------------------------------------------------------


def checkpointed_step(layers, x, dy, k, random):
    """With a function for the way through a segment, and a stack of (first layer, input, state), from which they
    come back in reverse."""

    def forward(segment, now):
        kept = []
        for layer in segment:
            now, one = layer.forward(now)
            kept.append(one)
        return now, kept

    def through(segment, now):
        for layer in segment:
            now, _ = layer.forward(now)
        return now

    stack, y = [], x
    for first in range(0, len(layers), k):
        stack.append((first, y, random.get()))
        y = through(layers[first : first + k], y)
    end, gradient = random.get(), np.array(dy)
    while stack:
        first, now, state = stack.pop()
        random.set(state)
        segment = layers[first : first + k]
        _, kept = forward(segment, now)
        while segment:
            gradient = segment.pop().backward(kept.pop(), gradient)
    random.set(end)
    return y, gradient


def cut_chain(inputs, internals):
    """With sums from the beginning, so that a segment's bytes are a difference. A segment of one layer gives a peak
    that need not be passed: only segments that are no larger are compared, and where these end is found by halving."""
    n = len(inputs)
    sums = list(itertools.accumulate([own + more for own, more in zip(inputs, internals)], initial=0))
    best = {n: (0, None)}
    for i in range(n - 1, -1, -1):
        first = sums[i] + inputs[i]
        enough = max(internals[i], best[i + 1][0])
        last = bisect.bisect_right(sums, first + enough) - 1
        best[i] = min((inputs[i] + max(sums[j] - first, best[j][0]), j) for j in range(i + 1, last + 1))
    cuts, at = [], 0
    while at < n:
        cuts.append(at)
        at = best[at][1]
    return cuts


def evictions(requests, room):
    """With a queue of places for each tensor, of which the past ones are dropped: what is in front is the next use, and
    an empty queue is none."""
    places = defaultdict(deque)
    for place, tensor in enumerate(requests):
        places[tensor].append(place)
    there, leaves = [], []
    for tensor in requests:
        places[tensor].popleft()
        leaves.append(None)
        if tensor in there:
            continue
        if len(there) >= room:
            leaves[-1] = max(there, key=lambda each: places[each][0] if places[each] else len(requests))
            there.remove(leaves[-1])
        there.append(tensor)
    return leaves


# Level 4: repair ---------------------------------------------------------------------------------------------------


def prefetch_starts(transfers, latency, bandwidth):
    """With the transfers in order, and for each the least of all that its end must not pass: what is needed later, less
    the seconds of all in between."""
    order = sorted(range(len(transfers)), key=lambda i: transfers[i][1])
    seconds = [latency + transfers[i][0] / bandwidth for i in order]
    starts = [math.inf] * len(order)
    for place in range(len(order) - 1, -1, -1):
        following = starts[order[place + 1]] if place + 1 < len(order) else math.inf
        starts[order[place]] = min(following, transfers[order[place]][1]) - seconds[place]
    return None if starts and min(starts) < 0 else starts


def fair_shares(bandwidth, weights, wants):
    """In rounds: whoever wants no more than its part gets it, and the others share what is left. When nobody is
    satisfied in a round, each gets its part."""
    shares, hungry, left = list(wants), set(range(len(wants))), Fraction(bandwidth)
    while hungry:
        unit = left / sum(weights[i] for i in hungry)
        full = {i for i in hungry if wants[i] <= unit * weights[i]}
        if not full:
            return [float(unit * weights[i]) if i in hungry else share for i, share in enumerate(shares)]
        left -= sum(Fraction(wants[i]) for i in full)
        hungry -= full
    return shares


# Level 5: speed up -------------------------------------------------------------------------------------------------


def reverse_with_slots(n, slots):
    """With the number of forward steps for a chain in closed form, by which cuts are compared. A chain is reversed by a
    generator: keep, go forward, reverse what is behind with a slot less, load, reverse what is before."""

    @functools.cache
    def steps(length, s):
        r = next(r for r in range(length) if math.comb(s + r, s) >= length)
        return r * length - math.comb(s + r, s + 1)

    @functools.cache
    def cut(length, s):
        if s == 1:
            return length - 1
        return min(range(1, length), key=lambda j: j + steps(length - j, s - 1) + steps(j, s))

    def reverse(first, end, s, kept=False):
        if end == first + 1:
            yield f"backward {first}"
            return
        if not kept:
            yield f"keep {first}"
        middle = first + cut(end - first, s)
        yield from (f"forward {i}" for i in range(first, middle))
        yield from reverse(middle, end, s - 1)
        yield f"load {first}"
        yield from reverse(first, middle, s, True)
        if not kept:
            yield f"free {first}"

    return list(reverse(0, n, slots))

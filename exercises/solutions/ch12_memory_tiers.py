"""Solutions of chapter 12. Each docstring says why it works; it is shown once the exercise is solved."""

import math

# Level 1: predict --------------------------------------------------------------------------------------------------


def peak_bytes(s, b, h, a, L, how, K):
    """The backward pass begins at the end, where all that was kept is still there. So the peak is what is kept of all
    layers, and what is computed again for the last layer or segment. Of this, one input is kept already.

    With s = 2048, b = 1, h = 12288, a = 96 and L = 96, everything takes 275 GB, selective 84 GB, segments of 8 layers
    23.5 GB, and segments of one layer 7.7 GB. A layer needs 57 times the bytes of its input, so segments of sqrt(L)
    layers are far too large: sqrt(n) is for a chain in which both are equal. Follow-up: selective recomputation
    computes a few operators again, segments a whole forward pass. What would you take if 84 GB were too much by 10 GB?
    """
    one = 2 * s * b * h
    core = 5 * a * s * s * b
    rest = 34 * s * b * h
    if how == "everything":
        return L * (rest + core)
    if how == "selective":
        return L * rest + core
    return (L // K - 1) * one + K * (rest + core)


def best_k(n, c, a):
    """n / k inputs of c bytes, and k layers that need a bytes each; one input is in both. n c / k falls with k, k a
    rises, and the sum is least near sqrt(n c / a), where both are equal. With whole segments k divides n, so the
    divisors are compared.

    sqrt(n) is this root for c = a. In a GPT a is tens of times c, and the best segments are much smaller: n = 100 with
    a = 57 c has its least at k = 1. All k compute nearly one forward pass again, so the least bytes cost little: only
    the last segment is spared. Follow-up: layers whose sizes differ have no k. What decides where to cut then?
    """
    divisors = [*(k for k in range(1, n) if n % k == 0), n]
    return min(divisors, key=lambda k: (n // k * c + k * a, -k))


def keep_move_or_again():
    """Bytes over bandwidth are seconds, and seconds are compared with seconds. A copy that is done in time costs
    nothing, so a free link is better than any computing; a full link costs all that is put on it. What is large and
    quick to compute, as outputs of elementwise operations and the softmax, is computed again. What took long, as the
    outputs of products, is moved or kept.

    A rule that asks for the operator alone would say the same of B and C, which differ only in what else the link
    does. Follow-up: with a link of 900 GB a second in place of 50, which letters change?
    """
    return {"A": "again", "B": "move", "C": "again", "D": "again", "E": "keep", "F": "keep", "G": "move", "H": "again"}


def speedup_with_codec(compute, nbytes, bandwidth, ratio, pack, unpack, overlap):
    """Compression takes bytes off the link and puts seconds on the accelerator. These are added, whatever the ratio is:
    with an infinite ratio the step still takes compute + packing + unpacking.

    The printed formula derates the ratio by delta, so that with a large C the overhead hardly counts. It says 10 times
    where 125 ms become 102.5 ms, 1.22 times. With overlap the link was perhaps not what the step waits for, and then
    every second of packing makes the step longer. Follow-up: below which bandwidth does this codec pay?
    """
    accelerator = compute + nbytes / pack + nbytes / unpack
    link = nbytes / bandwidth
    if overlap:
        return max(compute, link) / max(accelerator, link / ratio)
    return (compute + link) / (accelerator + link / ratio)


def bytes_in_tier(tier, parameters, each, activations, tiers, reserve):
    """The state is poured from the fastest tier to the slowest, and what is left in the end is missing.

    200 trillion parameters at 16 bytes are 3,200 TB. The printed plan counts 2 bytes for each, the weights alone, and
    fills the accelerators to the last byte: no gradient, no optimizer, no activation has room. In all of its tiers
    together there is room for 776 TB, so 2,424 TB are missing. That the bytes fit does not say that they come in time:
    what lies in the hosts has to cross a link in every pass. Follow-up: how many seconds do the 512 TB in 256 hosts
    take, if every accelerator has a link of 50 GB/s?
    """
    left = parameters * each
    taken = activations
    for name, count, size in tiers:
        here = min(left, count * size * (1 - reserve) - taken)
        if name == tier:
            return here
        left, taken = left - here, 0
    return left


# Level 2: fill in --------------------------------------------------------------------------------------------------


def which_to_recompute(operators, needed, budget):
    """To ask for an output is to ask for its inputs, unless it is kept: so a walk back from what is needed finds
    everything that is computed again, each of it once. Bytes are a condition and seconds are made small; they are not
    added, and no unit has to be invented that makes one of the other.

    In a transformer's layer this keeps the outputs of products, and computes norms, softmax and GELU again: they have
    many bytes and take few seconds. Keeping an output can spare others that it is computed from, so the operators
    cannot be judged one by one. Follow-up: 2^8 choices are quick, 2^100 are not. What finds the best of these?
    """
    fewest, best = math.inf, None
    for bits in range(2 ** len(operators)):
        kept = [name for place, name in enumerate(operators) if bits >> place & 1]
        if sum(operators[name][1] for name in kept) > budget:
            continue
        again, asked = set(), list(needed)
        while asked:
            name = asked.pop()
            if name in operators and name not in kept and name not in again:
                again.add(name)
                asked += operators[name][0]
        seconds = sum(operators[name][2] for name in again)
        if seconds < fewest:
            fewest, best = seconds, kept
    return best


# Level 3: write ----------------------------------------------------------------------------------------------------


def checkpointed_step(layers, x, dy, k, random):
    """The first forward pass keeps two things a segment: its input, and the state of the generator, a few bytes without
    which the second pass would drop other elements. Then the gradients would be those of a pass that never happened,
    and nothing would raise an error. What layers keep is dropped at once the first time, and used within the segment
    the second time.

    The price is one forward pass more, a third of a step whose backward pass takes twice as long as its forward pass.
    The generator goes back to where it was after the first pass, so that the next step draws what it would have drawn
    without all this. Follow-up: the last segment goes backward directly after it went forward. What need not be done?
    """
    inputs, states, y = [], [], x
    for place, layer in enumerate(layers):
        if place % k == 0:
            inputs.append(y)
            states.append(random.get())
        y = layer.forward(y)[0]
    after = random.get()
    for first in reversed(range(0, len(layers), k)):
        now = inputs.pop()
        random.set(states.pop())
        kept = []
        for layer in layers[first : first + k]:
            now, one = layer.forward(now)
            kept.append(one)
        for layer in reversed(layers[first : first + k]):
            dy = layer.backward(kept.pop(), dy)
    random.set(after)
    return y, dy


def cut_chain(inputs, internals):
    """Let best[i] be the least peak of the layers from i on, with a segment that begins at i. Its input is there all
    the time. On top of it comes what the segment needs in its turn, or the peak of what is behind it: the larger one.
    So best[i] = inputs[i] + the least, over the next cut j, of the larger of both. That is one number for each i, from
    the end to the beginning.

    A sum in place of the larger one would add what is never there at the same time; if it adds the bytes of all
    segments, it is the same for all cuts. Trying all ways to cut takes 2^(n - 1) of them; here each pair of i and j is
    looked at once. Follow-up: how would a budget come in, if a segment could be kept whole in place of being computed
    again?
    """
    n = len(inputs)
    best, following = [math.inf] * n + [-math.inf], [n] * n
    for i in reversed(range(n)):
        segment = -inputs[i]
        for j in range(i + 1, n + 1):
            segment += inputs[j - 1] + internals[j - 1]
            peak = inputs[i] + max(segment, best[j])
            if peak < best[i]:
                best[i], following[i] = peak, j
    cuts = [0]
    while following[cuts[-1]] < n:
        cuts.append(following[cuts[-1]])
    return cuts


def evictions(requests, room):
    """What is needed last leaves (Belady, 1966). Whatever another policy keeps in its place is needed earlier, so the
    two can be exchanged without a fetch more. When each tensor is needed next is known from one look through the
    requests, from the end.

    Without a known future this cannot be done, and it is the measure for all that guess: on a cycle that is longer than
    the memory, LRU fetches everything, as it drops each tensor right before its use. A forward pass with the backward
    pass behind it is no cycle but goes back and forth; there LRU does well. Follow-up: tensors of different sizes. Is
    it still right to let the one leave that is needed last?
    """
    following, seen = list(requests), {}
    for place in reversed(range(len(requests))):
        following[place] = seen.get(requests[place], math.inf)
        seen[requests[place]] = place
    there, leaves = {}, []
    for place, tensor in enumerate(requests):
        gone = None
        if tensor not in there and len(there) == room:
            gone = max(there, key=there.get)
            del there[gone]
        there[tensor] = following[place]
        leaves.append(gone)
    return leaves


# Level 4: repair ---------------------------------------------------------------------------------------------------


def prefetch_starts(transfers, latency, bandwidth):
    """Backwards: the last transfer ends when its tensor is needed, and each one before ends when its own is needed or
    when the next one begins, whatever is earlier. If the first would have to begin before 0, no order is in time.

    The printed formula is right for a link that carries one transfer. With two that are needed at nearly the same time,
    both get half of the bandwidth, and both are late. Each later start of one tensor makes all before it begin earlier:
    deadlines travel backwards. Follow-up: what changes if a tensor may only begin when another one has made room?
    """
    starts, link = [0.0] * len(transfers), math.inf
    for i in sorted(range(len(transfers)), key=lambda i: (transfers[i][1], i), reverse=True):
        nbytes, needed = transfers[i]
        link = min(link, needed) - latency - nbytes / bandwidth
        starts[i] = link
    return starts if link >= 0 else None


def fair_shares(bandwidth, weights, wants):
    """Water is poured into vessels as wide as the weights: those that are full first, by wants / weight, get all they
    want, and leave the rest to the others. In this order one look at each is enough: who is not full with its part of
    what is left, of the weight that is left, will not be full later.

    A fixed share by weight wastes what somebody does not use. On a link that carries weights, gradients and a
    checkpoint, one of them is idle most of the time. Follow-up: one of them has a deadline. Which weight does it get?
    """
    shares, left, weight = [0.0] * len(wants), bandwidth, sum(weights)
    for i in sorted(range(len(wants)), key=lambda i: wants[i] / weights[i]):
        shares[i] = min(wants[i], left * weights[i] / weight)
        left -= shares[i]
        weight -= weights[i]
    return shares


# Level 5: speed up -------------------------------------------------------------------------------------------------


def reverse_with_slots(n, slots):
    """With s slots, and no layer forward more than r times, chains of up to binomial(s + r, s) layers can be reversed:
    go j forward, keep, reverse the rest with s - 1 slots and at most r times, then the first j with s slots and one
    time less. So the next cut needs no search: j is as small as the rest allows, and not below what r - 2 could do
    (Griewank and Walther, 2000).

    400 layers with six slots take 1,670 forward steps. With the six states at equal distances, and no other ones
    later, it would be 13,468. Slots that become free on the way back are used again: that is the difference. Follow-up:
    layers that differ have no closed form. What does the table look like that takes its place?
    """
    order = []

    def reach(s, r):
        return math.comb(s + r, s)

    def reverse(first, end, s, kept):
        if end == first + 1:
            order.append(f"backward {first}")
            return
        if not kept:
            order.append(f"keep {first}")
        r = next(r for r in range(end) if reach(s, r) >= end - first)
        cut = max(first + 1, first + reach(s, r - 2), end - reach(s - 1, r))
        order.extend(f"forward {i}" for i in range(first, cut))
        reverse(cut, end, s - 1, False)
        order.append(f"load {first}")
        reverse(first, cut, s, True)
        if not kept:
            order.append(f"free {first}")

    reverse(0, n, slots, False)
    return order

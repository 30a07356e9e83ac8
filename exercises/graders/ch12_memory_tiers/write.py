"""Level 3 of chapter 12, write: a step that computes again, the best cuts of a chain, Belady's rule."""

import functools
import itertools
import math
import weakref

import numpy as np

from exercises.grading import Case, Exercise, Finding, checks, inputs
from exercises.grading.numbers import listed, short
from exercises.grading.returns import Returns, so_far

# A step that computes again ------------------------------------------------------------------------------------------

SPARE = 3  # outputs that there may be besides the segments' first inputs
MULTIPLIER, INCREMENT = 6364136223846793005, 1442695040888963407  # Knuth's, of MMIX


class Alive:
    """How many of some objects something still refers to."""

    def __init__(self):
        self.refs = {}  # by the reference's own id: arrays have no hash

    def add(self, thing):
        ref = weakref.ref(thing, lambda gone: self.refs.pop(id(gone), None))
        self.refs[id(ref)] = ref

    def __len__(self):
        return len(self.refs)


class Output(np.ndarray):
    """An output of a layer. Copies and views of it are outputs, too."""

    alive = None

    def __array_finalize__(self, other):
        self.alive = getattr(other, "alive", None)
        if self.alive is not None:
            self.alive.add(self)


class Kept:
    """What a layer needs for its backward pass."""

    def __init__(self, layer, slope):
        self.layer, self.slope = layer, slope


class Generator(list):
    """A generator of dropout. It is the list of what was done with it and with its layers, which comes back so."""

    def __init__(self, seed):
        super().__init__()
        self.state, self.kept, self.outputs = seed, Alive(), Alive()

    def get(self):
        return self.state

    def set(self, state):
        if not isinstance(state, int) or not 0 <= state < 1 << 64:
            raise TypeError("random.set takes what random.get has returned")
        self.append(["set", 0, 0, 0, str(state)])
        self.state = state

    def draw(self, n):
        """n numbers, 1 or 0."""
        drawn = np.random.default_rng(self.state).random(n)
        self.state = (self.state * MULTIPLIER + INCREMENT) % (1 << 64)
        return np.where(drawn < 0.75, 1.0, 0.0)

    def note(self, what, layer):
        self.append([what, layer, len(self.kept), len(self.outputs), str(self.state)])


class Layer:
    """x -> dropout(tanh(w x)). It tells its generator when it is called."""

    def __init__(self, number, w, generator):
        self.number, self.w, self.generator = number, w, generator

    def forward(self, x):
        if not isinstance(x, np.ndarray) or x.shape != self.w.shape:
            raise ValueError(f"the input of layer {self.number} is no array of shape {self.w.shape}")
        self.generator.note("forward", self.number)
        x = np.array(x)  # a plain copy
        y, mask = np.tanh(self.w * x), self.generator.draw(len(x))
        kept = Kept(self.number, mask * (1 - y * y) * self.w)
        self.generator.kept.add(kept)
        output = (mask * y + 0.25 * x).view(Output)
        output.alive = self.generator.outputs
        output.alive.add(output)
        return output, kept

    def backward(self, kept, dy):
        if not isinstance(kept, Kept) or kept.layer != self.number:
            raise ValueError(f"layer {self.number} goes backward with what another layer has kept")
        self.generator.note("backward", self.number)
        return np.array(dy) * (kept.slope + 0.25)

    def __repr__(self):
        return f"layer {self.number}"


def steps(*rows):
    """Cases (layers, width, k)."""

    def cases(rng):
        for L, n, k in rows:
            generator = Generator(int(rng.integers(1 << 62)))
            layers = [Layer(i, rng.uniform(0.8, 1.6, n), generator) for i in range(L)]
            x, dy = rng.standard_normal(n), rng.standard_normal(n)
            yield Case(f"{checks.count(L, 'layer')}, k = {k}", ((layers, x, dy, k, generator),))

    return cases


@functools.lru_cache(maxsize=64)  # a case is asked several times
def _plain(number_of_layers, weights, x, dy, seed):
    generator = Generator(seed)
    layers = [Layer(i, np.array(w), generator) for i, w in enumerate(weights)]
    y, kept = np.array(x), []
    for layer in layers:
        y, one = layer.forward(y)
        kept.append(one)
    dx = np.array(dy)
    for layer in reversed(layers):
        dx = layer.backward(kept.pop(), dx)
    return np.array(y), dx, str(generator.state)


def keeps_all(case):
    """(y, dx, the generator's last state) of a step that keeps everything."""
    layers, x, dy, _, generator = case.arguments[0]
    return _plain(len(layers), tuple(tuple(each.w) for each in layers), tuple(x), tuple(dy), generator.state)


def events(answer):
    """What was done: (what, layer, kept, outputs, state)."""
    return [tuple(each) for each in answer.arguments[0][4] if isinstance(each, list) and len(each) == 5]


def two_arrays(case, answer):
    (got,), x = answer.results, case.arguments[0][1]
    got = list(got) if isinstance(got, tuple | list) else got
    fine = isinstance(got, list) and len(got) == 2
    fine = fine and all(isinstance(each, np.ndarray) and each.dtype == np.float64 for each in got)
    if not fine or any(each.shape != x.shape for each in got):
        return Finding(f"it returned {short(answer.results[0])}.", "Return two arrays like x: (y, dx).")
    return None


def order_of_calls(case, answer):
    """Forward through all, and backward through all in reverse, once."""
    layers = case.arguments[0][0]
    done = events(answer)
    backward = [layer for what, layer, *_ in done if what == "backward"]
    if backward != list(range(len(layers)))[::-1]:
        return Finding(
            f"layers went backward in the order {short(backward)}.",
            "Each layer goes backward once, from the last one to the first.",
        )
    often = [0] * len(layers)
    for what, layer, *_ in done:
        often[layer] += what == "forward"
        if often[layer] > 2:
            return Finding(
                f"layer {layer} went forward {often[layer]} times.",
                "Twice is enough: once to get to the end, and once for its backward pass. Compute a whole segment "
                "again "
                "from its input, and keep what all of its layers need.",
            )
    return None


def drawn_again(case, answer):
    """The second forward pass of a layer draws what the first one drew."""
    first = {}
    for what, layer, _, _, state in events(answer):
        if what == "forward" and first.setdefault(layer, state) != state:
            return Finding(
                f"layer {layer} dropped other elements the second time.",
                "Then the gradient is that of another forward pass than the one that gave y, and nothing raises an "
                "error. Which state had the generator when the segment went forward first?",
            )
    return None


def few_bytes(case, answer):
    """What layers have kept, and outputs, at every call."""
    *_, k, _ = case.arguments[0]
    for what, layer, kept, outputs, _ in events(answer):
        if kept > k:
            return Finding(
                f"when layer {layer} was called ({what}), there was what {checks.count(kept, 'layer')} had kept; k = "
                f"{k}.",
                "In the first forward pass nobody needs it: drop it at once. Later it is needed for one segment at a "
                "time. A list that goes on, or a name, still refers to it (`_` is a name, too).",
            )
        if outputs > layer // k + SPARE:
            return Finding(
                f"when layer {layer} was called ({what}), there were {checks.count(outputs, 'output')} of layers; {k} "
                f"layers are a segment, so {layer // k + SPARE} are enough.",
                "Only the input of each segment's first layer is kept, until the segment has gone backward. The "
                "inputs in "
                "between are computed again.",
            )
    return None


def same_numbers(case, answer):
    """y and dx are those of a step that keeps everything."""
    right = keeps_all(case)[:2]
    for name, got, want in zip(("y", "dx"), answer.results[0], right):
        if not np.allclose(got, want, rtol=1e-12, atol=0):
            digits = np.allclose(got, want, rtol=1e-4, atol=0)
            hint = {
                "y": "y is the output of the last layer, in the first forward pass.",
                "dx": "Each layer's backward pass takes the gradient that the layer behind it has returned. The first "
                "one takes dy.",
            }[name]
            return Finding(f"{name} is not that of a step that keeps everything.", checks.DIGITS if digits else hint)
    return None


def state_in_the_end(case, answer):
    """The next step draws what it would have drawn."""
    state = None
    for what, _, _, _, now in events(answer):
        state = int(now) if what != "forward" else (int(now) * MULTIPLIER + INCREMENT) % (1 << 64)
    if str(state) != keeps_all(case)[2]:
        return Finding(
            "the generator is in another state in the end.",
            "The next step would draw other numbers than without recomputation. In which state was the generator after "
            "the first forward pass?",
        )
    return None


def left_alone(case, answer):
    """The layers, x and dy are as they were."""
    for name, was, now in zip(("layers", "x", "dy"), case.arguments[0], answer.arguments[0]):
        if len(was) != len(now) or (name != "layers" and not np.array_equal(was, now)):
            return Finding(
                f"{name} was changed.",
                "The caller still needs it as it was: work on a copy. (Slices of a list are copies; .pop() and "
                ".reverse() change the list itself.)",
            )
    return None


checkpointed_step = Exercise(
    cases=steps(
        (6, 4, 3), (6, 4, 2), (5, 4, 2), (4, 3, 1), (3, 4, 7), (1, 4, 1), (9, 5, 3), (120, 4, 11), (9, 1100, 4)
    ),
    checks=[two_arrays, order_of_calls, few_bytes, drawn_again, same_numbers, state_in_the_end, left_alone],
    endings={
        "the input of layer": "forward returns two things, (y, kept): the next layer takes y.",
        "what another layer has kept": "The last layer of a segment goes backward first, with what it has kept itself.",
        "random.set takes": "random.get() returns the state: keep it for each segment.",
        "IndexError": "The last segment may have fewer than k layers.",
    },
    hints=[
        "Six layers, k = 3. Write down what is kept when the first forward pass is through: how many arrays, how many "
        "states?",
        "First pass: for the layers 0, k, 2 k, ... note the input and random.get(); drop what forward returns as "
        "`kept`. Then, for each segment from the last one: random.set, forward through it with a list of `kept`, "
        "backward through it.",
        "Before the segments go backward, note random.get() once more; after the last of them set it.",
    ],
    in_place=True,
)


# The best cuts of a chain --------------------------------------------------------------------------------------------


def peak(cuts, inputs, internals):
    """The most bytes at a time."""
    kept, most = 0, 0
    for first, end in zip(cuts, [*cuts[1:], len(inputs)]):
        kept += inputs[first]
        most = max(most, kept + sum(internals[first:end]) + sum(inputs[first + 1 : end]))
    return most


def best_cuts(inputs, internals, with_inputs=True):
    """Cuts of the least peak; or those of somebody who forgets the inputs within segments."""
    n = len(inputs)
    best, following = [math.inf] * n + [0], [n] * n
    for i in reversed(range(n)):
        segment = -inputs[i] if with_inputs else 0
        for j in range(i + 1, n + 1):
            segment += internals[j - 1] + (inputs[j - 1] if with_inputs else 0)
            price = inputs[i] + max(segment, best[j])
            if price < best[i]:
                best[i], following[i] = price, j
    cuts = [0]
    while following[cuts[-1]] < n:
        cuts.append(following[cuts[-1]])
    return cuts


def every(k):
    """Segments of k layers, or of k(n)."""

    def cuts(inputs, internals):
        return list(range(0, len(inputs), k(len(inputs)) if callable(k) else k))

    return cuts


def all_kept(inputs, internals):
    """The best for somebody who counts every kept input in every segment's turn: try each largest segment."""
    n, found = len(inputs), []
    for limit in (
        sorted({sum(internals[i:j]) + sum(inputs[i + 1 : j]) for i in range(n) for j in range(i + 1, n + 1)})
        if n < 12
        else []
    ):
        least = {n: (0, [])}
        for i in reversed(range(n)):
            options = [
                (inputs[i] + least[j][0], [i, *least[j][1]])
                for j in range(i + 1, n + 1)
                if sum(internals[i:j]) + sum(inputs[i + 1 : j]) <= limit and j in least
            ]
            if options:
                least[i] = min(options)
        if 0 in least:
            found.append((least[0][0] + limit, least[0][1]))
    if not found:
        raise ValueError("too many layers to try this")
    return min(found)[1]


def root(n):
    return max(1, round(math.sqrt(n)))


def as_low(got, inputs, internals):
    """Whether cuts are cuts, and their peak is the least."""
    fine = isinstance(got, list) and got[:1] == [0] and all(type(each) is int for each in got)
    fine = fine and all(a < b for a, b in itertools.pairwise(got)) and got[-1] < len(inputs)
    return fine and peak(got, inputs, internals) == peak(best_cuts(inputs, internals), inputs, internals)


def no_cuts(case, results):
    """Ascending numbers of layers from 0 on."""
    (got,), (inputs, _) = listed(results), case.arguments[0]
    if not isinstance(got, list) or not all(type(each) is int for each in got):
        return Finding(f"it returned {short(got)}.", "Return a list of the numbers of layers.")
    if got[:1] != [0]:
        return Finding(f"it returned {short(got)}.", "The first segment begins with layer 0.")
    if any(a >= b for a, b in itertools.pairwise(got)):
        return Finding(f"it returned {short(got)}.", "The first layers of the segments ascend.")
    if got[-1] >= len(inputs):
        return Finding(f"it returned {short(got)}.", f"The last layer is {len(inputs) - 1}.")
    return None


def cuts_seen(case, results, right):
    (got,), (want,), given = results, right, case.arguments[0]
    return f"segments from {got!r:.60} need {peak(got, *given):,} bytes; {peak(want, *given):,} are possible."


def some_chain(n, largest=30, least=0):
    return lambda rng: (rng.integers(1, 20, n).tolist(), rng.integers(least, largest, n).tolist())


CHAINS = [
    ([4, 1, 4], [5, 5, 5]),
    ([2, 2, 2, 2, 2, 2, 2, 2, 2], [2, 2, 2, 2, 2, 2, 2, 2, 2]),
    ([9, 1, 9, 9, 1, 9], [3, 8, 2, 4, 8, 1]),
    ([5, 5, 5, 5, 5, 5], [1, 1, 1, 40, 1, 1]),
    ([3, 7, 2, 9, 4, 6, 1], [10, 0, 20, 5, 5, 30, 10]),
    ([1, 1, 1, 1], [50, 50, 50, 50]),
    ([50, 50, 50, 50], [1, 1, 1, 1]),
    ([7], [3]),
    ([8, 2, 6, 6, 2, 1, 9, 3], [12, 3, 0, 8, 8, 15, 2, 6]),
]

EQUAL = (
    "Equal segments. In the turn of the last one all kept inputs are there, in that of the first one only its own: so "
    "segments in front may need more by themselves than those behind. And an input that is small is a good place to "
    "cut."
)


def cut_hint(case, results, right):
    """The hint where no slip fits."""
    (got,), (inputs, _) = results, case.arguments[0]
    if len(got) > 1 and got == list(range(0, len(inputs), got[1])):
        return EQUAL
    return (
        "best[i] is the least peak of the layers from i on. If its segment ends before j: its input, and on top the "
        "larger one of the segment's turn and best[j]. Which j is best?"
    )


cut_chain = Exercise(
    cases=inputs.calls(
        *CHAINS,
        some_chain(8),
        some_chain(10, 60),
        some_chain(9),
        some_chain(30, 90),
        some_chain(300, 400, 20),
        names="inputs internals",
    ),
    checks=[
        Returns(
            best_cuts,
            [
                (
                    lambda *given: best_cuts(*given, with_inputs=False),
                    "Within a segment, inputs are computed again, too: those of all its layers but the first.",
                ),
                (
                    all_kept,
                    "As if all kept inputs were there in every segment's turn. Segments behind this one have gone "
                    "backward, "
                    "and their inputs are gone.",
                ),
                (every(root), EQUAL),
                (
                    every(1),
                    "Every input is kept in that. It takes room in the turns of all segments behind it. And what "
                    "segments "
                    "need "
                    "in their turns is never there at the same time: their sum is the same for all cuts. Of a "
                    "segment's "
                    "turn and what is behind it, the larger one counts.",
                ),
                (
                    every(lambda n: n),
                    "One segment keeps one input, and then needs everything at the same time.",
                ),
            ],
            otherwise=cut_hint,
            seen=cuts_seen,
            form=no_cuts,
            read=listed,
            accepts=as_low,
            could=so_far(CHAINS, lambda cuts, given: as_low(cuts, *given)),
        )
    ],
    endings={
        "cpu": "There are too many ways to cut to try all of them: n layers have 2^(n - 1). If the first segment is "
        "chosen, "
        "which smaller question is left?",
    },
    hints=[
        "Begin at the end: what is the least peak of the last layer alone, then of the last two?",
        "best[i] = inputs[i] + min over j of max(segment from i to j - 1, best[j]), where the segment needs its "
        "internals "
        "and the inputs of all its layers but the first.",
        "Note for each i the j that was best. Then follow them from 0.",
    ],
)


# Who stays -----------------------------------------------------------------------------------------------------------


def following(requests):
    """For each place, where its tensor is used next; infinity if it is not."""
    after, seen = [math.inf] * len(requests), {}
    for place in reversed(range(len(requests))):
        after[place] = seen.get(requests[place], math.inf)
        seen[requests[place]] = place
    return after


def policy(key, early=False):
    """Who leaves is the tensor with the smallest key(of what is known of it): first, last and next use, uses."""

    def leaves(requests, room):
        after, there, out = following(requests), {}, []
        uses = {}
        for place, tensor in enumerate(requests):
            gone = None
            if tensor not in there and len(there) == room:
                gone = min(there, key=lambda each: key(*there[each], uses[each]))
                del there[gone]
            uses[tensor] = uses.get(tensor, 0) + 1
            there[tensor] = there[tensor][0] if tensor in there else place, place, after[place]
            out.append(gone)
        return out

    return leaves


def as_fetched(requests, room):
    """As if the next use was still the one that it was when the tensor was fetched."""
    after, there, out = following(requests), {}, []
    for place, tensor in enumerate(requests):
        gone = None
        if tensor not in there and len(there) == room:
            gone = max(there, key=there.get)
            del there[gone]
        there.setdefault(tensor, after[place])
        out.append(gone)
    return out


belady = policy(lambda first, last, following, uses: -following)


def fetched(requests, leaves, room):
    """How many tensors are fetched, by an order that is possible."""
    there, count = set(), 0
    for tensor, gone in zip(requests, leaves):
        count += tensor not in there
        there.discard(gone)
        there.add(tensor)
    return count


def possible(requests, room, leaves):
    """What is wrong with the first entry that cannot be, as a Finding, or None."""
    there = set()
    for place, (tensor, gone) in enumerate(zip(requests, leaves)):
        at = f"request {place}, for tensor {tensor}: "
        full = tensor not in there and len(there) == room
        if gone is None and full:
            return Finding(
                f"{at}nothing leaves, and the memory is full.",
                "What is fetched needs room: one that is there has to leave first.",
            )
        if gone is not None and tensor in there:
            return Finding(
                f"{at}{gone} leaves, and the tensor is there.", "Then nothing is fetched, and nothing leaves."
            )
        if gone is not None and gone not in there:
            hint = "Only what is there can leave."
            if gone == tensor:
                hint = "The tensor is used now, so it has to be in the fast memory: another one leaves."
            return Finding(f"{at}{gone} leaves, which is not there.", hint)
        if gone is not None and not full:
            return Finding(
                f"{at}{gone} leaves, and there is room.",
                "As long as there is room, nothing leaves: it may be used again.",
            )
        there.discard(gone)
        there.add(tensor)
    return None


def no_leaves(case, results):
    """An entry for each request, all of them possible."""
    (got,), (requests, room) = listed(results), case.arguments[0]
    if not isinstance(got, list) or len(got) != len(requests):
        return Finding(
            f"it returned {short(got)}.", f"Return a list with an entry for each request, {len(requests)} here."
        )
    if strange := [each for each in got if each is not None and type(each) is not int]:
        return Finding(f"there is {strange[0]!r} in it.", "An entry is the number of a tensor, or None.")
    return possible(requests, room, got)


def as_few(got, requests, room):
    return fetched(requests, got, room) == fetched(requests, belady(requests, room), room)


def leaves_seen(case, results, right):
    (got,), (want,), (requests, room) = results, right, case.arguments[0]
    return f"{fetched(requests, got, room):,} tensors are fetched; {fetched(requests, want, room):,} are enough."


STAYS = (
    "What is never used again should leave before all others. Here it stays, and something leaves that is used again."
)


def leaves_hint(case, results, right):
    """The hint where no slip fits: whether something stays that is never used again."""
    (got,), (requests, _) = results, case.arguments[0]
    there = {}
    for tensor, gone, after in zip(requests, got, following(requests)):
        if there.pop(gone, math.inf) < math.inf and math.inf in there.values():
            return STAYS
        there[tensor] = after
    return (
        "For each tensor that is there: at which request is it used next? Who leaves is the one for which this is the "
        "latest, or never."
    )


def there_and_back(n, times=2):
    return [*range(n), *reversed(range(n))] * times


def some_requests(n, tensors, room):
    return lambda rng: (rng.integers(0, tensors, n).tolist(), room)


TRACES = [
    ([3, 0, 2, 4, 2, 5, 0, 4, 2, 4, 1, 4, 4, 4, 2, 3], 2),
    ([0, 1, 2, 0, 1, 2], 2),
    ([0, 1, 0, 2, 0, 1, 3, 0], 2),
    ([0, 1, 2, 3, 4] * 3, 3),
    ([0, 1, 2, 1, 2, 3, 0, 2, 3, 1, 0], 3),
    ([4, 4, 4, 4, 1, 2, 3, 1, 2, 3, 1], 3),
    ([7, 8, 9], 5),
    (there_and_back(6), 3),
    ([1, 2, 1, 3, 3, 2], 1),
    ([], 2),
    ([5, 6, 5, 7, 6, 5, 8, 5, 6, 7], 2),
]

evictions = Exercise(
    cases=inputs.calls(
        *TRACES,
        some_requests(40, 6, 3),
        some_requests(40, 8, 4),
        some_requests(60, 9, 3),
        some_requests(6000, 100, 40),
        names="requests room",
    ),
    checks=[
        Returns(
            belady,
            [
                (
                    policy(lambda first, last, following, uses: last),
                    "Who was used least recently leaves: that is LRU, which looks back. The requests to come are "
                    "known. "
                    "On a cycle, LRU drops each tensor right before it is used.",
                ),
                (
                    policy(lambda first, last, following, uses: first),
                    "Who came first leaves. When it is needed next says more, and that is known.",
                ),
                (
                    policy(lambda first, last, following, uses: uses),
                    "Who was used least often leaves. How often something was used says nothing about when it is "
                    "needed "
                    "next, and that is known.",
                ),
                (
                    policy(lambda first, last, following, uses: (uses, last)),
                    "Who was used least often leaves. How often something was used says nothing about when it is "
                    "needed "
                    "next, and that is known.",
                ),
                (
                    policy(lambda first, last, following, uses: -last),
                    "Who was used last leaves. That is right on a cycle. When is it needed next?",
                ),
                (
                    policy(lambda first, last, following, uses: following),
                    "Who is needed next leaves, and has to be fetched again at once. Turn it around.",
                ),
                (
                    policy(lambda first, last, following, uses: -following if following < math.inf else 1),
                    STAYS,
                ),
                (
                    as_fetched,
                    "With every use, a tensor learns its next one. Here it still has the one that it had when it was "
                    "fetched, which is over.",
                ),
                (
                    policy(lambda first, last, following, uses: -(following - last)),
                    "Somebody leaves who is used again sooner than one that stays. The latest next use counts: not the "
                    "longest pause between two uses, which may be nearly over, and not how few uses are to come.",
                ),
            ],
            otherwise=leaves_hint,
            seen=leaves_seen,
            form=no_leaves,
            read=listed,
            accepts=as_few,
            could=so_far(TRACES, lambda leaves, given: as_few(leaves, *given)),
        )
    ],
    endings={
        "cpu": "With 6,000 requests, to look through all that is to come at every request takes too long. Note once, "
        "from the end, when each tensor is used next.",
        "IndexError": "A tensor that is not used again has no next use: take a number that is larger than all places.",
        "ValueError": "A tensor that is not used again has no next use: take a number that is larger than all places.",
    },
    hints=[
        "Requests 0, 1, 2, 0, 1, 2 with room for two. At the first 2: who should leave?",
        "Who leaves is the one whose next use is the furthest away. What is not used again is further than all.",
        "Go through the requests from the end with a dictionary {tensor: place}: so each request learns where its "
        "tensor "
        "is used next.",
    ],
)

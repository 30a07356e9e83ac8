"""Chapter 12: memory tiers, recomputation and offloading. Replace each `raise NotImplementedError` by your answer, then
run: pytest exercises/

The chapter's page is chapters/12_memory_tiers.ipynb. The exercises come in five levels; do them in order or not, each
stands alone. Roughly: 1 predict (5 minutes each), 2 fill in (10), 3 write (15 to 30), 4 repair (15), 5 speed up (30).

Letters: s tokens of a sequence, b sequences of a micro-batch, h width of the model, a heads, L layers. Sizes are in
bytes, times in seconds, rates in bytes a second, unless the text says otherwise.

Arguments stay as they are, and what is returned is memory of its own, unless the text says otherwise.
"""

import math

import numpy as np

# Level 1: predict --------------------------------------------------------------------------------------------------


def peak_bytes(s, b, h, a, L, how, K):
    """Return the most bytes of activations that there are at any time of a training step.

    s, b, h, a, L  tokens, sequences, width, heads, layers
    how            "everything": each layer keeps all that its backward pass needs.
                   "selective":  each layer keeps all but its attention core. The core of a layer is computed again
                                 directly before the layer's backward pass, and is gone after it.
                   "segments":   of each segment of K layers, the input of the first one is kept, and nothing else.
                                 Directly before the backward pass of a segment, all that its layers need is computed
                                 again. After it, this is gone, and so is the segment's kept input.
    K              layers of a segment, a divisor of L; 1 in the other forms

    For its backward pass a layer needs 34 s b h + 5 a s s b bytes. 2 s b h of them are its input, and 5 a s s b are its
    attention core. Embedding and loss are left out.

    Try it: s = 2048, b = 1, h = 12288, a = 96, L = 96. "Segments of sqrt(L) layers need the least": try K = 8
    and K = 1.

    Page: chapters/12_memory_tiers.ipynb#what-a-step-keeps
    """
    raise NotImplementedError


def best_k(n, c, a):
    """Return for which k a step needs the fewest bytes at a time, if it keeps the input of every k-th layer.

    n  layers, all alike; k divides n
    c  bytes of a layer's input
    a  bytes of all that a layer needs for its backward pass, its input among them

    The inputs of layers 0, k, 2 k, ... are kept. Before the backward pass of k layers, all that these need is computed
    again, but for the input that is kept. If several k need equally few bytes, return the largest: the last k layers
    go backward directly after they went forward, so they need not be computed again.

    Try it: n = 100 with c = 1 and a = 1, then with a = 57, as in a large GPT. For which of them is k = sqrt(n) right?

    Page: chapters/12_memory_tiers.ipynb#what-a-step-keeps
    """
    raise NotImplementedError


def keep_move_or_again():
    """Return for each activation A to H what makes the step shortest: a dictionary such as {"A": "keep", "B": "move"}.

    "keep"   it stays in the accelerator's memory
    "move"   it is copied to the host's memory, and back in time
    "again"  it is freed, and computed again before the backward pass needs it

    The accelerator reads and writes its own memory with 3 TB/s, and an elementwise operation does nothing else. Copies
    to the host and back go with 50 GB/s each way. Nothing waits for a copy that is done in time. Memory is short: what
    has 1 MB or more stays only where the line says that there is room. Of the other two, take what delays the step
    less.

    A  The output of a GELU, 400 MB. Its input is kept. The backward pass needs it 5 ms later. The link is free.
    B  The output of a product that takes 15 ms, 500 MB. The backward pass needs it 400 ms later. The link is free.
    C  As B, but the link has no second to spare during the whole step: it carries the optimizer's state of chapter 10.
    D  The softmax in the attention of 8,192 tokens and 64 heads, 8.6 GB. Its inputs are kept, and computing it again
       takes 11 ms. The backward pass needs it 200 ms later. The link is free.
    E  What the last layer needs, 2 GB. Its backward pass comes directly after its forward pass. There is room.
    F  The state of the random generator before a layer's dropout, 16 bytes.
    G  The input of a segment of layers, 200 MB. To compute it again, the segment before has to go forward once more,
       which takes 30 ms. It is needed 300 ms later. The link is free.
    H  The output of a normalization, 200 MB; its input is kept. It is needed 300 ms later. Until then the link has no
       second to spare: it carries tensors such as G's.

    Page: chapters/12_memory_tiers.ipynb#keep-move-or-compute-again
    """
    raise NotImplementedError


def speedup_with_codec(compute, nbytes, bandwidth, ratio, pack, unpack, overlap):
    """Return how many times as fast a step is if what it sends is compressed.

    compute    seconds in which the accelerator computes
    nbytes     bytes that the step sends without compression
    bandwidth  of the link, in bytes a second
    ratio      how many times smaller the compressed data are
    pack       bytes that are compressed in a second, counted before compression
    unpack     bytes that are decompressed in a second, counted after decompression
    overlap    False: computing, compressing, sending and decompressing follow each other.
               True: the link sends while the accelerator works, and the step takes as long as the one of them that
               takes longer. The accelerator computes, compresses and decompresses, one after the other.

    The overlap is the same with compression and without.

    Try it: a step that only sends, 125 ms. It is compressed 50 times, and packing and unpacking take 100 ms together.
    A printed formula, 1 / ((1 - p) + p / (C (1 - delta))) with p = 1, C = 50 and the overhead delta = 0.8, says 10
    times. How many times is it?

    Page: chapters/12_memory_tiers.ipynb#links-and-deadlines
    """
    raise NotImplementedError


def bytes_in_tier(tier, parameters, each, activations, tiers, reserve):
    """Return how many bytes of a training's state lie in one tier of memory.

    tier         the name of a tier, or "missing": the bytes for which there is no room in any
    parameters   how many the model has
    each         bytes of state for each parameter: its weight, its gradient and what the optimizer keeps for it
    activations  bytes. They are no state, lie in the first tier, and fit there.
    tiers        list of (name, how many of them, bytes of one), the fastest first
    reserve      share of every tier that stays empty, for buffers and for room that is cut into pieces too small

    The state takes what is left of the first tier. What does not fit goes into the second one, and so on.

    Try it: 200 trillion parameters. There are 2,048 accelerators of 80 GB, 256 hosts of 2 TB, and one store of drives
    with 100 TB. A printed plan puts 160 TB into the accelerators, 240 TB into the hosts, and is done. How many bytes
    does it count for each parameter? A training with Adam keeps 16. How much is missing then, without any reserve?

    Page: chapters/12_memory_tiers.ipynb#a-model-of-200-trillion-parameters
    """
    raise NotImplementedError


# Level 2: fill in --------------------------------------------------------------------------------------------------


def which_to_recompute(operators, needed, budget):
    """Return the list of the outputs to keep, so that as little as possible is computed again.

    operators  dictionary: the name of each operator's output, in the order of the forward pass, to (inputs, bytes,
               seconds): a list of the names of what it is computed from, the bytes of its output, and how long it
               takes. "x", the input of all, is there at any time and costs nothing.
    needed     list of the names of what the backward pass reads
    budget     bytes that the outputs which are kept may have together

    Before the backward pass all that it reads must be there: kept, or computed again. What is computed again needs its
    own inputs, which are kept or computed again in their turn. Everything is computed again once at most, and any
    output may be kept, needed or not. There are eight operators at most, so trying all choices is quick.

    If there are several such lists, each will do. Remove the first line below and fill in the five blanks `___`.

    Page: chapters/12_memory_tiers.ipynb#the-best-choice
    """
    raise NotImplementedError
    fewest, best = math.inf, None
    for bits in range(2 ** len(operators)):
        kept = [name for place, name in enumerate(operators) if bits >> place & 1]
        if ___ > budget:
            continue
        again, asked = set(), ___
        while asked:
            name = asked.pop()
            if name in operators and ___:
                again.add(name)
                asked += ___
        seconds = ___
        if seconds < fewest:
            fewest, best = seconds, kept
    return best


# Level 3: write ----------------------------------------------------------------------------------------------------


def checkpointed_step(layers, x, dy, k, random):
    """Go forward and backward, and keep of the forward pass the input of every k-th layer only. Return (y, dx).

    layers  list of layers, in the order of the forward pass. layer.forward(x) returns (y, kept): its output, an array
            like x, and what its backward pass needs, which is large. layer.backward(kept, dy) returns the gradient for
            its input, of the gradient dy for its output.
    x       float64 array: the input of the first layer
    dy      float64 array: the gradient for the output of the last layer
    k       layers of a segment; the last segment may have fewer
    random  the generator from which layers draw their dropout. random.get() returns its state, random.set(state) sets
            it. Each forward pass of a layer draws other numbers and moves the state on.
    y, dx   output of the last layer; gradient for x

    - Whenever a layer is called, there is what k layers have kept at most, and of the outputs no more than the first
      inputs of the segments so far, and three others. `kept` is gone when nothing refers to it: no list, and no name.
    - A layer goes forward twice at most, and the second time it must draw what it drew the first time.
    - In the end the generator is in the state that it has after one forward pass.

    Page: chapters/12_memory_tiers.ipynb#compute-again
    """
    raise NotImplementedError


def cut_chain(inputs, internals):
    """Cut a chain of layers into segments so that it needs the fewest bytes. Return a list: each segment's first layer.

    inputs     list: bytes of each layer's input
    internals  list, as long: bytes of what each layer needs for its backward pass besides its input

    The input of each segment's first layer is kept from the forward pass on. The backward pass goes from the last
    segment to the first. Directly before a segment's turn, the internals of all its layers are computed again, and the
    inputs of all but its first layer. After its turn these are gone, and so is the kept input of the segment.

    The list ascends and begins with 0. If there are several such lists, each will do. There may be 300 layers; all
    sizes are whole numbers.

    Example: inputs [4, 1, 4], internals [5, 5, 5]. With [0, 1], the segment of layers 1 and 2 has 4 + 1 kept and 10 + 4
    computed again: 19 bytes. With [0, 2] it is 15, in the turn of the first segment. With [0, 1, 2] it is 14, which is
    the least.

    Page: chapters/12_memory_tiers.ipynb#the-best-choice
    """
    raise NotImplementedError


def evictions(requests, room):
    """Return what leaves the fast memory at each request, so that the fewest tensors have to be fetched: a list.

    requests  list of numbers of tensors, all equally large, in the order in which a step uses them
    room      how many of them the fast memory has room for, 1 or more. In the beginning it is empty.
    returns   one entry for each request: the number of the tensor that leaves, or None if none does

    If the tensor is there, nothing is fetched and nothing leaves. If it is not, it is fetched; if there is no room for
    it, one that is there leaves first. All requests are known from the beginning, as in a training step, whose
    operators always follow each other in the same order. There may be 6,000.

    If several such lists fetch equally few tensors, each will do.

    Page: chapters/12_memory_tiers.ipynb#who-stays
    """
    raise NotImplementedError


# Level 4: repair ---------------------------------------------------------------------------------------------------


def prefetch_starts(transfers, latency, bandwidth):
    """Return the latest seconds at which each transfer may begin: a list. Return None if they cannot all be in time.

    transfers  list of (nbytes, needed): bytes of a tensor, and the second at which all of it must be there
    latency    seconds that every transfer takes besides its bytes
    bandwidth  bytes of the link in a second

    All use one link, one after the other, in the order in which they are needed; if two are needed at the same time,
    that of the two goes first which stands first in the list. The first one may begin at 0, not earlier. The later a
    tensor comes, the less room it takes, so each begins as late as it can if all others are in time, too.

    The formula below is often printed: when the tensor is needed, less its size over the bandwidth. Three things are
    forgotten. Remove the first line and repair the rest.

    Page: chapters/12_memory_tiers.ipynb#links-and-deadlines
    """
    raise NotImplementedError
    starts = []
    for nbytes, needed in transfers:
        starts.append(needed - nbytes / bandwidth)
    return starts


def fair_shares(bandwidth, weights, wants):
    """Share a link among some who want to send. Return the list of their bytes a second.

    bandwidth  bytes of the link in a second
    weights    list of whole numbers above 0: how much each counts
    wants      list: the most bytes a second that each can use, perhaps 0

    Nobody gets more than it can use. Who cannot use its part of the link, by weight, leaves the rest to the others, by
    their weights. So the link is full unless all have what they want, and who has less than it wants has as much for
    each unit of weight as anybody, or more.

    Example: a link of 12, weights [1, 1, 2], wants [1, 9, 9]. The first gets 1, and 11 are left for weights 1 and 2:
    11/3 and 22/3.

    Three mistakes are below. Remove the first line and repair the rest.

    Page: chapters/12_memory_tiers.ipynb#links-and-deadlines
    """
    raise NotImplementedError
    shares, left, weight = [0.0] * len(wants), bandwidth, sum(weights)
    for i in sorted(range(len(wants)), key=lambda i: wants[i]):
        shares[i] = min(wants[i], bandwidth * weights[i] / weight)
        left -= shares[i]
    return shares


# Level 5: speed up -------------------------------------------------------------------------------------------------


def reverse_with_slots(n, slots):
    """Return the order of a step whose memory holds a few states, with the fewest forward steps: a list of strings.

    n      layers in a chain, all alike. Layer i makes state i + 1 of state i. State 0 is the input.
    slots  states that can be kept at a time, 1 or more

    There is a current state, which is state 0 in the beginning. It takes no slot.

    "keep 3"      the current state is state 3; a copy of it goes into a free slot
    "load 3"      state 3, which is in a slot, becomes the current state, and stays in its slot
    "free 3"      state 3 leaves its slot
    "forward 3"   the current state is state 3, and becomes state 4
    "backward 3"  the current state is state 3; layer 3 goes backward. It makes what it needs inside by itself.

    Layers go backward from n - 1 to 0, each once. Of all orders return one with the fewest "forward". What is in the
    slots in the end does not matter. n is 400 at most. Whoever works the same thing out again and again, for every
    place of every "keep", does not come to an end there.

    Example: n = 3 with two slots: "keep 0", "forward 0", "keep 1", "forward 1", "backward 2", "load 1", "backward 1",
    "load 0", "backward 0". With one slot a third forward step is needed.

    Page: chapters/12_memory_tiers.ipynb#the-best-choice
    """
    raise NotImplementedError

"""Chapter 3: communication-efficient and asynchronous data parallelism. Replace each `raise NotImplementedError` by
your answer, then run: pytest exercises/

The chapter's pages are chapters/03_communication_efficient.ipynb and chapters/03_communication_efficient_local.ipynb
(for delay_compensated 03_communication_efficient_asynchronous.ipynb); each lists the exercises for which it is enough.
They come in five levels; do them in order or not, each stands alone. Roughly: 1 predict (5 minutes each), 2 fill in
(10), 3 write (20), 4 repair (15), 5 speed up (20).

Functions whose first argument is `comm` run once on each rank. `comm.rank` is this rank's number (0 to P - 1) and
`comm.size` is P. `comm.Allreduce(mpi.IN_PLACE, x)` replaces the array x by the sum of all ranks' x.
`comm.Allgather(x, table)` fills the array `table`, of P rows like x, with the x of every rank: row r is that of rank r.
Between two ranks `comm.Send(x, dest=r)` and `comm.Recv(y, source=r)` move an array; each waits for the other. Both at
once are `comm.Sendrecv(x, dest=r, recvbuf=y, source=s)`. `comm.Isend(x, dest=r)` and `comm.Irecv(y, source=r)` begin
only, and return a request; `mpi.waitall(requests)` waits. Until then x and y must be left alone. The array y that
something comes into exists before, as long as what comes and of the same type. `comm.Bcast(x, root=r)` gives everybody
the x of rank r. A message of n bytes takes alpha + n beta seconds.

Unless an exercise says otherwise, arguments stay as they are, and what is returned is memory of its own.
"""

import bisect
import heapq
import math

import numpy as np

from reference import mpi

# Level 1: predict --------------------------------------------------------------------------------------------------


def compression_speedup(P, n, wire, bandwidth, compress, decompress):
    """Return how many times quicker the sum of the ranks' gradients is there, if each rank compresses its gradient.

    P           ranks, at least 2
    n           bytes of a gradient. Uncompressed it is summed by a ring all-reduce, and adding costs no time.
    wire        bytes that a rank's gradient has when it is compressed. Such gradients cannot be added on the way: a
                ring all-gather brings those of all ranks to every rank.
    bandwidth   bytes per second of a link, in one direction; a message costs no latency
    compress    seconds that a rank takes to compress its own gradient, before it can be sent
    decompress  seconds that it takes to unpack and add one gradient that has come. It does so while the next one is on
                its way; its own gradient it need not unpack.

    Below 1 it is slower. Try it: 25 GB, of which Top-1 % leaves 0.5 GB, links of 200 GB/s, 50 ms to compress and 4 ms
    to decompress one; with 2, 8, 16, 64 and 256 ranks. The page has it for 50 ms that are paid once, however many come.
    One textbook says 1.22 for that, whatever the number of ranks.

    Page: chapters/03_communication_efficient.ipynb#predict-is-it-worth-it
    """
    raise NotImplementedError


def top_k_bytes(d, k):
    """Return the bytes that a rank sends for the k largest of d numbers.

    d   numbers in the gradient, at least 1
    k   of which so many are sent, from 1 to d

    On the wire there are k values of 32 bits and then k indices, which say where the values belong. The indices run
    from 0 to d - 1 and have as few bits each as all of these need, the same number for each; they are packed one after
    the other without gaps, and the last byte is filled up. The receiver knows d and k.

    Try it: the largest 1 % of a million numbers are 65,000 bytes, of 4,000,000. "Compressed to 1 %" one reads.

    Page: chapters/03_communication_efficient.ipynb#send-the-largest
    """
    raise NotImplementedError


def who_is_unbiased():
    """Return a dictionary from the letter of each compressor C to the name of what holds for it.

    Names: "unbiased"      the mean of C(x), over what C draws at random, is x, for every x
           "contraction"   there is a delta > 0 such that the mean of |C(x) - x|^2 is at most (1 - delta) |x|^2, for
                           every x. Then error feedback repairs what C leaves out.
           "both"
           "neither"

    x has d = 1000 numbers, not all 0. |x| is its Euclidean length, max its largest magnitude, and p a probability; each
    number has a draw of its own. delta may depend on d, and not on x.

    A   The 10 numbers of largest magnitude are sent as they are; the others count as 0.
    B   10 numbers drawn at random are sent, multiplied by 100; the others count as 0.
    C   10 numbers drawn at random are sent as they are; the others count as 0.
    D   Each number x_i is sent as it is, x_i, with probability p = |x_i| / max, and counts as 0 otherwise.
    E   Each number x_i is sent as x_i / p with the same probability p = |x_i| / max, and counts as 0 otherwise.
    F   One bit each: +|x| with p = |x_i| / (the sum of all |x_j|), otherwise -|x|.
    G   One bit each: +max with p = (1 + x_i / max) / 2, otherwise -max.
    H   One bit each: the sign of x_i, times the mean of all |x_j|.
    I   The signs of the 10 numbers of largest magnitude, times |x|; the others count as 0.
    J   Each number is rounded to the nearest multiple of max / 127.
    K   Each number becomes one of the two multiples of max / 127 next to it, the lower or the upper one, at random,
        with the probabilities for which the mean is the number. A number that is such a multiple stays as it is.

    Page: chapters/03_communication_efficient.ipynb#a-quantiser
    """
    raise NotImplementedError


def how_late(seconds, updates):
    """Return how late the first `updates` gradients of an asynchronous training are: a list of whole numbers.

    seconds   list: seconds that worker 0, 1, ... takes for a gradient, always the same; not always whole numbers,
              but multiples of 1/8, so that sums are exact
    updates   how many, any number, also 0

    At time 0 every worker reads the weights. When its gradient is computed it pushes it, which updates the weights at
    once; it reads them immediately after its own update, and begins the next gradient. Messages take no time. If
    several push at the same time, the one with the lowest number does so first, and reads before the next one pushes.

    A gradient is late by the number of updates that the weights have had between the moment at which its worker read
    them and the moment at which it arrives; its own update does not count. Example: how_late([1, 3], 6) is
    [0, 0, 0, 3, 1, 0].

    Page: chapters/03_communication_efficient_local.ipynb#what-a-delay-does
    """
    raise NotImplementedError


# Level 2: fill in --------------------------------------------------------------------------------------------------


def stochastic_round(x, u):
    """Return x rounded to whole numbers, at random, so that the mean is x.

    x         one-dimensional float64 array of numbers of any sign, up to 10^15 in magnitude. It must not be changed.
    u         as many random numbers, evenly distributed, at least 0 and below 1
    returns   a new float64 array. A number is rounded up with a probability as large as its distance from the whole
              number below, namely where u is less than this distance; otherwise down. Whole numbers stay as they are.

    Example: 2.25 becomes 3.0 with probability 0.25, where u is below 0.25; -2.25 becomes -2.0 where u is below 0.75.
    Remove the first line below and fill in the two blanks `___`.

    Page: chapters/03_communication_efficient.ipynb#a-quantiser
    """
    raise NotImplementedError
    low = ___
    return low + (u < ___)


def error_feedback(gradients, k):
    """Return (sent, e): what Top-K with error feedback sends in each step, and what has not been sent in the end.

    gradients  list of float64 arrays of the same length d, one for each step; at least one. They must not be changed.
    k          how many numbers are sent in a step, from 1 to d; there are no ties for the last place
    sent       list of float64 arrays of d numbers: what the receiver gets, with zeros for what was not sent
    e          float64 array of d numbers

    What was left out in a step is added to the next gradient, and then the k numbers of largest magnitude are sent, as
    they are. So nothing is lost; it is late: all that was sent, plus e, is the sum of the gradients.

    Remove the first line below and fill in the three blanks `___`.

    Page: chapters/03_communication_efficient.ipynb#error-feedback
    """
    raise NotImplementedError
    sent, e = [], np.zeros_like(gradients[0])
    for g in gradients:
        p = ___
        largest = np.argsort(___)[-k:]  # where the k largest stand
        c = np.zeros_like(p)
        c[largest] = p[largest]
        sent.append(c)
        e = ___
    return sent, e


# Level 3: write ----------------------------------------------------------------------------------------------------


def top_k_sum(comm, g, e, k):
    """Return (total, error): the sum over ranks of what Top-K with error feedback sends, and this rank's new error.

    g       one-dimensional float32 array of the same length d on every rank: this rank's gradient
    e       float32 array of d numbers: this rank's error so far. Neither may be changed.
    k       from 1 to d: how many numbers each rank sends; there are no ties for the last place
    total   new float32 array of d numbers: the sum over the ranks of the k numbers of largest magnitude of each rank's
            g + e, each in its place. The same on all ranks, to the last bit.
    error   new float32 array of d numbers: what this rank has not sent of g + e

    Every rank sends its k values in 32 bits and their indices in 32 bits to all the others, by comm.Allgather, which is
    called once or twice. An index is an integer, as a float32 has no room for those above 2^24; but an array seen as
    another type, `.view(np.float32)`, keeps its bits. Then each adds up what has come. Two ranks may well have sent
    numbers for the same place.

    Example on 2 ranks, with k = 1 and e = 0: g is [3, 1] on rank 0 and [2, -1] on rank 1. The total is [5, 0]; the
    errors are [0, 1] and [0, -1].

    Page: chapters/03_communication_efficient.ipynb#hear-all-ranks
    """
    raise NotImplementedError


def one_bit_sum(comm, g, u):
    """Return the sum over ranks of their gradients, of which each rank sends one bit for each number: right on average.

    g        one-dimensional float32 array of the same length d on every rank, d at least 1. It must not be changed.
    u        d random numbers of this rank, float64, evenly distributed, at least 0 and below 1
    returns  new float32 array of d numbers, the same on all ranks to the last bit

    A rank with s = the largest magnitude of its g turns g[i] into +s if u[i] is less than (1 + g[i] / s) / 2, and into
    -s otherwise, so that the mean over u is g[i]. If all of g is 0, it counts as 0. The sum over ranks is taken of
    these.

    On the wire: s in 4 bytes, and the bits in d / 8 bytes, rounded up (np.packbits and np.unpackbits). So every rank
    sends 4 + ceil(d / 8) bytes to all the others, by comm.Allgather, which is called once or twice.

    Page: chapters/03_communication_efficient.ipynb#a-quantiser
    """
    raise NotImplementedError


def local_sgd(comm, w, gradient, steps, period, rate):
    """Return the weights after so many steps of local SGD, in a new array, the same on every rank.

    w         one-dimensional float64 array of d weights, the same on every rank. It must not be changed.
    gradient  a function: gradient(w, step) is this rank's gradient, a new array of d numbers, at its weights w in step
              0, 1, ..., steps - 1. Each rank has other samples, and as many as the others.
    steps     of each rank, in all; any number, also 0
    period    steps between two averages, at least 1
    rate      learning rate

    In each step every rank updates its own weights by rate times its own gradient, downhill. After every `period`
    steps, and after the last step, all replace their weights by the mean over the ranks. Nothing else is communicated:
    that is ceil(steps / period) calls of comm.Allreduce, of d float64 numbers each, and no other calls.

    Page: chapters/03_communication_efficient_local.ipynb#local-sgd
    """
    raise NotImplementedError


def gossip_step(comm, x, partner):
    """Return the mean of this rank's x and its partner's, on both.

    x        one-dimensional float64 array of the same length on every rank. It must not be changed.
    partner  the rank to average with, whose partner is this rank; None for a rank that has no partner in this step
    returns  new float64 array, the same on both to the last bit; a copy of x if there is no partner

    Both partners do the same, so that the mean over all ranks stays what it was. One message each way, which is x. It
    must not hang, however long x is, and pairs must not wait for other pairs. No collective calls: most ranks are busy
    with others.

    Page: chapters/03_communication_efficient_local.ipynb#gossip
    """
    raise NotImplementedError


def bounded_staleness(comm, w, gradient, steps, bound, rate):
    """Train with a parameter server and bounded staleness. Return the weights, the same on every rank.

    w         one-dimensional float64 array of d weights, the same on every rank. May be changed.
    gradient  a function: gradient(comm, w, step) computes for a while, on some ranks longer than on others, and returns
              this worker's gradient of step 0, 1, ..., steps - 1: a new array of d numbers
    steps     gradients that each worker computes, any number, also 0
    bound     at least 0
    rate      learning rate

    Rank 0 is the server; it has the weights, and computes no gradients. The others are workers, perhaps none. A worker
    receives the weights from the server, computes its next gradient, and sends it to the server, `steps` times; each
    gradient that arrives is an update by rate times the gradient, downhill. In the end all get the server's weights.

    A worker's clock is the number of its gradients that have arrived. The server sends weights to a worker at once if
    its clock is at most `bound` ahead of the slowest worker's; otherwise the worker waits until that is so. What it
    sends are its weights as they are then. No gradient is dropped. A bound of 0 means step by step together; with a
    large one nobody waits for anybody.

    comm.Recv(g, mpi.ANY_SOURCE, status=status) receives from whoever comes first; `status = mpi.Status()` is made
    before, and status.source tells who it was. Messages of d numbers, nothing but weights and gradients, each sent
    once; in the end one collective call is allowed, or a message to each worker.

    Page: chapters/03_communication_efficient_local.ipynb#a-parameter-server
    """
    raise NotImplementedError


# Level 4: repair ---------------------------------------------------------------------------------------------------


def slow_momentum(comm, w, gradient, phases, period, rate, alpha, beta):
    """Return the weights after so many phases of SlowMo: local SGD with a momentum that is updated in each phase.

    w         one-dimensional float64 array of d weights, the same on every rank. It must not be changed.
    gradient  a function: gradient(w, step) is this rank's gradient at its weights w in step 0, 1, ...
    phases    each has `period` steps
    rate      learning rate of a step
    alpha     how far to go with what a phase says, beta: how much of the momentum is kept from phase to phase

    In a phase every rank takes `period` steps from the weights that all have. The way from there to the mean of the
    ranks' new weights leads downhill, so minus that way, divided by rate, stands for a gradient. With it SGD with
    momentum takes one step from the old weights: the momentum, which is 0 in the beginning, is multiplied by beta, and
    this gradient is added; the weights go alpha * rate times the momentum downhill. So alpha = 1 and beta = 0 give
    plain local SGD.

    The version below is what one reads in a textbook; it diverges, even on x^2 / 2. Remove the first line and repair
    it: there are three mistakes. One Allreduce of d float64 numbers a phase, as here.

    Page: chapters/03_communication_efficient_local.ipynb#what-to-do-with-the-average
    """
    raise NotImplementedError
    for phase in range(phases):
        local = w.copy()
        for step in range(phase * period, (phase + 1) * period):
            local -= rate * gradient(local, step)
        way = local - w
        comm.Allreduce(mpi.IN_PLACE, way)
        w = w - alpha * way
    return w


def delay_compensated(w, gradient, reads, rate, strength):
    """Return the weights after asynchronous updates with delay compensation.

    w         one-dimensional float64 array of d weights. It must not be changed.
    gradient  a function: gradient(w) is the gradient at w, a new array of d numbers
    reads     list of whole numbers: update t uses a gradient that was computed at the weights after reads[t] updates;
              reads[t] is at most t
    rate      learning rate
    strength  of the compensation, lambda

    The weights have moved since the gradient was computed. To first order the gradient changes by the Hessian times the
    way from the weights that were read to those that are updated; and DC-ASGD replaces the Hessian by a diagonal,
    lambda times the square of each element of the gradient. So what is used is an estimate of the gradient where the
    weights are now, and the rate is the same for all.

    Somebody has written the version below and called it delay compensation. It only trusts a late gradient less. Remove
    the first line and repair it.

    Page: chapters/03_communication_efficient_asynchronous.ipynb#damping-and-compensation
    """
    raise NotImplementedError
    history = [w]  # the weights after 0, 1, ... updates
    for t, read in enumerate(reads):
        g = gradient(history[read])
        history.append(history[t] - rate * g / (1 + t - read))
    return history[-1]


# Level 5: speed up -------------------------------------------------------------------------------------------------


def how_many_to_send(d, P, alpha, beta, codec, window):
    """Return k: of how many numbers a gradient of d numbers should be sent, given what was measured. 0 means all.

    d        numbers of 32 bits in the gradient, at least 2, up to a billion
    P        ranks, at least 2
    alpha    seconds that a message costs, whatever its size
    beta     seconds for each of its bytes
    codec    seconds that compressing and decompressing take for each of the d numbers, in all, whatever k is
    window   seconds for which the gradient's communication is hidden behind computing

    If the whole gradient is summed within the window by a ring all-reduce, 2 (P - 1) (alpha + 4 d / P beta) seconds,
    nothing need be compressed: return 0. Otherwise return the largest k from 1 to d - 1 for which Top-K is through
    within the window: it takes d * codec seconds, and a ring all-gather in which each rank sends P - 1 messages of
    top_k_bytes(d, k). If not even k = 1 is, return 1 if that is quicker than the whole gradient, and 0 if it is not.

    You may call your functions from above. There is no time to try every k.

    Page: chapters/03_communication_efficient.ipynb#predicted-simulated-measured
    """
    raise NotImplementedError

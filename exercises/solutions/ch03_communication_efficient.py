"""Solutions of chapter 3. Each docstring says why it works; it is shown once the exercise is solved."""

import bisect
import heapq

import numpy as np

from reference import mpi

# Level 1: predict --------------------------------------------------------------------------------------------------


def compression_speedup(P, n, wire, bandwidth, compress, decompress):
    """The ring's all-reduce sends 2 (P - 1) / P n, which hardly depends on P. The all-gather of compressed gradients
    sends (P - 1) wire, which grows with every rank, because nothing can be added on the way: two ranks chose other
    numbers. They come one after the other, and each is unpacked while the next one comes: a pipeline of two stages,
    link and codec. The first one fills it, the last one empties it, and in between the slower of the two sets the pace.

    So 25 GB against 0.5 GB is no factor of 50, but 2.21 with 2 ranks, 2.72 with 8, 2.08 with 16, 0.81 with 64 and 0.23
    with 256. The textbook's 1.22 compares one transfer of 25 GB with one of 0.5 GB, and 50 ms each for the codec: no
    sum is made that way, and it is right for two ranks by chance, as 2 (P - 1) / P and P - 1 are both 1 then. Without
    any time for the codec the all-gather loses from P = 2 n / wire on: at 100 ranks here. Follow-up: where is the best
    P, and what does it depend on?
    """
    dense, one = 2 * (P - 1) / P * n / bandwidth, wire / bandwidth
    return dense / (compress + one + (P - 2) * max(one, decompress) + decompress)


def top_k_bytes(d, k):
    """4 k bytes of values, and k indices of ceil(log2 d) bits. (d - 1).bit_length() is that number, exactly, also for
    d = 1, where there is nothing to choose between and an index has no bits; for d = 1024 it is 10, not 11.

    So the largest 1 % of a million numbers take 1.6 % of the bytes, and with indices of 32 bits 2 %: a fifty-fold
    saving, not a hundred-fold. From k = d / bits on a bitmap of d bits is shorter than the indices, and from k = d * 32
    / (32 + bits) on values with indices are longer than the whole gradient. Sorted indices could be sent as
    differences, in about log2(d / k) + 2 bits each (Golomb, Elias-Fano). Follow-up: random-k needs no indices at all.
    What must the ranks share instead?
    """
    return 4 * k + (k * (d - 1).bit_length() + 7) // 8


def who_is_unbiased():
    """Unbiased: B, E, G draw at random and correct by 1 / p what they leave out. The price is variance: the mean of
    |C(x) - x|^2 is (d / k - 1) |x|^2 for B and up to (d - 1) |x|^2 for G, far above |x|^2. Contraction: A, C, D, H, J
    are wrong on average, and nearer to x than 0 is: A, C with delta = k / d, D and H with delta of at least 1 / d. K is
    both, because its steps are so small: at most d / (4 * 127^2) = 0.016 |x|^2.

    F and I are neither. In F the sign of x_i does not even occur: C(x) and C(-x) have the same mean. I has the right
    signs and a length of sqrt(10) |x|, so it is further from x than 0 is, and error feedback cannot repair that; with
    the mean magnitude of the 10 it would be a contraction. D and E differ by a division, and are often confused. Use an
    unbiased compressor as it is, as averaging over ranks divides its variance by P; give a contraction error feedback.
    Follow-up: an unbiased C divided by 1 + omega is a contraction. With which delta, for B?
    """
    return {
        **dict.fromkeys("BEG", "unbiased"),
        **dict.fromkeys("ACDHJ", "contraction"),
        **dict.fromkeys("FI", "neither"),
        "K": "both",
    }


def how_late(seconds, updates):
    """A counter of updates is a version number of the weights. Each worker remembers the version that it has read; when
    its gradient arrives the counter minus that is how late it is. A queue of (time, worker) gives the next one.

    With P equal workers every gradient is P - 1 late, after the first round: asynchrony has a price even when nobody is
    slow. A slow worker's gradients are later, and rare; the quick ones' are less late. On w <- w - rate a w_(t - tau)
    the largest stable rate is 2 sin(pi / (2 (2 tau + 1))) / a: 2 / a without delay, 1 / a with a delay of 1, and about
    pi / (2 tau a) for long ones. So whoever doubles the number of workers must about halve the rate. Follow-up: how
    late are the gradients on average, if all workers take equally long but not at the same time?
    """
    queue = [(time, worker) for worker, time in enumerate(seconds)]
    heapq.heapify(queue)
    version, late = [0] * len(seconds), []
    for done in range(updates):
        time, worker = heapq.heappop(queue)
        late.append(done - version[worker])
        version[worker] = done + 1
        heapq.heappush(queue, (time + seconds[worker], worker))
    return late


# Level 2: fill in --------------------------------------------------------------------------------------------------


def stochastic_round(x, u):
    """floor(x) + Bernoulli(x - floor(x)): with f = x - floor(x) the mean is floor(x) + f = x. A whole number has f = 0,
    and u < 0 never holds; so it stays. Negative numbers need no case of their own, because floor goes down for them,
    too (int() and trunc go towards 0).

    One also reads: floor(x) with probability ceil(x) - x, and ceil(x) with probability x - floor(x). For whole numbers
    both are 0, and nothing is said. The variance is f (1 - f), at most 1/4. Rounding to nearest has a smaller error
    each time, and always the same one: a gradient of 0.3 would be 0 in every step, for ever; at random it is 1 in three
    steps of ten, and the sum over many steps, or ranks, is right. Follow-up: why must the ranks' u be different?
    """
    low = np.floor(x)
    return low + (u < x - low)


def error_feedback(gradients, k):
    """p = g + e is what should be sent, c what is sent, and e = p - c what is left: sent + e is conserved, step by
    step. A number that is never among the k largest grows in e until it is. So each comes, late, unless it cancels.

    The textbook's e <- e + g - C(g) keeps the books and never pays: e grows without end, and numbers that are small in
    every gradient are never sent. Who feeds back and then adds the old error again (e <- e + p - c) pays twice, and
    diverges. The error stays bounded because Top-K is a contraction: with |C(p) - p| <= q |p| and |g| <= G it is at
    most G q / (1 - q). Follow-up: e is a vector of d numbers on every rank. Of which of these must a checkpoint know?
    """
    sent, e = [], np.zeros_like(gradients[0])
    for g in gradients:
        p = g + e
        largest = np.argsort(np.abs(p))[-k:]
        c = np.zeros_like(p)
        c[largest] = p[largest]
        sent.append(c)
        e = p - c
    return sent, e


# Level 3: write ----------------------------------------------------------------------------------------------------


def top_k_sum(comm, g, e, k):
    """Values and indices travel in one array of 2 k words of 32 bits, the indices as their bits. Every rank adds the
    contributions in the order of ranks, so all have the same bits. A loop over ranks adds each to its places; total[all
    indices] += all values at once would add only one of several that belong to the same place (np.add.at adds all).
    Indices converted to float32 go wrong from 16.8 million numbers on, more than any case here has: 2^24 + 1 becomes
    2^24, and its value is added in the wrong place. So the grader looks at what travels.

    Each rank's error is what it has not sent itself; what others have sent has nothing to do with it. The bytes are
    8 k (P - 1) for each rank, and grow with P. A ring reduce-scatter of sparse blocks would fill in: the union of the
    ranks' places grows on the way, until it is dense. Follow-up: from how many ranks on is the dense ring cheaper, if k
    is 1 % of d? (8 k (P - 1) against 2 (P - 1) / P 4 d.)
    """
    p = g + e
    indices = np.argsort(np.abs(p))[-k:].astype(np.int32)
    table = np.empty((comm.size, 2 * k), np.float32)
    comm.Allgather(np.concatenate([p[indices], indices.view(np.float32)]), table)
    total, error = np.zeros_like(p), p.copy()
    for row in table:
        total[row[k:].view(np.int32)] += row[:k]
    error[indices] = 0
    return total, error


def one_bit_sum(comm, g, u):
    """The mean of +s with probability q and -s with 1 - q is s (2 q - 1), and that is g[i] for q = (1 + g[i] / s) / 2.
    It must be a probability for every element, so s is at least the largest magnitude; a larger s only adds variance,
    which is s^2 - g[i]^2. So the largest element is sent exactly, and one of 0 is +s or -s with equal chances.

    The formula that one reads, +|g| with probability |g[i]| over the sum of magnitudes and -|g| otherwise, has not this
    mean nor any like it: the sign of g[i] does not occur. 1/32 of the bytes is what the bits cost; the price is a
    variance of up to d times the gradient's square. For large d people use a scale for each chunk, or the sign with
    error feedback (1-bit SGD). Follow-up: how does the variance of the mean over P ranks depend on P?
    """
    s = np.abs(g).max()
    up = s * (2 * u - 1) < g
    wire = np.concatenate([np.array([s]).view(np.uint8), np.packbits(up)])
    table = np.empty((comm.size, wire.size), np.uint8)
    comm.Allgather(wire, table)
    total = np.zeros_like(g)
    for row in table:
        bits = np.unpackbits(row[4:], count=g.size).astype(np.float32)
        total += row[:4].view(np.float32) * (2 * bits - 1)
    return total


def local_sgd(comm, w, gradient, steps, period, rate):
    """Each rank goes its own way for a period; then all meet at the mean. With period 1 this is synchronous SGD, as the
    mean of the weights is then the old weights minus rate times the mean gradient. With a longer one the bytes fall by
    `period`, and the ranks wait for each other less often.

    The price is drift: each rank walks towards the minimum of its own samples, and the mean of minima need not be the
    minimum of the mean. Data that are alike, or a short period, keep them near. Momentum, if there is any, needs a
    decision of its own: keep, reset or average it. The average after the last step must not be forgotten when the
    period does not divide the steps, or every rank would save another model. Follow-up: what is averaged too often if
    one averages the gradients in each step, and the weights as well?
    """
    w = w.copy()
    for step in range(steps):
        w -= rate * gradient(w, step)
        if (step + 1) % period == 0 or step + 1 == steps:
            comm.Allreduce(mpi.IN_PLACE, w)
            w /= comm.size
    return w


def gossip_step(comm, x, partner):
    """Both partners send and receive at once, and compute the same mean. Sendrecv does both directions, so nobody waits
    in a send for somebody who waits in a send. a + b and b + a are equal to the last bit, so the partners agree.

    The step is a matrix W of means; if both partners take part its columns add up to 1, as its rows do, and the mean
    over all ranks is preserved. If only one of them averages, the ranks still come to agree in the end, but on
    something else than the mean. No rank is a bottleneck and no collective holds up everybody: a step costs one
    message, whatever P is, and the spectral gap says how quickly the ranks agree. Follow-up: on 8 ranks, which three
    partners in three steps (r ^ 1, r ^ 2, r ^ 4) bring every rank to the exact mean?
    """
    if partner is None:
        return x.copy()
    other = np.empty_like(x)
    comm.Sendrecv(x, dest=partner, recvbuf=other, source=partner)
    return (x + other) / 2


def bounded_staleness(comm, w, gradient, steps, bound, rate):
    """The policy is one comparison: clock - slowest <= bound. Nobody drops a gradient; who is too far ahead is simply
    not answered, and so waits. Whenever a gradient arrives the slowest clock may have risen, so all who wait are looked
    at.

    With bound 0 the workers go step by step, with a large one it is asynchronous SGD: one number between them. A worker
    that was answered at s ahead computes with weights that lack at most a few clocks of every other worker; that
    bounded delay is what the convergence proofs need, and a bounded delay bounds the rate. Backup workers, whose late
    gradients are dropped, are another idea. On real ranks the order of arrival differs from run to run, and with it
    every bit of the result; only the counts are certain. Follow-up: with K workers, how many updates late can a
    gradient be?
    """
    if comm.rank:
        for step in range(steps):
            comm.Recv(w, source=0)
            comm.Send(gradient(comm, w, step), dest=0)
    else:
        clock = dict.fromkeys(range(1, comm.size), 0)
        waiting, g, status = set(clock), np.empty_like(w), mpi.Status()
        for _ in range(steps * len(clock)):
            for worker in sorted(waiting):
                if clock[worker] - min(clock.values()) <= bound and clock[worker] < steps:
                    comm.Send(w, dest=worker)
                    waiting.remove(worker)
            comm.Recv(g, mpi.ANY_SOURCE, status=status)
            w -= rate * g
            clock[status.source] += 1
            waiting.add(status.source)
    comm.Bcast(w, root=0)
    return w


# Level 4: repair ---------------------------------------------------------------------------------------------------


def slow_momentum(comm, w, gradient, phases, period, rate, alpha, beta):
    """The way of a phase points downhill already, so w - alpha * way walks uphill. As a gradient it is minus the way,
    over rate; that goes into the momentum, and the update subtracts: two minus signs, and the result goes where the
    phase went. The sum over ranks must be divided, or the step is P times too long. And the momentum was missing
    altogether, though it gives SlowMo its name.

    The test that finds all of it: with alpha = 1 and beta = 0 this must be local SGD, weight for weight. For a constant
    rate it is BMUF with block momentum beta; DiLoCo is its Nesterov form, over hundreds of steps of AdamW. The division
    by rate matters when the rate changes between phases: momentum is then kept in units of gradients. Follow-up: which
    numbers must a checkpoint have besides w?
    """
    u = np.zeros_like(w)
    for phase in range(phases):
        local = w.copy()
        for step in range(phase * period, (phase + 1) * period):
            local -= rate * gradient(local, step)
        way = local - w
        comm.Allreduce(mpi.IN_PLACE, way)
        u = beta * u - way / comm.size / rate
        w = w - alpha * rate * u
    return w


def delay_compensated(w, gradient, reads, rate, strength):
    """g / (1 + delay) is damping: a shorter step in the same, old direction. It needs to know how late a gradient is;
    compensation needs to know how far the weights have moved: g + lambda g g (w_now - w_read), element by element. That
    is the first term of Taylor's series about the weights that were read, with lambda g g in the place of the Hessian.

    It costs the server a copy of the weights for each worker. g g estimates the diagonal of the Hessian if the loss is
    a log-likelihood, g the gradient of single samples, and labels are drawn from the model (Fisher information). Else
    it may be far off, and even have the wrong sign; and correlated features need more than a diagonal. With nothing
    late the correction is 0, and this is SGD. Follow-up: on f(w) = a w^2 / 2, which lambda would make the compensation
    exact at a given w_read, and why can one constant not do it for all?
    """
    history = [w.copy()]
    for t, read in enumerate(reads):
        g = gradient(history[read])
        history.append(history[t] - rate * (g + strength * g * g * (history[t] - history[read])))
    return history[-1]


# Level 5: speed up -------------------------------------------------------------------------------------------------


def how_many_to_send(d, P, alpha, beta, codec, window):
    """Measure, compute, decide. First ask whether anything need be done: a quick network sends the whole gradient
    behind the backward pass, and then compression only costs time and accuracy. If not, the time grows with k, so the
    largest k that fits is found by bisection, in 30 evaluations for a billion numbers; a linear formula comes close,
    too, but the packed bytes are rounded up.

    "Top-K if more than 90 % of the gradient is near 0" is folklore: it asks the gradient and not the network. Nor is
    the smallest ratio the best one: whatever is hidden is free, so send as much as the window allows. The last line of
    the exercise is what a selector forgets most easily: with many ranks the all-gather may be slower than what it
    replaces, at any k. Follow-up: alpha, beta and the window change from hour to hour. How would you keep k from
    jumping, and what must error feedback do when k changes? (Nothing. Why?)
    """
    whole = 2 * (P - 1) * (alpha + 4 * d / P * beta)
    if whole <= window:
        return 0

    def seconds(k):
        return d * codec + (P - 1) * (alpha + top_k_bytes(d, k) * beta)

    return bisect.bisect_right(range(1, d), window, key=seconds) or int(seconds(1) < whole)

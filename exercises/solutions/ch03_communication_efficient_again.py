"""The same exercises solved in another way: graders must accept both."""

import math

import numpy as np

from reference import mpi

# Level 1: predict --------------------------------------------------------------------------------------------------


def compression_speedup(P, n, wire, bandwidth, compress, decompress):
    """Step by step, as both rings go: 2 (P - 1) steps of a P-th of the gradient, against P - 1 steps of a whole
    compressed gradient. Each is unpacked when it has come and when the one before has been unpacked.
    """
    whole = sum(n / P / bandwidth for _ in range(2 * P - 2))
    came = unpacked = compress
    for _ in range(P - 1):
        came += wire / bandwidth
        unpacked = max(came, unpacked) + decompress
    return whole / unpacked


def top_k_bytes(d, k):
    """Bits are counted first and rounded up to bytes once, at the end; a logarithm, rounded up, is the length of an
    index. All values have 32 bits, so they end at a whole byte anyway.
    """
    bits = 32 * k + k * math.ceil(math.log2(d))
    return math.ceil(bits / 8)


def who_is_unbiased():
    """Two questions each: does every number come out right on average, with its sign? Is the mean squared error below
    |x|^2 for every x, also for one with a single large number, and for one of equal numbers?
    """
    unbiased, contraction = set("BEGK"), set("ACDHJK")
    names = {(True, True): "both", (True, False): "unbiased", (False, True): "contraction", (False, False): "neither"}
    return {letter: names[letter in unbiased, letter in contraction] for letter in "ABCDEFGHIJK"}


def how_late(seconds, updates):
    """All pushes are known beforehand: worker k pushes at seconds[k], 2 seconds[k], ... Sorted by time and number, a
    gradient is late by the number of pushes between its worker's push before and this one.
    """
    pushes = [(count * time, worker) for worker, time in enumerate(seconds) for count in range(1, updates + 1)]
    last, late = {}, []
    for now, (_, worker) in enumerate(sorted(pushes)[:updates]):
        late.append(now - last.get(worker, -1) - 1)
        last[worker] = now
    return late


# Level 2: fill in --------------------------------------------------------------------------------------------------


def stochastic_round(x, u):
    """x // 1 is the whole number below and x % 1 the distance from it, also for negative numbers: Python's and NumPy's
    remainder has the sign of the divisor.
    """
    low = x // 1
    return low + (u < x % 1)


def error_feedback(gradients, k):
    """By what is conserved: what has not been sent is the sum of all gradients so far minus the sum of all that was
    sent. What should be sent now is that, with this gradient in it.
    """
    sent, should = [], 0.0
    for g in gradients:
        should = should + g
        kept = np.isin(np.arange(len(g)), np.argsort(np.abs(should))[-k:])
        sent.append(np.where(kept, should, 0.0))
        should = should - sent[-1]
    return sent, should


# Level 3: write ----------------------------------------------------------------------------------------------------


def top_k_sum(comm, g, e, k):
    """Two calls, one for the values and one for the indices, and np.add.at, which adds every value to its place, also
    where a place comes several times.
    """
    p = g + e
    indices = np.argsort(-np.abs(p))[:k].astype(np.int32)
    values, places = np.empty((comm.size, k), np.float32), np.empty((comm.size, k), indices.dtype)
    comm.Allgather(p[indices], values)
    comm.Allgather(indices, places)
    total = np.zeros_like(p)
    np.add.at(total, places, values)
    p[indices] = 0
    return total, p


def one_bit_sum(comm, g, u):
    """The same with the scales in a call of their own, and the comparison multiplied by 2 s, so that nothing is divided
    and a gradient of zeros needs no case: its scale is 0, whatever the bits are.
    """
    s = np.abs(g).max(keepdims=True)
    bits = np.packbits(2 * s * u < s + g)
    scales, table = np.empty(comm.size, np.float32), np.empty((comm.size, bits.size), np.uint8)
    comm.Allgather(s, scales)
    comm.Allgather(bits, table)
    signs = 2 * np.unpackbits(table, axis=1, count=g.size).astype(np.float32) - 1
    return (signs * scales[:, None]).sum(axis=0)


def local_sgd(comm, w, gradient, steps, period, rate):
    """Phase by phase: each begins where all are equal, has `period` steps or what is left, and ends with the mean."""
    for first in range(0, steps, period):
        for step in range(first, min(first + period, steps)):
            w = w - rate * gradient(w, step)
        mean = np.empty_like(w)
        comm.Allreduce(w / comm.size, mean)
        w = mean
    return w.copy()


def gossip_step(comm, x, partner):
    """With nonblocking calls: the receive is posted and the send begun, and only then is waited for both. The
    difference is halved and added, which is the mean as well.
    """
    if partner is None:
        return +x
    other = np.empty_like(x)
    mpi.waitall([comm.Irecv(other, source=partner), comm.Isend(x, dest=partner)])
    return 0.5 * x + 0.5 * other


def bounded_staleness(comm, w, gradient, steps, bound, rate):
    """The server keeps lists, and looks after each arrival at all workers whose last gradient has been used and who
    have no new weights yet: those for whom as many weights were sent as gradients have come.
    """
    others = range(1, comm.size)
    if comm.rank > 0:
        for step in range(steps):
            comm.Recv(w, source=0)
            comm.Send(gradient(comm, w, step), dest=0)
        comm.Recv(w, source=0)
        return w
    came, went, status = [0] * comm.size, [0] * comm.size, mpi.Status()
    arriving = np.empty_like(w)
    while sum(came) < steps * len(others):
        slowest = min(came[1:])
        for worker in others:
            if went[worker] == came[worker] < steps and came[worker] <= slowest + bound:
                comm.Send(w, dest=worker)
                went[worker] += 1
        comm.Recv(arriving, mpi.ANY_SOURCE, status=status)
        came[status.source] += 1
        w -= rate * arriving
    for worker in others:
        comm.Send(w, dest=worker)
    return w


# Level 4: repair ---------------------------------------------------------------------------------------------------


def slow_momentum(comm, w, gradient, phases, period, rate, alpha, beta):
    """The same in the words of the paper: average the weights first, then (old - mean) / rate is the pseudo-gradient,
    which already has the right sign.
    """
    u = 0.0
    for phase in range(phases):
        mean = w
        for step in range(period):
            mean = mean - rate * gradient(mean, phase * period + step)
        comm.Allreduce(mpi.IN_PLACE, mean)
        mean /= comm.size
        u = beta * u + (w - mean) / rate
        w = w - alpha * rate * u
    return w


def delay_compensated(w, gradient, reads, rate, strength):
    """With the way that the weights have moved as a variable of its own: it is where the weights are now minus where
    they were when they were read.
    """
    history = [w.copy()]
    for read in reads:
        old, now = history[read], history[-1]
        g = gradient(old)
        estimate = g + strength * g**2 * (now - old)
        history.append(now - rate * estimate)
    return history[-1]


# Level 5: speed up -------------------------------------------------------------------------------------------------


def how_many_to_send(d, P, alpha, beta, codec, window):
    """Bit by bit, the highest first: a bit of k is set if what k then is still fits. That is bisection as well, in as
    many steps as d has bits, and k = 0 at the end says that nothing fits.
    """
    whole = 2 * (P - 1) * (alpha + 4 * d / P * beta)
    if whole <= window:
        return 0
    k, rest = 0, window - d * codec - (P - 1) * alpha
    for bit in reversed(range(d.bit_length())):
        more = k + 2**bit
        if more < d and (P - 1) * top_k_bytes(d, more) * beta <= rest:
            k = more
    if k:
        return k
    return int(d * codec + (P - 1) * (alpha + top_k_bytes(d, 1) * beta) < whole)

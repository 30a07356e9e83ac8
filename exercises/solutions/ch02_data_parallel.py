"""Solutions of chapter 2. Each docstring says why it works; it is shown once the exercise is solved."""

import heapq
import itertools

import numpy as np

from reference import mpi

# Level 1: predict --------------------------------------------------------------------------------------------------


def step_time(forward, backward, communication):
    """An all-reduce waits for two things, its bucket and the all-reduce before it, and begins at the later one. So one
    number is carried from bucket to bucket, `through`: tc_k = max(tb_k, tc_(k-1)) + c_k. It is a queue with one server.

    The example gives 15.8 and 20 seconds, where max(computing, communication) says 15 and 15. That formula forgets both
    ends: nothing can be sent before the first bucket is full, and the last bucket is full when there is nothing left to
    hide behind. So overlap never hides all, and a step is never shorter than forward + backward + the last all-reduce,
    nor than forward + the first bucket + all of the all-reduces. Reading that off the recurrence tells what to do: a
    small last bucket if computing takes longer, a small first one if the network does. PyTorch's DDP makes its first
    bucket small (1 MiB), the others 25 MiB. Follow-up: where do the 5 seconds of the forward pass enter if the weights
    of the next step are needed layer by layer, the first layer first? (That is what priorities are for.)
    """
    full = through = forward
    for computing, sending in zip(backward, communication):
        full += computing
        through = max(full, through) + sending
    return through


def replica_price(parameters, ranks, bandwidth):
    """A parameter is 2 + 4 * 4 = 18 bytes of training state, on every rank. What travels are 2 bytes for its gradient,
    2 (P - 1) / P times in a ring. For 100 billion parameters on 8 ranks: 1.8 TB a replica and 14.4 TB in all, 350 GB
    sent by each rank in each step, 1.17 s at 300 GB/s and 35 s at 10 GB/s.

    "Over 800 GB for eight replicas" counts a byte for each parameter and nothing but weights; it is wrong by a factor
    of 18. "Tens of GB a step" is wrong by ten. Two conclusions follow. What is stored P times over is what ZeRO and
    FSDP take away: no GPU holds 1.8 TB. And the traffic does not depend on the batch: it is hidden only if a step
    computes for long, so plain data parallelism wants large batches or quick networks. Follow-up: which of the 18 bytes
    must be there for the next forward pass, and which only while the weights are updated?
    """
    sent = 2 * (ranks - 1) / ranks * 2 * parameters
    return 18 * parameters * ranks, sent, sent / bandwidth


def gains_of_accumulation():
    """Accumulation adds on the rank before anything is sent. So a message has as many bytes as before (not A) and there
    are K times fewer of them for the same samples (B). Only the gradients outlive a micro-batch, so the activations are
    those of B samples (C); for the same reason each kernel is as small as before (not D).

    The update is that of the large batch if every sample has the same weight, which a division by K does not give
    when micro-batches differ, as they do in tokens (E). BatchNorm is the exception, because its statistics are made
    in the forward pass (not F). Gradients are added in place, so forgetting zero_grad costs no memory and makes every
    later update wrong, which is worse: nothing fails (not G). DDP does not know what is to come and all-reduces each
    time, unless the forward passes of all micro-batches but the last run under no_sync (H). The rate follows the
    global batch: linearly for SGD, by the square root for Adam (not I). Follow-up: what is left of B if the
    gradients are sharded, as in ZeRO-2, and cannot stay whole on a rank between micro-batches?
    """
    return "BCEH"


def which_rate():
    """What counts is the global batch: ranks, times samples a rank, times micro-batches. In C and D it stays, so the
    rate stays: that is the best cure when ranks come and go. Otherwise the optimizer decides.

    SGD: k small steps in about the same direction are one step with k times the rate, as long as the direction holds
    (Goyal et al. 2017, who needed a warm-up for it). Adam divides by the root of the mean square of the gradient. Where
    that is mostly noise, k times the batch makes it smaller by the square root of k, so Adam's steps are longer already
    by that factor relative to the true gradient, and the square root is left for the rate (Malladi et al. 2022). G is
    the trap: whoever sums and does not divide has applied the linear rule already, and would apply it twice. All are
    rules of thumb, and end at the critical batch size, beyond which more samples save at most half of the updates.
    Follow-up: why does it not matter to Adam, if all batches are equally large, whether gradients are summed or
    averaged?
    """
    return dict(zip("ABCDEFG", ["linear", "square root", "same", "same", "square root", "linear", "same"]))


# Level 2: fill in --------------------------------------------------------------------------------------------------


def average_gradients(comm, gradient, count):
    """Means cannot be added; sums can. Multiplied by its count each rank's mean becomes a sum over its samples, sums
    add up over ranks, and so do the counts: divide the one by the other, once, and every sample has weighed the same. A
    rank without samples adds zeros and needs no special case; it must still take part.

    PyTorch's DDP averages the ranks' means. That is the same only if all counts are equal: the last batch of an epoch,
    sentences of different lengths, masked tokens make them differ, and then samples on ranks with few count for more.
    For language models the count is that of tokens. The same fault, between micro-batches, was found in widely used
    training code as late as 2024 (huggingface/transformers, pull request 34191). The count travels in the same message:
    8 bytes more, no latency more. Follow-up: the loss that you print is a mean over ranks as well. Which one do you
    print?
    """
    both = np.empty(gradient.size + 1)
    both[:-1] = gradient * count
    both[-1] = count
    comm.Allreduce(mpi.IN_PLACE, both)
    return both[:-1] / both[-1]


def my_share(order, size, step, rank, ranks):
    """The batch comes first and is the same whatever the number of ranks; only then it is shared out. So a run on 8
    ranks sees the same batches as a run on 1, can be compared with it, and can go on with 7 ranks from any step.

    len(batch) % ranks samples are left over, fewer than there are ranks, and the first ranks take one each. PyTorch's
    DistributedSampler makes all shares equal instead: it repeats samples from the beginning, or drops what is left.
    That saves it unequal counts and costs exactness: an evaluation then counts some samples twice. With
    average_gradients unequal shares do no harm. Follow-up: with shares of 3, 3 and 2 samples, who waits for whom, and
    is it worth an epoch's last batch?
    """
    batch = order[step * size : step * size + size]
    sizes = [len(batch) // ranks + (r < len(batch) % ranks) for r in range(ranks)]
    first = sum(sizes[:rank])
    return batch[first : first + sizes[rank]]


# Level 3: write ----------------------------------------------------------------------------------------------------


def assign_buckets(nbytes, limit, first_limit):
    """One pass over the tensors in the order in which their gradients come, and one question for each: does it still
    fit? The backward pass comes to the last tensor first, so buckets are filled from the end of the model. A bucket
    that mixed early and late tensors would be full late, and hold up what has long been ready.

    The result is data: lists of numbers, which can be printed, timed with step_time and compared, without a model. It
    must be the same on all ranks, because the order of the all-reduces follows from it. DDP begins with one bucket for
    all, and after the first step fills buckets in the order in which the gradients really came, which need not be that
    of the parameters; it closes a bucket once it has reached the limit, so that it may be larger. Follow-up: an
    embedding of 500 MB is tensor 0. When is its bucket full, and how long is what follows?
    """
    buckets, room = [], None
    for tensor in reversed(range(len(nbytes))):
        if not buckets or nbytes[tensor] > room:
            buckets.append([])
            room = limit if len(buckets) > 1 else first_limit
        buckets[-1].append(tensor)
        room -= nbytes[tensor]
    return buckets


def backward_with_overlap(comm, backward, buckets):
    """Three moments: a gradient comes and is kept; the last one of its bucket comes, and the all-reduce is begun; the
    backward pass is over, and all are waited for. Nothing in the hook waits, so computing goes on while data moves.

    The order of the Iallreduces is that of the buckets, the same on all ranks: that is what makes it safe. DDP adds
    that a bucket which is full early waits until those before it have been started, since on another rank they may be
    full in another order. With gradient_as_bucket_view=True DDP's gradients are views of the bucket's memory, so that
    autograd writes where the all-reduce reads, if zero_grad(set_to_none=False) leaves them there. (By default each
    gradient is copied in and out; with zero_grad's default the view is dropped, and copied into anew.) On a real
    network somebody must also move the data: a GPU has NCCL's kernels and a stream of their own for that; MPI often
    makes progress only inside its calls, so later hooks test what is under way. Follow-up: why may nobody read or write
    a gradient between its hook and the wait?
    """
    where = {tensor: bucket for bucket, tensors in enumerate(buckets) for tensor in tensors}
    ready, sums, requests = {}, [], []

    def hook(tensor, gradient):
        ready[tensor] = gradient
        bucket = buckets[where[tensor]]
        if tensor == bucket[-1]:
            sums.append(np.concatenate([ready[member] for member in bucket]))
            requests.append(comm.Iallreduce(mpi.IN_PLACE, sums[-1]))

    backward(comm, hook)
    mpi.waitall(requests)
    for bucket, total in zip(buckets, sums):
        ends = np.cumsum([ready[tensor].size for tensor in bucket])
        ready.update(zip(bucket, np.split(total, ends[:-1])))
    return [ready[tensor] for tensor in range(len(ready))]


def accumulate(comm, gradients, counts, size):
    """Add up sums, on the rank and then over the ranks; divide once, by the number of all samples. What travels is one
    gradient and one number, however many micro-batches there were: the traffic for each sample falls by K.

    Nothing is sent inside the loop, so ranks may have different numbers of micro-batches, also none, and nobody
    waits: all meet once, in a call that each makes. In PyTorch this is no_sync around all micro-batches but the last,
    their forward passes too; without it DDP sends K times as much, and with ranks that differ it adds up gradients of
    different steps, silently, until one rank waits for ever. Dividing each loss by K, as tutorials do, is right for
    equal micro-batches only; in tokens they often are not. Add in float32 or better: in bfloat16, 256 + 1 is 256.
    Follow-up: K micro-batches take K times the memory for activations if all losses are added up and backward is called
    once. Why is it called K times instead?
    """
    both = np.zeros(size + 1)
    for gradient, count in zip(gradients, counts):
        both[:-1] += count * gradient
        both[-1] += count
    comm.Allreduce(mpi.IN_PLACE, both)
    return both[:-1] / both[-1]


def batch_statistics(comm, x):
    """A rank describes its rows by three things: their number n, their mean m, and M, the sum of squared distances from
    that mean. They can be put together exactly: rows are M away from their rank's mean, and that is n (m - mean)**2
    away from the mean of all; the mixed term vanishes, because distances from a mean add up to 0 (Chan, Golub, LeVeque
    1979).

    The mean of squares minus the square of the mean needs one collective as well, and loses digits: with 1e6 plus or
    minus 1 it subtracts two numbers of 1e12 to get 1, so 12 of float64's 16 digits go, and all of float32's 7: the
    variance may come out negative, and its root is NaN. Two all-reduces, for the mean and then for the distances, are
    exact and pay two latencies. torch.nn.SyncBatchNorm gathers mean, inverse deviation and count of each rank, like
    this. Follow-up: its backward pass needs two sums over all rows as well. Which, and why can they share one call?
    """
    n, k = x.shape
    row, table = np.zeros(1 + 2 * k), np.empty((comm.size, 1 + 2 * k))
    if n:
        m = x.mean(axis=0)
        row = np.concatenate([[n], m, ((x - m) ** 2).sum(axis=0)])
    comm.Allgather(row, table)
    n, m, M = table[:, :1], table[:, 1 : 1 + k], table[:, 1 + k :]
    mean = (n * m).sum(axis=0) / n.sum()
    return mean, (M + n * (m - mean) ** 2).sum(axis=0) / n.sum()


# Level 4: repair ---------------------------------------------------------------------------------------------------


def replicas_that_agree(comm, weights, centre, batches, rate, limit):
    """Replicas stay equal for one reason: they begin equal, and every update is computed from numbers that are the same
    on all ranks. Three places break that. centre was never broadcast; it moved towards the mean of the rank's own
    samples; and the length was taken before the all-reduce, so each rank shortened the same gradient by a factor of its
    own. Each is enough to let the replicas part, and averaging gradients does not make them equal again.

    The habit: for each line ask whether it uses a rank's own samples. If so, what it computes must be averaged before
    anything that lasts depends on it. Buffers are forgotten most often, because no optimizer touches them; DDP
    broadcasts rank 0's before a forward pass, so that ranks agree, on the statistics of rank 0's samples. A check that
    compares a hash of parameters and buffers over the ranks every thousand steps costs next to nothing and finds all of
    this. Follow-up: the two sums of a step cannot share a message. Why not, and with which sum of another step could
    one of them travel?
    """
    comm.Bcast(weights, root=0)
    comm.Bcast(centre, root=0)
    for x, y in batches:
        mean = x.mean(axis=0)
        comm.Allreduce(mpi.IN_PLACE, mean)
        centre += 0.1 * (mean / comm.size - centre)
        z = x - centre
        gradient = z.T @ (z @ weights - y) / len(y)
        comm.Allreduce(mpi.IN_PLACE, gradient)
        gradient /= comm.size
        length = np.linalg.norm(gradient)
        if length > limit:
            gradient *= limit / length
        weights -= rate * gradient
    return weights, centre


def same_order(comm, gradients, sizes):
    """MPI has no names for collective calls: the k-th call of a rank meets the k-th of the others. So all ranks must
    make the same calls in the same order, and that order has to come from something they share, here `sizes`. Whoever
    has nothing to add adds zeros: taking part is not optional.

    When lengths differ the mistake is mostly found, by a mismatch or a hang (MPI promises neither); when they agree,
    two tensors are quietly mixed and the loss rises for no reason. The order of a dictionary, of a set, of the hooks'
    calls, of a directory's files: none of these is the same everywhere by itself. (A set of names has one order on the
    virtual cluster, whose ranks share a process, and others on real ranks: try it with --mpi.) A model whose branches
    depend on the data does this to DDP, which therefore wants to be told (find_unused_parameters) and then searches the
    graph in every step. Follow-up: sort the names of the own gradients. For which models is that right, and for which
    does it hang?
    """
    total = {name: gradients.get(name, np.zeros(size)).copy() for name, size in sizes.items()}
    for name in sizes:
        comm.Allreduce(mpi.IN_PLACE, total[name])
    return total


# Level 5: speed up -------------------------------------------------------------------------------------------------


def bucket_limit(nbytes, seconds, P, alpha, beta):
    """The model of the step is at hand, so do not guess: compute its time for every limit that makes a difference. The
    buckets change only where one more tensor just fits, so at sums of tensors that follow one another: at most L (L +
    1) / 2 limits for L tensors, and 820 evaluations for 40.

    The best limit depends on everything: on latency (more of it, larger buckets), on bandwidth, on P, and on where in
    the model the large tensors are. DDP's 25 MiB are a compromise. Powers of two come close as a rule, and a few per
    cent of a step that runs a million times are worth a search of a millisecond. A single limit is a restriction: the
    best cut of the layers, whatever the sizes, is found by dynamic programming in the same time. Follow-up: in which
    direction does the best limit move if the ranks of a machine share a network card?
    """

    def step(limit):
        buckets = assign_buckets(nbytes, limit, limit)
        sizes = [sum(nbytes[i] for i in bucket) for bucket in buckets]
        sending = [2 * (P - 1) * (alpha + size / P * beta) for size in sizes]
        return step_time(0.0, [sum(seconds[i] for i in bucket) for bucket in buckets], sending)

    limits = {total for i, _ in enumerate(nbytes) for total in itertools.accumulate(nbytes[i:])}
    return min(limits, key=step)


def shares(speeds, batch):
    """Give the samples away one by one, each to the rank that would be through with it first. Why is that the best?
    Suppose some shares end earlier than these. Then the rank that is last here has fewer there, and somebody else has
    one more than here; but that one would have ended later, or it would have been given the sample.

    With whole samples "in proportion to speed, rounded" is not enough: to give what is left over to those who lost most
    by rounding (as parliaments do with seats) may hand one more sample to a rank that takes a second for it. Beginning
    with the shares rounded down is safe, since nobody ends after the ideal time with them, and leaves fewer samples
    than ranks. The rule needs speeds that last. A rank that is slow now and then is better served by asking who is free
    (dynamic), or by waiting for all but the slowest. Follow-up: with unequal shares, which mean of gradients is right?
    """
    given = [0] * len(speeds)
    heap = [(1 / speed, rank) for rank, speed in enumerate(speeds)]
    heapq.heapify(heap)
    for _ in range(batch):
        _, rank = heap[0]
        given[rank] += 1
        heapq.heapreplace(heap, ((given[rank] + 1) / speeds[rank], rank))
    return given

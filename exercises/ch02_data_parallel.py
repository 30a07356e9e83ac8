"""Chapter 2: data parallelism. Replace each `raise NotImplementedError` by your answer, then run: pytest exercises/

The chapter's page is chapters/02_data_parallel.ipynb. The exercises come in five levels; do them in order or not, each
stands alone. Roughly: 1 predict (5 minutes each), 2 fill in (10), 3 write (20), 4 repair (15), 5 speed up (20).

Functions whose first argument is `comm` run once on each rank. `comm.rank` is this rank's number (0 to P - 1) and
`comm.size` is P. `comm.Allreduce(mpi.IN_PLACE, x)` replaces the array x by the sum of all ranks' x.
`comm.Iallreduce(mpi.IN_PLACE, x)` only begins to, and returns a request; until you have waited for it, with
`request.Wait()` or with `mpi.waitall(requests)` for several, x belongs to MPI. `comm.Bcast(x, root=0)` replaces x by
that of rank 0.

Unless an exercise says otherwise, arguments stay as they are, and what is returned is memory of its own.
"""

import heapq

import numpy as np

from reference import mpi

# Level 1: predict --------------------------------------------------------------------------------------------------


def step_time(forward, backward, communication):
    """Return the seconds of a training step: forward pass, backward pass, and the all-reduces of the gradients.

    forward         seconds of the forward pass
    backward        list: seconds of the backward pass until bucket 0 is full, from then until bucket 1 is full, ...
    communication   list, as long: seconds that the all-reduce of each bucket takes. There is at least one bucket, and
                    there may be thousands.

    The all-reduce of a bucket begins when the bucket is full and the all-reduce before it has finished: they go one
    after the other. They run beside the backward pass and do not slow it down. Nothing else takes time.

    Try it: forward 5, ten buckets of 1 second each, and 0.8 for each all-reduce; then 1.4. A common formula,
    max(computing, communication), says 15 for both. The page has the answers.

    Page: chapters/02_data_parallel.ipynb#predict-the-step
    """
    raise NotImplementedError


def replica_price(parameters, ranks, bandwidth):
    """Return (stored, sent, seconds), three numbers: what data parallelism with whole replicas costs.

    parameters   how many the model has
    ranks        each holds a whole replica; at least 1
    bandwidth    bytes per second of a link, in one direction

    stored   bytes of weights, gradients and optimizer state on all ranks together. It is mixed precision with Adam,
             and the gradients of many micro-batches are added up: for each parameter a weight of 16 bits, and four
             numbers of 32 bits (its gradient, the weight once more, and Adam's two moments).
    sent     bytes that each rank sends in one step: a ring all-reduce of the gradients, which are rounded to 16 bits
             for that.
    seconds  that this takes if only bandwidth counts.

    Try it: 100 billion parameters, 8 ranks, 300 GB/s and then 10 GB/s. Some accounts say "over 800 GB for eight
    replicas" and "tens of GB a step". The page has the answers for gradients that are kept in 16 bits.

    Page: chapters/02_data_parallel.ipynb#predict-bytes-seconds-memory
    """
    raise NotImplementedError


def gains_of_accumulation():
    """Return the letters of the statements that are right, as one string such as "AF".

    Gradient accumulation: a rank runs K micro-batches of B samples forward and backward, adds up their gradients, and
    only then the gradients are all-reduced and the weights updated, once. Compared with an update after each
    micro-batch of B samples:

    A   An all-reduce carries K times as many bytes, so bandwidth is used better.
    B   Each sample costs a K-th of the bytes sent.
    C   A batch of K B samples a rank is possible with the activations of B samples in memory.
    D   The GPU's kernels reach a larger share of its peak, because the batch is larger.
    E   If every micro-batch's gradient is weighted by its number of samples, and no layer mixes samples, the update
        is that of one batch of K B samples a rank, up to rounding.
    F   BatchNorm normalises with the mean and variance of all K B samples.
    G   Who forgets to set the gradients to zero after an update will run out of memory.
    H   With a wrapper that all-reduces in every backward pass (PyTorch's DDP, if nothing is said), calling backward K
        times before the update sends as many bytes as K updates do, one after each micro-batch.
    I   The learning rate must be multiplied by K, whatever the optimizer.

    Page: chapters/02_data_parallel_batch_size.ipynb#accumulation
    """
    raise NotImplementedError


def which_rate():
    """Return a dictionary from the letter of each situation to the name of what is done to the learning rate.

    Names: "same"         it stays as it is
           "linear"       it changes by the factor by which the global batch changes
           "square root"  it changes by the square root of that factor

    Choose what the usual rules of thumb say. The loss is the mean over the global batch unless told otherwise.

    A   SGD with momentum. 16 times as many ranks, each with as many samples as before.
    B   Adam. 4 times as many ranks, each with as many samples as before.
    C   SGD. Twice as many ranks, each with half as many samples as before.
    D   Adam. Half of the ranks are lost; the others accumulate over twice as many micro-batches as before.
    E   Adam. The same ranks, and 4 micro-batches of the old size before each update in place of one.
    F   SGD. A quarter of the ranks are left, each with as many samples as before.
    G   SGD. 4 times as many ranks, each with as many samples as before. The loss is the sum over the global batch, now
        as before: nobody divides by the number of samples.

    Page: chapters/02_data_parallel_batch_size.ipynb#the-learning-rate-of-a-larger-batch
    """
    raise NotImplementedError


# Level 2: fill in --------------------------------------------------------------------------------------------------


def average_gradients(comm, gradient, count):
    """Return, on every rank, the gradient of the mean loss over all samples of all ranks.

    gradient  one-dimensional float64 array of the same length on every rank: the gradient of the mean loss over this
              rank's samples; zeros if it has none. It must not be changed.
    count     number of this rank's samples. Ranks have different numbers, some perhaps 0, but not all.
    returns   a new float64 array of the same length.

    Every sample counts once, on whatever rank it is. Example: 4 samples and [1.0] on rank 0, one sample and [5.0] on
    rank 1 give [1.8]; the mean of both would be [3.0]. One Allreduce does it: the counts travel with the gradients, and
    nothing else does.
    Remove the first line below and fill in the three blanks `___`.

    Page: chapters/02_data_parallel.ipynb#read
    """
    raise NotImplementedError
    both = np.empty(gradient.size + 1)
    both[:-1] = ___
    both[-1] = ___
    comm.Allreduce(mpi.IN_PLACE, both)
    return ___


def my_share(order, size, step, rank, ranks):
    """Return the samples of this rank in one step of an epoch: a list of sample numbers.

    order   list of all sample numbers in the order of this epoch, the same on every rank; any number of them
    size    samples in a global batch. The last batch of an epoch has what is left: it may be smaller.
    step    number of the step in the epoch, 0, 1, ...
    rank    this rank, from 0 to ranks - 1

    The global batch of a step is the next `size` samples of the order. The ranks' shares make up the batch: no sample
    is dropped and none comes twice. Their sizes differ by one at most, so a share may be empty.

    Remove the first line below and fill in the four blanks `___`.

    Page: chapters/02_data_parallel.ipynb#which-samples-are-whose
    """
    raise NotImplementedError
    batch = order[___:___]
    sizes = [len(batch) // ranks + ___ for r in range(ranks)]  # of the shares of rank 0, 1, ...
    first = sum(sizes[:___])
    return batch[first : first + sizes[rank]]


# Level 3: write ----------------------------------------------------------------------------------------------------


def assign_buckets(nbytes, limit, first_limit):
    """Return the buckets of a model's gradients, as a list of lists of tensor numbers.

    nbytes       list: bytes of the gradient of tensor 0, 1, ... in the order of the forward pass. It may be empty.
                 It must not be changed.
    limit        bytes that a bucket holds at most
    first_limit  the same for the first bucket: a small one can be sent early. It may also be the larger of the two.

    Gradients become ready from the last tensor to the first, and go into the current bucket in that order. One that
    would take it above its limit begins the next bucket. A tensor is never cut: one that is larger than its bucket's
    limit is alone in it. Every tensor is in exactly one bucket, and no bucket is empty.

    Example: assign_buckets([40, 10, 30, 15, 5], 60, 20) is [[4, 3], [2, 1], [0]].

    Page: chapters/02_data_parallel.ipynb#a-hook-in-ten-lines
    """
    raise NotImplementedError


def backward_with_overlap(comm, backward, buckets):
    """Run the backward pass and sum the gradients over the ranks meanwhile. Return a list: the sum for each tensor.

    backward   a function. backward(comm, hook) computes for a while and calls hook(i, gradient) as soon as the gradient
               of tensor i is ready; then it goes on to the next. So does autograd. The gradient is a one-dimensional
               float64 array, of the same length on every rank, and yours to keep. backward returns when all are ready.
    buckets    list of lists of tensor numbers, such as [[3, 2], [1, 0]]; each tensor 0, 1, ... is in one of them, not
               always in the order of their numbers. The hook is called in the order of this list, on every rank.
    returns    list of float64 arrays: entry i is the sum of the gradients of tensor i over the ranks.

    For each bucket call comm.Iallreduce once, as soon as its last gradient is ready, with all of its gradients in one
    array; and call nothing else that communicates. No hook waits, not even the last one: wait when the backward pass is
    over. Computing and sending then overlap. The time is that of step_time, without the forward pass.

    Page: chapters/02_data_parallel.ipynb#the-hook
    """
    raise NotImplementedError


def accumulate(comm, gradients, counts, size):
    """Return the gradient of the mean loss over all samples of all micro-batches of all ranks, on every rank.

    gradients  list of float64 arrays of `size` elements, one for each micro-batch of this rank: the gradient of the
               mean loss over the samples of the micro-batch. They must not be changed.
    counts     list of as many numbers: the samples of each micro-batch, at least 1. They differ.
    size       length of the gradient. The number of micro-batches differs from rank to rank, and some have none (not
               all), so it cannot always be seen from them.
    returns    a new float64 array of `size` elements.

    Every sample counts once. Communicate once: one call of Allreduce, and nothing else. It sends as much as for a
    single micro-batch, and not more than two numbers for each rank beside that.

    Page: chapters/02_data_parallel_batch_size.ipynb#accumulation
    """
    raise NotImplementedError


def batch_statistics(comm, x):
    """Return (mean, variance) of each column over the rows of all ranks: what BatchNorm needs on every rank.

    x        float64 array of shape [n, k]: n samples of k features. n differs from rank to rank and may be 0, but not
             on all. x must not be changed.
    returns  two new float64 arrays of k elements. The variance is the mean of the squared distances from the mean: it
             is divided by the number of samples.

    Call one collective, once, with capital letters; send no messages of your own. However large n is, no more may be
    sent than by an Allreduce of P rows of 2 k + 2 numbers. (An Allreduce in which each rank fills a row of its own and
    leaves the others 0 shows all rows to everybody. So does comm.Allgather(row, table), with a `table` of P rows, in
    half of the bytes.)

    Features may be large numbers with a small spread, such as 1e6 plus or minus 1, and on each rank other numbers. The
    mean of the squares minus the square of the mean then has few right digits, or none.

    Page: chapters/02_data_parallel_numerics.ipynb#batch-normalisation-across-ranks
    """
    raise NotImplementedError


# Level 4: repair ---------------------------------------------------------------------------------------------------


def replicas_that_agree(comm, weights, centre, batches, rate, limit):
    """Train a model with a replica on every rank. Return (weights, centre), the same on every rank.

    weights  [d] float64 array, as this rank has drawn them: other numbers on each rank. May be changed.
    centre   [d] float64 array, a running mean of the inputs. It is no weight: it has no gradient. (Frameworks call
             this a buffer; BatchNorm has such.) Other numbers on each rank, too. May be changed.
    batches  list of (x, y), one for each step: this rank's samples, x [n, d] and y [n]. Each rank has other samples,
             and as many as the others.
    rate     learning rate
    limit    a gradient that is longer than this is shortened to this length

    The result must be that of a single process that begins with rank 0's weights and centre, and has the samples of
    all ranks in each step: it moves the centre a tenth of the way to the mean of x, computes the gradient of the mean
    loss, shortens it if it is too long, and updates the weights.

    The loss falls on every rank, and nobody hangs; yet the replicas drift apart. Remove the first line, and find out
    why: it is more than one mistake. Send no samples, and once the training has begun, no weights: what a step must
    share are two sums of d numbers, and no more is to be sent.

    Page: chapters/02_data_parallel.ipynb#the-same-model-on-every-rank
    """
    raise NotImplementedError
    comm.Bcast(weights, root=0)
    for x, y in batches:
        centre += 0.1 * (x.mean(axis=0) - centre)
        z = x - centre
        gradient = z.T @ (z @ weights - y) / len(y)  # of half the mean of squared errors
        length = np.linalg.norm(gradient)
        comm.Allreduce(mpi.IN_PLACE, gradient)
        gradient /= comm.size
        if length > limit:
            gradient *= limit / length
        weights -= rate * gradient
    return weights, centre


def same_order(comm, gradients, sizes):
    """Return the sums over ranks of all gradients: a dictionary from name to a new float64 array.

    gradients  dictionary from the name of a tensor to its gradient on this rank, a one-dimensional float64 array. They
               stand in the order in which they became ready, which is another one on each rank. A tensor that this
               rank did not use has no entry: its gradient counts as 0. They must not be changed.
    sizes      dictionary from the name of every tensor to its number of elements: the same on every rank, and in the
               same order.
    returns    a dictionary with all the names of sizes.

    On some models the virtual cluster ends this version with an error, where real ranks may hang. On others it gives
    wrong sums, which is worse. Remove the first line and repair it, by collective calls with capital letters. They send
    what an Allreduce of every tensor sends, and no more: who has what is not for the others to know.

    Page: chapters/02_data_parallel.ipynb#the-hook
    """
    raise NotImplementedError
    total = {}
    for name, gradient in gradients.items():
        total[name] = gradient.copy()
        comm.Allreduce(mpi.IN_PLACE, total[name])
    return total


# Level 5: speed up -------------------------------------------------------------------------------------------------


def bucket_limit(nbytes, seconds, P, alpha, beta):
    """Return the limit, in bytes, that gives the quickest training step.

    nbytes   list: bytes of the gradient of tensor 0, 1, ... in the order of the forward pass; at least one tensor
    seconds  list, as long: what the backward pass takes until the gradient of tensor 0, 1, ... is ready, counted from
             the moment when the one before it was. (The backward pass begins with the last tensor.)
    P        ranks, at least 2. The all-reduce of n bytes takes 2 (P - 1) (alpha + n / P beta) seconds.

    Buckets are those of assign_buckets(nbytes, limit, limit); a bucket is full after the seconds of all its tensors.
    The step takes step_time(0, those seconds, those of the all-reduces), two lists with a number for each bucket. You
    may call your functions from above. Small limits pay many latencies; large ones begin late, and leave much to do
    when the backward pass is over. Any number is right with which the step is as quick as with the best limit there is.
    There are up to 40 tensors.

    Page: chapters/02_data_parallel.ipynb#predict-the-step
    """
    raise NotImplementedError


def shares(speeds, batch):
    """Return how many samples of a global batch each rank should compute: a list of whole numbers (int; 0 is one).

    speeds  list: samples per second of each rank; all above 0, and one may be much slower than the others
    batch   samples in all, at least 0

    The shares add up to the batch, and the last rank finishes as early as possible: the largest of share / speed is
    the least there is. (Unequal shares need average_gradients, which weights them.) Up to 1,000 ranks and 100,000
    samples.

    Example: shares([3.0, 1.0], 8) is [6, 2]. With equal shares the batch would take 4 s in place of 2.

    Page: chapters/02_data_parallel_scale.ipynb#stragglers
    """
    raise NotImplementedError

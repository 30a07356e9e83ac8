"""Chapter 1: collectives. Replace each `raise NotImplementedError` by your answer, then run: pytest exercises/

The chapter's page is chapters/01_collectives.ipynb. The exercises come in five levels; do them in order or not, each
stands alone. Roughly: 1 predict (5 minutes each), 2 fill in (10), 3 write (20), 4 repair (10), 5 speed up (25).

The chapter's page is enough for most of them. crossover, follow_the_sum, binomial_broadcast, recursive_doubling and
pairwise_alltoall need 01_collectives_algorithms.ipynb below it; hierarchical_time, hierarchical_allreduce, ring_order
and widest_path need 01_collectives_networks.ipynb; allreduce_together and urgent_first need
01_collectives_overlap.ipynb.

Functions whose first argument is `comm` run once on each rank. `comm.rank` is this rank's number (0 to P - 1) and
`comm.size` is P. `comm.Sendrecv`, `comm.Send`, `comm.Recv`, `comm.Isend` and `comm.Irecv` move arrays, as in mpi4py;
`mpi.waitall(requests)` waits for nonblocking calls; until then their arrays must be left alone.
`comm.Split(color, key)` returns a communicator for a part of the ranks: those that pass the same color become a group,
numbered from 0 in the order of their keys. A message of n bytes takes alpha + n beta seconds, on a link of its own; a
rank sends one message and receives one at a time.

Unless an exercise says otherwise, arguments stay as they are, and what is returned is memory of its own.
"""

import heapq
import math

import numpy as np

from reference import mpi

# Level 1: predict --------------------------------------------------------------------------------------------------


def ring_time(P, n, alpha, beta):
    """Return the seconds that a ring all-reduce of n bytes on each of P ranks takes.

    alpha   seconds that each message costs, whatever its size
    beta    seconds per byte: one over the bandwidth of a link, in one direction
    n       a multiple of P. Adding costs no time. P may be 1.

    Try it: 8 ranks with 175 billion 2-byte numbers each, links of 100 GB/s, no latency. The page has the answer.

    Page: chapters/01_collectives.ipynb#predict
    """
    raise NotImplementedError


def seven_seconds():
    """Return the letters of the statements that are right, as one string such as "AF".

    8 ranks sum 350 GB each in a ring; every link carries 100 GB/s in each direction, latency and additions cost
    nothing. A textbook answers: "7 s, and this is the theoretical lower bound."

    A   7 s is a lower bound, if a loose one: a real ring comes out above it.
    B   The ring takes 6.125 s. A time that is beaten is no lower bound.
    C   7 s is what the ring's time approaches from below when ranks are added and n stays.
    D   As long as the ranks do the adding, each over its own 100 GB/s, no algorithm takes less than 6.125 s.
    E   With a latency of 5 us a message, the ring would take about 7 s: that is where the number comes from.
    F   16 ranks would need about half as long, because every block is half as large.

    Page: chapters/01_collectives.ipynb#predict
    """
    raise NotImplementedError


def bus_bandwidth(P, n, seconds):
    """Return the bus bandwidth, in bytes per second, of an all-reduce of n bytes a rank that took `seconds`.

    That is the rate at which a rank must have sent on average, if together they sent no more than they had to: a number
    that can be held against the speed of one link, whatever P is, if all links are alike. P is at least 2.

    Page: chapters/01_collectives.ipynb#run
    """
    raise NotImplementedError


def crossover(P, alpha, beta):
    """Return the bytes n at which a ring and a binomial tree take equally long for an all-reduce on P ranks.

    The tree reduces all n bytes to rank 0 and then broadcasts them, each in ceil(log2 P) rounds, and in every round a
    message has all n bytes. Below the result the tree is quicker, above it the ring. P is at least 2; where the ring is
    never slower, return 0. Adding costs no time, and n need not be a whole number.

    Page: chapters/01_collectives_algorithms.ipynb#who-wins-where
    """
    raise NotImplementedError


def which_collective():
    """Return a dictionary from the letter of each situation to the name of what it calls for.

    Names: "allgather" "allreduce" "alltoall" "barrier" "broadcast" "gather" "reduce" "reduce-scatter" "send".
    Choose what gives every rank what it needs, and nothing that it does not need.

    A   Every rank has the gradient of its own samples. Every rank is about to update all the weights.
    B   The same, but rank r keeps and updates the r-th part of the weights only.
    C   Rank r has just updated the r-th part of the weights. Every rank needs all of them for the next step.
    D   Rank 0 has read a checkpoint from the disk. Every rank must start from it.
    E   Every rank has a list of tokens for the expert on each other rank.
    F   Rank 0 prints the loss, averaged over all ranks, every hundred steps.
    G   The ranks that hold layers 1 to 8 have activations; the ranks that hold layers 9 to 16 continue with them.
    H   Rank 0 writes a file with the name of every rank's machine.
    I   Every rank has written a file, and then reads all the others'. None may begin before all files are there.

    Page: chapters/01_collectives.ipynb#eight-operations-in-one-picture
    """
    raise NotImplementedError


def hierarchical_time(nodes, per_node, n, inside, card, cards):
    """Return the seconds of a hierarchical all-reduce of n bytes a rank, if only bandwidth counts.

    nodes      machines, with per_node ranks each. Both are at least 1; n is a multiple of nodes * per_node.
    inside     bytes per second that a rank can send to the others of its node, in one direction
    card       bytes per second of one network card, in one direction
    cards      cards in each machine, all used evenly; at most per_node

    Three phases, one after the other: a reduce-scatter in each node; an all-reduce across the nodes, of every rank's
    part with the ranks that hold the same part; an allgather in each node. All three are rings.

    Try it: 256 machines of 8 ranks and 25 GB. NVLink is sold as 600 GB/s, which adds up both directions, so inside is
    300e9; the network gives a machine 200 GB/s in each direction, through 8 cards of 25 GB/s. It takes 0.395 s, and
    with a single card 2.138 s: the page has both.

    Page: chapters/01_collectives_networks.ipynb#predict-who-crosses-the-border
    """
    raise NotImplementedError


def follow_the_sum(P, messages):
    """Follow one element of an all-reduce on its way, and return (first, all_): two numbers of messages.

    messages   list of (sender, receiver), in the order of time. A rank knows whose numbers it has; after a message the
               receiver has those of both, and a number that comes a second time changes nothing.
    first      after how many messages some rank knows the sum of all P numbers for the first time
    all_       after how many messages every rank knows it. Either is None if that never comes to pass.

    In the beginning every rank knows its own number only; so with P = 1 nothing need be sent, and both are 0.
    Example: on 3 ranks, [(0, 1), (1, 2), (2, 0), (2, 1)] gives (2, 4).

    When it works, look for a list with first < P - 1, or with all_ < 2 (P - 1). Why is there none? That is the proof
    that no all-reduce in which the ranks do the adding sends fewer bytes than the ring.

    Page: chapters/01_collectives_algorithms.ipynb#how-few-bytes-can-there-be
    """
    raise NotImplementedError


# Level 2: fill in --------------------------------------------------------------------------------------------------


def ring_allgather(comm, block, lengths):
    """Return all ranks' blocks, one after the other, on every rank, by passing blocks around a ring.

    block     one-dimensional float64 array, this rank's; it must not be changed
    lengths   the number of elements of every rank's block: lengths[comm.rank] == block.size. They may differ, or be 0.

    In each of P - 1 steps every rank sends one block to its right neighbour, rank (r + 1) % P, and receives one from
    its left neighbour. An empty block is sent too. Remove the first line below and fill in the four blanks `___`.

    Page: chapters/01_collectives.ipynb#read
    """
    raise NotImplementedError
    P, rank = comm.size, comm.rank
    blocks = [np.empty(length) for length in lengths]
    blocks[rank][:] = block
    for step in range(P - 1):  # in this step ...
        leaving = blocks[___]  # ... which block goes?
        arriving = blocks[___]
        comm.Sendrecv(leaving, dest=___, recvbuf=arriving, source=___)
    return np.concatenate(blocks)


# Level 3: write ----------------------------------------------------------------------------------------------------


def ring_reduce_scatter(comm, x):
    """Return block `comm.rank` of the sum of all ranks' x, by passing blocks around a ring.

    x       one-dimensional float64 array of the same length n on every rank. It must not be changed.
    returns a new float64 array: block r of the sum, on rank r.

    Blocks: cut n elements into P blocks as np.array_split does: all have n // P elements, and the first n % P blocks
    one more. So n need not divide by P, and blocks may be empty: n may be less than P, or 0. P may be 1.

    The ring: in each of P - 1 steps, every rank sends one block to its right neighbour, rank (r + 1) % P, and receives
    one from its left neighbour, rank (r - 1) % P. An empty block is sent too. What a rank sends in all is every block
    but one: about (P - 1) / P of x. Use Sendrecv, or Isend and Irecv; no collective calls.

    Example with P = 2: x is [1, 2, 3] on rank 0 and [10, 20, 30] on rank 1. Rank 0 returns [11, 22], rank 1 [33].

    Page: chapters/01_collectives.ipynb#read
    """
    raise NotImplementedError


def ring_allreduce(comm, x):
    """Return the sum of all ranks' x, the whole of it on every rank, by two rounds of blocks around a ring.

    x       one-dimensional float64 array of the same length n on every rank, any n. It must not be changed.
    returns a new float64 array of n elements.

    First a reduce-scatter, then an allgather, with blocks as in ring_reduce_scatter: 2 (P - 1) messages from every
    rank, each one block to the right neighbour. All ranks together send 2 (P - 1) n elements, in about equal parts. You
    may call your functions from above. No collective calls.

    Page: chapters/01_collectives.ipynb#read
    """
    raise NotImplementedError


def binomial_broadcast(comm, x, root):
    """Copy the x of rank `root` into the x of every other rank, in place, along a binomial tree.

    x       one-dimensional float64 array of the same length on every rank
    returns nothing

    In the first round the root sends x to one rank, in the second both send it on, in the third all four, and so on:
    ceil(log2 P) rounds, for every P and every root. Each rank but the root receives x once. No collective calls.

    Page: chapters/01_collectives_algorithms.ipynb#schedules-of-a-few-lines
    """
    raise NotImplementedError


def recursive_doubling(comm, x):
    """Return the sum of all ranks' x on every rank, with few messages: for arrays whose latency counts.

    x       one-dimensional float64 array of the same length on every rank. It must not be changed.
    returns a new float64 array, the same on all ranks to the last bit.

    With P a power of two: in round k = 0, 1, ... each rank exchanges all that it has summed so far with the rank whose
    number differs in bit k (rank ^ 2**k), and both add. After log2(P) rounds everybody has the sum.

    For any P let C be the largest power of two that is not above P. If C < P, each of the last P - C ranks first sends
    its array to a partner of its own among the first C, which adds it; the C ranks carry out the rounds; then each
    partner sends the result back. The time is at most that of log2(C) messages of x, plus 2 if P is no power of two. No
    collective calls.

    Page: chapters/01_collectives_algorithms.ipynb#schedules-of-a-few-lines
    """
    raise NotImplementedError


def pairwise_alltoall(comm, x):
    """Return what every rank has for this one: row q of the result is row comm.rank of the x of rank q.

    x       float64 array of shape [P, k]: row q is for rank q. It must not be changed.
    returns a new float64 array of shape [P, k].

    The own row is copied, all others are sent straight to their rank: P - 1 messages from each. A rank sends one
    message at a time and receives one at a time, so in no step should two ranks want to send to the same one: then all
    is done after P - 1 messages' time. Any P. No collective calls.

    Page: chapters/01_collectives_algorithms.ipynb#schedules-of-a-few-lines
    """
    raise NotImplementedError


def urgent_first(messages, alpha, beta, chunk):
    """Return when each message is through a port that sends the most urgent one first: a list of times in us.

    messages   list of (ready, queue, size), at least one: ready in us, when it can leave; queue 0 (the critical path)
               to 3 (what nobody waits for); size in kB, at least 1
    alpha      us that each chunk costs, whatever its size
    beta       us for each kB
    chunk      the most kB that are sent in one go, at least 1

    All are whole numbers. Whenever the port is free, it sends one chunk: of the messages that are ready, the next one
    of that with the lowest queue; of equals that which was ready first; then that which stands first in the list. A
    chunk of k kB takes alpha + k beta, and nothing interrupts it. The last chunk of a message is what is left of it. If
    nothing is ready, the port waits. A message is through when its last chunk is.

    For messages [(0, 3, 10), (1, 0, 2)], alpha 1, beta 2 and chunk 4 it returns [28, 14]: 4 kB of the log are under way
    until 9, when the gradient takes its turn until 14. Then come the other 6 kB of the log.

    Page: chapters/01_collectives_overlap.ipynb#small-messages-together-and-in-the-right-order
    """
    raise NotImplementedError


# Level 4: repair ---------------------------------------------------------------------------------------------------


def shift_right(comm, block):
    """Return the left neighbour's block: every rank passes its own block one place to the right.

    block   one-dimensional float64 array of the same length on every rank. It must not be changed.

    This version "works on my machine", with small blocks. With large ones it hangs. Remove the first line, see it
    fail, repair it. One message from each rank, no collective calls; any number of ranks. The messages must not wait
    for each other in a chain: the time of two messages, or three, is enough for every P.

    Page: chapters/01_collectives.ipynb#pitfalls
    """
    raise NotImplementedError
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    arriving = np.empty_like(block)
    comm.Send(block, dest=right)
    comm.Recv(arriving, source=left)
    return arriving


def stop_together(comm, losses, limit):
    """Return the number of training steps until the mean of all ranks' losses is below limit.

    losses  the loss of this rank's samples after step 1, 2, ...: as many numbers on every rank
    returns the first step after which the mean over ranks is below limit; len(losses) if that never happens. All ranks
            return the same.

    Each rank trains on, and all average their losses after every step (here with Allreduce; for a single number
    comm.allreduce is as good), until it is good enough. It hangs when one rank's loss is below the limit earlier than
    another's. Remove the first line and repair it.

    Page: chapters/01_collectives.ipynb#pitfalls
    """
    raise NotImplementedError
    mean = np.empty(1)
    for step, loss in enumerate(losses, 1):
        if loss < limit:
            return step
        comm.Allreduce(np.array([loss]), mean)
        mean /= comm.size
    return len(losses)


def sum_of_my_row(comm, x, width):
    """Return the sum of x over the ranks of this rank's row.

    The ranks form a grid with `width` columns, row by row: ranks 0 to width - 1 are the first row. The last row may be
    shorter. x is a one-dimensional float64 array of the same length on every rank; it must not be changed.

    Somebody made a group for each row, and still it hangs, or gives the sum over the wrong ranks. Remove the first
    line and repair it. Each row sums independently of the others, by collective calls on the row's group, with capital
    letters (they move arrays as they are); no messages of your own.

    Page: chapters/01_collectives.ipynb#pitfalls
    """
    raise NotImplementedError
    row = comm.Split(comm.rank // width, comm.rank)
    total = np.empty_like(x)
    if row.size > 1:
        comm.Allreduce(x, total)
    else:
        total[:] = x
    return total


# Level 5: speed up -------------------------------------------------------------------------------------------------


def allreduce_together(comm, arrays):
    """Return the sums over ranks of many small arrays, as a list, for the latency of one all-reduce.

    arrays   list of float64 arrays of any shapes (also none, also empty ones), the same shapes on every rank. They must
             not be changed.
    returns  a list of new arrays of the same shapes: each the sum of all ranks' arrays at that place.

    A model has hundreds of small gradients, and each all-reduce pays its latency. Pay it once: call comm.Allreduce
    exactly once, however many arrays there are, and send nothing else.

    Page: chapters/01_collectives_overlap.ipynb#small-messages-together-and-in-the-right-order
    """
    raise NotImplementedError


def ring_order(seconds):
    """Return an order of the ranks in which a ring takes as little time as possible: a list of P numbers.

    seconds   [P, P] symmetric array: the seconds that a block takes between two ranks, 0 on the diagonal. It must not
              be changed.

    Neighbours in the list are neighbours in the ring, and the last is the first one's. The sum of seconds over the P
    hops must be the least there is. The machine is built of levels: for any three ranks a, b, c, seconds[a, b] is at
    most the larger of seconds[a, c] and seconds[c, b]. (Racks of nodes of sockets are like that. In general this is the
    travelling salesman's problem.) P is between 1 and 64: there is no time to try all orders.

    Page: chapters/01_collectives_networks.ipynb#find-out-the-map-of-a-machine
    """
    raise NotImplementedError


def hierarchical_allreduce(comm, x, per_node):
    """Return the sum of all ranks' x on every rank, with as few bytes between the machines as possible.

    x         one-dimensional float64 array of the same length n on every rank, any n. It must not be changed.
    per_node  ranks in each machine: ranks 0 to per_node - 1 are in the first one, and so on; all machines are full.
    returns   a new float64 array of n elements.

    Inside a machine messages are quick, between machines they are slow, and each rank has a network card of its own.
    Reduce-scatter inside each machine, all-reduce across the machines each rank's part only, allgather inside.
    Between the machines all ranks together send 2 (N - 1) n elements for N machines, shared evenly among the cards.
    What is sent inside counts as well, 2 (per_node - 1) n elements in each machine, and so does the time: all groups
    work at once.

    You may call your functions from above, on groups that comm.Split(color, key) makes. No collective calls besides
    Split: the grader counts messages.

    Page: chapters/01_collectives_networks.ipynb#predict-who-crosses-the-border
    """
    raise NotImplementedError


def widest_path(bandwidth, a, b):
    """Return a path from a to b whose narrowest link is as wide as possible: a list of nodes, none of them twice.

    bandwidth   [N, N] symmetric array: bytes per second of the link between two nodes, 0 where there is none. It must
                not be changed.
    a, b        nodes, different ones. There is a path. N is at most 64.

    A message that is cut into packets flows at the speed of the narrowest link of its way: what has to be large is a
    minimum. The shortest path is another one. Dijkstra's algorithm finds that: it keeps, for every node, the length of
    the shortest way from a that it knows. Of the nodes that are not final yet the nearest one becomes final, and each
    of its links may be a shorter way to a neighbour; this is repeated until b is final. With the bandwidths as lengths
    it prefers narrow links.

    Page: chapters/01_collectives_networks.ipynb#placement
    """
    raise NotImplementedError

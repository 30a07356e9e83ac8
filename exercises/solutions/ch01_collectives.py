"""Solutions of chapter 1. Each docstring says why it works; it is shown once the exercise is solved."""

import heapq
import math

import numpy as np

# Level 1: predict --------------------------------------------------------------------------------------------------


def ring_time(P, n, alpha, beta):
    """In every step each rank sends one block of n / P bytes and all do so at once, so a step takes as long as a single
    message. Reduce-scatter and allgather have P - 1 steps each: a block starts on one rank and must come past the
    others.

    Write it as 2 (P - 1) alpha + 2 (P - 1) / P n beta and read it term by term. The bytes hardly depend on P: going
    from 8 to 8,000 ranks adds 14 %, so a ring serves many ranks as well as few, as long as bytes are what takes the
    time. The latency grows with P: at 5 us a message, 8,000 ranks pay 80 ms before the first byte counts. NCCL and MPI
    keep other algorithms for that case. For the example: 2 * 7 / 8 * 350 GB / (100 GB/s) = 6.125 s. Follow-up: adding
    costs no time here. Where would it enter if a rank added at 1,000 GB/s?
    """
    return 2 * (P - 1) * (alpha + n / P * beta)


def seven_seconds():
    """7 s is 2 n beta: what a ring of infinitely many ranks would take. Eight ranks take 7/8 of it, 6.125 s, so 7 s is
    no lower bound (B, not A); it is the limit from below as ranks are added (C), and so 16 ranks take longer: 6.5625 s
    (not F). 14 latencies of 5 us are 70 us and do not explain 0.875 s (not E).

    That 6.125 s is a lower bound (D) takes a proof. Each number of the sum needs at least 2 (P - 1) messages: P - 1
    until one rank can know the sum, and one more for each other rank. That is 2 (P - 1) n bytes in all, so at least one
    rank sends 2 (P - 1) / P n. The assumption matters: where switches add (NVIDIA's SHARP), a rank sends n and is
    through in 3.5 s. And the numbers hide a question that a good reader asks: 350 GB of gradients are more than the
    memory of one GPU holds.
    """
    return "BCD"


def bus_bandwidth(P, n, seconds):
    """n / seconds falls when ranks are added, although every link is as busy as before, because a rank must send 2 (P -
    1) / P n bytes and not n. With that factor the result can be held against the data sheet of one link, for every P.

    This is the "busbw" that NCCL's own benchmark prints beside "algbw" (nccl-tests, doc/PERFORMANCE.md), with other
    factors for other collectives: (P - 1) / P for an allgather or a reduce-scatter, 1 for a broadcast. It assumes that
    the ranks do the adding over links of one speed. Where switches add it may exceed the link's speed, and where fast
    links and slow ones are used in turn it is the speed of neither.
    Follow-up: what does a busbw of half the link's speed tell you, and what does it not?
    """
    return 2 * (P - 1) / P * n / seconds


def crossover(P, alpha, beta):
    """Both times are straight lines over n. The tree starts lower, with L = ceil(log2 P) latencies each way for the
    ring's P - 1, and is steeper, with L n bytes each way for (P - 1) / P n. They cross where the ring's later start is
    made up.

    For 2 and 3 ranks L = P - 1: nothing to make up, the ring is never slower. Otherwise the crossing moves with P,
    alpha and beta: at 5 us and 100 GB/s it is 0.9 MB for 8 ranks, 56 MB for 1,024. So a constant, "tree below 256 KiB"
    or "below 10 MB", is right for one machine at best. NCCL computes a time for each algorithm and protocol, with
    corrections by size for trees. These are cut into segments that follow each other, so they win for longer.
    Follow-up: how far does the crossing move if the tree sends n bytes each way in all, as a long pipeline of segments
    does?
    """
    rounds = math.ceil(math.log2(P))
    return (P - 1 - rounds) * alpha / ((rounds - (P - 1) / P) * beta)


def which_collective():
    """Three questions decide. Who needs the result: one rank (reduce, gather), all (allreduce, allgather), each a part
    (reduce-scatter, alltoall)? Is anything added: reduce, or not: gather? Is there one source: broadcast, send?

    A is data parallelism, B and C are the two halves of its all-reduce with an optimizer step in between. That is all
    the traffic of ZeRO's first stages: the same bytes, 1/P of the optimizer's memory. D starts a run, E is mixture of
    experts, G a pipeline. "It works with allreduce" is true of most of them, and costs from 2 to 2 P times the traffic.
    I needs no data: barriers belong around files and clocks, rarely between collectives, which wait for their data
    anyway. Follow-up: which of these become quicker if the ranks know each other's lengths?
    """
    return {
        "A": "allreduce",
        "B": "reduce-scatter",
        "C": "allgather",
        "D": "broadcast",
        "E": "alltoall",
        "F": "reduce",
        "G": "send",
        "H": "gather",
        "I": "barrier",
    }


def hierarchical_time(nodes, per_node, n, inside, card, cards):
    """After the reduce-scatter a rank holds n / per_node bytes, and per_node ranks share the cards: each has cards *
    card / per_node. In the quotient per_node cancels. Whoever looks at the machine as a whole sees why: it sends 2 (N -
    1) / N n bytes, through all of its cards.

    The example: 146 ms inside, 249 ms across, 395 ms; with one card 146 + 1,992 ms. Accounts of the same machine come
    out anywhere from 31 ms to 2 s for the phase across, depending on whether 200 GB/s is one rank's, the machine's or
    (in Gbit/s) one card's. So ask whose bandwidth a number is, in which direction. The common slip of dividing the 256
    machines by 8 once more changes little, 249 ms to 242: the bytes of a ring hardly depend on its length. NCCL and
    RCCL arrange all cards like this ("rails"). Follow-up: could the phases overlap if n is cut into chunks? What is the
    time then?
    """
    two_phases_inside = 2 * (per_node - 1) / per_node * n / inside
    return two_phases_inside + 2 * (nodes - 1) / nodes * n / (cards * card)


def follow_the_sum(P, messages):
    """What counts is whose numbers a rank knows, a set; how many have come in says nothing, because they may be the
    same ones. All that a message does is to put the sender's set into the receiver's.

    Why first >= P - 1: draw a line for each message. A rank that knows everything is connected with all others, and P
    points need P - 1 lines. Why all_ >= 2 (P - 1): when `first` happens, only the receiver of that message knows the
    sum (had the sender known it, it would have been first), so P - 1 others must each receive something later. This
    holds for every number in the array. So an all-reduce of n bytes sends at least 2 (P - 1) n bytes in all, and some
    rank 2 (P - 1) / P n: exactly what each rank of a ring sends. A binomial tree meets the first bound too, but from 3
    ranks on not the second: some of its ranks send more than the average. Follow-up: which assumption do switches break
    that add?
    """
    knows = [{rank} for rank in range(P)]
    first = None
    for number, (sender, receiver) in enumerate([(0, 0), *messages]):  # message 0 tells nobody anything
        knows[receiver] |= knows[sender]
        complete = sum(len(known) == P for known in knows)
        if complete and first is None:
            first = number
        if complete == P:
            return first, number
    return first, None


# Level 2: fill in --------------------------------------------------------------------------------------------------


def ring_allgather(comm, block, lengths):
    """A block moves right once a step, so before step s rank r has just received the block of rank r - s, and that is
    the one to pass on. What comes in is what the left neighbour passes on by the same rule: block (r - 1) - s. In the
    first step (s = 0) that rule says "my own", which is the only one a rank has. (No % P is needed here: Python counts
    negative indices from the end, and r - s is never below -P.)

    Read backwards in time this is the ring's reduce-scatter: there the blocks come home, here they leave home. That is
    why an all-reduce made of both sends every block twice around, less two hops. The time, (P - 1) (alpha + n/P beta)
    for n bytes in the result, cannot be beaten in its second term: each rank must receive all but its own block, over
    one link. Follow-up: with unequal blocks every step takes as long as its largest message. How would you deal out
    the data, if you may choose?
    """
    P, rank = comm.size, comm.rank
    blocks = [np.empty(length) for length in lengths]
    blocks[rank][:] = block
    for step in range(P - 1):
        leaving = blocks[rank - step]
        arriving = blocks[rank - step - 1]
        comm.Sendrecv(leaving, dest=(rank + 1) % P, recvbuf=arriving, source=(rank - 1) % P)
    return np.concatenate(blocks)


# Level 3: write ----------------------------------------------------------------------------------------------------


def ring_reduce_scatter(comm, x):
    """Follow block b: it starts at rank b + 1 and moves right once a step. On each rank it meets that rank's part and
    takes it along. After P - 1 steps it is at rank b, where it has collected all P parts: it is home, and complete.

    So in step s, rank r sends block r - 1 - s and adds to block r - 2 - s; the last one to arrive is its own. It sends
    every block but its own, once: n - n/P elements. No algorithm sends less, because P - 1 ranks must each give away
    what they know about every block that is not theirs. And in every step every link carries one block, so the time is
    (P - 1) (alpha + n/P beta): P - 1 latencies are the price of a ring, and the reason why trees win for small n.
    """
    P, rank = comm.size, comm.rank
    blocks = np.array_split(x.copy(), P)
    right, left = (rank + 1) % P, (rank - 1) % P
    for step in range(P - 1):
        leaving = blocks[(rank - 1 - step) % P]
        growing = blocks[(rank - 2 - step) % P]
        arriving = np.empty_like(growing)
        comm.Sendrecv(leaving, dest=right, recvbuf=arriving, source=left)
        growing += arriving
    return blocks[rank]


def ring_allreduce(comm, x):
    """After the reduce-scatter rank r holds block r of the sum, complete; an allgather shows every block to everybody.
    The two halves fit because the first ends where the second begins: with block r on rank r.

    Why two halves and not one? If whole arrays travelled, every link would carry (P - 1) n. Here nobody adds what
    somebody else adds as well: the sum of an element grows on its way and is finished on one rank, and only finished
    sums are copied. P - 1 additions and P - 1 copies of each element need 2 (P - 1) messages about it, so 2 (P - 1) n
    elements in all is the least there is, and the ring shares them evenly: 2 (P - 1) (alpha + n/P beta). That each sum
    is formed once has another merit: all ranks get the same bits. NCCL's ring does just this, with each block cut again
    so that its parts follow each other. Follow-up: the latency grows with P. From which n on do you care? (See
    crossover.)
    """
    lengths = [block.size for block in np.array_split(x, comm.size)]
    return ring_allgather(comm, ring_reduce_scatter(comm, x), lengths)


def binomial_broadcast(comm, x, root):
    """Whoever has x sends in every round, so the number of those who have it doubles, and more than doubling is not
    possible when a rank sends one message at a time: ceil(log2 P) rounds are the least there is.

    Counting ranks from the root, me = (rank - root) % P, does away with the root: there is only the tree of root 0,
    turned. In round k the numbers below 2**k send to the one 2**k further on, so a number gets x in the round of its
    highest bit, and sends in all later ones, if there is somebody: that last condition is all that a P other than a
    power of two needs. Everybody has one parent, so there are P - 1 messages in all.

    For small x this is what MPI libraries do. For large x it is wasteful, because all n bytes pass through the root
    log2 P times: a scatter and an allgather take less than 2 n beta, and a chain that passes on small segments takes
    n beta and a little. Follow-up: which rank is idle longest in this tree, and could it help?
    """
    P = comm.size
    me = (comm.rank - root) % P
    if me > 0:
        parent = me - 2 ** (me.bit_length() - 1)
        comm.Recv(x, source=(parent + root) % P)
    for k in range(me.bit_length(), P.bit_length()):
        child = me + 2**k
        if child < P:
            comm.Send(x, dest=(child + root) % P)


def recursive_doubling(comm, x):
    """Before round k, the 2**k ranks whose numbers agree in all bits from k on hold the same partial sum: their own. In
    the round two such groups exchange theirs, so the groups double in size, and after log2 C rounds there is one group.

    Everybody always works, so there is nothing to broadcast at the end: half the rounds of a reduce and a broadcast.
    The price is that all ranks send all n elements in every round, so from 3 ranks on a ring wins for large n. The
    sums are the same to the last bit because both partners add the same two numbers, and a + b = b + a in floating
    point; a scheme in which ranks add in different orders (dissemination) would let replicas drift apart. The ranks
    beyond C cost two messages, whatever P is: that is the fold. MPICH chooses this algorithm for short arrays.
    Follow-up: cut the array in half in each round, and it becomes recursive halving. What do you gain, and what
    must follow?
    """
    P, rank = comm.size, comm.rank
    rounds = P.bit_length() - 1
    core = 2**rounds  # the largest power of two up to P
    total, other = x.copy(), np.empty_like(x)
    if rank >= core:
        comm.Send(x, dest=rank - core)
        comm.Recv(total, source=rank - core)
        return total
    if rank + core < P:
        comm.Recv(other, source=rank + core)
        total += other
    for k in range(rounds):
        partner = rank ^ 2**k
        comm.Sendrecv(total, partner, recvbuf=other, source=partner)
        total += other
    if rank + core < P:
        comm.Send(total, dest=rank + core)
    return total


def pairwise_alltoall(comm, x):
    """In step s every rank sends to the rank s further on, all ranks at the same distance: so the receivers are all
    different, and each port is busy in every step. What a rank receives in that step comes from s ranks before it.

    Serving the ranks in the order 0, 1, 2, ... sends the same bytes, and yet all queue up before rank 0 first, then
    before rank 1: the network is the same, the schedule is not. Large messages want this: (P - 1) (alpha + 8 k beta) is
    the least time for data that must each go its own way, if a rank waits for each message. For tiny messages the P - 1
    latencies hurt. Where latency does not hold the port, they overlap if nobody waits; and Bruck's algorithm forwards
    what belongs to others: log2 P messages, but about log2 P / 2 times the bytes. Tokens on their way to experts in
    mixture-of-experts models are an all-to-all. Follow-up: what becomes of the schedule when one rank gets twice as
    many tokens as the others?
    """
    P, rank = comm.size, comm.rank
    result = np.empty_like(x)
    result[rank] = x[rank]
    for step in range(1, P):
        dest, source = (rank + step) % P, (rank - step) % P
        comm.Sendrecv(x[dest], dest=dest, recvbuf=result[source], source=source)
    return result


def urgent_first(messages, alpha, beta, chunk):
    """Look again after every chunk: that is all there is to priority on a port that cannot stop in the middle. What has
    become ready meanwhile takes its turn if it is more urgent, and what was under way waits for the rest.

    The most urgent message waits for one chunk of the others at most, and for what is as urgent. So the chunk is what
    the others may cost it, and alpha is what each chunk costs all. With strict queues the last one may wait for ever,
    if the first ones are never empty. Follow-up: with which chunk do your messages end earliest, all of them, and the
    most urgent alone?
    """
    left, through, now = [size for _, _, size in messages], {}, min(messages)[0]
    while any(left):
        waiting = [i for i, size in enumerate(left) if size]
        now = max(now, min(messages[i][0] for i in waiting))
        first = min((i for i in waiting if messages[i][0] <= now), key=lambda i: (messages[i][1], messages[i][0]))
        size = min(chunk, left[first])
        through[first] = now = now + alpha + size * beta
        left[first] -= size
    return [through[i] for i in range(len(messages))]


# Level 4: repair ---------------------------------------------------------------------------------------------------


def shift_right(comm, block):
    """Send may come back at once, with the message in a buffer of MPI's, or wait until it is received: the standard
    allows both, and libraries do the first for small messages and the second for large ones (the "eager" limit, often
    some kilobytes). If it waits, all ranks wait in Send for a Recv that comes after it. Sendrecv does both at once, so
    neither waits for the other, with one rank as well: a message to oneself.

    Other good repairs: Isend, Recv, then wait; or even ranks send first and odd ones receive first, which takes a third
    turn when P is odd, and with one rank there is nobody to receive. If only rank 0 sends first, nothing hangs either,
    but then the messages form a chain, P of them one after the other. A program is right only if it is right with
    synchronous sends. To test for that, write Ssend for Send, as the virtual cluster does. Follow-up: does a line
    without the link from the last rank to the first deadlock, too?
    """
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    arriving = np.empty_like(block)
    comm.Sendrecv(block, dest=right, recvbuf=arriving, source=left)
    return arriving


def stop_together(comm, losses, limit):
    """A collective call is a promise that all ranks make it. A rank that leaves the loop on its own number breaks the
    promise, and the others wait for ever. So the decision to stop must be made from something that all ranks know, and
    the mean is just that: after the Allreduce it is the same everywhere, so all leave in the same step.

    The rule behind it: what decides about a collective call must itself come from a collective call (or be the same by
    construction, as a step count is). Early stopping, skipping a step because a gradient is infinite, a data loader
    that runs dry on one rank: all the same mistake, and the same cure. On GPUs it shows as a time-out of NCCL minutes
    later, on the ranks that did nothing wrong. For one number mpi4py's comm.allreduce(loss) does as well: it pickles
    the number, which costs microseconds; for arrays that would be a waste. Follow-up: must the mean be the same to the
    last bit on all ranks? Yes, and of its all-reduce MPI promises that. What if each rank gathered the losses and added
    them up itself, its own first?
    """
    mean = np.empty(1)
    for step, loss in enumerate(losses, 1):
        comm.Allreduce(np.array([loss]), mean)
        mean /= comm.size
        if mean < limit:
            return step
    return len(losses)


def sum_of_my_row(comm, x, width):
    """A collective belongs to the communicator it is called on, and only the ranks of that one take part. The group was
    right, and the call went to the whole world: sums over everybody, and a hang as soon as one rank, alone in its row,
    did not call. Call it on the row, always: a group of one needs no special case, and special cases are where ranks
    part ways.

    Split asks everybody one question: your colour? Equal answers make a group, the key orders its ranks. For rows the
    colour is rank // width, for columns rank % width: the two together are the grid of data and tensor parallelism
    (a "device mesh"), and the habit that saves you is to hand a technique its group, never the world. Follow-up: Split
    is itself a collective call, on which communicator? What if only the first row calls it?
    """
    row = comm.Split(comm.rank // width, comm.rank)
    total = np.empty_like(x)
    row.Allreduce(x, total)
    return total


# Level 5: speed up -------------------------------------------------------------------------------------------------


def allreduce_together(comm, arrays):
    """A sum over ranks is taken element by element, so it does not care where an element stands: put all arrays into
    one, sum that, and cut it up again. k all-reduces cost k latencies, this one costs one, for the same bytes.

    Data-parallel training lives from this. PyTorch's DDP has its gradients in "buckets" of 25 MB: large enough that the
    latency is paid rarely, small enough that the first bucket is on its way while later gradients are still being
    computed. The copies are not free, but a GPU's memory is tens of times as fast as its network card. The results
    here are parts of one new array, so nothing is copied on the way back. Follow-up: which of the arrays should go into
    the first bucket, if the backward pass makes the gradients of the last layer first?
    """
    flat = np.concatenate([np.empty(0), *map(np.ravel, arrays)])  # the empty one: there may be no others
    total = np.empty_like(flat)
    comm.Allreduce(flat, total)
    ends = np.cumsum([array.size for array in arrays], dtype=int)
    return [part.reshape(array.shape) for part, array in zip(np.split(total, ends), arrays)]


def ring_order(seconds):
    """Always go to the nearest rank that is left. In general that is a bad rule: it leaves far ones for a long way
    back. Here it is the best there is, because of the levels: whoever is outside a machine is farther than everybody
    inside. So the rule never leaves a machine, or a rack, before it is through with it.
    "Nearest to any rank that was visited" is right, too, for the same reason.

    Why nothing is shorter: take all groups of ranks that are at most t apart. As long as there are several, every ring
    leaves each of them, so it has as many hops longer than t as there are groups, or more. Ours has exactly so many,
    for every t. NCCL searches its rings in a graph of NVLinks, PCIe switches and network cards at start-up, for the
    same reason; MPI offers it as reorder=True in Create_cart. Follow-up: a ring has the same length in both directions.
    What would you gain from two rings at the same time, one each way?
    """
    order, left = [0], set(range(1, len(seconds)))
    while left:
        order.append(min(left, key=lambda rank: seconds[order[-1], rank]))
        left.remove(order[-1])
    return order


def hierarchical_allreduce(comm, x, per_node):
    """Inside a machine the sum of its ranks is made first, so what leaves it is one number for each element, not
    per_node: that is where the slow network saves. And each rank carries its own part across: the machines all-reduce
    n / per_node elements on per_node cards at once, in groups of the ranks that hold the same part.

    With many machines a flat ring over all ranks loads a card of each with nearly 2 n in either direction, and so does
    a leader for each machine, with all cards but one idle; here each card carries 2 (N - 1) / N n / per_node. NCCL then
    comes near that with rings that leave the machine at a different card each, and has trees for the part across
    machines, where 2 (N - 1) latencies count. PyTorch's hybrid sharding (HSDP) is this, with the three steps spread
    over the training step. Follow-up: what does each phase cost with 8 ranks a machine and a link inside ten times as
    fast as a card?
    """
    machine = comm.Split(comm.rank // per_node, comm.rank)
    rail = comm.Split(comm.rank % per_node, comm.rank)
    part = ring_allreduce(rail, ring_reduce_scatter(machine, x))
    return ring_allgather(machine, part, [block.size for block in np.array_split(x, per_node)])


def widest_path(bandwidth, a, b):
    """Dijkstra's algorithm needs two things of its measure. A path does not get better when a link is added: then the
    best open node is final, because every other way to it leads through nodes that are worse already. And the better
    of two ways to a node stays as good when both go on over one link. A minimum over links has both properties, as a
    sum of lengths has. So replace + by min, and take the largest first.

    Adding up 1 / bandwidth is the measure for messages that every node stores whole before it passes them on; with
    packets all links work at once and the narrowest sets the pace. That is also why a message's path through several
    NVLinks can beat a direct one through PCIe. NCCL compares the kinds of links first, and the width among paths of one
    kind. Follow-up: of several widest paths find the one with the fewest links. Pairs (width, links) in the heap do not
    find it always. Which of the two properties do they lack?
    """
    came_from, heap = {}, [(-np.inf, a, a)]  # (minus the width of a way, its last node, the node before)
    while b not in came_from:
        negative, here, before = heapq.heappop(heap)
        if here not in came_from:
            came_from[here] = before
            for there in np.flatnonzero(bandwidth[here]):
                heapq.heappush(heap, (max(negative, -bandwidth[here, there]), there, here))

    def way_to(node):
        return [a] if node == a else [*way_to(came_from[node]), node]

    return way_to(b)

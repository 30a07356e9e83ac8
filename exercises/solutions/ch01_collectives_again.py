"""The same exercises solved in another way. Graders must accept these too."""

import heapq

import numpy as np

from reference import mpi

# Level 1: predict --------------------------------------------------------------------------------------------------


def ring_time(P, n, alpha, beta):
    """Count what one rank sends instead of looking at steps: every block twice, in all n bytes twice, except two blocks
    that it never sends (in the reduce-scatter its own, in the allgather its right neighbour's). Each of its messages
    costs a latency, and it is busy all the time, so what it sends is the time.
    """
    sent = n + n - 2 * n / P
    return sent * beta + (P - 1) * (alpha + alpha)


def seven_seconds():
    """Put numbers in: 2 * 7/8 * 350/100 = 6.125 s for 8 ranks, 6.5625 s for 16, 6.993 s for 1,000. They grow with the
    ranks towards 7 s (C, not F) and stay below it (B, not A). With a latency it is 6.12507 s, so not E. And D, because
    eight ranks that add themselves must send 14 n bytes between them, whatever they do: 1.75 n for the average rank.
    """
    return "dcb"


def bus_bandwidth(P, n, seconds):
    """The ring sends as little as possible and is busy all the time. So ask for which links a ring without latency
    would have taken these seconds: they carried a block of n / P bytes in each of 2 (P - 1) steps.
    """
    steps = P - 1 + P - 1
    return n / P * steps / seconds


def crossover(P, alpha, beta):
    """Two lines, t = latency + slope n, for the two unknowns n and t: a system of two linear equations. Written like
    this, any other pair of algorithms can take the place of the two, as long as its time is a straight line.
    """
    rounds = (P - 1).bit_length()  # that many doublings of 1 reach P
    tree, ring = (2 * rounds * alpha, 2 * rounds * beta), (2 * (P - 1) * alpha, 2 * (P - 1) / P * beta)
    lines = np.array([[1.0, -tree[1]], [1.0, -ring[1]]])
    _, n = np.linalg.solve(lines, [tree[0], ring[0]])
    return n


def which_collective():
    """The name follows from what every rank has before and needs afterwards. Written as a table of that, each situation
    is a row, and no two are the same. If you ever hesitate between two collectives, fill in such a row first.
    """
    names = {  # who has something, who needs what of it
        "all have; all need the sum": "allreduce",
        "all have; each needs a part of the sum": "reduce-scatter",
        "all have; one needs the sum": "reduce",
        "all have; all need every piece": "allgather",
        "all have; one needs every piece": "gather",
        "all have for each other; each needs its own": "alltoall",
        "one has; all need it": "broadcast",
        "one has; one needs it": "send",
        "nobody has; all need to know that all are there": "barrier",
    }
    needs = {
        "A": "all have; all need the sum",
        "B": "all have; each needs a part of the sum",
        "C": "all have; all need every piece",
        "D": "one has; all need it",
        "E": "all have for each other; each needs its own",
        "F": "all have; one needs the sum",
        "G": "one has; one needs it",
        "H": "all have; one needs every piece",
        "I": "nobody has; all need to know that all are there",
    }
    return {letter: names[need] for letter, need in needs.items()}


def hierarchical_time(nodes, per_node, n, inside, card, cards):
    """Follow one rank through the phases. Half a ring of `members` ranks, each of which brings `nbytes`, moves every
    block but one. Two halves are inside, with n bytes; two are across, with the rank's part and its share of the cards.
    """

    def half_a_ring(members, nbytes, speed):
        return (nbytes - nbytes / members) / speed

    part, share = n / per_node, cards * card / per_node
    return 2 * half_a_ring(per_node, n, inside) + 2 * half_a_ring(nodes, part, share)


def follow_the_sum(P, messages):
    """Write down a matrix with a row for every rank: row r has a 1 in column k if rank r knows the number of rank k. A
    message joins the sender's row to the receiver's, and whoever has a row full of ones knows the sum. With a third
    axis one can follow all elements of an array, and see a real all-reduce fill a cube.
    """
    knows = np.eye(P, dtype=bool)

    def complete():
        return knows.all(axis=1).sum()

    history = [complete()]  # how many ranks know the sum, after each message
    for sender, receiver in messages:
        knows[receiver] |= knows[sender]
        history.append(complete())
    first, all_ = (next((sent for sent, ranks in enumerate(history) if ranks >= least), None) for least in (1, P))
    return first, all_


# Level 2: fill in --------------------------------------------------------------------------------------------------


def ring_allgather(comm, block, lengths):
    """One array for the result, and views of its parts: what arrives is received where it belongs, so nothing is copied
    at the end. The owner of what leaves counts down from this rank, because that is the order in which blocks come from
    the left; what arrives is always the one before it, and what has arrived is what leaves next.
    """
    P, rank = comm.size, comm.rank
    gathered = np.empty(sum(lengths))
    parts = np.split(gathered, np.cumsum(lengths)[:-1])
    parts[rank][:] = block
    for owner in range(rank, rank - P + 1, -1):
        arriving = comm.Irecv(parts[owner - 1], source=(rank - 1) % P)
        mpi.waitall([arriving, comm.Isend(parts[owner], dest=(rank + 1) % P)])
    return gathered


# Level 3: write ----------------------------------------------------------------------------------------------------


def ring_reduce_scatter(comm, x):
    """Carry one partial sum along instead of a copy of x: what a rank holds between two steps is a single block.

    The block that comes in has met all ranks on its way but this one, so adding the own part and passing it on is all
    there is to do. Memory beyond x: two blocks, where the copy takes P.
    """
    n, P, rank = x.size, comm.size, comm.rank
    begin = [block * (n // P) + min(block, n % P) for block in range(P + 1)]

    def part(block):
        return x[begin[block % P] : begin[block % P + 1]]

    travelling = part(rank - 1).copy()
    for block in range(rank - 2, rank - P - 1, -1):
        arriving = np.empty(part(block).size)
        mpi.waitall([comm.Irecv(arriving, source=(rank - 1) % P), comm.Isend(travelling, dest=(rank + 1) % P)])
        travelling = arriving + part(block)
    return travelling


def ring_allreduce(comm, x):
    """The two halves are one loop of 2 (P - 1) steps: a block goes on travelling to the right when it is complete. Only
    what is done with it differs. In the first half a rank adds its part to what arrives; from step P - 1 on what
    arrives is finished, and replaces what is there. Block b starts at rank b, is complete at rank b - 1, and the copy
    of it ends at rank b - 2.
    """
    P, rank = comm.size, comm.rank
    total = x.copy()
    blocks = np.array_split(total, P)
    for step in range(2 * (P - 1)):
        leaving, here = blocks[(rank - step) % P], blocks[(rank - step - 1) % P]
        arriving = np.empty_like(here)
        comm.Sendrecv(leaving, dest=(rank + 1) % P, recvbuf=arriving, source=(rank - 1) % P)
        here[:] = here + arriving if step < P - 1 else arriving
    return total


def binomial_broadcast(comm, x, root):
    """Divide and conquer: the first rank of a range sends x to the one in its middle, and from then on both halves are
    the same problem, at the same time. A range of P ranks is down to one rank after ceil(log2 P) halvings, for any P,
    because neither half is longer than half of it, rounded up.
    """
    P = comm.size
    me = (comm.rank - root) % P

    def serve(first, end):
        if end - first == 1:
            return
        middle = (first + end) // 2
        if me == first:
            comm.Send(x, dest=(middle + root) % P)
        if me == middle:
            comm.Recv(x, source=(first + root) % P)
        serve(*(first, middle) if me < middle else (middle, end))

    serve(0, P)


def recursive_doubling(comm, x):
    """The bits may come in any order: what matters is that after a round both partners know the same. So this one
    begins with the most significant bit. Ranks beyond the largest power of two give their array to a partner and wait
    for the result; to them an Isend and an Irecv, begun together, are the whole algorithm.
    """
    P, rank = comm.size, comm.rank
    bits = P.bit_length() - 1
    core, total, other = 1 << bits, x.copy(), np.empty_like(x)
    if rank >= core:
        result = np.empty_like(x)
        mpi.waitall([comm.Isend(x, dest=rank - core), comm.Irecv(result, source=rank - core)])
        return result
    folded = [rank + core] if rank + core < P else []
    for source in folded:
        comm.Recv(other, source=source)
        total += other
    for bit in reversed(range(bits)):
        partner = rank ^ (1 << bit)
        mpi.waitall([comm.Irecv(other, source=partner), comm.Isend(total, dest=partner)])
        total += other
    for dest in folded:
        comm.Send(total, dest=dest)
    return total


def pairwise_alltoall(comm, x):
    """Begin everything at once and let the network find its pace: all receives are open, so no message ever waits for
    its receiver, and each rank's sends leave in an order that begins with the next rank. As everybody begins somewhere
    else, the ports never fight.
    """
    P, rank = comm.size, comm.rank
    result = np.empty_like(x)
    result[rank] = x[rank]
    others = [(rank + step) % P for step in range(1, P)]
    requests = [comm.Irecv(result[other], source=other) for other in others]
    requests += [comm.Isend(x[other], dest=other) for other in others]
    mpi.waitall(requests)
    return result


def urgent_first(messages, alpha, beta, chunk):
    """Two lists: what has not come yet, by time, and a heap of what waits, the most urgent on top. What is not through
    after its chunk goes back into the heap, to the place where it was. Each chunk then costs a logarithm, where
    looking at all messages costs their number.
    """
    coming = sorted((ready, i) for i, (ready, _, _) in enumerate(messages))
    waiting, through, now, come = [], {}, min(messages)[0], 0
    while waiting or come < len(coming):
        if not waiting:
            now = max(now, coming[come][0])
        while come < len(coming) and coming[come][0] <= now:
            ready, i = coming[come]
            heapq.heappush(waiting, (messages[i][1], ready, i, messages[i][2]))
            come += 1
        queue, ready, i, left = heapq.heappop(waiting)
        through[i] = now = now + alpha + min(chunk, left) * beta
        if left > chunk:
            heapq.heappush(waiting, (queue, ready, i, left - chunk))
    return [through[i] for i in range(len(messages))]


# Level 4: repair ---------------------------------------------------------------------------------------------------


def shift_right(comm, block):
    """Isend begins to send and does not wait, so every rank comes to its Recv; the wait comes when both are under way.
    The array must stay as it is until then, which is why the request is waited for before the function returns.
    """
    arriving = np.empty_like(block)
    sending = comm.Isend(block, dest=(comm.rank + 1) % comm.size)
    comm.Recv(arriving, source=(comm.rank - 1) % comm.size)
    mpi.waitall([sending])
    return arriving


def stop_together(comm, losses, limit):
    """Separate what is decided from who decides: `mean` is the only place that communicates, everybody calls it once a
    step, and the loop looks at nothing else. `next` takes no step more than it must.
    """

    def mean(loss):
        total = np.empty(1)
        comm.Allreduce(np.array([loss]), total)
        return total / comm.size

    return next((step for step, loss in enumerate(losses, 1) if mean(loss) < limit), len(losses))


def sum_of_my_row(comm, x, width):
    """An all-reduce is a reduce and a broadcast, and each of them stays on the row's group. Rank 0 of the row is the
    one that Split put first. The time is that of two trees; what must be right is who takes part, in both.
    """
    row = comm.Split(comm.rank // width, comm.rank)
    total = np.empty_like(x)
    row.Reduce(x, total)
    row.Bcast(total)
    return total


# Level 5: speed up -------------------------------------------------------------------------------------------------


def allreduce_together(comm, arrays):
    """Make the results first, as windows into one array, copy the inputs into them, and sum that array in place. There
    is no cutting up afterwards, and one buffer in all. (DDP calls this gradient_as_bucket_view: the gradients live in
    the bucket from the beginning, so not even the first copy is needed.)
    """
    bucket, results, begin = np.empty(sum(array.size for array in arrays)), [], 0
    for array in arrays:
        end = begin + array.size
        results.append(bucket[begin:end].reshape(array.shape))
        results[-1][...] = array
        begin = end
    comm.Allreduce(mpi.IN_PLACE, bucket)
    return results


def ring_order(seconds):
    """From the top down: ranks that are closer than the largest distance form groups, which no ring can avoid to enter
    and to leave. Put one group behind the other, each as a whole, and arrange it inside by the same rule.
    """

    def arranged(ranks):
        farthest = seconds[np.ix_(ranks, ranks)].max()
        if farthest == 0:
            return ranks
        groups = {tuple(rank for rank in ranks if seconds[one, rank] < farthest) for one in ranks}
        return [rank for group in groups for rank in arranged(list(group))]

    return arranged(list(range(len(seconds))))


def hierarchical_allreduce(comm, x, per_node):
    """An all-reduce is a reduce-scatter and an allgather, so the three phases are four, like brackets: scatter inside,
    scatter across, gather across, gather inside. Written as a loop over levels it is as long for racks of machines of
    sockets: only the list of groups grows. What a rank holds shrinks by the size of each group on the way in.
    """
    groups = [comm.Split(comm.rank // per_node, comm.rank), comm.Split(comm.rank % per_node, comm.rank)]
    held, lengths = x, []
    for group in groups:
        lengths.append([block.size for block in np.array_split(held, group.size)])
        held = ring_reduce_scatter(group, held)
    for group in reversed(groups):
        held = ring_allgather(group, held, lengths.pop())
    return held


def widest_path(bandwidth, a, b):
    """Let a region grow from a, always over the widest link that leaves it, until b is in. The path inside the region
    is the widest: any other path from a to b leaves the region somewhere along the way, at each stage over a link no
    wider than the one taken. This is Prim's algorithm; one tree holds the widest paths between all pairs of nodes.
    """
    came_from, nodes = {a: a}, range(len(bandwidth))
    while b not in came_from:
        leaving = [
            (bandwidth[here, there], here, there) for here in came_from for there in nodes if there not in came_from
        ]
        _, here, there = max(leaving)
        came_from[there] = here

    def way_to(node):
        return [a] if node == a else [*way_to(came_from[node]), node]

    return way_to(b)

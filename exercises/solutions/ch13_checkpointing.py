"""Solutions of chapter 13. Each docstring says why it works; it is shown once the exercise is solved."""

import math

import numpy as np

from reference import mpi

# Level 1: predict --------------------------------------------------------------------------------------------------


def hours_of_a_week(part, week, M, R, C, T):
    """Four kinds of hours, none of which is any of the others. A failure takes half a cycle of work on average, and a
    restart; what is left is made of cycles, each with T hours of work and C hours of a checkpoint.

    With M = 24, C = 1/2, T = 4.4 and no restarts there are 7 failures. 17.15 hours of work are lost, 15.4 go into 30.8
    checkpoints, and 135.5 are useful: a fifth of the week is gone, not 11.3 %. The printed answer divides the week by T
    in place of T + C, and it has no lost work in the overhead. It calls the lost work "recovery time", which is the
    restart. Follow-up: if the checkpoint is written in the background, which C belongs into the formula?
    """
    failures = week / M
    lost = failures * (T + C) / 2
    restarts = failures * R
    cycles = (week - lost - restarts) / (T + C)
    return {"lost work": lost, "restarts": restarts, "checkpoints": cycles * C, "useful work": cycles * T}[part]


def keeps_running(workers, p, days, form, spares):
    """An accelerator fails with q = 1 - (1 - p)^days, and of n of them at most k fail with a probability that is a sum
    of k + 1 terms. Without spares k = 0 of all workers. "2+1" has n / 2 groups, in each of which one of three may fail.
    A pool may lose as many of all, spares included, as it has spares.

    2,048 workers with p = 0.0001 get through a day with 0.815, and 1,024 spares in pairs make it 0.99997: 1.23 times as
    often. The printed factor of 9,000 divides probabilities of failure, and has 683 groups in place of 1,024. Four
    spares in a pool do better than these 1,024. All this is for failures that are independent: a rack that loses power
    takes a pair and its spare together. Follow-up: what has to be kept where, so that a spare can really stand in?
    """

    def at_most(k, n):
        return sum(math.comb(n, i) * q**i * (1 - q) ** (n - i) for i in range(k + 1))

    q = 1 - (1 - p) ** days
    if form == "2+1":
        return at_most(1, 3) ** (workers / 2)
    return at_most(spares, workers + spares)


# Level 2: fill in --------------------------------------------------------------------------------------------------


def shrink_and_go_on(comm, suspects, m, batch, done):
    """Two agreements, each of which is one reduction. MAX over rows of 0 and 1 is "somebody suspects it". A rank that
    is suspected wrongly is out as well: that costs a rank, and two groups that both go on would cost the model. MIN
    over the finished steps is the last step that all have, so nothing is left out. It is done by the new group alone,
    because a rank that is out may be far behind.

    m ranks have one copy of the model, so 2,047 ranks with m = 128 are 15 copies, 1,920 ranks; the others wait as
    spares. ranks x alive / all would say 2,047. Follow-up: some ranks have done a step that is now done once more. What
    must they have kept, or agreed on before the step, so that its update does not count twice?
    """
    out = np.zeros(comm.size, dtype=int)
    out[suspects] = 1
    comm.Allreduce(mpi.IN_PLACE, out, op=mpi.MAX)
    group = comm.Split(out[comm.rank], key=comm.rank)
    if out[comm.rank]:
        return None
    step = np.array([done])
    group.Allreduce(mpi.IN_PLACE, step, op=mpi.MIN)
    copies = group.size // m
    if group.rank >= copies * m:
        return None
    first = step.item() * batch
    return group.rank, list(range(first + group.rank // m, first + batch, copies))


# Level 3: write ----------------------------------------------------------------------------------------------------


def best_interval(C, R, M):
    """The time for one unit of work is M exp(R / M) (exp((T + C) / M) - 1) / T. Its derivative is 0 where exp((T + C) /
    M) (1 - T / M) = 1, or C / M + u + log(1 - u) = 0 with u = T / M. The left side falls from C / M to minus infinity
    as u goes from 0 to 1, so the answer is always below M, and can be found by halving.

    R is a factor that T does not change. Young's sqrt(2 C M) and both of Daly's formulas are approximations of this T
    for a small C / M. With C half an hour and M a day they are 7 %, 4 % and less than 0.1 % off; the time that this
    costs is far below 1 %, because the least of a function is flat. Follow-up: C is measured, and M is guessed. Which
    error matters more?
    """
    low, high = 0.0, 1.0
    for _ in range(50):
        u = (low + high) / 2
        if C / M + u + math.log1p(-u) > 0:
            low = u
        else:
            high = u
    return low * M


def byte_ranges(files, itemsize, rows, columns):
    """A file is a rectangle, and so is what a rank needs, so they have a rectangle in common, or nothing. Counted from
    the file's own corner it is some columns of some rows. A row of the file is as long as the file's columns, so the
    bytes of one row are a range, and whole rows are one range together.

    Nothing here says how the matrix was cut or by how many ranks, so any layout can be loaded by any other. Layouts
    that cut rows give few long reads, and those that cut columns give one for each row. Follow-up: a read costs as much
    as 100,000 bytes. When is it quicker to read what lies between two ranges as well?
    """
    ranges = []
    for file, (top, height), (left, width) in sorted(files):
        first, end = max(top, rows[0]), min(top + height, rows[0] + rows[1])
        begin, stop = max(left, columns[0]), min(left + width, columns[0] + columns[1])
        if first >= end or begin >= stop:
            continue
        if stop - begin == width:
            ranges.append((file, (first - top) * width * itemsize, (end - first) * width * itemsize))
        else:
            for row in range(first - top, end - top):
                ranges.append((file, (row * width + begin - left) * itemsize, (stop - begin) * itemsize))
    return ranges


def phi(arrivals, now, window, least):
    """How many deviations is the silence above the mean, and how likely is an interval that is even longer? The
    detector learns the mean and the deviation from the heartbeats themselves, so its deadline adapts: to the interval,
    to the network, to a rank that is always late. erfc gives small probabilities with all their digits. 1 - 0.99999...
    has lost them after eight deviations, and the logarithm of 0 ends the detector.

    The least deviation is for heartbeats that come too regularly. phi promises how often it is wrong only if intervals
    are distributed normally; under load they are not, so the threshold is set by measuring. Follow-up: a checkpoint
    stops heartbeats for 10 seconds. What does the window make of it afterwards?
    """
    intervals = np.diff(arrivals)[-window:]
    deviation = max(math.sqrt(np.mean((intervals - intervals.mean()) ** 2)), least)
    x = (now - arrivals[-1] - intervals.mean()) / deviation
    return -math.log10(math.erfc(x / math.sqrt(2)) / 2)


def vote(term, voted_for, log, request):
    """One vote in a term, and majorities that overlap: so no term has two leaders. And since whoever wins is not behind
    a majority, and each committed entry is on a majority, one of its voters had the entry: the winner has it, too.

    The term of the last entry comes first, because a long log may be full of entries that were never committed. Both,
    term and vote, have to be on the disk before the answer goes out: a node that restarts and has forgotten its vote
    votes twice. Follow-up: which of the two rules does a node with an empty disk break, if it comes back under its old
    name?
    """
    its_term, candidate, last_index, last_term = request
    if its_term < term:
        return False, term, voted_for
    if its_term > term:
        term, voted_for = its_term, None
    own = (log[-1] if log else 0), len(log)
    if voted_for in (None, candidate) and (last_term, last_index) >= own:
        return True, term, candidate
    return False, term, voted_for


def elastic_samples(changes, each, n, step, rank):
    """The samples are one endless row of numbers, and each step takes the next ones. So where a rank begins is all that
    was read before: steps times ranks of each stretch between two changes. It follows from the changes alone, so a rank
    that joins, or comes back, finds its place without asking anybody for more than these.

    The batch grows and shrinks with the ranks here, and the learning rate has to follow it, by the rule of chapter 2.
    Follow-up: a change came in the middle of a step that was then done again. Which step number does it get?
    """
    taken = 0
    starts = [first for first, _ in changes] + [step]
    for (first, ranks), end in zip(changes, starts[1:]):
        if first >= step:
            break
        taken += (min(end, step) - first) * ranks
    first = (taken + rank) * each
    return [(i // n, i % n) for i in range(first, first + each)]


# Level 4: repair ---------------------------------------------------------------------------------------------------


def save_atomically(disk, manifest, shards, old):
    """The one moment is the rename of the manifest: names change in one go, texts do not. Before it, all that the new
    manifest needs must be safe: the shards' texts, the manifest's own text, and the shards' names, which are safe by
    sync_folder only. Behind it, another sync_folder makes the rename safe. Then it may be said that the checkpoint is
    saved, and what the old manifest needs may go.

    Without the first sync_folder everything is right in each run without a crash, and in most runs with one. Many file
    systems happen to keep the order of changes of names; POSIX does not promise it. Follow-up: a store of objects may
    have neither rename nor folders. What is the one moment there?
    """
    for name, text in shards.items():
        disk.write(name, text)
        disk.sync(name)
    disk.write("manifest.new", manifest)
    disk.sync("manifest.new")
    disk.sync_folder()
    disk.rename("manifest.new", "manifest")
    disk.sync_folder()
    for name in old:
        disk.remove(name)


def save_changes(weights, step, steps, size, limit):
    """`saved` is what somebody has who has read all saves so far. It is a copy, and only what is saved goes into it, so
    that small changes add up until they are saved. What is returned is a copy, too: the weights go on changing. And the
    number of blocks is rounded up.

    Compared with the step before, a weight that moves by 0.9 of the limit in each of 1,000 steps is never saved, and
    900 limits off. And the saving? With Adam every weight and both of its moments change in nearly every step: with
    limit 0 all blocks are saved. What is frozen, and rows of tables that are not looked up, are where this pays.
    Follow-up: how much memory does `saved` take, and what could stand in its place?
    """
    saved, saves = weights.copy(), []
    for _ in range(steps):
        step(weights)
        save = {}
        for begin in range(0, len(weights), size):
            part = weights[begin : begin + size]
            if np.abs(part - saved[begin : begin + size]).max() > limit:
                save[begin // size] = part.copy()
                saved[begin : begin + size] = part
        saves.append(save)
    return saves


def commit_index(term, log, matched, commit):
    """The largest index counts which a majority has, the leader among it, and whose entry is of the leader's own term.
    With it all entries before it are committed.

    An entry of an earlier term on most nodes can still be replaced: a node that lacks it, but has an entry of a later
    term, may win an election. Once an entry of the own term is on a majority, no such node can win any more, so that
    what is before it is safe. Follow-up: a new leader to whom nobody writes commits nothing. What do real ones write
    first?
    """
    for index in range(commit + 1, len(log) + 1):
        with_it = 1 + sum(last >= index for last in matched)
        if with_it > (len(matched) + 1) // 2 and log[index - 1] == term:
            commit = index
    return commit


# Level 5: speed up -------------------------------------------------------------------------------------------------


def rebuild(comm, lost, blocks):
    """Rank s works on row s. It needs the others' blocks of this row: a reduce-scatter brings them in P - 1 messages,
    and all links work at once. Then each has one row of what was lost, and the new rank collects them, in P - 1
    messages more. It gives zeros, which change nothing: its own memory holds what was there by chance.

    A tree moves whole arrays of P rows log2 P times, and one rank that gets everything waits for P - 1 of them. The
    parity takes one P-th of the memory, and the loss of one rank can be repaired. With two at once it cannot: that
    takes a second, other sum (Reed-Solomon). Follow-up: which ranks must not be together in such a group, if a node has
    eight of them?
    """
    own = np.zeros_like(blocks) if comm.rank == lost else blocks
    row = np.empty(blocks.shape[1], dtype=np.uint8)
    comm.Reduce_scatter_block(own, row, op=mpi.BXOR)
    whole = np.empty_like(blocks) if comm.rank == lost else None
    comm.Gather(row, whole, root=lost)
    return whole

"""Second solutions of chapter 13, written differently: a grader must not ask for one way to write an answer."""

import itertools
import math
from fractions import Fraction

import numpy as np

from reference import mpi


def hours_of_a_week(part, week, M, R, C, T):
    """By shares: a failure takes (T + C) / 2 + R hours and comes every M hours, so this share of the week is left for
    cycles. Of a cycle, C / (T + C) is the checkpoint and the rest is work."""
    left = week * (1 - ((T + C) / 2 + R) / M)
    each = C / (T + C)
    if part in ("checkpoints", "useful work"):
        return left * (each if part == "checkpoints" else 1 - each)
    return week * (R if part == "restarts" else (T + C) / 2) / M


def keeps_running(workers, p, days, form, spares):
    """With NumPy's help: how many of some accelerators fail is found by adding one after the other to a table of
    probabilities, of which only the first entries are kept. Without spares the table has one entry."""
    on = (1 - p) ** days

    def table(n, k):
        chance = np.zeros(k + 1)
        chance[0] = 1
        for _ in range(n):
            chance[1:] = chance[1:] * on + chance[:-1] * (1 - on)
            chance[0] *= on
        return float(chance.sum())

    return table(3, 1) ** (workers // 2) if form == "2+1" else table(workers + spares, spares)


def shrink_and_go_on(comm, suspects, m, batch, done):
    """With a bitwise or for who is out, and the negative step with MAX in place of MIN. Copies are what a division
    gives, and a rank whose copy would be one too many is a spare."""
    out = np.array([int(rank in suspects) for rank in range(comm.size)])
    comm.Allreduce(mpi.IN_PLACE, out, op=mpi.BOR)
    group = comm.Split(int(out[comm.rank]), key=comm.rank)
    if out[comm.rank]:
        return None
    behind = np.array([-done])
    group.Allreduce(mpi.IN_PLACE, behind, op=mpi.MAX)
    copies, copy = group.size // m, group.rank // m
    if copy >= copies:
        return None
    first = -behind.item() * batch
    return group.rank, [first + i for i in range(batch) if i % copies == copy]


def best_interval(C, R, M):
    """By Newton's method. With w = (T + C) / M the derivative is 0 where w - C / M - 1 + exp(-w) = 0. This function is
    convex and rises: wherever one begins, the first step lands above its zero, and all others come nearer from above.
    exp(-w) cannot get too large, however long C is."""
    w = 1.0
    for _ in range(30):
        w += (w - C / M - 1 + math.exp(-w)) / math.expm1(-w)
    return (w - C / M) * M


def byte_ranges(files, itemsize, rows, columns):
    """All rows one by one would do, if neighbours are joined. To be quick with whole rows, a file that has no other
    columns than those that are needed counts as one row, which is as long as all of them."""
    found = []
    for file, (top, height), (left, width) in files:
        inside = range(max(0, rows[0] - top), min(height, sum(rows) - top))
        begin, stop = max(0, columns[0] - left), min(width, sum(columns) - left)
        if not inside or begin >= stop:
            continue
        if (begin, stop) == (0, width):
            found.append([file, inside[0] * width * itemsize, len(inside) * width * itemsize])
        else:
            found += [[file, (row * width + begin) * itemsize, (stop - begin) * itemsize] for row in inside]
    found.sort()
    return found


def phi(arrivals, now, window, least):
    """Without NumPy: the last arrivals, one more than the intervals that count; their mean is the whole time divided by
    their number. The deviation comes from the distances to it, exactly."""
    last = [Fraction(each) for each in arrivals[-window - 1 :]]
    mean = (last[-1] - last[0]) / (len(last) - 1)
    squares = sum((after - before - mean) ** 2 for before, after in itertools.pairwise(last))
    deviation = max(math.sqrt(squares / (len(last) - 1)), least)
    x = float(Fraction(now) - last[-1] - mean) / deviation
    return math.log10(2) - math.log10(math.erfc(x / 2**0.5))


def vote(term, voted_for, log, request):
    """By what it needs: the request is not old, the vote is free in this term, and the log is not behind. The state
    after it follows from the terms and from the answer."""
    its_term, candidate, last_index, last_term = request
    before = voted_for if its_term <= term else None
    own_term = log[-1] if log else 0
    ahead = last_index >= len(log) if last_term == own_term else last_term > own_term
    granted = its_term >= term and (before is None or before == candidate) and ahead
    return granted, max(term, its_term), candidate if granted else before


def elastic_samples(changes, each, n, step, rank):
    """By differences: with the first number of ranks for all steps there were step * ranks portions; each change before
    this step adds its difference for the steps behind it."""
    portions, ranks = rank, 0
    for first, now in changes:
        if first < step:
            portions += (step - first) * (now - ranks)
            ranks = now
    start = portions * each
    return [divmod(sample, n) for sample in range(start, start + each)]


def save_atomically(disk, manifest, shards, old):
    """All is written first, and made safe afterwards: what is safe when the manifest gets its name counts, and not when
    it became so. The new manifest has the text of the old name in front."""
    temporary = "next"
    for name, text in {**shards, temporary: manifest}.items():
        disk.write(name, text)
    for name in [temporary, *shards]:
        disk.sync(name)
    disk.sync_folder()
    disk.rename(temporary, "manifest")
    disk.sync_folder()
    while_left = list(old)
    while while_left:
        disk.remove(while_left.pop())


def save_changes(weights, step, steps, size, limit):
    """As a table with a row for each block, the last one filled up with zeros, which never change. What is off is said
    for all blocks at once."""
    n, blocks = len(weights), -(-len(weights) // size)

    def table():
        return np.append(weights, np.zeros(blocks * size - n)).reshape(blocks, size)

    known, saves = table(), []
    for _ in range(steps):
        step(weights)
        now = table()
        off = np.flatnonzero((np.abs(now - known) > limit).any(axis=1))
        saves.append({int(block): now[block, : n - block * size] for block in off})
        known[off] = now[off]
    return saves


def commit_index(term, log, matched, commit):
    """From the end of the log: the first entry of the own term that a majority has. Where the terms are earlier ones,
    nothing more is committed."""
    for index in range(len(log), commit, -1):
        if log[index - 1] != term:
            break
        with_it = 1 + sum(last >= index for last in matched)
        if 2 * with_it > 1 + len(matched):
            return index
    return commit


def rebuild(comm, lost, blocks):
    """The blocks change hands first: row s of every rank goes to rank s, as in a transposition. There they are put
    together with ^, and the new rank collects the rows. What it had by chance is left out by the others."""
    came = np.empty_like(blocks)
    comm.Alltoall(blocks, came)
    row = np.zeros(blocks.shape[1], dtype=np.uint8)
    for rank, block in enumerate(came):
        if rank != lost:
            row ^= block
    whole = np.empty_like(blocks) if comm.rank == lost else None
    comm.Gather(row, whole, root=lost)
    return whole

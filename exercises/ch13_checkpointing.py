"""Chapter 13: checkpointing and recovery. Replace each `raise NotImplementedError` by your answer, then run:
pytest exercises/

The chapter's page is chapters/13_checkpointing.ipynb. The exercises come in five levels; do them in order or not, each
stands alone. Roughly: 1 predict (5 minutes each), 2 fill in (10), 3 write (15 to 30), 4 repair (15), 5 speed up (20).

Letters: C is the time that one checkpoint blocks the job, M the mean time between failures of the job, T the time of
work between two checkpoints and R the time of one restart. All four have the same unit.

Arguments stay as they are, and what is returned is memory of its own, unless the text says otherwise.
"""

import math

import numpy as np

from reference import mpi

# Level 1: predict --------------------------------------------------------------------------------------------------


def hours_of_a_week(part, week, M, R, C, T):
    """Return how many hours of a week go into one part of it.

    part  "checkpoints", "lost work", "restarts" or "useful work". The four together are the week.
    week  its hours. In it there are week / M failures.
    M     mean time between failures, in hours
    R     hours of one restart. Each failure needs one, and nothing fails meanwhile.
    C     hours of one checkpoint, in which the job waits
    T     hours of work between two checkpoints: a cycle takes T + C

    - A failure comes at any moment of a cycle, each as likely as any other. Lost work is all time since the last
      complete checkpoint: work, and a part of a checkpoint that was not completed.
    - What lost work and restarts leave of the week consists of whole cycles. Their number need not be whole.

    Try it: M = 24, C = 1/2, T = 4.4, R = 0. In print the answer is 38 checkpoints, 19 hours, 11.3 % of the week. Which
    two things does it forget?

    Page: chapters/13_checkpointing.ipynb#predict-how-often
    """
    raise NotImplementedError


def keeps_running(workers, p, days, form, spares):
    """Return the probability that a job runs for some days and is never short of a worker.

    workers  accelerators that the job needs at any time, an even number
    p        probability that an accelerator fails within a day, independently of all others and of other days. Nothing
             is repaired during these days.
    days     a whole number
    form     "none": there are no spares
             "2+1":  the workers are in pairs, and each pair has one spare of its own, which can stand in for either.
                     It is on from the first day, so it may fail, too.
             "pool": there are `spares` more, each of which can stand in for any worker. They are on from the first
                     day, so they may fail, too.
    spares   of the pool; 0 in the other forms

    Try it: 2,048 workers, p = 0.0001, one day. A spare for each pair costs 1,024 accelerators. How many spares in a
    pool do as well? In print "2+1" has "9,000 times the reliability" of no spares. How many times is it?

    Page: chapters/13_checkpointing.ipynb#spares
    """
    raise NotImplementedError


# Level 2: fill in --------------------------------------------------------------------------------------------------


def shrink_and_go_on(comm, suspects, m, batch, done):
    """Return (rank, samples): this rank's new number, and what it reads next. Return None if it is out, or a spare.

    comm      all ranks that still answer. Some of them answer late, and some ranks take them for dead.
    suspects  list of the ranks of comm that this rank takes for dead. Ranks may differ in this.
    m         ranks that hold one copy of the model together: neighbours after the new numbering
    batch     samples of a step, on all ranks together. Step s has the samples s batch to s batch + batch - 1.
    done      steps that this rank has finished. Ranks may differ in this by the step in which the failure came.

    - A rank that anybody suspects is out, even if it is alive: all must act on the same list.
    - The others are numbered anew, in the old order. Whole copies of the model go on. Ranks beyond them are spares.
    - They go on with the first step that some rank of the new group has not finished. The batch stays as large. Its
      samples are dealt out: the first copy of the model has the first one, the second copy the second one, and so on.
      All ranks of a copy read the same samples.

    With ULFM, comm.Shrink() takes the place of Split, and the dead need not answer. Remove the first line below and
    fill in the five blanks `___`.

    Page: chapters/13_checkpointing.ipynb#survivors-go-on
    """
    raise NotImplementedError
    out = np.zeros(comm.size, dtype=int)
    out[suspects] = 1
    comm.Allreduce(mpi.IN_PLACE, out, op=___)
    group = comm.Split(___, key=comm.rank)
    if out[comm.rank]:
        return None
    step = np.array([done])
    group.Allreduce(mpi.IN_PLACE, step, op=___)
    copies = ___
    if group.rank >= copies * m:
        return None
    first = step.item() * batch
    return group.rank, list(range(first + ___, first + batch, copies))


# Level 3: write ----------------------------------------------------------------------------------------------------


def best_interval(C, R, M):
    """Return the work T between two checkpoints for which a long job takes the least time, to a thousandth of T.

    C  time that one checkpoint blocks the job
    R  time of one restart
    M  mean time between failures. They come at random: the time to the next one is distributed exponentially, whatever
       has been before. They also come during checkpoints and restarts.

    After a failure a restart begins, and then the work since the last complete checkpoint is done anew. So to do work T
    and the checkpoint behind it takes M exp(R / M) (exp((T + C) / M) - 1) on average.

    C may be longer than M.

    Page: chapters/13_checkpointing.ipynb#predict-how-often
    """
    raise NotImplementedError


def byte_ranges(files, itemsize, rows, columns):
    """Return which bytes of which files a rank has to read: a list of (file, first, n) in ascending order.

    files     list of (file, rows, columns): in which files a matrix was saved. `file` is a number. rows = (first, n)
              and columns = (first, n) say which rectangle of the matrix the file has: its elements row by row, and
              nothing else. Each element of the matrix is in one file.
    itemsize  bytes of an element
    rows, columns  (first, n) each: the rectangle of the matrix that the rank needs now; n may be 0

    (file, first, n) are n bytes of a file, from byte number `first` on. Bytes that follow each other in a file are one
    range, and no range is empty. A matrix may have 10^12 elements.

    Example: rows 0 and 1 of a matrix of 2 x 4 numbers of 4 bytes are in one file. Who needs its columns 1 and 2 reads
    the bytes 4 to 11 and 20 to 27 of it: [(0, 4, 8), (0, 20, 8)].

    Page: chapters/13_checkpointing.ipynb#shards-and-another-layout
    """
    raise NotImplementedError


def phi(arrivals, now, window, least):
    """Return phi, by which an accrual failure detector says how much a rank is to be suspected.

    arrivals  list of the seconds at which its heartbeats have arrived, ascending, two of them or more
    now       seconds, later than the last of them
    window    how many intervals between heartbeats count: the last ones; all, if there are fewer
    least     seconds. If the standard deviation of these intervals is less than this, it is taken to be this.

    Intervals are taken to be distributed normally, with the mean of those that count and with their standard deviation:
    the root of their mean squared distance from the mean. phi is -log10 of the probability that an interval is longer
    than the silence up to now. So phi = 1 is wrong one time in ten, and phi = 8 one time in 10^8, if they really are
    distributed so.

    After a silence of thirty standard deviations phi is still a number, of about 200. math.erfc(x / math.sqrt(2)) is
    twice the probability that a normal number is above its mean by more than x standard deviations.

    Page: chapters/13_checkpointing.ipynb#who-is-dead
    """
    raise NotImplementedError


def vote(term, voted_for, log, request):
    """Return (granted, term, voted_for): whether a Raft node gives a candidate its vote, and what it writes to disk.

    term       the node's term so far
    voted_for  the candidate that it has voted for in this term, a number from 0 on, or None
    log        list: the term of each entry of its log. Entries are counted from 1.
    request    (term, candidate, last_index, last_term): the candidate's term, its number, and of the last entry in its
               log the index and the term; 0 and 0 if the log is empty

    - Nobody votes in a term that is over.
    - In a term a node votes for one candidate only. If this one asks again, it gets the same answer again.
    - Nobody votes for a candidate whose log is behind its own. Of two logs the one whose last entry has the later term
      is ahead. If these terms are equal, the longer one is ahead.
    - A node that hears of a later term goes on to it, whether it gives its vote or not. In a new term it has not voted.

    Page: chapters/13_checkpointing.ipynb#who-decides
    """
    raise NotImplementedError


def elastic_samples(changes, each, n, step, rank):
    """Return what a rank reads in a step of a training whose ranks come and go: a list of (epoch, place).

    changes  list of (step, ranks), with ascending steps, the first of which is 0: so many ranks take part from this
             step on, up to the next change
    each     samples that every rank reads in a step, however many ranks there are
    n        samples of an epoch
    step     from 0
    rank     from 0 to the ranks of this step - 1

    A step reads samples that follow each other: rank 0 the first `each` of them, rank 1 the next ones, and so on. The
    next step goes on behind the last rank. Place n - 1 of an epoch is followed by place 0 of the next one, also within
    a step. So no sample is left out, and none is read twice in an epoch. There may be 10^12 steps.

    Example: with changes [(0, 2), (1, 3)], each = 2 and n = 7, rank 1 reads in step 1 [(0, 6), (1, 0)].

    Page: chapters/13_checkpointing.ipynb#elastic-fewer-ranks-the-same-training
    """
    raise NotImplementedError


# Level 4: repair ---------------------------------------------------------------------------------------------------


def save_atomically(disk, manifest, shards, old):
    """Replace the checkpoint on a disk by another one, so that a crash at any moment leaves one of the two complete.

    disk      disk.write(name, text) makes a file, or writes over the one of this name. disk.sync(name) returns when its
              text is on the disk for good. disk.rename(name, new) gives a file another name, in one go, in place of a
              file that had it. disk.remove(name) takes a name away. disk.sync_folder() returns when all names are on
              the disk for good: of new files, renamed ones and removed ones. Everything is in one folder.
    manifest  text of the new manifest. It names the new shards.
    shards    dictionary from the name of each new shard to its text
    old       list of the names of the old shards. Other names than those of the new ones.

    Whoever loads a checkpoint reads the file "manifest", and then all shards that it names. After a crash, each text
    that was not synchronized may be torn. Of the changes of names since the last sync_folder any may be lost and others
    kept, also an earlier one lost and a later one kept.

    When the function returns, the new checkpoint survives any crash. The old shards are removed by then, and there are
    no files beside the new ones. Twice sync_folder is enough. Remove the first line below and repair the rest.

    Page: chapters/13_checkpointing.ipynb#a-save-that-survives-a-crash
    """
    raise NotImplementedError
    for name in old:
        disk.remove(name)
    disk.write("manifest", manifest)
    disk.sync("manifest")
    for name, text in shards.items():
        disk.write(name, text)
    disk.sync_folder()


def save_changes(weights, step, steps, size, limit):
    """Train, and return what to save after each step: a list of dictionaries {number of a block: its values}.

    weights  float64 array; step() changes it. All of it was saved before the first step.
    step     step(weights) does a step of training. It writes the new weights into the array.
    steps    how many steps to do
    size     elements of a block. Block 0 has the first ones; the last block may have fewer.
    limit    how far an element may be off in what is saved

    A block is saved after a step if one of its elements is off by more than the limit from what is saved of it by then,
    and then the whole block is. So whoever writes the blocks over the first save, in order, is at no time off by more.

    Four mistakes are below. None of them raises an error. Remove the first line and repair the rest.

    Page: chapters/13_checkpointing.ipynb#cheaper-saves
    """
    raise NotImplementedError
    saves = []
    previous = weights
    for _ in range(steps):
        step(weights)
        save = {}
        for block in range(len(weights) // size):
            part = weights[block * size : (block + 1) * size]
            if np.abs(part - previous[block * size : (block + 1) * size]).max() > limit:
                save[block] = part
        saves.append(save)
        previous = weights
    return saves


def commit_index(term, log, matched, commit):
    """Return up to which entry the leader of a Raft cluster has committed, an index.

    term     the leader's term
    log      list: the term of each entry of its log, ascending. Entries are counted from 1.
    matched  list: for each of the other nodes, up to which index its log is known to be the leader's
    commit   what was committed so far

    - A leader commits an entry of its own term once the majority of all nodes has it. The leader is one of them.
    - With an entry all entries before it are committed, whatever their terms.
    - An entry of an earlier term is committed in no other way. That most nodes have it is not enough: the next leader
      may be one that lacks it, and replace it.
    - What is committed stays so.

    Three mistakes are below. Remove the first line and repair the rest.

    Page: chapters/13_checkpointing.ipynb#who-decides
    """
    raise NotImplementedError
    for index in range(commit, len(log)):
        nodes_with_it = sum(last >= index for last in matched)
        if nodes_with_it > len(matched) // 2:
            commit = index
    return commit


# Level 5: speed up -------------------------------------------------------------------------------------------------


def rebuild(comm, lost, blocks):
    """Return the blocks of a rank that was lost, on the rank that has taken its place, and None on all others.

    comm    P ranks, at least two. One of them is new: it has the number of the lost rank.
    lost    this number
    blocks  array of P x n bytes (uint8). Row s of rank s is parity: the exclusive or (^) of row s of all other ranks.
            The other rows are what the rank has saved. On the rank that is new, it is what was in its memory by chance.

    It should take the time of 2 (P - 1) messages of n bytes, and all ranks together send (P^2 - 1) n bytes at most.
    With large blocks, one rank that gets everything takes longer, and so does a reduction down a tree. On the graders'
    network Reduce_scatter_block, Alltoall and Gather take the time of P - 1 messages, each as long as what one rank
    has for another. mpi.BXOR is the operation.

    Page: chapters/13_checkpointing.ipynb#copies-and-parity
    """
    raise NotImplementedError

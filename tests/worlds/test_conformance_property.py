"""Random legal programs on the virtual cluster: whatever the pattern, messages match as MPI's order rule says."""

from collections import defaultdict

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from reference import mpi
from reference.worlds import launch
from tests.worlds.conformance import row

RANKS = st.integers(1, 5)


@st.composite
def patterns(draw):
    """(ranks, messages, posts, waits): messages (source, dest, tag); a global order to post in and one to wait in."""
    ranks = draw(RANKS)
    rank = st.integers(0, ranks - 1)
    messages = draw(st.lists(st.tuples(rank, rank, st.integers(0, 1)), max_size=12))
    ends = [(i, end) for i in range(len(messages)) for end in ("send", "receive")]
    return ranks, messages, draw(st.permutations(ends)), draw(st.permutations(ends))


def exchange(comm, messages, posts, waits):
    """Post this rank's ends of all messages, wait in another order; return what each receive got."""
    requests, got = {}, {}
    for i, end in posts:
        source, dest, tag = messages[i]
        if end == "send" and source == comm.rank:
            requests[i, end] = (comm.Issend if i % 3 else comm.Isend)(row(i), dest, tag)
        if end == "receive" and dest == comm.rank:
            got[i] = row(-1)
            requests[i, end] = comm.Irecv(got[i], source, tag)
    for turn, end in enumerate(waits):
        request = requests.get(end)
        while turn % 2 and request and not request.Test():
            pass
        if request:
            request.Wait()
    return {i: int(x[0]) for i, x in got.items()}


def matches(messages, posts):
    """The order rule: the k-th send of a (source, dest, tag) meets its k-th receive."""
    sent, received = defaultdict(list), defaultdict(list)
    for i, end in posts:
        (sent if end == "send" else received)[messages[i]].append(i)
    return {i: s for key in sent for s, i in zip(sent[key], received[key], strict=True)}


@given(patterns())
def test_any_pattern_of_nonblocking_messages(pattern):
    ranks, messages, posts, waits = pattern
    run = launch(exchange, ranks, messages, posts, waits)
    assert {i: x for result in run.results for i, x in result.items()} == matches(messages, posts)


def in_turn(comm, messages, wild):
    """Every rank goes through the list in the same order with blocking calls, which cannot deadlock.

    All messages leave from one buffer, which is free to be written again after each Send.
    """
    seen, out = [], row(-1)
    for i, (source, dest, tag) in enumerate(messages):
        if source == comm.rank:
            out[:] = i
            comm.Send(out, dest, tag)
        elif dest == comm.rank:
            got, status = row(-1), mpi.Status()
            comm.Recv(got, source, mpi.ANY_TAG if wild else tag, status)
            seen.append((status.source, status.tag, int(got[0])))
    return seen


@given(patterns().filter(lambda p: p[0] > 1), st.booleans(), st.booleans())
def test_any_list_of_blocking_messages(pattern, wild, buffered):
    """Right whether sends are buffered or not; and the clock says the same at the second time."""
    ranks, messages, *_ = pattern
    messages = [(s, d, tag) for s, d, tag in messages if s != d]
    first, second = (launch(in_turn, ranks, messages, wild, buffered=buffered) for _ in range(2))
    want = [[(s, t, i) for i, (s, d, t) in enumerate(messages) if d == rank] for rank in range(ranks)]
    assert first.results == second.results == want
    assert (first.seconds, list(first.timeline)) == (second.seconds, list(second.timeline))
    assert first.bytes_sent == [8 * sum(s == rank for s, *_ in messages) for rank in range(ranks)]


def everyone_to_everyone(comm, lengths):
    """Alltoallv of lengths[source][dest] elements, each 100 source + dest."""
    out, into = lengths[comm.rank], [line[comm.rank] for line in lengths]
    x = np.concatenate([np.full(n, 100 * comm.rank + dest) for dest, n in enumerate(out)])
    y = np.zeros(sum(into), x.dtype)
    comm.Alltoallv([x, out], [y, into])
    return y.tolist()


@given(RANKS.flatmap(lambda p: st.lists(st.lists(st.integers(0, 4), min_size=p, max_size=p), min_size=p, max_size=p)))
def test_any_lengths_of_alltoallv(lengths):
    ranks = len(lengths)
    want = [[100 * s + d for s in range(ranks) for _ in range(lengths[s][d])] for d in range(ranks)]
    assert launch(everyone_to_everyone, ranks, lengths).results == want


def sums(comm, counts):
    y = np.zeros(counts[comm.rank])
    comm.Reduce_scatter(np.arange(sum(counts)) * (comm.rank + 1.0), y, counts)
    return y.tolist()


@given(st.lists(st.integers(0, 4), min_size=1, max_size=5))
def test_any_counts_of_reduce_scatter(counts):
    ranks, whole = len(counts), np.arange(sum(counts)) * len(counts) * (len(counts) + 1) / 2
    want = np.split(whole, np.cumsum(counts)[:-1])
    assert launch(sums, ranks, counts).results == [part.tolist() for part in want]

"""Fair sharing: max-min rates, found anew whenever a transfer begins or ends."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference import mpi
from reference.collectives import ALLREDUCE, allreduce
from reference.networks.congestion import finish_times, on_network
from reference.worlds import launch, networks
from tests.examples import examples

UNIFORM = networks.uniform(alpha=1e-6, beta=1e-9, gap=0)
NETWORKS = {
    "uniform": UNIFORM,
    "one card": networks.two_level(3, alpha=1e-6, beta=1e-10, alpha_out=1e-6, beta_out=1e-9, gap=0),
    "half of the core": networks.fat_tree(1, 2, (1e-6,) * 3, (1e-10, 2e-10, 1e-9), oversubscription=2, gap=0),
    "torus": networks.Torus((2, 3), 1e-6, 1e-9, gap=0),
}


def at_once(comm, messages):
    """Each (source, destination, bytes) at once; when the last of this rank's is through."""
    mine = [
        comm.Isend(np.zeros(n, "u1"), dest, tag) if source == comm.rank else comm.Irecv(np.zeros(n, "u1"), source, tag)
        for tag, (source, dest, n) in enumerate(messages)
        if comm.rank in (source, dest)
    ]
    mpi.waitall(mine)


def ends(messages, network, ranks=6, **options):
    """When each message is there."""
    run = launch(at_once, ranks, messages, network=network, sharing="fair", **options)
    found = {(e.rank, e.peer, e.nbytes): e.end for e in run.timeline.of(kind="send")}
    return [found[message] for message in messages]


@examples(10)
@given(st.sampled_from(sorted(NETWORKS)), st.data())
def test_ends_are_those_of_max_min_rates(name, data):
    pairs = st.tuples(st.integers(0, 5), st.integers(0, 5)).filter(lambda pair: pair[0] != pair[1])
    chosen = data.draw(st.lists(pairs, min_size=1, max_size=12, unique=True))
    messages = [(*pair, data.draw(st.integers(1, 10**6))) for pair in chosen]
    flows, capacities = on_network(NETWORKS[name], chosen)
    due = 1e-6 + finish_times(flows, capacities, [n for *_, n in messages])
    assert ends(messages, NETWORKS[name]) == pytest.approx(due, rel=1e-6)


def test_who_comes_later_gets_a_share_and_slows_down_who_was_there():
    """1 -> 0 alone for 1 ms, then both at half speed; 2 -> 0, half as long, ends first."""

    def program(comm):
        if comm.rank == 0:
            return mpi.waitall([comm.Irecv(np.empty(n), source) for source, n in ((1, 500_000), (2, 125_000))])
        mpi.sleep(comm, 1e-3 * (comm.rank - 1))
        comm.Send(np.empty(500_000 // comm.rank**2), 0)
        return mpi.wtime(comm)

    run = launch(program, 3, network=UNIFORM, sharing="fair")
    assert run.results[1:] == pytest.approx([5e-3 + 1e-6, 3e-3 + 1e-6])


def test_messages_in_flight_share_one_latency_and_each_has_its_gap():
    def program(comm):
        call = comm.Irecv if comm.rank else comm.Isend
        mpi.waitall([call(np.zeros(100, "u1"), 1 - comm.rank) for _ in range(64)])

    run = launch(program, 2, network=networks.uniform(1e-6, 1e-9, gap=1e-7), sharing="fair")
    assert run.seconds == pytest.approx(64 * (1e-7 + 1e-7) + 9e-7)


@pytest.mark.parametrize("beta", [0.0, 1e-9])
def test_without_bytes_and_without_a_limit_there_is_an_end(beta):
    messages = [(0, 1, 0), (2, 1, 5), (1, 2, 7)]
    assert ends(messages, networks.uniform(1e-6, beta, gap=0)) == pytest.approx([1e-6] * 3, rel=0.02)


@pytest.mark.parametrize("name", ["ring", "halving-doubling", "double tree", "direct"])
def test_where_nothing_meets_it_takes_as_long_as_in_turns(name):
    def program(comm):
        own = ALLREDUCE[name].some_options(comm.size)
        return allreduce(comm, np.full(800, comm.rank + 1.0), algorithm=name, **own)[0]

    fair, fifo = (launch(program, 8, network=UNIFORM, sharing=how) for how in ("fair", "fifo"))
    assert fair.results == fifo.results == [36.0] * 8
    assert fair.seconds == pytest.approx(fifo.seconds, rel=1e-9)


def test_one_block_that_is_longer_by_a_byte_disturbs_nobody():
    """In turns, whoever is a moment late finds ports taken for a whole message."""

    def program(comm, n):
        allreduce(comm, np.zeros(n, "u1"), algorithm="direct")

    def longer(how):
        return np.divide(*(launch(program, 16, n, network=UNIFORM, sharing=how).seconds for n in (160_001, 160_000)))

    assert longer("fair") < 1.01 < 1.2 < longer("fifo")


def test_windows_share_too():
    def program(comm):
        window = mpi.win_allocate(comm, 10**6)
        window.Lock_all()
        if comm.rank:
            window.Put(np.zeros(10**6, "u1"), 0)
        window.Unlock_all()
        return mpi.wtime(comm)

    assert launch(program, 3, network=UNIFORM, sharing="fair").results[1:] == pytest.approx([2e-3 + 1e-6] * 2)


def test_the_same_run_every_time():
    messages = [(a, b, 1000 * a + b) for a in range(6) for b in range(6) if a != b]
    runs = [launch(at_once, 6, messages, network=NETWORKS["one card"], sharing="fair") for _ in range(2)]
    assert runs[0].timeline == runs[1].timeline


def test_other_ways_to_share_are_refused():
    with pytest.raises(ValueError, match="sharing is one of fifo, fair, got 'both'"):
        launch(at_once, 2, [], sharing="both")
    with pytest.raises(ValueError, match="belong to the virtual cluster"):
        launch(at_once, 2, [], world="mpi", sharing="fair")


def exchanged(comm, count):
    """An incast at rank 0, then an all-to-all in step; when each is over on this rank."""
    mine, each = np.ones(count), np.empty((comm.size, count))
    if comm.rank:
        comm.Send(mine, 0)
    else:
        mpi.waitall([comm.Irecv(each[source], source) for source in range(1, comm.size)])
    incast = mpi.wtime(comm)
    for k in range(1, comm.size):
        to, source = (comm.rank + k) % comm.size, (comm.rank - k) % comm.size
        comm.Sendrecv(mine, to, recvbuf=each[source], source=source)
    return incast, mpi.wtime(comm)


def test_an_incast_and_an_all_to_all_in_step_take_the_same_time_both_ways_where_all_links_are_alike():
    """And not where ranks share a card: the incast is longer in turns, the all-to-all shorter."""

    def seconds(network, sharing):
        ends = np.max(launch(exchanged, 16, 10_000, network=network, sharing=sharing).results, axis=0)
        return ends[0], ends[1] - ends[0]

    alike, card = networks.uniform(), networks.two_level(4)
    assert seconds(alike, "fifo") == pytest.approx(seconds(alike, "fair"), rel=1e-6)
    (incast, in_step), (incast_fair, in_step_fair) = seconds(card, "fifo"), seconds(card, "fair")
    assert incast > 1.05 * incast_fair and in_step < 0.95 * in_step_fair

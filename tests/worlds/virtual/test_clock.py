"""The virtual clock, against cases worked by hand.

The rule: a rank sends one message and receives one at a time. When both sides are ready, a transfer books both ports
and all links of its way for g + n beta, first come, first served (ties by rank), and is there alpha + n beta after its
start. A Send ends, on both sides, with its transfer. Below, alpha = 1 s, g = 1/2 s and beta = 1/8 s a byte: a message
of n doubles takes 1 + n and holds its way for 1/2 + n.
"""

from math import inf

import numpy as np
import pytest

from reference import mpi
from reference.worlds import Slow, launch, networks

LINE = networks.uniform(alpha=1.0, beta=0.125, gamma=0.25, gap=0.5)


def times(program, ranks, network=LINE, **options):
    """The time on every rank's clock at the end of the program (what the program returns wins)."""

    def timed(comm):
        result = program(comm)
        return mpi.wtime(comm) if result is None else result

    return launch(timed, ranks, network=network, **options).results


def transfers(run):
    """(source, dest, start, end) of every message, in order of time."""
    return sorted((e.rank, e.peer, e.start, e.end) for e in run.timeline if e.kind == "send")


def words(n):
    return np.zeros(n)


# Computing -------------------------------------------------------------------------------------------------------


def test_clocks_start_at_zero_and_computing_moves_ones_own():
    assert times(lambda comm: mpi.compute(comm, 2.0 * comm.rank), 3) == [0, 2, 4]


def test_sleep_and_reduction():
    """sleep moves the clock; `reduced` bytes cost gamma each."""

    def program(comm):
        mpi.sleep(comm, 1.5)
        mpi.compute(comm, 1.0, reduced=8)

    assert times(program, 2) == [4.5, 4.5]


def test_a_slow_rank_computes_slowly_and_sleeps_as_others_do():
    def program(comm):
        mpi.compute(comm, 1.0, reduced=4)
        mpi.sleep(comm, 1.0)

    assert times(program, 3, faults=[Slow(1, 3.0)]) == [3, 7, 3]


def test_everybody_waits_for_the_slow_one():
    """The makespan is that of the last rank."""

    def program(comm):
        mpi.compute(comm, 1.0)
        comm.Barrier()

    fast, slow = (launch(program, 4, network=LINE, faults=faults) for faults in ((), [Slow(2, 10.0)]))
    assert slow.seconds - fast.seconds == 9


def test_wtime_never_runs_backwards():
    def program(comm):
        seen = [mpi.wtime(comm)]
        for step in range(5):
            comm.Allreduce(mpi.IN_PLACE, words(4))
            mpi.compute(comm, 0.1 * comm.rank)
            comm.Sendrecv(words(step), (comm.rank + 1) % comm.size, 0, words(step), (comm.rank - 1) % comm.size, 0)
            comm.Iprobe()
            seen.append(mpi.wtime(comm))
        return seen == sorted(seen)

    assert times(program, 3) == [True] * 3


# One message -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("call", ["Send", "Ssend"])
@pytest.mark.parametrize("sender, receiver", [(0.0, 0.0), (5.0, 0.0), (0.0, 5.0), (2.0, 2.5)])
def test_a_transfer_starts_when_both_are_ready(call, sender, receiver):
    """n = 3 doubles take 1 + 3 s from the later of the two; both sides end with the transfer."""

    def program(comm):
        mpi.compute(comm, receiver if comm.rank else sender)
        if comm.rank:
            comm.Recv(words(3), 0)
        else:
            getattr(comm, call)(words(3), 1)

    end = max(sender, receiver) + 4
    assert times(program, 2) == [end, end]


def test_bytes_count_and_not_elements():
    """The same number of bytes, as doubles, as single precision, empty."""

    def program(comm):
        for x in (np.zeros(4), np.zeros(8, "f4"), np.zeros((2, 4), "f4"), np.zeros(0)):
            comm.Send(x, 1) if comm.rank == 0 else comm.Recv(x, 0)

    assert times(program, 2) == [5 + 5 + 5 + 1] * 2


def test_the_message_counts_and_not_the_buffer():
    def program(comm):
        comm.Send(words(2), 1) if comm.rank == 0 else comm.Recv(words(100), 0)

    assert times(program, 2) == [3, 3]


def test_full_duplex_exchange():
    """Both directions at once: an exchange takes as long as one message."""

    def program(comm):
        comm.Sendrecv(words(3), 1 - comm.rank, 0, words(3), 1 - comm.rank, 0)

    assert times(program, 2) == [4, 4]


def test_a_message_to_oneself_and_to_nobody_costs_nothing():
    def program(comm):
        comm.Sendrecv(words(3), comm.rank, 0, words(3), comm.rank, 0)
        comm.Sendrecv(words(3), mpi.PROC_NULL, 0, words(3), mpi.PROC_NULL, 0)

    assert times(program, 2) == [0, 0]


@pytest.mark.parametrize("receiver, end", [(0.0, 4.0), (3.0, 4.0), (9.0, 9.0)])
def test_a_buffered_send_leaves_at_once(receiver, end):
    """buffered=True: the sender goes on, the message travels without waiting for the receive and is there at 4."""

    def program(comm):
        if comm.rank == 0:
            comm.Send(words(3), 1)
        else:
            mpi.compute(comm, receiver)
            comm.Recv(words(3), 0)

    assert times(program, 2, buffered=True) == [0, end]


def test_a_pipeline_of_hops():
    """A token down the line of 4: the receive of one hop is the start of the next."""

    def program(comm):
        if comm.rank:
            comm.Recv(words(1), comm.rank - 1)
        if comm.rank + 1 < comm.size:
            comm.Send(words(1), comm.rank + 1)

    assert times(program, 4) == [2, 4, 6, 6]


# Overlap ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("work, end", [(0.0, 4.0), (3.0, 4.0), (4.0, 4.0), (7.0, 7.0)])
def test_a_nonblocking_transfer_hides_behind_computing(work, end):
    """4 s of transfer and `work` s of computing together take the longer of the two."""

    def program(comm):
        request = comm.Irecv(words(3), 0) if comm.rank else comm.Isend(words(3), 1)
        mpi.compute(comm, work)
        request.Wait()

    assert times(program, 2) == [end, end]


def test_a_blocking_transfer_does_not():
    def program(comm):
        comm.Recv(words(3), 0) if comm.rank else comm.Send(words(3), 1)
        mpi.compute(comm, 3.0)

    assert times(program, 2) == [7, 7]


def test_posting_costs_nothing_and_waiting_for_the_past_neither():
    def program(comm):
        requests = [comm.Irecv(words(1), 1 - comm.rank), comm.Isend(words(1), 1 - comm.rank)]
        posted = mpi.wtime(comm)
        mpi.compute(comm, 10.0)
        mpi.waitall(requests)
        return posted, mpi.wtime(comm)

    assert times(program, 2) == [(0, 10)] * 2


def test_a_nonblocking_collective_hides_behind_computing():
    def program(comm):
        x = words(8)
        start = mpi.wtime(comm)
        comm.Allreduce(mpi.IN_PLACE, x)
        alone = mpi.wtime(comm) - start
        request = comm.Iallreduce(mpi.IN_PLACE, x)
        mpi.compute(comm, 2 * alone)
        request.Wait()
        return mpi.wtime(comm) - start - alone == 2 * alone

    assert times(program, 4) == [True] * 4


def test_computing_between_the_rounds_of_others():
    """Waitany returns at the first completion: rank 0 computes 10 s on each of two messages as they come."""

    def program(comm):
        if comm.rank:
            mpi.compute(comm, 4.0 / comm.rank)
            return comm.Send(words(1), 0)
        requests = [comm.Irecv(words(1), source) for source in (1, 2)]
        seen = []
        for _ in requests:
            first = mpi.waitany(requests)
            seen.append((first, mpi.wtime(comm)))
            mpi.compute(comm, 10.0)
        return seen

    assert times(program, 3) == [[(1, 4.0), (0, 14.0)], 6.0, 4.0]


# Ports and links -------------------------------------------------------------------------------------------------


def test_incast_on_one_port():
    """Four ranks send 1 double to rank 0 at once: it takes them one after another, as it has posted the receives."""

    def program(comm):
        if comm.rank:
            comm.Send(words(1), 0)
        else:
            mpi.waitall([comm.Irecv(words(1), source) for source in (4, 3, 2, 1)])

    run = launch(program, 5, network=LINE)
    assert transfers(run) == [(1, 0, 4.5, 6.5), (2, 0, 3, 5), (3, 0, 1.5, 3.5), (4, 0, 0, 2)]
    assert run.seconds == 6.5


def test_one_port_to_send_from():
    """Three Isends from one rank follow each other as posted; the waits end with their transfers."""

    def program(comm):
        if comm.rank:
            return comm.Recv(words(1), 0)
        mpi.compute(comm, 1.0)
        requests = [comm.Isend(words(1), dest) for dest in (3, 1, 2)]
        seen = []
        for request in requests:
            request.Wait()
            seen.append(mpi.wtime(comm))
        return seen

    assert times(program, 4) == [[3, 4.5, 6], 4.5, 6, 3]


def test_first_come_first_served():
    """Rank 2 is ready at 0.5, rank 1 at 1: rank 2 is served first although its number is higher."""

    def program(comm):
        if comm.rank == 0:
            return [comm.Recv(words(1)), mpi.wtime(comm), comm.Recv(words(1)), mpi.wtime(comm)][1::2]
        mpi.compute(comm, 1.0 / comm.rank)
        comm.Send(words(1), 0)

    assert times(program, 3) == [[2.5, 4.5], 4.5, 2.5]


def test_ties_go_to_the_lower_rank():
    """Ranks 1 and 3 are both ready for rank 0 at t = 2; rank 1, which had to receive first, is served first."""

    def program(comm):
        if comm.rank == 0:
            mpi.waitall([comm.Irecv(words(1), source) for source in (3, 1)])
        elif comm.rank == 2:
            comm.Send(words(1), 1)
        else:
            comm.Recv(words(1), 2) if comm.rank == 1 else mpi.compute(comm, 2.0)
            comm.Send(words(1), 0)

    assert transfers(launch(program, 4, network=LINE)) == [(1, 0, 2, 4), (2, 1, 0, 2), (3, 0, 3.5, 5.5)]


def test_nothing_stands_idle_for_a_transfer_that_waits_for_something_else():
    """1 -> 2 waits for the busy port of 2; 1 -> 3, ready later, need not wait with it."""

    def program(comm):
        if comm.rank == 0:
            comm.Send(words(3), 2)
        elif comm.rank == 1:
            mpi.compute(comm, 1.0)
            first = comm.Isend(words(1), 2)
            mpi.compute(comm, 1.0)
            mpi.waitall([first, comm.Isend(words(1), 3)])
        elif comm.rank == 2:
            mpi.waitall([comm.Irecv(words(3), 0), comm.Irecv(words(1), 1)])
        else:
            comm.Recv(words(1), 1)

    run = launch(program, 4, network=LINE)
    assert transfers(run) == [(0, 2, 0, 4), (1, 2, 3.5, 5.5), (1, 3, 2, 4)]


@pytest.mark.parametrize("gap, last", [(0.0, 9), (0.25, 16.75), (1.0, 40), (inf, 40)])
def test_messages_in_flight_share_one_latency(gap, last):
    """k Isends of n bytes take k (g + n beta) + alpha - g together, and k (alpha + n beta) if latency holds ports."""

    def program(comm):
        call = comm.Irecv if comm.rank else comm.Isend
        mpi.waitall([call(np.zeros(2, "u1"), 1 - comm.rank) for _ in range(32)])

    assert times(program, 2, networks.uniform(alpha=1.0, beta=0.125, gap=gap)) == [last, last]


@pytest.mark.parametrize("overhead, last", [(0.0, 9.0), (0.25, 17.125), (1.0, 65.125)])
def test_the_processor_is_busy_with_each_message(overhead, last):
    """64 in flight, 1/8 s each on the wire: as long as that, or as the sender needs to post them (LogGP's o)."""

    def program(comm):
        call = comm.Irecv if comm.rank else comm.Isend
        mpi.waitall([call(np.zeros(1, "u1"), 1 - comm.rank) for _ in range(64)])

    network = networks.uniform(alpha=1.0, beta=0.125, gap=0)
    assert times(program, 2, network, overhead=overhead) == [last, last]


def test_an_exchange_that_is_waited_for_takes_two_overheads_more():
    """One for the receive and one for the send; the collectives of the virtual cluster pay them too."""

    def program(comm):
        for _ in range(3):
            comm.Sendrecv(words(3), 1 - comm.rank, 0, words(3), 1 - comm.rank, 0)
        comm.Barrier()

    assert times(program, 2, overhead=0.25) == [3 * (4 + 0.5) + 1.5] * 2
    assert times(program, 2, overhead=0.25, faults=[Slow(1, 3.0)]) == [3 * (4 + 1.5) + 2.5] * 2


def test_an_unready_message_does_not_hold_up_a_ready_one():
    """Rank 0 posts to 1, who is late, and to 2, who is ready: the second goes first."""

    def program(comm):
        if comm.rank == 0:
            mpi.waitall([comm.Isend(words(1), 1), comm.Isend(words(1), 2)])
        else:
            mpi.compute(comm, 9.0 if comm.rank == 1 else 0.0)
            comm.Recv(words(1), 0)

    assert times(program, 3) == [11, 11, 2]


NODES = networks.two_level(2, alpha=1.0, beta=0.125, alpha_out=2.0, beta_out=0.25, gap=1.0)


def pairs(comm, routes, n=1):
    """Every route (source, dest) carries n doubles, all at once."""
    requests = [comm.Isend(words(n), d, s) for s, d in routes if s == comm.rank]
    mpi.waitall(requests + [comm.Irecv(words(n), s, s) for s, d in routes if d == comm.rank])


@pytest.mark.parametrize(
    "routes, want",
    [
        ([(0, 1)], [(0, 1, 0, 2)]),  # inside a node: 1 + 1
        ([(0, 2)], [(0, 2, 0, 4)]),  # between nodes: 2 + 2
        ([(0, 2), (1, 3)], [(0, 2, 0, 4), (1, 3, 3, 7)]),  # two ways over one network card
        ([(0, 2), (1, 4)], [(0, 2, 0, 4), (1, 4, 3, 7)]),  # one card sends both
        ([(0, 4), (2, 5)], [(0, 4, 0, 4), (2, 5, 3, 7)]),  # one card receives both
        ([(0, 2), (3, 1)], [(0, 2, 0, 4), (3, 1, 0, 4)]),  # a card sends and receives at once
        ([(0, 2), (4, 1)], [(0, 2, 0, 4), (4, 1, 0, 4)]),
        ([(0, 2), (1, 0)], [(0, 2, 0, 4), (1, 0, 0, 2)]),  # inside a node nothing is shared
        ([(0, 2), (4, 6)], [(0, 2, 0, 4), (4, 6, 0, 4)]),  # other nodes, other cards
    ],
)
def test_two_transfers_over_one_link(routes, want):
    assert transfers(launch(pairs, 8, routes, network=NODES)) == want


def test_two_cards_carry_two_transfers():
    """With two cards a node the messages to ranks 2 and 3 take one each (the card is chosen by destination)."""
    network = networks.two_level(2, alpha=1.0, beta=0.125, alpha_out=2.0, beta_out=0.25, nics=2)
    run = launch(pairs, 4, [(0, 2), (1, 3)], network=network)
    assert transfers(run) == [(0, 2, 0, 4), (1, 3, 0, 4)]


def test_the_slowest_link_sets_the_pace():
    """A fat tree of 2 ranks a node, 2 nodes a pod: inside the node, inside the pod, across the core."""
    network = networks.fat_tree(2, 2, alphas=(1.0, 2.0, 3.0), betas=(0.125, 0.25, 0.5))
    ends = [transfers(launch(pairs, 8, [(0, dest)], network=network))[0][3] for dest in (1, 2, 4)]
    assert ends == [1 + 1, 2 + 2, 3 + 4]


def test_an_oversubscribed_tree_has_fewer_cables_to_the_core():
    """Four nodes of one rank: with 1 of 2 cables the two messages to the other pod queue, with 2 of 2 they do not."""
    across = [(0, 2), (1, 3)]
    for oversubscription, want in ((1, [(0, 2, 0, 7), (1, 3, 0, 7)]), (2, [(0, 2, 0, 7), (1, 3, 5, 12)])):
        network = networks.fat_tree(
            1, 2, (1.0, 2.0, 3.0), (0.125, 0.25, 0.5), oversubscription=oversubscription, gap=1.0
        )
        assert transfers(launch(pairs, 4, across, network=network)) == want


# Causality -------------------------------------------------------------------------------------------------------


def parameter_server(comm, receive):
    """Workers with periods 1, 2 and 0.5 push three updates each; rank 0 takes whatever comes."""
    periods = {1: 1.0, 2: 2.0, 3: 0.5}
    if comm.rank:
        for step in range(1, 4):
            mpi.compute(comm, periods[comm.rank])
            comm.Isend(np.array([step * periods[comm.rank]]), 0, comm.rank).Wait()
        return None
    return [receive(comm) for _ in range(9)]


def with_recv(comm):
    got = words(1)
    comm.Recv(got, mpi.ANY_SOURCE, mpi.ANY_TAG)
    return got[0]


def with_probe(comm):
    got, status = words(1), mpi.Status()
    comm.Probe(mpi.ANY_SOURCE, mpi.ANY_TAG, status)
    comm.Recv(got, status.source, status.tag)
    return got[0]


def with_polling(comm):
    got, status = words(1), mpi.Status()
    while not comm.Iprobe(mpi.ANY_SOURCE, mpi.ANY_TAG, status):
        mpi.sleep(comm, 1e-3)
    comm.Recv(got, status.source, status.tag)
    return got[0]


def with_test(comm):
    got = words(1)
    request = comm.Irecv(got)
    while not request.Test():
        mpi.sleep(comm, 1e-3)
    return got[0]


@pytest.mark.parametrize("receive", [with_recv, with_probe, with_polling, with_test])
def test_a_parameter_server_sees_messages_in_the_order_of_time(receive):
    """Worker 3's message of t = 0.5 comes before worker 1's of t = 1, however the ranks were scheduled."""
    network = networks.uniform(alpha=1e-6, beta=0.0)
    seen = launch(parameter_server, 4, receive, network=network).results[0]
    assert seen == [0.5, 1, 1, 1.5, 2, 2, 3, 4, 6]


def test_a_wildcard_takes_what_was_sent_first():
    """Rank 1 sends at t = 3, rank 2 at t = 1, rank 3 at t = 2; rank 0 looks at t = 10: they are all there, in order."""

    def program(comm):
        if comm.rank:
            mpi.compute(comm, {1: 3.0, 2: 1.0, 3: 2.0}[comm.rank])
            return comm.Send(words(1), 0)
        mpi.compute(comm, 10.0)
        status, seen = mpi.Status(), []
        for _ in range(3):
            comm.Recv(words(1), mpi.ANY_SOURCE, mpi.ANY_TAG, status)
            seen.append(status.source)
        return seen

    assert times(program, 4)[0] == [2, 3, 1]


def test_iprobe_sees_what_has_been_sent_by_now():
    """A message sent at t = 5 is not there at t = 4 and is there at t = 6."""

    def program(comm):
        if comm.rank:
            mpi.compute(comm, 5.0)
            return comm.Send(words(1), 0)
        mpi.compute(comm, 4.0)
        before = comm.Iprobe(1)
        mpi.compute(comm, 2.0)
        after = comm.Iprobe(1)
        comm.Recv(words(1), 1)
        return before, after

    assert times(program, 2)[0] == (False, True)


def test_test_is_true_from_the_end_of_the_transfer_on():
    """The transfer lasts from 0 to 4: Test at 3.9 is False and at 4.1 True, on both sides; the data is there then."""

    def program(comm):
        x = np.ones(3) if comm.rank == 0 else words(3)
        request = comm.Isend(x, 1) if comm.rank == 0 else comm.Irecv(x, 0)
        mpi.compute(comm, 3.9)
        before = request.Test()
        mpi.compute(comm, 0.2)
        return before, request.Test(), x.tolist()

    assert times(program, 2) == [(False, True, [1, 1, 1])] * 2


def test_polling_costs_time():
    """Test and Iprobe take a moment, so a loop over them gets somewhere; the moment is short."""

    def program(comm):
        request = comm.Irecv(words(1), comm.rank)
        seen = []
        for poll in (request.Test, comm.Iprobe) * 10:
            start = mpi.wtime(comm)
            poll()
            seen.append(mpi.wtime(comm) - start)
        comm.Isend(words(1), comm.rank).Wait()
        request.Wait()
        return all(0 < cost < 1e-5 for cost in seen)

    assert times(program, 2) == [True, True]


def test_what_takes_no_time_and_what_takes_a_moment():
    """Computing that is not declared, and groups; but not Shrink, and not the questions of failure mitigation."""

    def program(comm):
        clock = []
        for act in (lambda: sum(range(10_000)), lambda: comm.Split(0).Free(), comm.Get_failed, comm.Is_revoked):
            act()
            clock.append(mpi.wtime(comm))
        comm.Shrink()
        return clock, mpi.wtime(comm)

    clock, shrunk = launch(program, 3).results[0]
    assert clock == pytest.approx([0.0, 0.0, 1e-7, 2e-7]) and shrunk > 1e-6


def test_a_barrier_ends_after_the_last_has_come():
    def program(comm):
        mpi.compute(comm, float(comm.rank))
        comm.Barrier()

    assert min(times(program, 5)) >= 4


def test_a_synchronous_isend_waits_for_its_receive():
    """Isend is posted at 0, the receive at 6: complete at 6 + 2 on the sender's side."""

    def program(comm):
        if comm.rank == 0:
            return comm.Issend(words(1), 1).Wait() and mpi.wtime(comm)
        mpi.compute(comm, 6.0)
        comm.Recv(words(1), 0)

    assert times(program, 2) == [8, 8]


# Repetition and books --------------------------------------------------------------------------------------------


def busy(comm):
    """Something of everything, with wildcards and ties."""
    x = words(5 + comm.rank % 2)
    for step in range(4):
        mpi.compute(comm, 0.1 * ((comm.rank * 7 + step) % 3))
        requests = [comm.Irecv(words(6), mpi.ANY_SOURCE, step) for _ in range(comm.size)]
        requests += [comm.Isend(x, dest, step) for dest in range(comm.size)]
        comm.Iallreduce(mpi.IN_PLACE, words(7)).Wait()
        while not requests[0].Test():
            pass
        mpi.waitall(requests)
    return mpi.wtime(comm)


@pytest.mark.parametrize("network", [networks.uniform(), NODES], ids=["uniform", "two level"])
def test_the_same_run_every_time(network):
    """Bit by bit: times, timeline and counters."""
    first, second = (launch(busy, 6, network=network) for _ in range(2))
    assert (first.results, first.seconds, list(first.timeline)) == (
        second.results,
        second.seconds,
        list(second.timeline),
    )
    assert (first.bytes_sent, first.messages, first.calls) == (second.bytes_sent, second.messages, second.calls)


def test_the_makespan_is_when_the_last_rank_ended():
    assert launch(lambda comm: mpi.compute(comm, float(comm.rank)), 4).seconds == 3


def test_bytes_messages_and_calls_are_counted():
    def program(comm):
        if comm.rank == 0:
            comm.Send(words(3), 1)
            comm.Isend(np.zeros(3, "f4"), 1).Wait()
            comm.Send(words(9), mpi.PROC_NULL)
        if comm.rank == 1:
            comm.Recv(words(3), 0)
            comm.Recv(np.zeros(3, "f4"), 0)

    run = launch(program, 3)
    assert (run.bytes_sent, run.messages) == ([36, 0, 0], [2, 0, 0])
    assert dict(run.calls[0]) | {"Wait": 1} == {"Send": 2, "Isend": 1, "Wait": 1}
    assert dict(run.calls[1]) == {"Recv": 2}


def test_the_timeline_tells_what_each_rank_did():
    def program(comm):
        mpi.compute(comm, 1.0 + comm.rank)
        comm.Recv(words(1), 0) if comm.rank else comm.Send(words(1), 1)

    run = launch(program, 2, network=LINE)
    seen = sorted((e.rank, e.kind, e.start, e.end, e.peer, e.nbytes) for e in run.timeline if e.kind != "wait")
    assert seen == [
        (0, "compute", 0, 1, -1, 0),
        (0, "send", 2, 4, 1, 8),
        (1, "compute", 0, 2, -1, 0),
        (1, "recv", 2, 4, 0, 8),
    ]
    assert all(e.start <= e.end <= run.seconds for e in run.timeline)


# Turns -----------------------------------------------------------------------------------------------------------


def test_messages_do_not_overtake_each_other_beside_a_collective():
    """The collective posts at its own, earlier clock; the rank's third message stays behind its second."""

    def program(comm):
        if comm.rank == 0:
            total = words(1)
            request = comm.Iallreduce(words(1), total)
            mpi.sleep(comm, 1e-3)
            sends = [comm.Isend(np.full(1, value), 1) for value in (1.0, 2.0)]
            request.Wait()
            mpi.waitall([*sends, comm.Isend(np.full(1, 3.0), 1)])
        else:
            comm.Iallreduce(words(1), words(1)).Wait()
            mpi.sleep(comm, 1.0)
            seen = [words(1) for _ in range(3)]
            for each in seen:
                comm.Recv(each, 0)
            return [each[0] for each in seen]

    assert launch(program, 2, network=networks.uniform(alpha=1e-4, beta=0)).results[1] == [1.0, 2.0, 3.0]


def test_a_probe_comes_after_the_receives_that_were_posted_before_it():
    def program(comm):
        if comm.rank == 1:
            return mpi.waitall([comm.Isend(words(n), 0) for n in (1, 2, 3)])
        receives, status = [comm.Irecv(words(n), 1) for n in (1, 2)], mpi.Status()
        comm.Probe(1, status=status)
        comm.Recv(words(status.Get_count(mpi.DOUBLE)), 1)
        mpi.waitall(receives)
        return status.Get_count(mpi.DOUBLE)

    assert launch(program, 2).results[0] == 3

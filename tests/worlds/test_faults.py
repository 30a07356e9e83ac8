"""Faults of a launch: what each does to ranks and messages, and that the same faults give the same run."""

import math
import random

import numpy as np
import pytest

from reference import mpi
from reference.collectives.ring import ring_allreduce
from reference.worlds import (
    BitFlip,
    Deadlock,
    DropMessage,
    Hang,
    Kill,
    Partition,
    RankDied,
    Slow,
    launch,
    networks,
    random_kills,
)
from tests.worlds.virtual.test_ulfm import outcome

LINE = networks.uniform(alpha=0.001, beta=0.0)


# Kill ---------------------------------------------------------------------------------------------------------


def beats(comm, steps=10):
    """Compute for 0.1 s and note when that was done, again and again."""
    noted = []
    for _ in range(steps):
        mpi.compute(comm, 0.1)
        noted.append(round(mpi.wtime(comm), 6))
        done[comm.rank] = len(noted)
    return noted


done: dict[int, int] = {}  # what ranks have done is seen here even if they die: virtual ranks share modules


@pytest.mark.parametrize(("at", "steps"), [(0.0, 0), (0.05, 0), (0.25, 2), (0.95, 9), (5.0, 10)])
def test_who_is_killed_does_nothing_from_then_on(at, steps):
    done.update({0: 0, 1: 0})
    run = launch(beats, 2, faults=[Kill(1, at=at)])
    assert done == {0: 10, 1: steps}
    if steps < 10:
        assert run.results[1] is None and run.killed == {1: at}
        assert max((event.end for event in run.timeline if event.rank == 1), default=0.0) == pytest.approx(at)
    else:
        assert run.results[1] == run.results[0] and run.killed == {}


@pytest.mark.parametrize("call", ["", "Send"])
@pytest.mark.parametrize("after", [0, 1, 3])
def test_who_is_killed_after_some_calls_has_made_just_those(after, call):
    def program(comm):
        if comm.rank == 1:
            for number in range(5):
                comm.Send(np.full(1, float(number)), 0)
        return [value for _ in range(5) if isinstance(value := outcome(receive, comm), float)]

    def receive(comm):
        comm.Recv(buffer := np.zeros(1), 1)
        return float(buffer[0])

    fault = Kill(1, after=after, call=call) if call else Kill(1, after=after)
    run = launch(program, 2, faults=[fault])
    assert run.results == [[float(number) for number in range(after)], None]
    assert run.calls[1]["Send"] == after


def hears(comm):
    """Rank 1 hears from rank 0 at 1 ms, and notes that."""
    if comm.rank == 0:
        return comm.send("now", 1)
    comm.recv(source=0)
    done[1] = 1
    return None


def test_who_is_killed_at_a_time_does_nothing_at_that_time():
    for at, came in ((0.001, 0), (0.0011, 1)):
        done[1] = 0
        launch(hears, 2, faults=[Kill(1, at=at)], network=LINE)
        assert done[1] == came


def test_who_is_killed_after_its_last_call_does_not_return():
    run = launch(lambda comm: comm.allreduce(1), 2, faults=[Kill(1, after=1)])
    assert (run.results, list(run.killed)) == ([2, None], [1])


def test_finally_blocks_of_who_is_killed_do_nothing_to_the_others():
    def program(comm):
        try:
            if comm.rank == 1:
                comm.recv(source=1)
        finally:
            if comm.rank == 1:
                comm.send("good bye", 0)  # as after SIGKILL, this is never sent
        return outcome(comm.recv, None, 1)

    assert launch(program, 2, faults=[Kill(1, at=1.0)]).results == [mpi.ERR_PROC_FAILED, None]


def test_a_schedule_is_killed_in_the_middle():
    def program(comm):
        error = outcome(ring_allreduce, comm, np.ones(64))
        comm.Revoke()
        return error if isinstance(error, int) else 0

    whole = launch(program, 4, network=LINE).seconds
    run = launch(program, 4, network=LINE, faults=[Kill(2, at=whole / 2)], detection=1.0)
    assert run.killed == {2: whole / 2}
    assert mpi.ERR_PROC_FAILED in run.results and run.calls[2]["Sendrecv"] == 3

    counted = launch(program, 4, network=LINE, faults=[Kill(2, after=2, call="Sendrecv")], detection=1.0)
    assert counted.calls[2]["Sendrecv"] == 2 and counted.killed == {2: pytest.approx(0.002)}


def test_nobody_learns_of_a_death_before_the_detection_delay():
    def program(comm):
        return outcome(comm.recv, None, 1), mpi.wtime(comm)

    for detection in (0.0, 0.5, 20.0):
        run = launch(program, 2, faults=[Kill(1, at=1.0)], detection=detection)
        assert run.results[0] == (mpi.ERR_PROC_FAILED, pytest.approx(1 + detection))


def test_ranks_that_do_not_need_the_dead_one_finish():
    def program(comm):
        mpi.compute(comm, 1)
        return comm.rank

    run = launch(program, 3, faults=[Kill(0, at=0.5), Kill(2, at=0.7)])
    assert (run.results, run.killed) == ([None, 1, None], {0: 0.5, 2: 0.7})


# Hang ---------------------------------------------------------------------------------------------------------


def test_who_hangs_for_a_while_is_late_and_is_not_dead():
    def program(comm):
        mpi.compute(comm, 1)
        comm.Barrier()
        return mpi.wtime(comm), comm.Get_failed().size

    after = Hang(1, after=0, seconds=3.0), Hang(1, after=1, call="Barrier", seconds=3.0)
    for fault in (Hang(1, at=0.5, seconds=3.0), *after):
        run = launch(program, 2, faults=[fault], network=LINE)
        late = 0 if fault.call else 3
        assert run.results[0] == (pytest.approx(1.001 + late, abs=1e-5), 0)
    asleep = launch(program, 2, faults=[Hang(0, at=1.0005, seconds=3.0)], network=LINE)  # its message is on its way
    assert [when for when, _ in asleep.results] == [pytest.approx(4.0005, abs=1e-3), pytest.approx(1.001, abs=1e-3)]


def test_a_job_in_which_a_rank_hangs_for_good_ends_with_who_and_since_when():
    def program(comm):
        mpi.compute(comm, 1)
        comm.Barrier()

    with pytest.raises(Deadlock, match=r"rank 1 hangs since 0.5 s \(Hang\(rank=1, at=0.5\)\): rank 0 cannot go on"):
        launch(program, 2, faults=[Hang(1, at=0.5)])
    with pytest.raises(Deadlock, match=r"rank 1 hangs since 0\.5 s"):
        launch(beats, 2, faults=[Hang(1, at=0.5)])


# Partition ----------------------------------------------------------------------------------------------------


def test_messages_wait_until_a_partition_ends():
    def program(comm):
        mpi.sleep(comm, 1)
        other = comm.rank ^ 1
        comm.sendrecv(0, other, 0, None, other)  # on the same side
        near = mpi.wtime(comm)
        other = comm.rank ^ 2
        comm.sendrecv(0, other, 0, None, other)
        return near, mpi.wtime(comm)

    run = launch(program, 4, network=LINE, faults=[Partition((0, 1), at=0.5, until=3.0)])
    assert run.results == [(pytest.approx(1.001), pytest.approx(3.001))] * 4
    early = launch(program, 4, network=LINE, faults=[Partition((0, 1), at=1.5, until=3.0)])
    assert early.results == [(pytest.approx(1.001), pytest.approx(1.002))] * 4


@pytest.mark.parametrize("buffered", [False, True])
def test_a_message_that_waits_for_a_partition_dies_with_its_sender(buffered):
    def program(comm):
        if comm.rank == 1:
            comm.Send(np.ones(1), 0)
            return mpi.sleep(comm, 9)
        return outcome(comm.Irecv(np.zeros(1)).Wait), mpi.wtime(comm)

    faults = [Partition((0,), until=3.0), Kill(1, at=1.0)]
    run = launch(program, 2, faults=faults, network=LINE, detection=0.01, buffered=buffered)
    assert run.results[0] == (mpi.ERR_PROC_FAILED, pytest.approx(1.01))


def test_agreement_and_revocation_wait_for_a_partition_too():
    def program(comm):
        comm.Agree(1)
        agreed = mpi.wtime(comm)
        if comm.rank == 0:
            mpi.sleep(comm, 4 - agreed)
            comm.Revoke()
        return agreed, outcome(comm.recv, None, 0), mpi.wtime(comm)

    parts = [Partition((0,), at=0.0, until=2.0), Partition((0,), at=3.5, until=5.0)]
    result = launch(program, 2, network=LINE, faults=parts).results[1]
    assert result == (pytest.approx(2.002), mpi.ERR_REVOKED, pytest.approx(5.001))


def test_a_partition_that_never_ends_is_named_in_the_report():
    def program(comm):
        comm.Barrier()

    with pytest.raises(Deadlock, match=r"rank [02] cannot reach rank [02] since 0 s"):
        launch(program, 3, faults=[Partition((2,))])


# Messages -----------------------------------------------------------------------------------------------------


def numbers(comm, count=4):
    """Rank 0 sends 0, 1, 2, ... to rank 1 and 10, 11, 12, ... to rank 2 in turns; they return what comes."""
    if comm.rank == 0:
        requests = [comm.isend(10 * (to - 1) + number, to) for number in range(count) for to in (1, 2)]
        for request in requests:
            request.wait()
        return None
    came = []
    while len(came) < count:
        if not comm.iprobe(0):
            if mpi.wtime(comm) > 1:
                break
            continue
        came.append(comm.recv(source=0))
    return came


@pytest.mark.parametrize(
    ("fault", "first", "second"),
    [
        (DropMessage(0), [1, 2, 3], [10, 11, 12, 13]),
        (DropMessage(0, number=4), [0, 1, 2, 3], [10, 12, 13]),
        (DropMessage(0, number=4, dest=1), [0, 1, 2], [10, 11, 12, 13]),
        (DropMessage(1), [0, 1, 2, 3], [10, 11, 12, 13]),
    ],
)
def test_a_dropped_message_never_arrives_and_its_sender_goes_on(fault, first, second):
    assert launch(numbers, 3, faults=[fault]).results == [None, first, second]


def test_who_waits_for_a_dropped_message_is_told_which_it_was():
    def program(comm):
        comm.send("a", 1) if comm.rank == 0 else comm.recv(source=0)

    with pytest.raises(Deadlock, match=r"a message of rank 0 to rank 1 was lost at 0 s \(DropMessage\(source=0\)\)"):
        launch(program, 2, faults=[DropMessage(0)])


@pytest.mark.parametrize("buffered", [False, True])
def test_one_bit_of_a_message_arrives_changed_and_the_sender_keeps_its_own(buffered):
    def program(comm):
        x = np.array([1.0, 1.0])
        if comm.rank == 0:
            comm.Send(x, 1)
            comm.Send(x, 1)
            return x.tolist()
        received = np.zeros((2, 2))
        comm.Recv(received[0], 0)
        comm.Recv(received[1], 0)
        return received.tolist()

    for bit, wrong in ((62, math.inf), (51, 1.5), (63, -1.0)):  # one bit more in the exponent, half of it, its sign
        run = launch(program, 2, faults=[BitFlip(0, number=2, bit=64 + bit)], buffered=buffered)
        assert run.results == [[1.0, 1.0], [[1.0, 1.0], [1.0, wrong]]]
    assert launch(program, 2, faults=[BitFlip(0, bit=128 + 62)]).results[1][0] == [math.inf, 1.0]  # counted in a circle


def test_a_bit_that_flips_in_a_collective_is_in_everybodys_sum():
    def program(comm):
        comm.Allreduce(np.ones(4), x := np.zeros(4))
        return x.tolist()

    run = launch(program, 2, faults=[BitFlip(0, number=1, bit=52)])
    assert run.results[0] == run.results[1] != [2.0] * 4


# All of them --------------------------------------------------------------------------------------------------


def survivors(comm, steps):
    """A program that goes on without who has died, and notes all that it sees."""
    seen, step, x = [], 0, np.zeros(8)
    while True:
        try:
            step = comm.allreduce(step, op=min)  # how far all of them are
            while step < steps:
                mpi.compute(comm, 0.01 * (1 + comm.rank % 3))
                comm.Allreduce(np.full(8, float(step)), x)
                step += 1
            comm.Agree(1)  # nobody leaves while another one needs it
            return comm.rank, comm.size, x.tolist(), seen, mpi.wtime(comm)
        except mpi.Exception as error:
            seen.append((step, error.Get_error_class(), round(mpi.wtime(comm), 9)))
            comm.Revoke()
            comm = comm.Shrink()


@pytest.mark.parametrize("seed", range(6))
def test_the_same_faults_give_the_same_run(seed):
    draw = random.Random(seed)
    kills = random_kills(8, mean=1.0, until=0.8, seed=seed)[:6]
    faults = [*kills, Slow(0, 1.5), Hang(3, at=draw.uniform(0, 0.5), seconds=draw.uniform(0, 0.2))]
    faults.append(Partition((0, 1), at=0.1, until=0.1 + draw.uniform(0, 0.2)))
    first, again = (launch(survivors, 8, 12, faults=faults, detection=0.003, network=LINE) for _ in range(2))
    assert (first.results, first.killed, first.calls) == (again.results, again.killed, again.calls)
    assert first.timeline == again.timeline
    left = [result for result in first.results if result]
    assert len(left) == 8 - len(first.killed)
    assert len({(size, tuple(x)) for _, size, x, _, _ in left}) == 1, "survivors differ in who is left, or in the sum"


@pytest.mark.parametrize("sharing", ["fifo", "fair"])
@pytest.mark.parametrize("seed", range(12))
def test_survivors_go_on_whenever_ranks_die(seed, sharing):
    draw = random.Random(seed)
    kills = [Kill(rank, at=draw.uniform(0, 0.3)) for rank in draw.sample(range(6), 4)]
    kills += [Kill(kills[0].rank, after=draw.randrange(20))]
    slow = networks.uniform(alpha=0.001, beta=1e-4)

    def detection(other, dead):
        return 0.001 * (1 + (other + dead + seed) % 5)

    run = launch(survivors, 6, 10, faults=kills, detection=detection, network=slow, sharing=sharing)
    left = [result for result in run.results if result]
    assert len(left) == 2 and set(run.killed) == {kill.rank for kill in kills}
    assert len({tuple(x) for _, _, x, _, _ in left}) == 1 and left[0][2][0] in (18.0, 27.0, 36.0, 45.0, 54.0)


def test_a_fault_that_never_comes_changes_nothing():
    def program(comm):
        x = comm.allreduce(comm.rank)
        comm.Allreduce(np.ones(64), y := np.zeros(64))
        ring_allreduce(comm, y)
        request = comm.Irecv(np.zeros(3), (comm.rank - 1) % comm.size)
        comm.Send(np.ones(3), (comm.rank + 1) % comm.size)
        request.Wait()
        return x, y.tolist(), mpi.wtime(comm)

    network = networks.two_level(2)
    for options in ({}, {"sharing": "fair"}, {"buffered": True, "overhead": 1e-7}):
        plain = launch(program, 5, network=network, **options)
        faulty = launch(program, 5, network=network, faults=[Kill(3, at=1e6), DropMessage(0, number=10**6)], **options)
        assert (plain.results, plain.seconds, plain.calls) == (faulty.results, faulty.seconds, faulty.calls)
        assert sorted(map(str, plain.timeline)) == sorted(map(str, faulty.timeline))


def test_random_kills():
    kills = random_kills(1000, mean=2.0, until=math.inf, seed=1)
    assert [kill.rank for kill in kills] == list(range(1000)) and random_kills(1000, 2.0, math.inf, 1) == kills
    assert np.mean([kill.at for kill in kills]) == pytest.approx(2.0, rel=0.1)
    assert {kill.rank for kill in random_kills(1000, 2.0, 1.0, 1)} == {kill.rank for kill in kills if kill.at < 1.0}


@pytest.mark.parametrize(
    "fault",
    [
        Kill(2, at=0.5), Kill(0), Kill(0, at=1.0, after=3), Kill(0, at=-1.0), Kill(0, after=1.5), Hang(0, at=math.nan),
        Hang(0, at=1.0, seconds=0.0), Partition(()), Partition((0,), at=2.0, until=1.0), Partition((0, 5)),
        DropMessage(0, number=0), DropMessage(0, dest=2), BitFlip(-1), BitFlip(0, bit=-1), Slow(0, 0.0),
    ],
    ids=repr,
)  # fmt: skip
def test_a_fault_that_makes_no_sense_is_refused(fault):
    with pytest.raises(ValueError, match="does not fit a launch of 2 ranks"):
        launch(beats, 2, faults=[fault])


def test_what_is_no_fault_and_no_delay_is_refused():
    with pytest.raises(TypeError, match="a fault is one of Slow, Kill"):
        launch(beats, 2, faults=["rank 1"])
    with pytest.raises(ValueError, match="detection"):
        launch(beats, 2, faults=[Kill(1, at=0.5)], detection=-1.0)


def test_a_death_report_stays_short_for_many_ranks():
    def program(comm):
        comm.Barrier() if comm.rank else mpi.compute(comm, 1)

    with pytest.raises(RankDied, match=r"rank 0 was killed at 0.5 s .*\(29 of them\)"):
        launch(program, 30, faults=[Kill(0, at=0.5)])

"""ULFM on the virtual cluster, clause by clause: what the manual pages of Open MPI 5 promise, each as a program."""

from functools import partial

import numpy as np
import pytest

from reference import mpi
from reference.worlds import Deadlock, Kill, RankDied, RankFailed, UnreceivedMessages, launch, networks

LINE = networks.uniform(alpha=0.001, beta=0.0)


def outcome(call, *args):
    """What a call returned, or the error class that it raised, and nothing else."""
    try:
        return call(*args)
    except mpi.Exception as error:
        return error.Get_error_class()


def run(program, ranks, *faults, **options):
    return launch(program, ranks, faults=faults, network=LINE, **{"detection": 0.01, "timeout": 20, **options})


# Calls that need a failed rank --------------------------------------------------------------------------------


@pytest.mark.parametrize("early", [False, True], ids=["it waits when the rank dies", "it knows already"])
@pytest.mark.parametrize(
    "name", ["Recv", "Send", "Sendrecv", "Irecv", "Isend", "recv", "send", "Probe", "Mprobe", "Iprobe", "Improbe"]
)
def test_a_message_with_a_failed_rank_raises_proc_failed(name, early):
    def program(comm):
        buffer = np.zeros(1)
        if comm.rank == 1:
            comm.Recv(buffer, 1)  # waits until it is killed
        if early:
            mpi.sleep(comm, 5)
        if name in ("Recv", "Irecv", "Send", "Isend"):
            args = buffer, 1
        elif name == "Sendrecv":
            args = buffer, 1, 0, np.zeros(1), 1
        else:
            args = {"recv": (None, 1), "send": (1, 1)}.get(name, (1,))
        call = getattr(comm, name)

        def wait():
            if name in ("Iprobe", "Improbe"):
                while not call(*args):
                    pass
            else:
                found = call(*args)
                if hasattr(found, "Wait"):
                    found.Wait()

        return outcome(wait), mpi.wtime(comm)

    (error, when), dead = run(program, 2, Kill(1, at=1.0)).results
    assert error == mpi.ERR_PROC_FAILED and dead is None
    assert when == pytest.approx(5 if early else 1.01, abs=2e-3)


def test_calls_that_do_not_need_it_go_on():
    def program(comm):
        if comm.rank == 2:
            comm.recv(source=2)
        mpi.sleep(comm, 1)
        if comm.rank == 0:
            comm.send("still here", 1)
            return comm.recv(source=1)
        comm.send("me too", 0) if (said := comm.recv(source=0)) else None
        return said

    assert run(program, 3, Kill(2, at=0.5)).results == ["me too", "still here", None]


def test_a_message_that_was_buffered_and_had_arrived_is_received():
    def program(comm):
        if comm.rank == 1:
            comm.send("will", 0)
            return comm.recv(source=1)
        mpi.sleep(comm, 1)
        return comm.recv(source=1), outcome(comm.recv, None, 1)

    assert run(program, 2, Kill(1, at=0.5), buffered=True).results[0] == ("will", mpi.ERR_PROC_FAILED)


@pytest.mark.parametrize("source", [1, mpi.ANY_SOURCE])
@pytest.mark.parametrize("sharing", ["fifo", "fair"])
def test_a_transfer_under_way_is_lost(sharing, source):
    def program(comm):
        big = np.full(1000, float(comm.rank))
        if comm.rank == 1:
            return comm.Send(big, 0)
        error = outcome(comm.Irecv(big, source).Wait)
        return error, mpi.wtime(comm)

    slow = networks.uniform(alpha=0.0, beta=1 / 8000)  # 8,000 bytes take a second
    for at, expected in ((0.5, mpi.ERR_PROC_FAILED), (1.5, True)):
        run = launch(program, 2, faults=[Kill(1, at=at)], network=slow, detection=0.01, sharing=sharing)
        assert run.results[0] == (expected, pytest.approx(0.51 if at < 1 else 1.0))


def test_who_waits_for_a_lost_transfer_and_for_another_one_is_told_when_the_death_is_known():
    def program(comm):
        if comm.rank == 1:
            return comm.Send(np.zeros(1000), 0)
        if comm.rank == 2:
            mpi.sleep(comm, 1)
            return comm.Send(np.zeros(1), 0)
        requests = [comm.Irecv(np.zeros(1000), 1), comm.Irecv(np.zeros(1), 2)]
        return outcome(mpi.waitall, requests), mpi.wtime(comm)

    slow = networks.uniform(alpha=0.0, beta=1 / 8000)
    run = launch(program, 3, faults=[Kill(1, at=0.5)], network=slow, detection=5.0)
    assert run.results[0] == (mpi.ERR_IN_STATUS, pytest.approx(5.5))


@pytest.mark.parametrize("detection", [0.01, 5.0])
@pytest.mark.parametrize("sharing", ["fifo", "fair"])
def test_a_send_to_a_rank_that_dies_while_it_is_under_way_fails(sharing, detection):
    def program(comm):
        big = np.zeros(1000)
        if comm.rank == 1:
            return comm.Recv(big, 0)
        return outcome(comm.Send, big, 1), mpi.wtime(comm)

    slow = networks.uniform(alpha=0.0, beta=1 / 8000)
    run = launch(program, 2, faults=[Kill(1, at=0.5)], network=slow, detection=detection, sharing=sharing)
    assert run.results[0] == (mpi.ERR_PROC_FAILED, pytest.approx(0.5 + detection))


def test_waitall_tells_which_requests_have_failed_and_leaves_the_others():
    def program(comm):
        if comm.rank == 1:
            comm.recv(source=1)
        if comm.rank == 2:
            mpi.sleep(comm, 3)
            return comm.Send(np.ones(1), 0)
        buffers = np.zeros((2, 1))
        requests = [comm.Irecv(buffers[0], 1), comm.Irecv(buffers[1], 2)]
        statuses = [mpi.Status(), mpi.Status()]
        error = outcome(mpi.waitall, requests, statuses)
        when = mpi.wtime(comm)
        requests[1].Wait()  # it was not at its end
        return error, when, [status.error for status in statuses], bool(requests[0]), buffers[1, 0]

    error, when, classes, active, value = run(program, 3, Kill(1, at=1.0)).results[0]
    assert (error, when) == (mpi.ERR_IN_STATUS, pytest.approx(1.01))
    assert (classes, active, value) == ([mpi.ERR_PROC_FAILED, mpi.ERR_PENDING], False, 1.0)


# Receives from anybody ----------------------------------------------------------------------------------------


def anybody(comm, blocking):
    """Rank 0 receives from ANY_SOURCE; rank 1 dies at 1 s, rank 2 sends at 3 s."""
    buffer = np.zeros(1)
    if comm.rank == 1:
        comm.recv(source=1)
    if comm.rank == 2:
        mpi.sleep(comm, 3)
        return comm.Send(np.ones(1), 0)
    if blocking:
        told = [outcome(comm.Recv, buffer), outcome(comm.Probe)]
        comm.Ack_failed()
        comm.Recv(buffer)
        return told, buffer[0], mpi.wtime(comm)
    request = comm.Irecv(buffer)
    told = [outcome(request.Wait), outcome(request.Wait), outcome(request.Test), bool(request)]
    acked = comm.Ack_failed()
    told.append(acked)
    request.Wait()
    return told, buffer[0], mpi.wtime(comm)


def test_a_nonblocking_receive_from_any_source_is_pending_until_the_failure_is_acknowledged():
    told, value, when = run(partial(anybody, blocking=False), 3, Kill(1, at=1.0)).results[0]
    assert told == [mpi.ERR_PROC_FAILED_PENDING] * 3 + [True, 1]
    assert (value, when) == (1.0, pytest.approx(3.001))


def test_a_blocking_receive_from_any_source_fails_until_the_failure_is_acknowledged():
    told, value, when = run(partial(anybody, blocking=True), 3, Kill(1, at=1.0)).results[0]
    assert told == [mpi.ERR_PROC_FAILED] * 2
    assert (value, when) == (1.0, pytest.approx(3.001))


def test_a_message_that_is_there_is_received_from_any_source_without_acknowledging():
    def program(comm):
        if comm.rank == 1:
            comm.recv(source=1)
        if comm.rank == 2:
            return comm.send("here", 0)
        mpi.sleep(comm, 3)
        return comm.recv(), outcome(comm.recv)

    assert run(program, 3, Kill(1, at=1.0)).results[0] == ("here", mpi.ERR_PROC_FAILED)


# Who has failed -----------------------------------------------------------------------------------------------


def test_get_failed_grows_at_its_end_and_ack_failed_counts():
    def program(comm):
        if comm.rank in (1, 2):
            comm.recv(source=comm.rank)
        seen = []
        for time in (0.5, 1.5, 2.5):
            mpi.sleep(comm, time - mpi.wtime(comm))
            group = comm.Get_failed()
            seen.append(group.Translate_ranks(None, comm.Get_group()))
        return seen, [comm.Ack_failed(number) for number in (0, 1, 0, comm.size, 0)], group == mpi.GROUP_EMPTY

    seen, acked, empty = run(program, 4, Kill(2, at=1.0), Kill(1, at=2.0)).results[0]
    assert seen == [[], [2], [2, 1]] and acked == [0, 1, 1, 2, 2] and not empty


def test_each_rank_learns_of_a_failure_at_its_own_time():
    def program(comm):
        if comm.rank == 2:
            comm.recv(source=2)
        mpi.sleep(comm, 1.5 - mpi.wtime(comm))
        return comm.Get_failed().size

    run = launch(program, 3, faults=[Kill(2, at=1.0)], detection=lambda other, dead: float(other))
    assert run.results == [1, 0, None]


def test_failures_of_ranks_outside_a_communicator_do_not_matter():
    def program(comm):
        part = comm.Split(comm.rank // 2)
        if comm.rank == 3:
            comm.recv(source=3)
        mpi.sleep(comm, 2)
        return part.allreduce(1) if comm.rank < 2 else outcome(part.allreduce, 1), part.Get_failed().size

    failed = (mpi.ERR_PROC_FAILED, 1)
    assert run(program, 4, Kill(3, at=1.0)).results == [(2, 0), (2, 0), failed, None]


# Collectives --------------------------------------------------------------------------------------------------


def test_a_collective_may_succeed_on_some_ranks_and_fail_on_others():
    def program(comm):
        buffer = np.full(1, float(comm.rank))
        if comm.rank == 2:
            mpi.sleep(comm, 5)  # dies before it passes on what comes from the root
        return outcome(comm.Bcast, buffer), buffer[0]

    # rank 0 sends to rank 1, which sends to rank 3, and then to rank 2
    failed, dead = (mpi.ERR_PROC_FAILED, 0), None
    assert run(program, 4, Kill(2, at=1.0)).results == [failed, (None, 0), dead, (None, 0)]


@pytest.mark.parametrize("name", ["Barrier", "Allreduce", "Iallreduce", "allgather", "Split", "Dup"])
def test_every_collective_fails_and_goes_on_failing_although_the_failure_is_acknowledged(name):
    def program(comm):
        args = {"Allreduce": 2, "Iallreduce": 2, "allgather": 1}.get(name, 0)

        def call():
            request = getattr(comm, name)(*[np.zeros(3) for _ in range(args)])
            if name == "Iallreduce":
                request.Wait()

        if comm.rank == 1:
            comm.recv(source=1)
        first = outcome(call), mpi.wtime(comm)
        comm.Ack_failed()
        return *first, outcome(call)

    for result in run(program, 3, Kill(1, at=1.0)).results[::2]:
        assert result == (mpi.ERR_PROC_FAILED, pytest.approx(1.01, abs=1e-3), mpi.ERR_PROC_FAILED)


# Revoke -------------------------------------------------------------------------------------------------------


def test_revoke_ends_what_is_pending_on_every_rank_and_refuses_what_comes():
    def program(comm):
        buffer = np.zeros(1)
        if comm.rank == 0:
            mpi.sleep(comm, 1)
            comm.Revoke()
            return outcome(comm.Barrier), comm.Is_revoked(), mpi.wtime(comm)
        if comm.rank == 1:
            first = outcome(comm.Recv, buffer, 2)
        elif comm.rank == 2:
            first = outcome(comm.Irecv(buffer, mpi.ANY_SOURCE).Wait)
        else:
            first = outcome(comm.Ibarrier().Wait)
        return first, outcome(comm.Send, buffer, mpi.PROC_NULL), mpi.wtime(comm)

    first, *others = run(program, 4).results
    assert first == (mpi.ERR_REVOKED, True, pytest.approx(1, abs=1e-3))
    assert others == [(mpi.ERR_REVOKED, mpi.ERR_REVOKED, pytest.approx(1.001))] * 3


def test_a_rank_that_is_ahead_of_the_news_of_a_revocation_fails_too():
    def program(comm):
        if comm.rank == 0:
            mpi.sleep(comm, 1)
            return comm.Revoke()
        mpi.sleep(comm, 3)  # its thread gets there before the other has revoked anything
        return outcome(comm.Recv, np.zeros(1), 0), mpi.wtime(comm)

    assert run(program, 2).results[1] == (mpi.ERR_REVOKED, pytest.approx(3))


def test_revoke_reaches_everybody_although_the_rank_that_calls_it_dies():
    def program(comm):
        if comm.rank == 0:
            comm.Revoke()
            mpi.sleep(comm, 1)
        return outcome(comm.recv, None, 3 - comm.rank), mpi.wtime(comm)

    results = run(program, 3, Kill(0, at=0.0005)).results
    assert results == [None, (mpi.ERR_REVOKED, pytest.approx(0.001)), (mpi.ERR_REVOKED, pytest.approx(0.001))]


def test_waitall_does_not_wait_for_the_others_if_one_was_revoked_before():
    def program(comm):
        other = comm.Dup()
        if comm.rank == 0:
            comm.Revoke()
            mpi.sleep(comm, 9)
            return other.Send(np.ones(1), 1)
        buffers = np.zeros((2, 1))
        requests = [comm.Irecv(buffers[0], 0), other.Irecv(buffers[1], 0)]
        while not comm.Is_revoked():
            pass
        error, when = outcome(mpi.waitall, requests), mpi.wtime(comm)
        requests[1].Wait()
        return error, when < 1, buffers[1, 0]

    assert launch(program, 2, network=LINE).results[1] == (mpi.ERR_IN_STATUS, True, 1.0)


def test_revoke_is_of_one_communicator_and_leaves_the_others():
    def program(comm):
        other = comm.Dup()
        comm.Revoke()
        return other.allreduce(1), other.Is_revoked(), outcome(comm.Dup)

    assert run(program, 3).results == [(3, False, mpi.ERR_REVOKED)] * 3


def test_what_is_local_can_be_called_on_a_revoked_communicator():
    def program(comm):
        comm.Revoke()
        own = comm.rank, comm.size, comm.Get_group().size, comm.Get_failed().size, comm.Ack_failed(), comm.Agree(7)
        comm.Free()
        return own

    assert run(program, 2).results == [(0, 2, 2, 0, 0, 7), (1, 2, 2, 0, 0, 7)]


def test_an_exchange_of_a_schedule_is_interrupted():
    from reference.collectives.ring import ring_allreduce

    def program(comm):
        if comm.rank == 1:
            comm.recv(source=1)
        error = outcome(ring_allreduce, comm, np.ones(8))
        comm.Revoke()
        return error

    results = run(program, 4, Kill(1, at=1.0)).results
    assert results.pop(1) is None
    assert set(results) == {mpi.ERR_PROC_FAILED, mpi.ERR_REVOKED} and results[1] == mpi.ERR_PROC_FAILED


@pytest.mark.parametrize("early", [False, True])
@pytest.mark.parametrize("scheduled", [False, True])
def test_an_exchange_fails_at_once_whatever_becomes_of_its_other_half(early, scheduled):
    def program(comm):
        out, come = np.zeros((2, 1))
        if comm.rank == 1:
            comm.recv(source=1)
        if comm.rank == 2:
            return mpi.sleep(comm, 9)  # and never receives
        if early:
            assert outcome(comm.recv, None, 1) == mpi.ERR_PROC_FAILED
            mpi.sleep(comm, 5 - mpi.wtime(comm))
        if scheduled:
            return outcome(comm.exchange_in_turn, iter([(out, 2, come, 1)]), 0), mpi.wtime(comm)
        return outcome(comm.Sendrecv, out, 2, 0, come, 1), mpi.wtime(comm)

    expected = mpi.ERR_PROC_FAILED, pytest.approx(5.0 if early else 1.01)
    assert run(program, 3, Kill(1, at=1.0)).results[0] == expected


def test_a_schedule_is_revoked_while_its_exchange_is_under_way():
    def program(comm):
        if comm.rank == 0:
            mpi.sleep(comm, 0.5)
            return comm.Revoke()
        out, come = np.zeros((2, 1000))
        both = [(out, 3 - comm.rank, come, 3 - comm.rank)] * 2
        return outcome(comm.exchange_in_turn, iter(both), 0), mpi.wtime(comm)

    slow = networks.uniform(alpha=0.0, beta=1 / 8000)  # an exchange takes a second
    assert launch(program, 3, network=slow).results[1:] == [(mpi.ERR_REVOKED, pytest.approx(1.0))] * 2


@pytest.mark.parametrize("known", [False, True])
def test_a_buffered_message_to_a_dead_rank_is_gone(known):
    def program(comm):
        if comm.rank == 1:
            comm.recv(source=1)
        mpi.sleep(comm, 1.005)
        if known:
            assert outcome(comm.recv, None, 1) == mpi.ERR_PROC_FAILED
        comm.send("too late", 1)

    assert run(program, 2, Kill(1, at=1.0), buffered=True).killed == {1: 1.0}


# Programs that know nothing of all this -----------------------------------------------------------------------


def test_a_program_that_does_not_use_ulfm_ends_with_who_was_killed_when_and_who_waited():
    def program(comm):
        if comm.rank == 2:
            mpi.compute(comm, 1)
        comm.Barrier()

    with pytest.raises(RankDied) as raised:
        run(program, 4, Kill(2, at=0.5))
    text = str(raised.value)
    assert "rank 2 was killed at 0.5 s (Kill(rank=2, at=0.5))" in text.splitlines()[0]
    assert "rank 1 in Barrier() (test_ulfm.py:" in text and "comm.Barrier()" in text
    assert [status.state for status in raised.value.roll_call] == ["failed", "failed", "killed", "failed"]


def test_an_error_of_the_program_itself_is_reported_as_such():
    def program(comm):
        if comm.rank == 1:
            comm.recv(source=1)
        try:
            comm.Barrier()
        except mpi.Exception as error:
            raise ValueError("not prepared") from error

    with pytest.raises(RankFailed, match="ValueError: not prepared"):
        run(program, 3, Kill(1, at=0.5))


def test_a_revocation_that_nobody_catches_fails_the_program():
    def program(comm):
        comm.Revoke()
        comm.Barrier()

    with pytest.raises(RankFailed, match="ERR_REVOKED: a call on 'world'"):
        launch(program, 2)


def test_error_classes_are_three_and_their_exceptions_can_be_copied():
    import pickle

    from reference.mpi.failures import FailureError

    classes = {mpi.ERR_PROC_FAILED, mpi.ERR_PROC_FAILED_PENDING, mpi.ERR_REVOKED}
    assert len(classes) == 3 and mpi.ERR_PROC_FAILED != mpi.MPI.ERR_UNKNOWN
    copy = pickle.loads(pickle.dumps(FailureError(mpi.ERR_REVOKED, "why")))
    assert isinstance(copy, mpi.Exception) and str(copy) == copy.Get_error_string() == "ERR_REVOKED: why"
    assert copy.Get_error_class() == copy.Get_error_code() == mpi.ERR_REVOKED == copy


def test_a_message_left_on_a_revoked_communicator_is_no_mistake_and_on_another_one_it_is():
    def program(comm, revoked):
        other = comm.Dup()
        if comm.rank == 0:
            (comm if revoked else other).Isend(np.zeros(1), 1).Wait()
        mpi.sleep(comm, 1)
        comm.Revoke()

    launch(partial(program, revoked=True), 2, buffered=True)
    with pytest.raises(UnreceivedMessages):
        launch(partial(program, revoked=False), 2, buffered=True)


def test_a_request_that_nobody_waits_for_yet_fails_too():
    def program(comm):
        if comm.rank == 1:
            comm.recv(source=1)
        if comm.rank == 2:
            mpi.sleep(comm, 3)
            return comm.send("late", 0)
        lost = comm.Irecv(np.zeros(1), 1)
        said = comm.recv(source=2)  # meanwhile rank 1 dies
        return said, outcome(lost.Wait), bool(lost)

    assert run(program, 3, Kill(1, at=1.0)).results[0] == ("late", mpi.ERR_PROC_FAILED, False)


def test_a_later_deadlock_is_not_blamed_on_the_collective_that_has_failed():
    def program(comm):
        if comm.rank == 2:
            comm.recv(source=2)
        assert outcome(comm.Barrier) == mpi.ERR_PROC_FAILED
        comm.recv(source=1 - comm.rank)

    with pytest.raises(Deadlock, match="every waiting rank is in a receive"):
        run(program, 3, Kill(2, at=1.0))

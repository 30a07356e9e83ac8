"""Who waits for whom: circles, and which way of sending survives which order; the virtual cluster is asked as well."""

import re

import numpy as np
import pytest

from reference import mpi
from reference.pipeline.analysis.deadlock import stuck, synchronous
from reference.pipeline.analysis.validate import validate
from reference.pipeline.messages import messages
from reference.pipeline.schedule import Schedule, parse
from reference.pipeline.schedules import catalogue
from reference.pipeline.schedules.plain import gpipe, naive, one_f_one_b, pipedream
from reference.worlds import Deadlock, launch

SIDE_BY_SIDE = Schedule(
    "side by side",
    (parse("0F0 0F1 0B0 0B1"), parse("1F0 1B0 1F1 1B1")),
    overlapped=(frozenset({1}), frozenset()),
)


def test_a_circle_is_told_rank_by_rank():
    schedule = Schedule("circle", (parse("0F0 0B0 0F1 0B1"), parse("1F0 1F1 1B0 1B1")))
    assert stuck(schedule) == (
        "ranks 0 and 1 wait for each other in a circle:\n"
        "  rank 0, place 1: 0B0 needs 1B0, which is at place 2 of rank 1, behind 1F1\n"
        "  rank 1, place 1: 1F1 needs 0F1, which is at place 2 of rank 0, behind 0B0\n"
        "Change one of these orders: put 1B0 before 1F1 on rank 1, for example."
    )
    mended = Schedule("mended", (schedule.orders[0], parse("1F0 1B0 1F1 1B1")))
    assert stuck(mended) is None


def test_a_circle_of_three_ranks():
    """A ring of stages, 0 and 3 on rank 0, which wants to be through with stage 0 before it begins with stage 3."""
    orders = parse("0F0 0B0 3F0 3B0"), parse("1F0 1B0"), parse("2F0 2B0")
    assert stuck(Schedule("ring", orders)).splitlines()[:-1] == [
        "ranks 0, 1 and 2 wait for each other in a circle:",
        "  rank 0, place 1: 0B0 needs 1B0, which is at place 1 of rank 1",
        "  rank 1, place 1: 1B0 needs 2B0, which is at place 1 of rank 2",
        "  rank 2, place 1: 2B0 needs 3B0, which is at place 3 of rank 0, behind 0B0",
    ]


@pytest.mark.parametrize(
    "advice, orders",
    [
        ("put 1F0 and 1B0 before 1F1 on rank 1", ["0F0 0B0 0F1 0B1", "1F1 1F0 1B0 1B1"]),
        ("put 3F0 and 3B0 before 0B0 on rank 0", ["0F0 0B0 3F0 3B0", "1F0 1B0", "2F0 2B0"]),
    ],
)
def test_the_advice_makes_a_valid_schedule(advice, orders):
    """What an action needs on its rank goes with it; to do 1B0 before 1B0 is no advice."""
    schedule = Schedule("circle", tuple(map(parse, orders)))
    told = stuck(schedule).splitlines()[-1]
    assert told == f"Change one of these orders: {advice}, for example."
    words, before, q = re.fullmatch(r"put (.+) before (\w+) on rank (\d)", advice).groups()
    others = [action for action in schedule.orders[int(q)] if str(action) not in words]
    place = list(map(str, others)).index(before)
    mended = [*schedule.orders]
    mended[int(q)] = (*others[:place], *parse(words.replace(" and", "")), *others[place:])
    validate(Schedule("mended", tuple(mended)))


def test_ranks_that_wait_for_a_circle_are_not_part_of_it():
    orders = [*one_f_one_b(4, 3)]
    orders[1] = parse("1F0 1B0 1F1 1F2 1B1 1B2")
    for order_of_ranks in ((0, 1, 2, 3), (0, 2, 1, 3)):
        schedule = Schedule("four", tuple(orders[r] for r in order_of_ranks))
        assert stuck(schedule).startswith("ranks 1 and 2 wait for each other in a circle:\n  rank 1, place 1: ")


def test_grouped_calls_of_a_pair_stand_together():
    """Side by side, rank 0's 0F1 and 0B0 wait for rank 1's 1B0 first: what comes with and after them is one group."""
    assert stuck(SIDE_BY_SIDE) is None
    assert synchronous(SIDE_BY_SIDE, "grouped") is None and synchronous(SIDE_BY_SIDE, "blocking") is None


def test_the_roll_call():
    assert synchronous(one_f_one_b(2, 2), "blocking") == (
        "1F1B deadlocks with blocking sends. Roll call:\n"
        "  rank 0 has done 0F1 (place 1) and sends the activation of 0F1 to rank 1\n"
        "  rank 1 has done 1B0 (place 1) and sends the gradient of 0F0 to rank 0\n"
        "Ranks 0 and 1 wait for each other, and none can do what another waits for.\n"
        'Let senders go on (Isend; sends="nonblocking"), or wait for the sends and receives between two actions '
        'together (sends="grouped"), or change the order.'
    )


def test_a_roll_call_of_many_ranks_names_those_in_the_circle():
    lines = synchronous(one_f_one_b(12, 30), "blocking").splitlines()
    assert lines[1].startswith("  rank 10 has done 10F1") and lines[2].startswith("  rank 11 has done 11B0")
    assert lines[3] == "  and 10 more ranks, which wait for these"


def survivors(sends: str, name: str, sizes) -> list[str]:
    """For each p a word: "." where the schedule of m = 1, 2, ... 8 micro-batches survives, "x" where it hangs."""
    return ["".join(".x"[bool(synchronous(catalogue.make(name, p, m), sends))] for m in range(1, 9)) for p in sizes]


@pytest.mark.parametrize("name", ["naive", "GPipe"])
def test_what_flows_one_way_at_a_time_survives_blocking_sends(name):
    assert survivors("blocking", name, range(1, 5)) == ["........"] * 4


@pytest.mark.parametrize("name", ["1F1B", "PipeDream", "2BW", "ZB-H1"])
def test_one_forward_one_backward_hangs_from_two_ranks_and_two_micro_batches_on_unless_grouped(name):
    assert survivors("blocking", name, range(1, 5)) == ["........", ".xxxxxxx", ".xxxxxxx", ".xxxxxxx"]
    assert survivors("grouped", name, range(1, 5)) == ["........"] * 4


def test_a_ring_of_stages_hangs_even_grouped():
    """All ranks send their activations, or gradients, to the next one at once, the last to the first."""
    assert survivors("grouped", "interleaved 1F1B", range(1, 5)) == ["........", "...xxxxx", ".....xxx", ".......x"]
    assert survivors("grouped", "breadth first", range(1, 5)) == ["........", "...xxxxx", ".....xxx", ".......x"]


def program(comm, schedule, sends):
    """The messages of a schedule (without pairs) and nothing else, sent as `sends` says."""
    data, requests = np.zeros(1), []
    for receives, sent in messages(schedule)[comm.rank]:
        for message in receives:
            if sends == "blocking":
                comm.Recv(np.empty(1), message.peer, message.tag)
            else:
                requests.append(comm.Irecv(np.empty(1), message.peer, message.tag))
        if sends == "grouped":
            mpi.waitall(requests)
            requests = []
        for message in sent:
            if sends == "blocking":
                comm.Ssend(data, message.peer, message.tag)
            else:
                requests.append(comm.Issend(data, message.peer, message.tag))
    mpi.waitall(requests)


@pytest.mark.parametrize("sends", ["grouped", "blocking"])
@pytest.mark.parametrize(
    "name, p, m",
    [("naive", 3, 2), ("GPipe", 3, 4), ("1F1B", 2, 1), ("1F1B", 2, 2), ("1F1B", 3, 1), ("1F1B", 4, 6)]
    + [("interleaved 1F1B", 2, 3), ("interleaved 1F1B", 2, 4), ("breadth first", 3, 2), ("breadth first", 3, 6)]
    + [("ZB-H1", 3, 5), ("ZB-H2", 3, 5), ("ZB-H2", 3, 6), ("ZB-V", 2, 2), ("ZB-V", 2, 3), ("V-Half", 3, 2)],
)
def test_the_virtual_cluster_agrees(name, p, m, sends):
    schedule = catalogue.make(name, p, m)
    if synchronous(schedule, sends):
        with pytest.raises(Deadlock):
            launch(program, p, schedule, sends)
    else:
        launch(program, p, schedule, sends)


@pytest.mark.parametrize("make", [naive, gpipe, one_f_one_b, pipedream])
def test_none_of_them_waits_in_a_circle(make):
    assert stuck(make(5, 7)) is None

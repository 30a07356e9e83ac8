"""The validator: what is right passes; each thing that is wrong is named, with its place and a next step."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.pipeline.analysis.validate import InvalidSchedule, check_times, validate
from reference.pipeline.schedule import Action, Schedule, parse, repeat
from reference.pipeline.schedules import catalogue
from reference.pipeline.schedules.plain import gpipe, one_f_one_b, pipedream, pipedream_2bw
from reference.pipeline.simulate import Costs, Times, simulate


def edited(schedule: Schedule, rank: int, change) -> Schedule:
    """The schedule after change(order) has been done to the list of one rank's actions."""
    orders = [list(order) for order in schedule]
    change(orders[rank])
    return Schedule(schedule.name, tuple(map(tuple, orders)), schedule.weights, schedule.overlapped)


def swap(i: int, j: int):
    def change(order):
        order[i], order[j] = order[j], order[i]

    return change


def put(i: int, *words: str):
    """Put these words in the place of the i-th action (none: take it out)."""
    return lambda order: order.__setitem__(slice(i, i + 1), parse(" ".join(words)))


def wrong(schedule: Schedule, sends: str = "nonblocking") -> str:
    """What the validator says."""
    with pytest.raises(InvalidSchedule) as caught:
        validate(schedule, sends)
    return str(caught.value)


ONE = one_f_one_b(3, 4)  # rank 1: F0 F1 B0 F2 B1 F3 B2 B3 S3;  rank 2: F0 B0 F1 B1 F2 B2 F3 B3 S3


@pytest.mark.parametrize("name", catalogue.SCHEDULES)
def test_every_schedule_is_valid_and_stays_so_when_repeated(name):
    validate(catalogue.make(name, 4, 8))
    validate(repeat(catalogue.make(name, 4, 8), 3))


@pytest.mark.parametrize(
    "rank, change, message",
    [
        (2, swap(4, 5), "rank 2, place 4: 2B2 comes before 2F2, which it needs (place 5): put 2F2 first"),
        (1, put(4), "rank 1, place 1: 1F1 has no backward pass: add 1B1, or 1I1 and 1W1, after it"),
        (1, put(1), "rank 1, place 3: 1B1 has no forward pass: add 1F1 before it"),
        (
            1,
            put(3, "1F1"),
            "rank 1, place 3: 1F1 is there a second time (the first: rank 1, place 1): take one of them out",
        ),
        (
            1,
            put(3, "0F1"),
            "rank 1, place 3: 0F1 is there a second time (the first: rank 0, place 1): take one of them out",
        ),
        (1, put(2, "1I0"), "rank 1, place 2: 1I0 without 1W0 is half a backward pass: add it"),
        (1, put(2, "1W0"), "rank 1, place 2: 1W0 without 1I0 is half a backward pass: add it"),
        (1, put(2, "1B0", "1W0"), "rank 1, place 3: 1W0 is also a part of 1B0: take one of them out"),
        (1, put(2, "1W0", "1I0"), "rank 1, place 2: 1W0 comes before 1I0, which it needs (place 3): put 1I0 first"),
        (1, put(8), "rank 1: 1S3 is missing: add it, as other stages step there too"),
        (1, swap(7, 8), "rank 1, place 7: 1S3 comes before 1B3, whose gradient it applies (place 8): put it after"),
        (
            1,
            put(4, "1B1", "1S0"),
            "rank 1, place 5: 1S0 is one step more than other stages have: take it out, or add it",
        ),
        (1, list.clear, "rank 1 has no actions: give it a stage, or take it out of the schedule"),
        (0, put(0, "0F0", "3F0"), "rank 0, place 1: 3F0 has no backward pass: add 3B0, or 3I0 and 3W0, after it"),
        (
            0,
            put(0, "0F0", "4F0", "4B0"),
            "3F0 and its backward pass are missing: add them (there are 5 stages and 4 micro",
        ),
        (
            0,
            put(0, "0F0", "0F5", "0B5"),
            "0F4 and its backward pass are missing: add them (there are 3 stages and 6 micro",
        ),
        (0, lambda order: order.append(Action("S", 3, 0)), "3F0 and its backward pass are missing"),
    ],
)
def test_an_edited_schedule(rank, change, message):
    said = wrong(edited(ONE, rank, change))
    assert said.startswith(message) and len(said.splitlines()) == 1, said


@pytest.mark.parametrize("kind, stage, micro", [("X", 1, 0), ("F", -1, 0), ("F", 1, 0.5)])
def test_what_is_no_action(kind, stage, micro):
    said = wrong(edited(ONE, 1, lambda order: order.insert(2, Action(kind, stage, micro))))
    assert said.startswith(f"rank 1, place 2: {stage}{kind}{micro} is no action: write stage, one of FBIWS, micro")


def test_orders_that_are_not_parsed():
    assert wrong(Schedule("text", ("0F0 0B0",))) == "rank 0: the order '0F0 0B0' is text: write parse('0F0 0B0')"
    said = wrong(Schedule("tuples", (parse("0F0 0B0"), (("F", 1, 0), ("B", 1, 0)))))
    assert said == "rank 1, place 0: ('F', 1, 0) is no Action: write parse('0F0 0B0'), or Action('F', 0, 0)"


def test_what_is_no_schedule():
    assert wrong(Schedule("none", ())) == "none has no ranks: give it one order for each"
    assert "weights is one of flush, stash, double, not 'fresh'" in wrong(Schedule("odd", (parse("0F0 0B0"),), "fresh"))
    with pytest.raises(ValueError, match="sends is one of nonblocking, grouped, blocking, not 'eager'"):
        validate(ONE, sends="eager")


def test_a_micro_batch_on_two_ranks():
    orders = parse("0F0 0F1 0B0 1B1 0B1"), parse("1F0 1B0 1F1")
    said = wrong(Schedule("two", orders))
    assert said == "rank 0, place 3: 1B1 needs what 1F1 left on rank 1 (place 2): put both on one rank"


def test_a_stage_may_live_on_two_ranks_but_its_updates_on_one_are_its_own():
    orders = parse("0F0 1F1 1B1 0B0 0S1 1S1"), parse("0F1 1F0 1B0 0B1 0S1 1S1")
    validate(Schedule("two ways", orders))
    said = wrong(edited(Schedule("two ways", orders), 1, put(5, "0S1")))
    assert said == "rank 1, place 5: 0S1 is there a second time (the first: rank 1, place 4): take one of them out"


def test_no_optimizer_steps_at_all_are_fine():
    validate(Schedule("gradients only", tuple(order[:-1] for order in ONE)))


def test_all_stages_step_after_the_same_micro_batches():
    said = wrong(edited(pipedream(3, 4), 1, lambda order: order.remove(Action("S", 1, 2))))
    assert said == "rank 1: 1S2 is missing: add it, as other stages step there too"
    said = wrong(Schedule("one more", (parse("0F0 0F1 0B0 0S0 0B1"),), weights="stash"))
    assert said == "rank 0, place 4: no step applies the gradient of 0B1: add 0S1 after it"
    said = wrong(edited(pipedream(2, 3), 1, swap(2, 5)))
    assert said == "rank 1, place 2: 1S1 comes before 1S0 (place 5): put it after"


def test_circles_and_deadlocks_are_told():
    circle = edited(ONE, 1, swap(1, 2))  # 1B0 before 1F1: 2B0 then waits for nothing, and all is well
    validate(circle)
    circle = edited(circle, 2, swap(1, 2))  # 2F1 before 2B0: it needs 1F1, behind 1B0, which needs 2B0
    assert wrong(circle).startswith("ranks 1 and 2 wait for each other in a circle:")
    assert wrong(ONE, "blocking").startswith("1F1B deadlocks with blocking sends. Roll call:\n  rank 0 has done 0F2")
    validate(ONE, "grouped")


SIDES = Schedule("sides", (parse("0F0 0F1 0B0 0F2 0B1 0B2"),), overlapped=(frozenset({1, 3}),))


@pytest.mark.parametrize(
    "overlapped, message",
    [
        ([{0}], "rank 0, place 0: side by side are 0F0 and 0F1: it must be an F and a B (or I)"),
        ([{5}], "rank 0, place 5: side by side are 0B2: it must"),
        ([{-1}], "rank 0, place -1: side by side are nothing"),
        ([{9}], "rank 0, place 9: side by side are nothing"),
        ([{1, 2}], "rank 0, place 2: 0B0 runs beside 0F1 already: take one of the places out of overlapped"),
        ([{1}, {1}], "overlapped has 2 entries for 1 ranks: one each"),
    ],
)
def test_pairs_that_cannot_be(overlapped, message):
    validate(SIDES)
    assert wrong(Schedule("sides", SIDES.orders, overlapped=tuple(map(frozenset, overlapped)))).startswith(message)


def test_a_pair_needs_nothing_of_itself():
    said = wrong(Schedule("self", (parse("0F0 0B0"),), overlapped=(frozenset({0}),)))
    assert said == "rank 0, place 1: 0B0 runs beside 0F0, which it needs: take 0 out of overlapped"


def test_versions_must_be_there_and_be_the_same():
    two_steps = repeat(one_f_one_b(2, 2), 2)
    validate(two_steps)
    late = edited(two_steps, 1, lambda order: order.insert(5, order.pop(4)))  # 1S1 goes behind 1F2
    assert wrong(late).startswith("rank 1, place 6: 1B2 meets other weights than 1F2 (place 4): no step may stand")
    short = Schedule("short", pipedream(4, 6).orders, weights="double")  # a step after every micro-batch
    assert wrong(short) == "rank 0, place 2: 0F2 needs version 1 and is after 0 steps: make batches larger"
    stash = Schedule("stash", pipedream_2bw(3, 8).orders, weights="stash")
    validate(stash)
    assert "meets other weights than" in wrong(Schedule("flush?", pipedream(3, 4).orders))


def test_times_that_cannot_be():
    times = simulate(ONE, Costs(send=0.5))
    check_times(times, send=0.5)
    check_times(times, send=0.6, tolerance=0.2)
    with pytest.raises(InvalidSchedule) as caught:
        check_times(times, send=0.6)
    why = "it needs 1B0, which rank 1 has done at 8.5 s: it cannot start before 9.1 s"
    assert str(caught.value) == f"rank 0, place 3: 0B0 starts at 9 s, but {why}"
    early = [list(own) for own in times.starts]
    early[2][1] -= 0.25  # 2B0, which needs 2F0 of its own rank
    with pytest.raises(InvalidSchedule, match=r"2B0 starts at 3.75 s, but it needs 2F0, .* before 4 s"):
        check_times(Times(ONE, early, times.ends))


@given(st.integers(2, 5), st.integers(1, 6), st.data())
def test_a_validated_order_can_be_simulated_and_no_other(p, m, data):
    """Two actions of a rank are swapped: the validator refuses if and only if no time can be found, or S is wrong."""
    schedule = data.draw(st.sampled_from([gpipe, one_f_one_b]))(p, m)
    rank = data.draw(st.integers(0, p - 1))
    places = st.integers(0, 2 * m - 1)  # not the step
    changed = edited(schedule, rank, swap(data.draw(places), data.draw(places)))
    try:
        simulate(changed)
    except ValueError:
        assert re.match(r"rank \d+, place \d+: \w+ comes before|ranks .* wait for each other", wrong(changed))
    else:
        validate(changed)


@given(st.sampled_from(list(catalogue.SCHEDULES)), st.data())
def test_no_action_can_be_left_out_doubled_or_given_to_another_rank(name, data):
    schedule = catalogue.make(name, 4, 8)
    rank, other = data.draw(st.permutations(range(4)))[:2]
    place = data.draw(st.integers(0, len(schedule.orders[rank]) - 1))
    action = schedule.orders[rank][place]
    without = edited(schedule, rank, lambda order: order.pop(place))
    for changed in (
        without,
        edited(schedule, rank, lambda order: order.insert(place, action)),
        edited(without, other, lambda order: order.append(action)),
    ):
        changed = Schedule(changed.name, changed.orders, changed.weights)  # pairs would stand at other places
        assert re.match(r"rank \d, place \d+: |ranks? |\d+F\d+ and its", wrong(changed))


@pytest.mark.parametrize("weights", ["flush", "stash", "double"])
def test_a_step_applies_no_later_micro_batchs_gradient(weights):
    for order in ("0F0 0F1 0B0 0B1 0S0 0S1", "0F0 0F1 0B1 0B0 0S0 0S1"):
        told = wrong(Schedule("by hand", (parse(order),), weights))
        assert re.search(r"the gradient of 0B1 is there before 0S0 \(place 4\), which would apply it", told)


def test_old_versions_and_a_backward_pass_in_two_parts_are_refused_together():
    assert "0I0" in wrong(Schedule("by hand", (parse("0F0 0I0 0W0 0S0"),), "stash"))
    validate(Schedule("by hand", (parse("0F0 0I0 0W0 0S0"),)))


def test_numbers_of_numpy_are_numbers():
    validate(one_f_one_b(2, np.int64(3)))
    validate(Schedule("by hand", (tuple(a._replace(micro=np.int32(a.micro)) for a in parse("0F0 0F1 0B0 0B1")),)))


def test_times_that_overlap_or_run_backward():
    schedule = one_f_one_b(2, 3)
    told = {}
    for what, shift in (("overlap", 0.0), ("backward", -1.0)):
        times = simulate(schedule)
        if what == "overlap":
            times.ends[0][0] += 0.5  # into the next forward pass
        else:
            times.ends[0][-1] = times.starts[0][-1] + shift
        with pytest.raises(InvalidSchedule) as caught:
            check_times(times)
        told[what] = str(caught.value)
    assert "rank 0, place 1: 0F1 starts at 1 s, but 0F0 goes on until 1.5 s" in told["overlap"]
    assert "ends at" in told["backward"] and "before it starts" in told["backward"]
    for name in catalogue.SCHEDULES:  # pairs may overlap
        check_times(simulate(catalogue.make(name, 4, 8)))


COPIES = parse("0F0 1F1 1B1 0B0 0S1 1S1"), parse("0F1 1F0 1B0 0B1 0S1 1S1")


def test_a_copy_of_a_stage_steps_after_the_gradients_of_the_other_copies():
    """Rank 0's 0B0 waits for rank 1's 1B0, and rank 1 would step stage 0 before that: without 0B0's gradient."""
    validate(Schedule("copies", COPIES))
    early = Schedule("copies", (COPIES[0], parse("0F1 1F0 0B1 0S1 1B0 1S1")))
    told = wrong(early).splitlines()
    assert told[0] == "ranks 0 and 1 wait for each other in a circle:"
    assert "  rank 1, place 3: 0S1 needs 0B0, which is at place 3 of rank 0" in told
    assert told[-1] == "Change one of these orders: put 1B0 before 0S1 on rank 1, for example."
    with pytest.raises(ValueError, match="cannot be carried out"):
        simulate(early)


def test_times_of_a_copy_that_steps_too_early():
    """Of unequal ranks: the quicker one waits with its step for the slower one's gradient."""
    one = Schedule("one stage twice", (parse("0F0 0B0 0F2 0B2 0S2"), parse("0F1 0B1 0S2")))
    validate(one)
    times = simulate(one, Costs(S=1.0))
    assert (times.starts[0][-1], times.starts[1][-1]) == (6, 6)
    check_times(times)
    times.starts[1][-1] -= 1.0
    with pytest.raises(InvalidSchedule, match=r"rank 1, place 2: 0S2 starts at 5 s, but it needs 0B2"):
        check_times(times)


def test_times_that_nobody_measured():
    schedule = one_f_one_b(2, 3)
    rows = [len(order) for order in schedule]
    zero, missing = [[0.0] * n for n in rows], [[0.0] * (n - 1) for n in rows]
    undefined = [[float("nan")] * n for n in rows]
    with pytest.raises(InvalidSchedule, match="no action takes any time"):
        check_times(Times(schedule, zero, zero))
    with pytest.raises(InvalidSchedule, match="rank 0 has 7 actions, 7 starts and 6 ends"):
        check_times(Times(schedule, zero, missing))
    with pytest.raises(InvalidSchedule, match="rank 0, place 0: 0F0 goes from nan to nan s"):
        check_times(Times(schedule, undefined, undefined))
    check_times(simulate(schedule, Costs(W=0.0, send=0.5)))  # a part of a pass may take none
    check_times(Times(Schedule("idle", ((), ())), [[], []], [[], []]))  # and who does nothing takes no time

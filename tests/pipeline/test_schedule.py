"""Schedules as data: what actions need, where they are, how orders are written, completed and repeated."""

import pickle
from math import inf

import pytest

from reference.pipeline.schedule import Action, Schedule, check_sizes, flushed, needs, parse, repeat, topological_order
from reference.pipeline.schedules.plain import gpipe, one_f_one_b, pipedream

TWO = [parse("0F0 0F1 0B0 0B1"), parse("1F0 1B0 1F1 1I1 1W1")]


def words(actions) -> str:
    return " ".join(map(str, actions))


def test_an_order_is_written_as_it_is_read():
    text = "0F0 12F3 0B0 12I3 12W3 0S0"
    assert words(parse(text)) == text
    assert parse("12I3") == (Action("I", 12, 3),)
    for wrong in ("F0", "0X0", "0F", "0F0,0B0", "-1F0"):
        with pytest.raises(ValueError, match="such as 2F0"):
            parse(wrong)


def test_what_an_action_needs():
    schedule = Schedule("two", tuple(TWO))
    assert schedule.splits == {(1, 1)}
    for action, needed in {
        "0F0": "",
        "1F0": "0F0",
        "1B0": "1F0",
        "0B0": "0F0 1B0",
        "1I1": "1F1",
        "1W1": "1I1",
        "0B1": "0F1 1I1",  # the stage behind it has split its backward pass: W need not be waited for
        "0S1": "",
    }.items():
        assert words(needs(*parse(action), schedule)) == needed, action


def test_what_a_schedule_knows_of_itself():
    schedule = flushed("V", [parse("0F0 3F0 3B0 0B0"), parse("1F0 2F0 2B0 1B0")])
    assert (schedule.ranks, schedule.stages, schedule.micro_batches) == (2, 4, 1)
    assert schedule.chunks == [[0, 3], [1, 2]]
    assert schedule.home == {(0, 0): 0, (1, 0): 1, (2, 0): 1, (3, 0): 0}
    assert [schedule.places[action] for action in parse("3B0 1F0 0S0")] == [(0, 2), (1, 0), (0, 4)]
    assert words(schedule.orders[0]) == "0F0 3F0 3B0 0B0 0S0 3S0"
    empty = Schedule("nothing", ())
    assert (empty.ranks, empty.stages, empty.micro_batches, empty.chunks) == (0, 0, 0, [])


@pytest.mark.parametrize("schedule", [gpipe(3, 4), one_f_one_b(4, 6), pipedream(2, 3), Schedule("two", tuple(TWO))])
def test_turns_come_after_what_they_need(schedule):
    done, place = set(), [0] * schedule.ranks
    for rank, k, actions, needed in topological_order(schedule):
        assert k == place[rank] and actions == schedule.orders[rank][k : k + 1]
        assert done.issuperset(needed) and needed == needs(actions[0], schedule)
        done.update(actions)
        place[rank] += 1
    assert place == [len(order) for order in schedule]


def test_turns_are_kept_and_not_sent():
    schedule = one_f_one_b(4, 6)
    assert schedule.turns == tuple(topological_order(schedule)) and schedule.turns is schedule.turns
    sent = pickle.loads(pickle.dumps(schedule))
    assert sent == schedule and "turns" not in vars(sent) and sent.turns == schedule.turns


def test_turns_take_two_actions_that_run_side_by_side_as_one():
    schedule = Schedule("side by side", (parse("0F0 0F1 0B0 0B1"),), overlapped=(frozenset({1}),))
    assert [words(turn.actions) for turn in topological_order(schedule)] == ["0F0", "0F1 0B0", "0B1"]


def test_turns_end_early_where_ranks_wait_for_each_other():
    schedule = Schedule("circle", (parse("0F0 0B0 0F1 0B1"), parse("1F0 1F1 1B0 1B1")))
    assert [words(turn.actions) for turn in topological_order(schedule)] == ["0F0", "1F0"]


def test_repeated_steps_have_new_micro_batches_and_keep_their_pairs():
    step = flushed("side by side", [parse("0F0 0F1 0B0 0B1")], overlapped=(frozenset({1}),))
    twice = repeat(step, 2)
    assert words(twice.orders[0]) == "0F0 0F1 0B0 0B1 0S1 0F2 0F3 0B2 0B3 0S3"
    assert twice.overlapped == (frozenset({1, 6}),)
    assert repeat(step, 1) == step and repeat(one_f_one_b(2, 3), 4).micro_batches == 12


@pytest.mark.parametrize(
    "sizes", [(0, 1), (1, 0), (2, -3), (2.5, 4), (2, 4, 0), (4, 2.0), (4, None), (inf, 4), ("4", 4)]
)
def test_sizes_are_whole_numbers_from_one_on(sizes):
    with pytest.raises(ValueError, match="at least 1, got"):
        check_sizes(*sizes)

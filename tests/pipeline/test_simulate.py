"""The simulator: small cases by hand, then a slower simulation, written differently, then its uses."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.pipeline.analysis.draw import gantt
from reference.pipeline.schedule import Schedule, needs, parse
from reference.pipeline.schedules.plain import gpipe, naive, one_f_one_b, pipedream
from reference.pipeline.simulate import UNIT, Costs, Times, activations, period, simulate

SPLIT = Schedule("split", (parse("0F0 0F1 0I0 0W0 0I1 0W1 0S1"), parse("1F0 1I0 1F1 1I1 1W0 1W1 1S1")))


def test_a_case_by_hand():
    """Rank 0: F 2 s, B 4 s; rank 1: F 1 s, B 3 s; a message takes 1/2 s and holds up nobody but its reader."""
    times = simulate(one_f_one_b(2, 2), Costs(F=[2, 1], B=[4, 3], S=0.25, send=0.5))
    assert times.starts == [[0, 2, 7, 11, 15], [2.5, 3.5, 6.5, 7.5, 10.5]]
    assert times.ends == [[2, 4, 11, 15, 15.25], [3.5, 6.5, 7.5, 10.5, 10.75]]
    assert times.makespan == 15.25 and times.spans == [15.25, 8.25] and times.busy == [12.25, 8.25]
    assert times.bubble == pytest.approx(1 - 20.5 / 30.5) and times.bubble_of_spans == times.bubble


def test_a_split_backward_pass_by_hand():
    """The stage before waits for I, 1 s, and not for W, 2 s; the step waits for its own rank's order only."""
    times = simulate(SPLIT, Costs(F=1, I=1, W=2, S=1))
    assert times.starts == [[0, 1, 3, 4, 6, 7, 9], [1, 2, 3, 4, 5, 7, 9]]
    assert times.makespan == 10 and times.bubble == 1 - (9 + 9) / 20
    assert times.bubble_of_spans == 1 - (9 + 9) / 20


def test_two_actions_side_by_side():
    schedule = Schedule("pair", (parse("0F0 0F1 0B0 0B1"),), overlapped=(frozenset({1}),))
    one_after_the_other = simulate(schedule)
    assert one_after_the_other.starts == [[0, 1, 1, 4]] and one_after_the_other.ends == [[1, 4, 4, 6]]
    together = simulate(schedule, Costs(pair=2.5))
    assert together.ends == [[1, 3.5, 3.5, 5.5]] and together.busy == [5.5] and together.bubble == 0
    assert simulate(schedule, Costs(pair=[2.5]).chunked(2)).ends == [[0.5, 1.75, 1.75, 2.75]]


def slowly(schedule: Schedule, costs: Costs) -> list[list[float]]:
    """The ends that the definition asks for: repeat max(...) for all actions until nothing changes."""
    end = {(r, k): 0.0 for r, order in enumerate(schedule) for k in range(len(order))}
    while True:
        before = dict(end)
        for (r, k), _ in before.items():
            action = schedule.orders[r][k]
            ready = [end[r, k - 1]] if k else [0.0]
            for need in needs(action, schedule):
                q, j = schedule.places[need]
                ready.append(end[q, j] + costs.send * (q != r))
            end[r, k] = max(ready) + costs.of(action.kind, action.stage)
        if end == before:
            return [[end[r, k] for k in range(len(order))] for r, order in enumerate(schedule)]


seconds = st.integers(0, 16).map(lambda n: n / 4)


@given(st.data())
def test_times_are_the_least_that_the_definition_allows(data):
    p, m = data.draw(st.tuples(st.integers(1, 5), st.integers(1, 6)))
    schedule = data.draw(st.sampled_from([naive, gpipe, one_f_one_b, pipedream, lambda p, m: SPLIT]))(p, m)
    each = st.one_of(seconds, st.lists(seconds, min_size=schedule.stages, max_size=schedule.stages))
    costs = Costs(*(data.draw(each) for _ in "FIW"), B=data.draw(st.none() | each), S=data.draw(each))
    costs = costs._replace(send=data.draw(seconds))
    times = simulate(schedule, costs)
    assert times.ends == slowly(schedule, costs)
    for order, starts, ends in zip(schedule, times.starts, times.ends):
        assert [end - start for start, end in zip(starts, ends)] == [costs.of(a.kind, a.stage) for a in order]


def test_costs_for_all_stages_or_for_each():
    assert Costs(F=2, I=3, W=4).of("B", 7) == 7 and Costs(B=5).of("B", 7) == 5
    assert Costs(I=[1, 2], W=4).of("B", 1) == 6
    assert Costs(F=np.array([1.0, 2.0])).of("F", 1) == 2 and isinstance(Costs(F=np.float64(3)).of("F", 0), float)
    assert Costs(2, [2, 4], 6, B=10, S=8, send=1, pair=12).chunked(2) == Costs(1, [1, 2], 3, 5, 4, 1, 6)
    assert UNIT.chunked(4).B is None


@pytest.mark.parametrize(
    "costs, message",
    [
        (Costs(F=[1, 2]), "F has 2 entries and must have 3, one for each stage"),
        (Costs(pair=np.ones(4)), "pair has 4 entries"),
        (Costs(send=[1, 1, 1]), "send has 3 entries and must have one number"),
        (Costs(sizes=[1, 1, 1]), "sizes has 3 entries and must have 2, one for each micro-batch"),
        (Costs(W=-1), "W has -1: a cost must be finite and at least 0"),
        (Costs(B=[1, float("nan"), 1]), "B has nan"),
        (Costs(send=float("inf")), "send has inf"),
        (Costs(sizes=[1, 2], pair=1.0), "sizes and pair cannot be given together"),
    ],
)
def test_costs_that_cannot_be(costs, message):
    with pytest.raises(ValueError, match=message):
        simulate(one_f_one_b(3, 2), costs)


def test_micro_batches_of_different_sizes():
    """The second one has three times as many tokens; the step does not care."""
    times = simulate(gpipe(1, 2), Costs(S=1, sizes=[1, 3]))
    assert times.ends == [[1, 4, 10, 12, 13]]
    assert period(gpipe(1, 2), Costs(S=1, sizes=[1, 3])) == 13


def test_what_cannot_be_carried_out_has_no_times():
    with pytest.raises(ValueError, match="circle cannot be carried out: use validate"):
        simulate(Schedule("circle", (parse("0F0 0B0 0F1 0B1"), parse("1F0 1F1 1B0 1B1"))))
    with pytest.raises(ValueError, match="cannot be carried out"):
        simulate(Schedule("half", (parse("0F0"), parse("1F0 1B1"))))


def test_a_stage_on_two_ranks_is_updated_on_both():
    """As in DualPipe: micro-batch 1 enters at rank 1; 0S1 and 1S1 stand in both orders, and all four are timed."""
    orders = (parse("0F0 1F1 1B1 0B0 0S1 1S1"), parse("0F1 1F0 1B0 0B1 0S1 1S1"))
    times = simulate(Schedule("two ways", orders), Costs(S=1))
    assert times.starts == [[0, 1, 2, 4, 6, 7]] * 2


def test_times_that_were_recorded():
    """Starts need not be aligned, or begin at 0; a rank may have done nothing."""
    times = Times(Schedule("recorded", (parse("0F0 0B0"), ())), [[5.0, 9.5], []], [[6.5, 11.0], []])
    assert times.makespan == 6.0 and times.busy == [3.0, 0] and times.spans == [6.0, 0] and times.bubble == 0.75
    free = simulate(gpipe(2, 2), Costs(0, 0, 0))
    assert free.makespan == free.bubble == free.bubble_of_spans == 0


def test_times_that_do_not_come_in_the_order_of_actions():
    """The executor's updates come last, wherever they stand."""
    times = Times(Schedule("odd", (parse("0F0 0S0 0B0"),)), [[0, 10, 2]], [[1, 11, 3]])
    assert times.busy == [3] and times.bubble == 1 - 3 / 11


def test_nothing_takes_no_time():
    for orders in ((), ((), ())):
        times = simulate(Schedule("nothing", orders))
        assert times.makespan == times.bubble == times.bubble_of_spans == 0 and gantt(times) == [""] * len(orders)


def test_a_period_is_between_steps():
    for steps in (0, 1):
        with pytest.raises(ValueError, match=f"steps >= 2, not {steps}"):
            period(gpipe(1, 2), steps=steps)


def test_activations_of_a_split_backward_pass():
    assert activations(SPLIT) == [2, 2] and activations(SPLIT, kept=0.5) == [2, 1.5] and activations(SPLIT, 0) == [2, 1]


@given(st.integers(1, 6), st.integers(1, 8), seconds, seconds)
def test_the_period_of_steps_with_a_flush(p, m, F, B):
    """Rank 0 begins a step and ends it, so the next one cannot begin earlier: the whole makespan is the period."""
    costs = Costs(F=F, B=B)
    for make in (naive, gpipe, one_f_one_b):
        assert period(make(p, m), costs) == pytest.approx(simulate(make(p, m), costs).makespan)


def test_the_period_is_shorter_than_the_makespan_where_no_rank_is_idle_in_its_own_span():
    """Rank 0 begins the next step while rank 1 is still busy with the last one."""
    orders = parse("0F0 0F1 0F2 0I0 0W0 0I1 0W1 0I2 0W2"), parse("1F0 1I0 1F1 1I1 1W0 1F2 1I2 1W1 1W2")
    schedule, costs = Schedule("slanted", orders), Costs(I=0.5, W=2)
    times = simulate(schedule, costs)
    assert gantt(times) == [
        "F0--- F1--- F2--- I0 W0--------- I1 W1--------- I2 W2--------- .. ..",
        ".. .. F0--- I0 F1--- I1 W0--------- F2--- I2 W1--------- W2---------",
    ]
    assert (times.makespan, period(schedule, costs)) == (11.5, 10.5)
    assert times.spans == times.busy == [10.5, 10.5]
    assert times.bubble == pytest.approx(1 / 11.5) and times.bubble_of_spans == 0


def test_a_stream_has_no_bubble_in_the_long_run():
    """PipeDream never flushes: one more micro-batch takes F + B, whatever p."""
    long, longer = (simulate(pipedream(4, m)).makespan for m in (20, 30))
    assert longer - long == 10 * 3

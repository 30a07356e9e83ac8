"""Interleaving: drawn once, equal to torch's orders, and what any number of micro-batches costs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from torch.distributed.pipelining.schedules import ScheduleInterleaved1F1B, ScheduleLoopedBFS

from reference.pipeline.analysis.draw import gantt
from reference.pipeline.analysis.validate import InvalidSchedule, validate
from reference.pipeline.schedule import Action, flushed
from reference.pipeline.schedules import interleaved as module
from reference.pipeline.schedules.interleaved import breadth_first, changes, depth_first, groups, interleaved
from reference.pipeline.schedules.plain import gpipe, one_f_one_b
from reference.pipeline.simulate import UNIT, Costs, activations, simulate

sizes = st.tuples(st.integers(1, 6), st.integers(1, 20), st.integers(1, 3))


def idle(schedule, costs=UNIT):
    times = simulate(schedule, costs)
    return times.makespan - times.busy[0]


def test_interleaved_is_the_figure():
    """Two ranks with two chunks each; F of a chunk is one column, B two."""
    assert gantt(simulate(interleaved(p=2, m=4, v=2))) == [
        "0F0 0F1 2F0 2F1 0F2 ... 2B0---- 0F3 2B1---- 2F2 0B0---- 2F3 0B1---- ... 2B2---- ... 2B3---- 0B2---- 0B3----",
        "... 1F0 1F1 3F0 3B0---- 3F1 3B1---- 1F2 1B0---- 1F3 1B1---- 3F2 3B2---- 3F3 3B3---- 1B2---- 1B3---- ... ...",
    ]


def test_breadth_first_is_the_figure():
    assert gantt(simulate(breadth_first(p=2, m=3, v=2))) == [
        "0F0 0F1 0F2 2F0 2F1 2F2 ... ... ... 2B2---- 2B1---- 2B0---- 0B2---- 0B1---- 0B0----",
        "... 1F0 1F1 1F2 3F0 3F1 3F2 3B2---- 3B1---- 3B0---- 1B2---- 1B1---- 1B0---- ... ...",
    ]


def torch_orders(kind, p, m, v):
    made = object.__new__(kind)  # the constructor wants stages on devices; the orders are made from these numbers
    made.pp_group_size, made._n_microbatches, made.n_local_stages, made._stages = p, m, v, [None] * v
    made._num_stages, made.number_of_rounds = p * v, max(1, m // p)
    made.microbatches_per_round = m // made.number_of_rounds
    short = {"FORWARD": "F", "FULL_BACKWARD": "B"}
    actions = [filter(None, made._calculate_single_rank_operations(r)) for r in range(p)]
    return flushed("", [[Action(short[k.name], s, i) for s, k, i, _ in order] for order in actions]).orders


@pytest.mark.parametrize(("p", "m", "v"), [(2, 4, 2), (4, 8, 3), (3, 4, 2), (4, 10, 2), (4, 3, 2), (5, 15, 3)])
def test_the_orders_are_those_of_torch(p, m, v):
    """torch takes m that divide evenly into its rounds; these are the same groups then."""
    assert interleaved(p, m, v).orders == torch_orders(ScheduleInterleaved1F1B, p, m, v)
    assert breadth_first(p, m, v).orders == torch_orders(ScheduleLoopedBFS, p, m, v)


@given(sizes)
def test_any_sizes_are_valid(size):
    p, m, v = size
    validate(interleaved(p, m, v))
    validate(interleaved(p, m, v, lead=1, group=p + 1))
    validate(breadth_first(p, m, v))
    assert interleaved(p, m, 1).orders == one_f_one_b(p, m).orders
    assert breadth_first(p, m, 1).orders == gpipe(p, m).orders


@given(sizes, st.integers(1, 8), st.integers(1, 8))
def test_the_bubble_shrinks_by_v_for_any_m_of_at_least_p(size, F, B):
    p, m, v = size
    lost = (v - 1) * max(p - m, 0)  # passes that a group of fewer than p waits to come round
    for schedule in (interleaved(p, m, v), interleaved(p, m, v, lead=1), breadth_first(p, m, v)):
        assert idle(schedule, Costs(F=F, B=B)) == (p - 1 + lost) * (F + B)  # of a chunk: (p - 1)(F + B)/v of a share


def test_groups_are_of_at_least_p_and_nearly_equal():
    assert groups(10, 4) == [range(5), range(5, 10)]
    assert groups(11, 4) == [range(6), range(6, 11)]
    assert groups(3, 4) == [range(3)]


def test_why_megatron_asks_for_a_multiple_of_p(monkeypatch):
    """Groups of 4 and 1 on 4 ranks: with two chunks the bubble doubles, with three ranks wait for each other for good.
    Nearly equal groups of at least 4 do not."""
    equal = idle(interleaved(4, 5, 2))
    validate(interleaved(4, 5, 3))
    monkeypatch.setattr(module, "groups", lambda m, least: [range(a, min(a + least, m)) for a in range(0, m, least)])
    assert (equal, idle(interleaved(4, 5, 2)), idle(interleaved(4, 6, 2))) == (9, 18, 19)
    for p, m, v in ((4, 5, 3), (5, 7, 2)):
        with pytest.raises(InvalidSchedule, match="wait"):
            validate(interleaved(p, m, v))
    with pytest.raises(ValueError, match="m must be a multiple of p; take 8 micro-batches"):
        depth_first(4, 5, 3)
    assert depth_first(4, 8, 3).orders == interleaved(4, 8, 3).orders


def test_what_lead_two_buys_and_costs():
    """Messages hidden, for p - 1 activations of a chunk on rank 0: E0-17's p(1 + (p - 1)/(p v)) shares."""
    costs = Costs(send=0.5)
    late, early = interleaved(4, 16, 2, lead=1), interleaved(4, 16, 2)
    assert idle(early) == idle(late) == 9
    assert idle(early, costs) == 9 + 14 * 0.5 < idle(late, costs) == 9 + 54 * 0.5
    assert activations(late) == [8, 7, 6, 5]
    assert activations(early) == [11, 9, 7, 5]
    assert activations(early)[0] / 2 == 4 * (1 + 3 / (4 * 2))
    longer = interleaved(4, 15, 2, group=5)  # five passes until the first of a group of five is to come round
    assert idle(longer, costs) == 9 + 2 * 3 * 0.5 + 2 * (4 * 0.5 - 1) - 1


@pytest.mark.parametrize(
    ("v", "F", "B", "hidden"), [(1, 1, 2, 1.5), (1, 3, 1, 2), (2, 1, 2, 1), (2, 3, 1, 1), (4, 1, 1, 1), (4, 2, 3, 2)]
)
def test_how_long_messages_lead_two_hides(v, F, B, hidden):
    """F, B of a chunk: min(F, B), or their mean with one chunk. To fill and to empty, 2 (p v - 1) messages are met."""
    schedule, met = interleaved(4, 16, v, lead=2), 2 * (4 * v - 1)
    assert idle(schedule, Costs(F=F, B=B, send=hidden)) == 3 * (F + B) + met * hidden
    assert idle(schedule, Costs(F=F, B=B, send=1.25 * hidden)) > 3 * (F + B) + met * 1.25 * hidden


def test_how_often_weights_are_gathered():
    assert changes(breadth_first(4, 8, 3)) == [4] * 4
    assert changes(one_f_one_b(4, 8)) == [0] * 4
    assert min(changes(interleaved(4, 8, 3))) > 12


def test_what_is_refused():
    whys = ({"lead": 3}, "lead = 3 must be 1 or 2"), ({"lead": 0}, "1 or 2"), ({"group": 3}, "group = 3 .* p = 4")
    for wrong, why in whys:
        with pytest.raises(ValueError, match=why):
            interleaved(4, 8, 2, **wrong)
    with pytest.raises(ValueError, match=r"v \(chunks a rank\)"):
        breadth_first(4, 8, 0)

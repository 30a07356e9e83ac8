"""What is often claimed about cutting models, batches and memory; the run that shows otherwise (book/errata*.md)."""

from functools import partial
from itertools import combinations, pairwise

import pytest
import torch
from torch import nn

from reference.data_parallel.accumulation import micro_batches
from reference.models import MLP, Data, digits
from reference.perf.meter import Meter
from reference.pipeline.analysis.volume import boundary, contiguous, cyclic, one_at_a_time, sent
from reference.pipeline.runtime.executor import Pipeline
from reference.pipeline.schedules.plain import gpipe, one_f_one_b
from reference.pipeline.simulate import simulate
from reference.pipeline.sizing.micro_batches import affine, choose, table
from reference.pipeline.sizing.partition import (
    LayerProfile,
    Worker,
    additive,
    cut_costs,
    equal_counts,
    least,
    partition,
    price,
)
from reference.pipeline.stages import cut
from reference.worlds import launch, networks

from ..timed import TimedLayer

DIGITS = Data(*(part[:1024] for part in digits()))


def wide():
    """Eight equal layers in the middle."""
    return MLP((64, *[32] * 9, 10), seed=1)


def step(comm, schedule, times=1, **options):
    """As many steps; the most bytes of activations that this rank holds."""
    model = wide()
    stages = cut(model, [len(model) * (s + 1) // schedule.stages for s in range(schedule.stages)])
    own = {s: stages[s] for s in schedule.chunks[comm.rank]}
    with Meter(module=nn.ModuleList(own.values())) as meter:
        pipeline = Pipeline(comm, schedule, own, **options)
        for _ in range(times):
            pipeline.step(micro_batches(DIGITS, schedule.micro_batches))
    return meter.peak["activations"]


def timed_step(comm, schedule, F, B, **options):
    """One step of stages that take F and B seconds."""
    own = {s: TimedLayer(comm, F, B / 2, B / 2) for s in schedule.chunks[comm.rank]}
    x = torch.zeros(1, 1, requires_grad=True)
    pipeline = Pipeline(comm, schedule, own, loss=lambda y, _: y.sum(), **options)
    pipeline.step([Data(x, torch.zeros(1, dtype=torch.long))] * schedule.micro_batches)


def test_e0_11_layers_dealt_out_in_turn_cost_messages_and_gain_nothing():
    """Eight layers on four ranks: 7 cuts instead of 3, and a quarter of the ranks computes in both."""
    runs = {}
    for place in (contiguous, cyclic):
        schedule = one_at_a_time(place(8, 4))
        free = networks.uniform(0, 0)
        runs[place] = launch(timed_step, 4, schedule, 1.0, 2.0, network=free), sum(sent(schedule, 1))
        assert simulate(schedule).bubble == 0.75
    (_, few), (_, many) = runs.values()
    assert (few, many) == (2 * 3, 2 * 7)
    assert [run.seconds for run, _ in runs.values()] == pytest.approx([24.0, 24.0])


@pytest.mark.parametrize("schedule", [gpipe(3, 6), one_f_one_b(3, 6)], ids=lambda schedule: schedule.name)
def test_e0_12b_recomputing_everything_costs_a_third_and_not_double(schedule):
    free = networks.uniform(0, 0)
    once, again = (
        launch(partial(timed_step, recompute=which), 3, schedule, 1.0, 2.0, network=free).seconds
        for which in ((), range(3))
    )
    assert again / once == pytest.approx(4 / 3)


def test_e0_12c_boundaries_are_sent_whether_or_not_one_recomputes():
    """Bytes of a second step, when all has been agreed on, and bytes that the first rank holds."""
    schedule, found = one_f_one_b(3, 6), []
    for which in ((), range(3)):
        once, twice = (launch(partial(step, recompute=which), 3, schedule, times) for times in (1, 2))
        found.append(([b - a for a, b in zip(once.bytes_sent, twice.bytes_sent)], once.results[0]))
    (stored, much), (recomputed, less) = found
    assert stored == recomputed and less < 0.7 * much


def test_e0_13c_the_sum_over_stages_is_the_same_for_every_cut():
    """Ten layers of 36 seconds: 84 ways to make four stages, all with the sum 36; the slowest stage takes 9 to 29."""
    layers = [LayerProfile(s, 2.0 * s) for s in (4, 3, 2, 9, 1, 8, 2, 2, 3, 2)]
    cost = price(layers, [Worker()] * 4)
    stages = [
        [cost(r, k, i) / 3 for r, (k, i) in enumerate(pairwise((0, *ends)))]
        for ends in [(*inner, 10) for inner in combinations(range(1, 10), 3)]
    ]
    assert len(stages) == 84 and {sum(each) for each in stages} == {36}
    assert (min(map(max, stages)), max(map(max, stages))) == (9, 29)
    assert additive(layers, 4).seconds == 3 * 36 and partition(layers, 4).ends == (3, 4, 6, 10)
    found = [additive(layers, 4).ends, equal_counts(10, 4), partition(layers, 4).ends]
    steps = [simulate(gpipe(4, 8), cut_costs(layers, ends)).makespan / 3 for ends in found]
    assert steps == [36 + 7 * 27, 36 + 7 * 18, 36 + 7 * 9]  # the first of all cuts that are equally good for the sum


def test_e0_13c_on_unequal_workers_the_sum_gives_the_fastest_one_everything():
    layers, workers = [LayerProfile(1.0, 2.0)] * 12, [Worker(1.0), Worker(1.1), Worker(1.0)]
    assert additive(layers, workers).sizes == [1, 10, 1] and partition(layers, workers).sizes == [4, 4, 4]


def test_e0_18_memory_does_not_bound_the_number_of_micro_batches():
    """1,024 samples on two ranks in 2, 4, 8 and 16: GPipe keeps them all, 1F1B two micro-batches, ever smaller ones."""
    held = {
        schedule: [launch(step, 2, schedule(2, m)).results[0] for m in (2, 4, 8, 16)]
        for schedule in (gpipe, one_f_one_b)
    }
    assert held[gpipe] == pytest.approx([held[gpipe][0]] * 4, rel=0.25)  # and, of the last one, gradients on their way
    assert all(after < before / 2 + 1 for before, after in pairwise(held[one_f_one_b]))
    assert held[one_f_one_b][-1] < held[gpipe][-1] / 6


def test_e0_18_without_a_price_of_small_ones_the_best_number_is_the_largest():
    assert choose(64, 4, affine(fixed=0.0, slope=1.0)).m == 64
    assert choose(64, 4, affine(fixed=1.0, slope=1.0)).m == 16


def test_e0_19_bandwidth_does_not_bound_the_number_of_micro_batches():
    """Messages that take as long as 0.2 or 4 times a stage's pass for every b: 64 micro-batches are best with both."""
    for beta in (0.2, 4.0):
        rows = table(64, 4, affine(0.0, 1.0, beta=beta))
        ratios = [affine(0.0, 1.0, beta=beta)(row.b).send / affine(0.0, 1.0)(row.b).F for row in rows]
        assert ratios == pytest.approx([beta] * 7)
        steps = [row.seconds for row in sorted(rows, key=lambda row: row.m)]
        assert all(after < before for before, after in pairwise(steps))
        claimed = int(3 * 64 / (beta * 16))  # BW T_compute / S_act, with S_act that of 4 micro-batches of 16
        assert claimed < 64
    assert choose(64, 4, affine(0.0, 1.0, alpha=0.5)).m < 64  # latency counts them


def test_e0_22_a_message_has_a_vector_for_each_token():
    """b h, as is claimed, would be the same for any length: a thousandth of what a thousand tokens need."""
    assert boundary(4, 1000, 512) == 1000 * boundary(4, 1, 512) == 2 * 4 * 1000 * 512


def test_e0_34_the_programme_asks_for_fewer_than_n_squared_p_prices():
    asked = []
    least(40, 6, lambda r, k, i: asked.append(r) or float(i - k), max)
    assert 40**2 * 6 / 8 < len(asked) < 40**2 * 6 / 2
    one_way, other_way = ([Worker(speed) for speed in speeds] for speeds in ((1.0, 2.0), (2.0, 1.0)))
    layers = [LayerProfile(s, 0.0) for s in (4.0, 4.0, 4.0, 1.0)]  # the state has to know which device it is
    assert partition(layers, one_way).seconds != partition(layers, other_way).seconds


def test_e0_38_four_times_p_keeps_the_bubble_below_a_fifth_and_a_third_of_idle_time_is_another_symptom():
    for p in (2, 4, 8):
        bubble = simulate(one_f_one_b(p, 4 * p)).bubble
        assert bubble == pytest.approx((p - 1) / (5 * p - 1)) and bubble < 0.2
        idle = [m for m in range(p - 1, 3 * p) if simulate(gpipe(p, m)).bubble > 0.3 + 1e-9]
        assert max(idle) < 7 / 3 * (p - 1) <= max(idle) + 1


def test_e2_27_a_pipeline_needs_at_least_as_many_layers_as_ranks():
    """Eight layers on four ranks are two each. Four layers on eight ranks cannot be cut."""
    assert partition([LayerProfile(1.0, 2.0)] * 8, 4).sizes == [2, 2, 2, 2]
    with pytest.raises(ValueError, match="8 stages need at least 8 layers, got 4"):
        partition([LayerProfile(1.0, 2.0)] * 4, 8)
    with pytest.raises(ValueError, match="would have no layer"):
        cut(MLP((4, 4, 4)), [1, 1, 2, 3])

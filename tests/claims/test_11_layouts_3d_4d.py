"""Claims of the core page of chapter 11, each with runs that could refute it."""

from itertools import product
from math import prod

import numpy as np
import pytest
import torch
from torch import nn

from reference.data_parallel.average import average_gradients
from reference.mesh.mesh import Axes, Mesh
from reference.perf.accelerators import accelerator
from reference.pipeline.schedules.catalogue import make
from reference.pipeline.simulate import Costs, simulate
from reference.tensor_parallel.layers import ColumnParallelLinear, RowParallelLinear
from reference.tiers.tier import tier
from reference.worlds import launch
from reference.worlds.errors import Deadlock

WIDTH, STAGES, BATCH = 8, 2, 8
AXES = {"dp": 2, "pp": STAGES, "tp": 2}
torch.manual_seed(0)
BLOCKS = [nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH)) for _ in range(4)]


def trained(comm, sequences, micro):
    """Gradients of this rank's part: the training on three axes that the page builds, one loss a micro-batch."""
    mesh = Mesh(comm, Axes(AXES))
    dp, pp, tp = (mesh[axis] for axis in AXES)
    mine = BLOCKS[pp.rank * 2 : pp.rank * 2 + 2]
    stage = nn.Sequential(
        *(nn.Sequential(ColumnParallelLinear(tp, a), g, RowParallelLinear(tp, c)) for a, g, c in map(list, mine))
    )
    under_way = []
    for x in sequences[dp.rank :: dp.size].chunk(micro):
        if pp.rank:
            x = torch.empty_like(x)
            pp.Recv(x, pp.rank - 1)
            x.requires_grad_()
        y = stage(x)
        if pp.rank < pp.size - 1:
            pp.Send(y.detach(), pp.rank + 1)
        under_way.append((x, y))
    for x, y in under_way:
        if pp.rank < pp.size - 1:
            gradient = torch.empty_like(y)
            pp.Recv(gradient, pp.rank + 1)
            y.backward(gradient)
        else:
            y.square().sum().backward()
        if pp.rank:
            pp.Send(x.grad, pp.rank - 1)
    average_gradients(dp, stage.parameters(), len(sequences) // dp.size)
    return mesh.coordinates, [p.grad for p in stage.parameters()]


def run(tokens=1, micro=2):
    """A launch of it on sequences of so many tokens, and these."""
    sequences = torch.randn(BATCH, tokens, WIDTH, generator=torch.Generator().manual_seed(1))
    return launch(trained, prod(AXES.values()), sequences, micro), sequences


def test_the_toy_equals_the_serial_program_and_the_formulas():
    found, sequences = run(tokens=3)
    serial = nn.Sequential(*BLOCKS)
    serial.zero_grad()
    serial(sequences).square().sum().div(BATCH).backward()
    for at, gradients in found.results:
        block = BLOCKS[2 * at["pp"]]
        torch.testing.assert_close(gradients[0], block[0].weight.grad.chunk(2)[at["tp"]])
        torch.testing.assert_close(gradients[3], block[2].bias.grad)
    share, held = BATCH // 2 * 3 * WIDTH * 4, 4 * sum(g.numel() for g in found.results[0][1])
    assert set(found.bytes_by_group["dp"]) == {2 * (2 - 1) / 2 * held + 8}  # 8: the count of samples
    assert set(found.bytes_by_group["pp"]) == {share}
    tensor = [found.bytes_by_group["tp"][rank] for rank in range(8)]
    for rank, sent in enumerate(tensor):  # two blocks, an all-reduce each way; the very first input needs no gradient
        assert sent == (3 if rank in (0, 1, 4, 5) else 4) * share


def test_e0_20_a_data_parallel_group_joins_equal_places_of_different_copies():
    axes = Axes({"dp": 3, "pp": 2, "tp": 4})
    for group in axes.groups("dp"):
        places = [axes.coordinates(rank) for rank in group]
        assert len({(at["pp"], at["tp"]) for at in places}) == 1
        assert len({tuple(axes.ranks(rank, "pp", "tp")) for rank in group}) == 3  # from three copies of the model


def test_e0_22_what_a_pipeline_sends_grows_with_the_tokens():
    assert set(run(tokens=3)[0].bytes_by_group["pp"]) == {3 * n for n in set(run(tokens=1)[0].bytes_by_group["pp"])}


def test_e0_23_gradients_are_averaged_once_a_step_whatever_the_micro_batches():
    assert len({tuple(run(micro=micro)[0].bytes_by_group["dp"]) for micro in (1, 2, 4)}) == 1


def divisors(n):
    return [k for k in range(1, n + 1) if n % k == 0]


@pytest.mark.parametrize("psi", [1.3e9, 1.75e11, 1e12])
@pytest.mark.parametrize("batch", [16, 4096])
def test_e0_35_the_printed_total_takes_tensor_parallelism_over_all_ranks(psi, batch):
    def printed(d, t, p, s=2048, h=12288, L=96, m=8):
        return 2 * psi * (d - 1) / (t * p) + 2 * batch * s * h * L + 2 * batch * s * h * (p - 1) * m

    layouts = [(1024 // t // p, t, p) for t in divisors(1024) for p in divisors(1024 // t)]
    assert len(layouts) == 66
    least = min(printed(*one) for one in layouts)
    assert [one for one in layouts if printed(*one) == least] == [(d, 1024 // d, 1) for d in (1,)]


def test_e0_13b_and_e0_25_a_price_of_memory_is_right_for_one_limit_at_most():
    layouts = {"quick": (10.0, 81), "middle": (10.2, 79), "slow": (20.0, 20)}  # seconds, GB
    right = {
        limit: min((one for one in layouts if layouts[one][1] <= limit), key=lambda one: layouts[one][0])
        for limit in (85, 80, 40)
    }
    assert set(right.values()) == set(layouts)
    chosen = {
        min(layouts, key=lambda one: layouts[one][0] + price * layouts[one][1]) for price in np.geomspace(1e-4, 1e3, 99)
    }
    assert chosen == set(layouts)  # each price chooses one, whatever the limit


def test_e0_25_a_layout_that_is_right_for_a_limit_may_be_chosen_by_no_price():
    layouts = {"quick": (10.0, 81), "middle": (15.5, 50), "slow": (20.0, 20)}  # seconds, GB
    assert min((one for one in layouts if layouts[one][1] <= 60), key=lambda one: layouts[one][0]) == "middle"
    chosen = {
        min(layouts, key=lambda one: layouts[one][0] + price * layouts[one][1])
        for price in np.geomspace(1e-4, 1e3, 999)
    }
    assert chosen == {"quick", "slow"}


@pytest.mark.parametrize(("p", "m"), [(2, 4), (4, 8), (8, 64)])
def test_e1_09_the_slowest_stage_is_the_period_of_a_micro_batch(p, m):
    costs = Costs(F=1.0, I=1.0, W=1.0)
    assert simulate(make("1F1B", p, m, None), costs).makespan == pytest.approx((m + p - 1) * 3.0)


@pytest.mark.parametrize("slow", range(4))
def test_e1_09_with_unequal_stages_a_step_is_shorter_than_so_many_of_the_slowest(slow):
    seconds = [1.0 + (stage == slow) for stage in range(4)]
    step = simulate(make("1F1B", 4, 8, None), Costs(F=seconds, I=seconds, W=seconds)).makespan
    assert 8 * 6.0 < step < (8 + 4 - 1) * 6.0


@pytest.mark.parametrize(("p", "m"), [(2, 8), (4, 4), (4, 2), (8, 64), (8, 1)])
def test_the_first_stage_of_1f1b_keeps_at_most_p_micro_batches(p, m):
    order = make("1F1B", p, m, None).orders[0]
    alive = np.cumsum([{"F": 1, "B": -1}.get(action.kind, 0) for action in order])
    assert max(alive) == min(m, p)


def test_e1_47_what_the_200_trillion_parameters_are():
    layers, width, t, p, d = 120, 20480, 8, 16, 16
    shape = 12 * layers * width**2
    assert shape == pytest.approx(0.604e12, rel=1e-3)
    assert round(200e12 / shape) == 331
    assert 200e12 / (t * p) == 1.5625e12  # data parallelism copies
    assert 200e12 / (t * p * d) == pytest.approx(97.7e9, rel=1e-3)
    assert t * p * d * 80e9 < 2 * 200e12  # all memory, weights in 16 bits
    assert layers % p != 0


def nested(comm, tp_first):
    tp, dp = comm.Split(comm.rank // 2, comm.rank), comm.Split(comm.rank % 2, comm.rank)
    for group in (tp, dp) if comm.rank in tp_first else (dp, tp):
        group.Allreduce(np.ones(4), np.empty(4))


def test_only_an_order_that_closes_a_circle_deadlocks():
    stuck = set()
    for chosen in product((False, True), repeat=4):
        first = frozenset(rank for rank in range(4) if chosen[rank])
        try:
            launch(nested, 4, first)
        except Deadlock as error:
            assert "waiting" in str(error)
            stuck.add(first)
    assert stuck == {frozenset({0, 3}), frozenset({1, 2})}


def deadlocks(tp_first, shape):
    """Whether ranks of a mesh that enter these two groups in these orders wait for each other, by following them."""
    ranks = np.arange(shape[0] * shape[1]).reshape(shape)
    orders = [("tp", "dp") if first else ("dp", "tp") for first in tp_first]
    groups, done = [("tp", row) for row in ranks] + [("dp", column) for column in ranks.T], np.zeros(ranks.size, int)
    for _ in groups:  # each pass completes at least one group, or none can any more
        for axis, group in groups:
            if all(done[rank] < 2 and orders[rank][done[rank]] == axis for rank in group):
                done[group] += 1
    return done.min() < 2


@pytest.mark.parametrize(("shape", "count"), [((2, 2), 2), ((2, 3), 18), ((3, 3), 282), ((3, 4), 3030)])
def test_how_many_orders_deadlock(shape, count):
    orders = list(product((False, True), repeat=shape[0] * shape[1]))
    stuck = [order for order in orders if deadlocks(order, shape)]
    assert len(stuck) == count
    assert all(1 < sum(order) < len(order) - 1 for order in stuck)  # a single rank with another order closes no circle
    if shape == (2, 2):  # the runs above
        assert {frozenset(rank for rank in range(4) if order[rank]) for order in stuck} == {
            frozenset({0, 3}),
            frozenset({1, 2}),
        }


def test_e4_12_a_search_that_never_updates_its_best_returns_the_last_that_beats_the_first():
    costs = [9.0, 3.0, 7.0, 8.0, 12.0]

    def printed(costs, start=10.0):
        best, found = start, None
        for number, cost in enumerate(costs):
            if cost < best:
                found = number
        return found

    assert printed(costs) == 3 and min(range(5), key=costs.__getitem__) == 1


NODE, NET, FLOPS, LENGTH, VOCABULARY = 240e9, 20e9, 156e12, 2048, 51200  # the page's machine and sequences
GPT3 = (96, 12288)


def parameters(layers, width):
    return 12 * layers * width**2 + VOCABULARY * width


def sent(layers, width, batch, d, t, p):
    """Gigabytes that a rank sends in a step along each axis, 16 bits an element, without sequence parallelism."""
    data = 4 * (d - 1) / d * parameters(layers, width) / (t * p)
    tokens = batch / d * LENGTH * width
    return [each / 1e9 for each in (data, 16 * (t - 1) / t * tokens * layers / p, 4 * tokens * (p > 1))]


def terms(layers, width, batch, d, t, p):
    """Seconds of a step by term, as on the page: computing, tensor, bubble, pipeline, data."""
    m, s, h = batch // d, LENGTH, width
    compute = 3 * layers / p * s * (24 * h * h + 4 * s * h) / t / FLOPS
    tensor = 16 * (t - 1) / t * s * h * layers / p / (NODE if t <= 8 else NET)
    data, _, pipeline = (each * 1e9 / NET for each in sent(layers, width, batch, d, t, p))
    return [m * compute, m * tensor, (p - 1) * (compute + tensor), pipeline / t, data]


def held(layers, width, batch, d, t, p, embedding=False):
    """Gigabytes of the first stage, as on the page. embedding: all of it on this stage, as it is."""
    mine = 12 * layers * width**2 / p + VOCABULARY * width if embedding else parameters(layers, width) / p
    return (16 * mine / t + min(batch // d, p) * 34 * LENGTH * width * layers / p / t) / 1e9


def best_layout(layers, width, ranks, batch=1024, hidden=False, tensor=(1, 2, 4, 8), memory=80, embedding=False):
    """The quickest (d, t, p) that fits. hidden: without the seconds of the gradients."""
    found = []
    for t, p in product(tensor, divisors(layers)):
        d = ranks // (t * p)
        if d * t * p == ranks and batch % d == 0 and held(layers, width, batch, d, t, p, embedding) <= memory:
            found.append((sum(terms(layers, width, batch, d, t, p)[: 4 if hidden else 5]), (d, t, p)))
    return min(found)[1] if found else None


def test_what_each_technique_needs_alone():
    psi, tokens = parameters(*GPT3), 64 * LENGTH
    assert 6 * psi * tokens / 64 / FLOPS == pytest.approx(13.8, abs=0.05)
    assert (16 * psi / 1e9, 16 * psi / 64 / 1e9) == pytest.approx((2793, 43.64), rel=1e-3)
    data, _, _ = sent(*GPT3, 64, 64, 1, 1)
    _, tensor, _ = sent(*GPT3, 64, 1, 64, 1)
    _, _, pipeline = sent(*GPT3, 64, 1, 1, 64)
    assert (data, 1.5 * data, tensor, pipeline) == pytest.approx((687, 1031, 2435, 6.4), rel=0.01)
    assert 96 % 64 and 63 / (64 + 64 - 1) == 63 / 127


def test_which_of_pipeline_and_data_parallelism_sends_more_depends_on_the_batch():
    for batch, pipeline_sends_less in ((64, True), (1024, False)):
        data, _, pipeline = sent(*GPT3, batch, 2, 8, 4)
        assert (pipeline < data) == pipeline_sends_less


def test_seconds_and_bytes_of_the_layouts_of_the_page():
    layouts = [(1, 8, 8), (2, 8, 4), (8, 8, 1), (1, 64, 1), (1, 4, 16)]
    assert [sum(terms(*GPT3, 64, *one)) for one in layouts] == pytest.approx([16.9, 17.2, 19.0, 135.8, 18.1], abs=0.06)
    assert [held(*GPT3, 64, *one) for one in layouts] == pytest.approx([54, 98, 359, 45, 64], abs=0.5)
    assert {round(terms(*GPT3, 64, *one)[0], 6) for one in layouts} == {round(terms(*GPT3, 64, 1, 8, 8)[0], 6)}
    assert held(*GPT3, 64, 1, 8, 8, embedding=True) - held(*GPT3, 64, 1, 8, 8) == pytest.approx(1.1, abs=0.05)
    one, two = terms(*GPT3, 64, 1, 8, 8), terms(*GPT3, 64, 2, 8, 4)  # why a second copy does not pay
    assert (one[2] - two[2], two[4] - one[4]) == pytest.approx((0.2, 0.5), abs=0.05)


@pytest.mark.parametrize("memory", [60, 80, 120, 640, 1e9])
def test_the_plan_for_64_accelerators(memory):
    degrees = [t for t in divisors(64) if 96 % t == 0]
    assert best_layout(*GPT3, 64, batch=64, tensor=degrees, memory=memory) == (1, 8, 8)
    assert best_layout(*GPT3, 64, batch=64, tensor=degrees, memory=40) is None


SIZES = {"7B": (32, 4096), "40B": (48, 8192), "175B": GPT3, "1T": (128, 25600)}
EXPOSED = """7B 8x2x4 16x4x8 32x8x16
40B 4x2x8 8x8x8 32x8x16
175B 1x4x16 4x8x16 16x8x32
1T None 1x8x64 8x8x64"""
HIDDEN = """7B 32x2x1 256x2x1 1024x4x1
40B 4x2x8 32x4x4 256x8x2
175B 1x4x16 8x8x8 64x8x8
1T None 1x8x64 8x8x64"""


@pytest.mark.parametrize("embedding", [False, True])  # where it is makes no difference to these
@pytest.mark.parametrize(("hidden", "table"), [(False, EXPOSED), (True, HIDDEN)])
def test_e4_13_the_size_alone_does_not_decide(hidden, table, embedding):
    for name, *row in map(str.split, table.splitlines()):
        for ranks, layout in zip((64, 512, 4096), row, strict=True):
            found = best_layout(*SIZES[name], ranks, hidden=hidden, embedding=embedding)
            assert ("x".join(map(str, found)) if found else "None") == layout


def test_e4_13_the_batch_and_what_is_exposed_decide_about_copies():
    assert [best_layout(*GPT3, 512, batch=batch)[0] for batch in (256, 1024, 4096)] == [2, 4, 8]
    compute, *_, data = terms(*SIZES["7B"], 1024, 1024, 4, 1)
    assert (compute, data) == pytest.approx((0.14, 0.33), abs=0.005)


@pytest.mark.parametrize(("name", "parts"), [("7B", 2), ("40B", 16), ("175B", 64), ("1T", 512)])
def test_e4_13_memory_says_how_much_a_model_must_be_cut(name, parts):
    fits = [
        t * p for t, p in product((1, 2, 4, 8), divisors(SIZES[name][0])) if held(*SIZES[name], 1024, 1, t, p) <= 80
    ]
    assert min(n for n in fits if 4096 % n == 0) == parts


def test_a_norm_that_adds_all_ranks_counts_copies_and_biases_again():
    found, _ = run()
    squares = [[float(g.square().sum()) for g in gradients] for _, gradients in found.results]
    biases = sum(own[k] for (at, _), own in zip(found.results, squares) if not at["dp"] + at["tp"] for k in (3, 7))
    serial = nn.Sequential(*BLOCKS)
    serial.zero_grad()
    serial(run()[1]).square().sum().div(BATCH).backward()
    whole = float(nn.utils.get_total_norm([p.grad for p in serial.parameters()])) ** 2
    assert sum(map(sum, squares)) == pytest.approx(2 * (whole + biases), rel=1e-4)


def test_e4_15_an_accelerator_has_one_memory_and_lower_tiers_are_slower():
    a100 = accelerator("A100 SXM")
    assert (a100.memory, a100.bandwidth) == pytest.approx(
        (80e9, 2.039e12)
    )  # the HBM of the data sheet is all that there is
    host, files = tier("host, PCIe 4"), tier("NVMe, 4 of Gen 4")
    assert a100.bandwidth > host.read > files.read

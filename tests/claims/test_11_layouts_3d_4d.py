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


@pytest.mark.parametrize(("p", "m"), [(2, 4), (4, 8), (8, 64)])
def test_e1_09_the_slowest_stage_is_the_period_of_a_micro_batch(p, m):
    costs = Costs(F=1.0, I=1.0, W=1.0)
    assert simulate(make("1F1B", p, m, None), costs).makespan == pytest.approx((m + p - 1) * 3.0)


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


def test_e4_12_a_search_that_never_updates_its_best_returns_the_last_that_beats_the_first():
    costs = [9.0, 3.0, 7.0, 8.0, 12.0]

    def printed(costs, start=10.0):
        best, found = start, None
        for number, cost in enumerate(costs):
            if cost < best:
                found = number
        return found

    assert printed(costs) == 3 and min(range(5), key=costs.__getitem__) == 1


def best_layout(layers, width, ranks, batch=1024, memory=80e9):
    """The quickest (d, t, p) that fits, and its seconds: the page's model, for sequences of 2,048 tokens on A100s."""
    s, h, L, flops, node, net = 2048, width, layers, 156e12, 240e9, 20e9
    psi, found = 12 * L * h * h + 51200 * h, []
    for t in (1, 2, 4, 8):
        for p in divisors(ranks // t):
            d = ranks // (t * p)
            if L % p or batch % d:
                continue
            m = batch // d
            if 16 * psi / (t * p) + min(m, p) * 34 * s * h * L / p / t > memory:
                continue
            compute = 3 * L / p * s * (24 * h * h + 4 * s * h) / t / flops
            tensor = 16 * (t - 1) / t * s * h * L / p / node
            data = 4 * (d - 1) / d * psi / (t * p) / net
            sends = 4 * batch / d * s * h * (p > 1) / net
            found.append(((m + p - 1) * (compute + tensor) + data + sends, (d, t, p)))
    return min(found) if found else None


@pytest.mark.parametrize(("layers", "width"), [(32, 4096), (48, 8192), (96, 12288), (128, 25600)])
def test_e4_13_the_size_alone_does_not_decide(layers, width):
    d, t, p = best_layout(layers, width, 4096)[1]
    assert d >= t
    assert (d > p) == (width < 20480)  # with a trillion parameters, memory asks for more stages than copies


def test_e4_15_an_accelerator_has_one_memory_and_lower_tiers_are_slower():
    a100 = accelerator("A100 SXM")
    assert (a100.memory, a100.bandwidth) == pytest.approx((80e9, 2.039e12))  # the HBM of the data sheet is all that there is
    host, files = tier("host, PCIe 4"), tier("NVMe, 4 of Gen 4")
    assert a100.bandwidth > host.read > files.read

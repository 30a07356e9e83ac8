"""Claims of the pages of chapter 10, each with runs that could refute it."""

from functools import cache, partial

import pytest
import torch
from torch import nn

from reference import mpi
from reference.models import GPT, MLP, Config, Objective, batch, digits, loss_sum, text
from reference.networks import uniform
from reference.pages.stage_table import AGAINST, stage_table
from reference.perf.meter import Meter
from reference.perf.roofline import Device
from reference.worlds import launch
from reference.zero.criterion import Machine, Workload, best, plan
from reference.zero.observed import observe
from reference.zero.shards import by_rows, flat
from reference.zero.stage1 import Stage1
from reference.zero.stage2 import Stage2
from reference.zero.stage3 import Stage3

H100 = Machine(flops=400e12, memory=80e9, alpha=5e-6, beta=1 / 50e9)
NUMBERS = {"weights": 2, "gradients": 2, "optimizer": 12, "per_node": 8, "memory": 80.0}


# Sizing ---------------------------------------------------------------------------------------------------------------


def fitting(**numbers):
    return [row["what is cut"] for row in stage_table(**NUMBERS | numbers) if not row[AGAINST]]


def test_of_70b_on_64_ranks_stage_3_alone_fits_if_activations_are_computed_again():
    seventy = {"parameters": 70.0, "ranks": 64, "units": 80, "width": 8192, "tokens": 4096}
    assert fitting(**seventy, recompute=0) == []
    assert fitting(**seventy, recompute=1) == ["stage 3: and weights", "stage 3, all offloaded"]


@pytest.mark.parametrize("ranks", [64, 4096, 10**6])
def test_no_stage_cuts_activations(ranks):
    seven = {"parameters": 7.0, "units": 32, "width": 4096, "tokens": 100_000, "recompute": 0}
    assert fitting(**seven, ranks=ranks) == []


@pytest.mark.parametrize("stage", [1, 2, 3])
def test_zero_has_no_all_reduce_of_gradients(stage):
    """E2-04: the all-reduces of two steps more are two counts of samples, of 8 bytes; no point-to-point messages."""
    two, four = (launch(partial(observe, stage=stage, steps=steps), 3).calls[0] for steps in (2, 4))
    more = four - two
    names = {name.lower().removeprefix("i") for name in more if name.lower().startswith(("i", "all", "reduce"))}
    assert names == {"allgather", "reduce_scatter_block", "allreduce"}
    assert not [name for name in more if "send" in name.lower() or "recv" in name.lower()]
    assert sum(times for name, times in more.items() if "allreduce" in name.lower()) == 2


def test_the_decision_for_64_accelerators():
    seven = Workload(32, 7 * 10**9 // 32, 16 * 4096, 34 * 4096)
    one, three, few = (plan(seven, stage, 64, H100, K) for stage, K in ((1, 16), (3, 8), (3, 16)))
    assert one.seconds < 1.03 * three.seconds and few.seconds > 1.9 * one.seconds
    seventy = Workload(80, 70 * 10**9 // 80, 16 * 4096, 2 * 8192, 34 * 8192)
    again = H100._replace(flops=300e12)
    assert best(seventy, 64, again, 16).stage == 3
    assert best(seventy._replace(kept=34 * 8192, working=0), 64, H100, 16) is None


# The core page --------------------------------------------------------------------------------------------------------

NETWORK = Objective(MLP((64, 30, 10)), digits(), 64)


def trained(scale, rate=None):
    """The weights after 20 steps of Adam as on the page, or of SGD at a rate."""
    w, m, v = NETWORK.start(), torch.zeros(NETWORK.d), torch.zeros(NETWORK.d)
    for step in range(20):
        g, count = NETWORK.gradient(w, step)
        g = g / count * scale
        m.lerp_(g, 0.1)
        v.lerp_(g * g, 0.001)
        size = (v / (1 - 0.999 ** (step + 1))).sqrt() + 1e-8
        w -= rate * g if rate else 0.01 * m / (1 - 0.9 ** (step + 1)) / size
    return w


def test_adam_nearly_forgives_a_sum_that_is_not_divided_and_sgd_does_not():
    start = NETWORK.start()
    for rate, least, most in ((None, 0.015, 0.025), (0.1, 100, torch.inf)):
        right, wrong = trained(1, rate), trained(64, rate)
        assert least < (right - wrong).abs().max() / (right - start).abs().max() < most


@pytest.mark.parametrize("P", [2, 3, 4, 5])
def test_rows_waste_nothing_where_the_ranks_divide_them_and_flat_never_more(P):
    for shapes in ([(P, 3), (2 * P,)], [(5, 3), (3,)], [(7, 2), (4, 4), (1,)]):
        elements = sum(torch.Size(shape).numel() for shape in shapes)
        wastes = [P * cut(shapes, P).n - elements for cut in (flat, by_rows)]
        assert wastes[0] < P and wastes[0] <= wastes[1]
        assert wastes[1] == 0 or any(shape[0] % P for shape in shapes)


def test_a_limit_between_the_norms_of_shards_and_of_all_clips_nothing_by_local_norms():
    g, _ = NETWORK.gradient(NETWORK.start(), 0)
    g = g / 64
    assert max(shard.norm() for shard in g.chunk(4)) < 0.25 < g.norm()


def logged(comm, prefetch):
    """The second step of the page's GPT: what happened when, and the seconds of all."""
    model, log = GPT(Config(length=16, width=32, heads=4, layers=3)), []
    stage = Stage3(comm, model, torch.optim.SGD, prefetch=prefetch, log=log)
    with Meter(comm, Device(1e9, float("inf"))):
        for step in range(2):
            log.clear()
            start = mpi.wtime(comm)
            stage.backward(*loss_sum(model, batch(text(16), 16, step, 0, comm.rank, comm.size)))
            stage.step()
    return [(seconds - start, unit, what) for seconds, unit, what in log]


@cache
def log_of(prefetch):
    """What rank 0 has logged, on the page's network."""
    return launch(logged, 4, prefetch, network=uniform(1e-4, 2e-8)).results[0]


@pytest.mark.parametrize("prefetch, most_whole", [(0, 2), (1, 3), (2, 4)])
def test_how_many_of_the_four_are_whole_or_on_their_way(prefetch, most_whole):
    there, most = set(), 0
    for _, unit, what in log_of(prefetch):
        there = there | {unit} if what == "gather" else there - {unit} if what == "free" else there
        most = max(most, len(there))
    assert most == most_whole


def test_with_prefetch_four_messages_are_waited_for():
    """The gathers of the root and the first block, and their reduce-scatters: a gather alone takes 0.83 or 1.06 ms."""
    log = log_of(1)
    ends = [seconds for seconds, unit, what in log if what == "free" and unit.startswith("blocks")]
    begins = [seconds for seconds, unit, what in log if what == "whole" and unit.startswith("blocks")]
    waits = [begin - end for begin, end in zip(begins[1:], ends)]
    head = waits.pop(2)  # between the two passes the root computes, and the last block is gathered
    assert max(waits) < 1e-9 and begins[0] == pytest.approx((0.83 + 1.06) * 1e-3, rel=0.01)
    passes = [seconds for seconds, unit, what in log_of(0) if unit == "blocks.2" and what in ("free", "gather")]
    assert head == pytest.approx(passes[2] - passes[1], rel=1e-3)  # as long as the root alone computes
    assert log[-1][0] - ends[-1] == pytest.approx((0.83 + 1.06) * 1e-3, rel=0.01)


def losses(comm, Stage):
    """Of 40 steps of Adam."""
    model, found = MLP((64, 30, 10)), []
    stage = Stage(comm, model, partial(torch.optim.Adam, lr=0.01))
    for step in range(40):
        total, count = loss_sum(model, batch(digits(), 64, step, 0, comm.rank, comm.size))
        stage.backward(total, count)
        stage.step()
        found.append(total.item() / count)
    return torch.tensor(found)


class DividesTwice(Stage1):
    """An impostor: divides by the ranks, too."""

    def _divide(self, total):
        super()._divide(total * self.comm.size)


def test_with_adam_the_losses_do_not_show_who_divides_twice_and_do_show_who_never_frees(monkeypatch):
    right, twice = (launch(losses, 2, Stage).results[0] for Stage in (Stage3, DividesTwice))
    torch.testing.assert_close(twice, right, rtol=0.01, atol=0.005)
    monkeypatch.setattr(Stage3, "_free", lambda stage, unit: None)
    stale = launch(losses, 2, Stage3).results[0]
    assert right[-1] < 0.5 and stale[-5:].mean() > 0.9 * stale[:5].mean()


class Skips(nn.Module):
    """Three layers of one size, of which one may be left out."""

    def __init__(self, skip):
        super().__init__()
        torch.manual_seed(0)
        self.blocks, self.skip = nn.ModuleList(nn.Linear(4, 4) for _ in range(3)), skip

    def forward(self, x):
        for number, block in enumerate(self.blocks):
            x = x if number == self.skip else torch.tanh(block(x))
        return x


def test_ranks_that_skip_different_layers_of_one_size_mix_them_unnoticed():
    def program(comm):
        module, used = Skips(1 + comm.rank), []
        whole = [block.weight.detach().clone() for block in module.blocks]
        for block in module.blocks:
            block.register_forward_hook(lambda block, *_: used.append(block.weight.detach().clone()))
        stage = Stage3(comm, module, torch.optim.SGD, prefetch=0)
        stage.backward(module(torch.ones(2, 4)).sum(), 2)
        stage.step()
        return whole, used[1]

    for whole, used in launch(program, 2).results:
        assert torch.equal(used, torch.cat([whole[2][:2], whole[1][2:]]))


def test_a_weight_that_is_read_outside_of_its_layer_has_no_elements():
    def program(comm):
        module = Skips(None)
        Stage3(comm, module, torch.optim.SGD)
        module(torch.ones(2, 4))
        return module.blocks[0].weight.numel(), module.blocks[0].weight.square().sum().item()

    assert launch(program, 2).results == [(0, 0.0)] * 2


def peak_bytes(comm, Stage, **options):
    """The most weights and gradients that a rank held in two steps."""
    model = MLP((64,) * 7 + (10,))
    with Meter(module=model) as meter:
        stage = Stage(comm, model, torch.optim.SGD, hold=meter.hold, **options)
        for step in range(2):
            stage.backward(*loss_sum(model, batch(digits(), 64, step, 0, comm.rank, comm.size)))
            comm.Barrier()
            stage.step()
        return meter.peak["weights"] + meter.peak["gradients"]


def test_without_units_stage_3_peaks_above_stages_1_and_2():
    small = {"bucket_bytes": 17_000, "first_bucket_bytes": 17_000}
    one, two = (launch(partial(peak_bytes, Stage=Stage, **small), 4).results[0] for Stage in (Stage1, Stage2))
    root, units = (launch(partial(peak_bytes, Stage=Stage3, **how), 4).results[0] for how in ({"units": []}, {}))
    assert units < two < one < root

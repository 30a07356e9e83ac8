"""Stage 3: the serial program's weights; what is whole, and when; what is sent; impostors; what can go wrong."""

import gc
from functools import partial

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from reference.models import GPT, MLP, Data, loss_sum, share
from reference.perf.meter import Meter
from reference.recompute.policies import in_runs
from reference.worlds import launch
from reference.zero import clip
from reference.zero.shards import by_rows, flat
from reference.zero.stage3 import Moment, Stage3
from reference.zero.units import Unit

from .training import LITTLE, MODELS, OPTIMIZERS, STEPS, allowed, my_batch, serial_training, weights, whole_weights


def training(comm, model="mlp", optimizer="momentum", micro_batches=1, **options):
    """The program of every user, in STEPS steps."""
    module = MODELS[model][0]()
    stage = Stage3(comm, module, OPTIMIZERS[optimizer], **options)
    for step in range(STEPS):
        mine = my_batch(model, comm, step)
        for k in range(micro_batches):
            part = Data(*(share(each, k, micro_batches) for each in mine))
            stage.backward(*loss_sum(module, part), sync=k == micro_batches - 1)
        stage.step()
    return whole_weights(module, stage)


def agrees(run, model="mlp", optimizer="momentum"):
    far = (serial_training(model, optimizer) - weights(MODELS[model][0]().parameters())).abs().max()
    bound = allowed(model, optimizer, len(run.results))
    return all((found - serial_training(model, optimizer)).abs().max() < bound < 1e-7 * far for found in run.results)


# Equal to the serial program ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("P, cut", [(1, by_rows), (2, flat), (3, by_rows), (5, flat), (8, by_rows)])
def test_training_is_that_of_the_serial_program(P, cut):
    """At 8 ranks, by rows: layers of 13 and 10 rows leave a rank or three with none."""
    assert agrees(launch(partial(training, cut=cut), P))


@pytest.mark.parametrize("options", [{"reshard_after_forward": False}, {"prefetch": 0}, {"prefetch": 3}], ids=str)
def test_so_it_is_with_every_option(options):
    assert agrees(launch(partial(training, **options), 2))


@pytest.mark.parametrize("accumulate", ["shards", "whole"])
def test_so_it_is_with_micro_batches(accumulate):
    assert agrees(launch(partial(training, micro_batches=2, accumulate=accumulate, cut=flat), 2))


def test_so_it_is_for_a_gpt_with_a_tied_head():
    assert agrees(launch(partial(training, model="gpt", optimizer="adam"), 2), "gpt", "adam")


@pytest.mark.mpi
def test_so_it_is_on_real_ranks():
    assert agrees(launch(partial(training, micro_batches=2), 3, world="mpi"))


def clipped(comm, limit):
    module = MLP((64, 16, 10), seed=0).double()
    stage = Stage3(comm, module, partial(torch.optim.SGD, lr=0.1))
    norms = []
    for step in range(3):
        stage.backward(*loss_sum(module, my_batch("mlp", comm, step)))
        norms.append(stage.step(clip=limit))
    return norms, whole_weights(module, stage)


def serial_clipped(limit):
    module = MLP((64, 16, 10), seed=0).double()
    optimizer, norms = torch.optim.SGD(module.parameters(), lr=0.1), []
    for step in range(3):
        total, count = loss_sum(module, my_batch("mlp", mpi_of_one(), step))
        optimizer.zero_grad()
        (total / count).backward()
        norms.append(nn.utils.clip_grad_norm_(module.parameters(), limit).item())
        optimizer.step()
    return norms, weights(module.parameters())


def mpi_of_one():
    class One:
        rank, size = 0, 1

    return One()


def test_clipping_is_by_the_norm_of_all_shards():
    expected, end = serial_clipped(0.5)
    assert min(expected) > 0.5  # or nothing would be clipped
    for norms, found in launch(clipped, 3, 0.5).results:
        assert norms == pytest.approx(expected, rel=1e-12) and torch.allclose(found, end, rtol=0, atol=1e-12)


class Scaled(nn.Module):
    """x times a vector of ones, of 16 bits."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(5, dtype=torch.bfloat16))

    def forward(self, x):
        return x * self.weight


def test_weights_of_16_bits_have_a_master_copy():
    """What the model computes with is the rounded master, in which small updates add up: 1 - 0.001 is 1 in bfloat16."""

    def program(comm, cut):
        module = nn.Sequential(Scaled())
        stage = Stage3(comm, module, partial(torch.optim.SGD, lr=1e-3), cut=cut)
        for _ in range(4):
            stage.backward(module(torch.ones(5, dtype=torch.bfloat16)).sum(), 1)
            stage.step()
        (group,) = stage.groups
        return group.master[: len(group.pieces[0])], whole_weights(module, stage)

    for cut in (flat, by_rows):
        for master, whole in launch(program, 2, cut).results:
            assert master.dtype == torch.float32 and torch.allclose(master, torch.tensor(0.996))
            assert whole.dtype == torch.bfloat16 and (whole == torch.tensor(0.996).bfloat16()).all()


def test_dropout_draws_as_on_one_device():
    """Every rank has its own masks, those that it would have without sharding."""

    def program(comm, sharded):
        module = GPT(LITTLE._replace(dropout=0.3, layers=2)).double()
        stage = Stage3(comm, module, torch.optim.SGD) if sharded else None
        torch.manual_seed(comm.rank)
        total, _ = loss_sum(module, my_batch("gpt", comm, 0))
        if stage:
            stage.backward(total, 1)
        return total.item()

    assert launch(program, 2, True).results == pytest.approx(launch(program, 2, False).results, rel=1e-12)


# Models that are not a row of blocks ----------------------------------------------------------------------------------


class Blocks(nn.Module):
    """Four blocks between two layers of the root."""

    def __init__(self):
        super().__init__()
        draw = torch.Generator().manual_seed(0)
        self.first, self.last = nn.Linear(3, 4), nn.Linear(4, 2)
        self.blocks = nn.ModuleList(nn.Sequential(nn.LayerNorm(4), nn.Linear(4, 4), nn.Tanh()) for _ in range(4))
        self.double()
        for p in self.parameters():
            p.data = torch.randn(p.shape, generator=draw, dtype=torch.float64)

    def forward(self, x):
        return self.last(self.body(self.first(x)))

    def body(self, x):
        for block in self.blocks:
            x = x + block(x)
        return x


class Checkpointed(Blocks):
    """Each block is run again in the backward pass, the last two together."""

    def body(self, x):
        a, b, c, d = self.blocks
        x = checkpoint(b, checkpoint(a, x, use_reentrant=False) + x, use_reentrant=False)
        return checkpoint(lambda x: d(c(x) + x), x, use_reentrant=False)


class Pairs(Blocks):
    """Two blocks at a time keep the input of the first, and are run again together."""

    def body(self, x):
        return in_runs([lambda x, block=block: x + block(x) for block in self.blocks], 2)(x)


class PairsByTorch(Blocks):
    """The same by torch's checkpoint that keeps no graph."""

    def body(self, x):
        a, b, c, d = self.blocks
        for one, two in ((a, b), (c, d)):
            x = checkpoint(lambda x, one=one, two=two: (y := x + one(x)) + two(y), x, use_reentrant=True)
        return x


class TwiceInPairs(Blocks):
    """Blocks that are run again together are used outside, too, before and after."""

    def body(self, x):
        a, b, c, _ = self.blocks
        return c(in_runs([a, b, c, a], 2)(x + a(x)))


class Twice(Blocks):
    """A block is used twice, one is never."""

    def body(self, x):
        a, b, c, _ = self.blocks
        return a(c(b(a(x)) + x))


class NoInputGradient(Blocks):
    """A block sees what needs no gradient; and one has an input of two uses."""

    def forward(self, x):
        a, b, c, d = self.blocks
        x = torch.cat([x, x[:, :1]], 1)
        y = a(x) + c(x)
        return self.last(d(b(y) + y))


class Frozen(Blocks):
    """Frozen: the root's first layer, a block in the middle, and a part of another."""

    def __init__(self):
        super().__init__()
        for frozen in (self.first, self.blocks[1], self.blocks[2][1].weight):
            frozen.requires_grad_(False)


class Tied(Blocks):
    """Two blocks share a weight, and one uses its own twice."""

    def __init__(self):
        super().__init__()
        self.blocks[2][1].weight = self.blocks[0][1].weight
        self.blocks[3].append(self.blocks[3][1])


def inputs(step):
    return torch.randn(6, 3, generator=torch.Generator().manual_seed(step)).double()


def two_micro_batches(comm, make, options):
    module = make()
    stage = Stage3(comm, module, partial(torch.optim.SGD, lr=0.1, momentum=0.9), **options)
    for step in range(3):
        mine = inputs(step)[comm.rank :: comm.size]
        for k in (0, 1):
            stage.backward(module(mine[k::2]).square().sum(), len(mine[k::2]), sync=k == 1)
        with torch.no_grad():
            module(mine)  # an evaluation, between backward pass and step
        assert not any(p.numel() for p in module.parameters())
        stage.step()
    return whole_weights(module, stage)


def serial_steps(make):
    module = make()
    trained = [p for p in module.parameters() if p.requires_grad]
    optimizer = torch.optim.SGD(trained, lr=0.1, momentum=0.9)
    for step in range(3):
        optimizer.zero_grad()
        (module(inputs(step)).square().sum() / 6).backward()
        optimizer.step()
    return weights(module.parameters())


AGAIN = [Checkpointed, Pairs, PairsByTorch, TwiceInPairs]


@pytest.mark.parametrize("make", [*AGAIN, Twice, NoInputGradient, Frozen, Tied])
def test_models_that_are_not_a_row_of_blocks(make):
    expected = serial_steps(make)
    for options in ({"accumulate": "whole"}, {"reshard_after_forward": False}, {"prefetch": 2}):
        for found in launch(two_micro_batches, 2, make, options).results:
            torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("world", ["virtual", pytest.param("mpi", marks=pytest.mark.mpi)])
def test_a_rank_without_data_takes_part(world):
    def program(comm):
        module = Blocks()
        stage = Stage3(comm, module, partial(torch.optim.SGD, lr=0.1, momentum=0.9))
        for step in range(3):
            mine = inputs(step)[comm.rank :: 2]
            if comm.rank == 2:
                stage.backward(torch.zeros(()), 0)
            else:
                stage.backward(module(mine).square().sum(), len(mine))
            stage.step()
        return whole_weights(module, stage)

    for found in launch(program, 3, world=world).results:
        torch.testing.assert_close(found, serial_steps(Blocks), rtol=1e-12, atol=1e-13)


# What is whole, and when ----------------------------------------------------------------------------------------------


def logged(comm, prefetch, reshard=True, steps=2, make=Blocks):
    module, log = make(), []
    stage = Stage3(comm, module, torch.optim.SGD, prefetch=prefetch, reshard_after_forward=reshard, log=log)
    for step in range(steps):
        log.clear()
        stage.backward(module(inputs(step)).square().sum(), 6)
        stage.step()
    return [f"{what} {unit.removeprefix('blocks.')}" for _, unit, what in log]


def test_each_unit_is_gathered_twice_and_freed_twice_in_this_order():
    log = launch(logged, 2, 0).results[1]
    around = [f"{what} {k}" for k in range(4) for what in ("gather", "whole", "free")]
    back = [f"{what} {k}" for k in (3, 2, 1, 0) for what in ("gather", "whole", "free", "reduce")]
    assert [m for m in log if "reduced" not in m] == [
        *["gather root", "whole root", *around, *back, "free root", "reduce root"]
    ]


@pytest.mark.parametrize("make", [Pairs, PairsByTorch])
def test_units_that_are_computed_again_together_are_gathered_twice_and_leave_in_turn(make):
    log = launch(partial(logged, make=make), 2, 0).results[1]
    back = [m for m in log[log.index("free 3") + 1 :] if m.split()[0] in ("whole", "free", "reduce")]
    assert back == [
        *["whole 2", "whole 3", "free 3", "reduce 3", "free 2", "reduce 2"],
        *["whole 0", "whole 1", "free 1", "reduce 1", "free 0", "reduce 0", "free root", "reduce root"],
    ]
    assert sum("gather" in m for m in log) == 1 + 2 * 4 and most_there(log) == 2


def test_and_the_next_of_them_is_on_its_way_while_one_is_computed_again():
    def program(comm):
        module, log = Pairs(), []
        stage = Stage3(comm, module, torch.optim.SGD, log=log)
        for name, block in module.blocks.named_children():
            block.register_forward_hook(lambda *_, name=name: log.append(Moment(0, name, "computed")))
        stage.backward(module(inputs(0)).square().sum(), 6)
        log = [f"{what} {unit[-1]}" for _, unit, what in log if unit[-1] in "01" and "reduce" not in what]
        return log[log.index("computed 1") + 1 :]  # of the backward pass

    assert launch(program, 2).results[0] == [
        *["gather 0", "whole 0", "gather 1", "computed 0", "whole 1", "computed 1", "free 1", "free 0"]
    ]


def test_with_prefetch_the_next_is_on_its_way_while_one_computes():
    log = launch(logged, 2, 1).results[0]
    for k in (0, 1, 2):
        assert log.index(f"gather {k + 1}") < log.index(f"free {k}") < log.index(f"whole {k + 1}")
    back = log[log.index("free 3") + 1 :]
    for k in (3, 2, 1):
        assert back.index(f"gather {k - 1}") < back.index(f"free {k}") < back.index(f"whole {k - 1}")


def most_there(log):
    """The most units, without the root, that were whole or on their way at a time."""
    there, most = set(), 0
    for what, unit in map(str.split, log):
        if what in ("gather", "free") and unit != "root":
            there = there | {unit} if what == "gather" else there - {unit}
            most = max(most, len(there))
    return most


@pytest.mark.parametrize("prefetch", [0, 1, 2, 5])
def test_no_more_units_are_there_than_the_limit_allows(prefetch):
    assert most_there(launch(logged, 2, prefetch).results[0]) == min(prefetch + 1, 4)
    assert most_there(launch(logged, 2, prefetch, False).results[0]) == 4


def test_one_reduction_is_under_way_at_a_time():
    log = [m for m in launch(logged, 3, 2).results[0] if "reduce" in m]
    assert [m.split()[0] for m in log] == ["reduce", "reduced"] * 5


def test_a_unit_that_is_used_twice_is_gathered_for_each_use_and_reduced_once():
    def program(comm):
        module, log = Twice(), []
        stage = Stage3(comm, module, torch.optim.SGD, log=log)
        stage.backward(module(inputs(0)).sum(), 6)
        return [sorted(unit for _, unit, what in log if what == each) for each in ("gather", "reduce")]

    gathered, reduced = launch(program, 2).results[0]
    assert gathered.count("blocks.0") == 4 and gathered.count("blocks.1") == 2
    assert reduced == ["blocks.0", "blocks.1", "blocks.2", "root"]


def settled(comm, meter):
    """What is live when requests are complete on all ranks, and their buffers gone."""
    comm.Barrier()
    gc.collect(1)
    return meter.live


def metered(comm, reshard=True):
    """Bytes between steps and at the peak of the second step."""
    module = nn.Sequential(*[nn.Linear(64, 64, bias=False) for _ in range(6)])
    x = torch.ones(1, 64)
    with Meter() as meter:
        meter.hold("weights", *module.parameters())
        stage = Stage3(comm, module, torch.optim.Adam, cut=flat, reshard_after_forward=reshard, hold=meter.hold)
        for _ in range(2):
            between = settled(comm, meter)
            meter.memory.peak = dict(meter.live)
            stage.backward(module(x).sum(), 1)
            gradients = settled(comm, meter)["gradients"]
            stage.step()
            for state in stage.optimizer.state.values():
                meter.hold("optimizer", *state.values())
    return between, gradients, meter.peak["weights"]


LAYER = 64 * 64 * 4


@pytest.mark.parametrize("P", [1, 2])
def test_a_rank_holds_its_shard_and_at_the_peak_two_units(P):
    between, gradients, peak = launch(metered, P).results[0]
    assert between["weights"] == 6 * LAYER // P
    assert between["optimizer"] == 2 * 6 * LAYER // P + 6 * 4  # Adam counts steps of each parameter
    assert between["gradients"] == 0 and gradients == 6 * LAYER // P
    assert peak == 6 * LAYER // P + 2 * LAYER


def test_without_resharding_the_peak_is_all_of_them():
    assert launch(metered, 2, False).results[0][2] == 6 * LAYER // 2 + 6 * LAYER


# What is sent ---------------------------------------------------------------------------------------------------------


def sends(comm, steps, micro_batches=1, **options):
    module = MLP((64, 16, 13, 10), seed=0)
    stage = Stage3(comm, module, torch.optim.SGD, **options)
    for _ in range(steps):
        for k in range(micro_batches):
            stage.backward(*loss_sum(module, Data(torch.ones(2, 64), torch.ones(2).long())), k == micro_batches - 1)
        stage.step()
    return sum(group.n for group in stage.groups)


def bytes_of_a_step(P, **how):
    one, two = (launch(partial(sends, steps=steps, **how), P) for steps in (1, 2))
    n = two.results[0]
    return [(b - a) / (4 * n * (P - 1)) for a, b in zip(one.bytes_sent, two.bytes_sent)]


@pytest.mark.parametrize("P, cut", [(2, flat), (3, by_rows), (5, flat)])
def test_a_step_sends_three_times_the_shards_of_the_others(P, cut):
    """In units of (P - 1) n elements; and the count, in 8 bytes: a rank is a leaf or a node of a tree."""
    for options, times in [({}, 3), ({"reshard_after_forward": False}, 2)]:
        found = bytes_of_a_step(P, cut=cut, **options)
        assert all(times <= each < times + 0.05 for each in found)


def test_micro_batches_gather_again_and_reduce_only_if_told():
    assert [round(x, 1) for x in bytes_of_a_step(2, micro_batches=3)] == [9.0, 9.0]
    assert [round(x, 1) for x in bytes_of_a_step(2, micro_batches=3, accumulate="whole")] == [7.0, 7.0]


def test_what_a_rank_holds_between_micro_batches():
    """Its shard of the gradients; or all of them."""

    def program(comm, accumulate):
        module = Blocks()
        stage = Stage3(comm, module, torch.optim.SGD, accumulate=accumulate)
        stage.backward(module(inputs(0)).sum(), 6, sync=False)
        return sum(p.grad.numel() for p in module.parameters() if p.grad is not None), stage.groups[0].gradient is None

    psi = sum(p.numel() for p in Blocks().parameters())
    assert launch(program, 2, "whole").results == [(psi, True)] * 2
    assert launch(program, 2, "shards").results == [(0, False)] * 2


# Impostors: each must fail one of the tests above --------------------------------------------------------------------


def test_one_that_shards_nothing_holds_too_much():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Unit, "free", lambda self: None)
        between, _, peak = launch(metered, 2).results[0]
        assert between["weights"] > 6 * LAYER and peak > 6 * LAYER // 2 + 2 * LAYER


def test_one_that_gathers_once_and_never_frees_sends_too_little():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Stage3, "_free", lambda self, unit: None)
        assert max(bytes_of_a_step(2)) < 1.5
        assert not agrees(launch(training, 2))  # and computes with the first step's weights for ever


def test_one_that_averages_twice_learns_too_slowly():
    def twice(stage, found, once=Stage3._divide):
        once(stage, found)
        once(stage, stage.comm.size)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Stage3, "_divide", twice)
        assert not agrees(launch(training, 2))


def test_one_that_clips_by_the_local_norm_goes_elsewhere():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clip, "global_norm", lambda comm, shards: torch.cat(shards).norm().item())
        _, end = serial_clipped(0.5)
        found = launch(clipped, 3, 0.5).results[0]
        assert not torch.allclose(found[1], end, rtol=0, atol=1e-6)


# What can go wrong ----------------------------------------------------------------------------------------------------


def test_arguments_that_cannot_be():
    def program(comm):
        with pytest.raises(ValueError, match="a stage trains parameters, and prefetches 0 units or more: got 0, 1"):
            Stage3(comm, Blocks().requires_grad_(False), torch.optim.SGD)
        with pytest.raises(ValueError, match="got 20, -1"):
            Stage3(comm, Blocks(), torch.optim.SGD, prefetch=-1)
        with pytest.raises(ValueError, match="accumulate is 'shards' or 'whole', got 'sums'"):
            Stage3(comm, Blocks(), torch.optim.SGD, accumulate="sums")
        with pytest.raises(ValueError, match="the arguments of Stage3 must be alike on all ranks"):
            Stage3(comm, Blocks(), torch.optim.SGD, prefetch=comm.rank)

    launch(program, 2)


@pytest.mark.parametrize("change", ["in place", "new memory"])
def test_a_parameter_that_was_changed_by_somebody_else_is_an_error(change):
    def program(comm):
        module = Blocks()
        stage = Stage3(comm, module, torch.optim.SGD)
        weight = module.blocks[1][1].weight
        if change == "in place":
            with torch.no_grad():
                weight.zero_()  # which changes nothing: it has no elements now
        else:
            weight.data = torch.zeros(4, 4).double()
        with pytest.raises(
            RuntimeError, match=r"a parameter of unit 'blocks\.1' was changed, and would be overwritten"
        ):
            stage.backward(module(inputs(0)).sum(), 6)

    launch(program, 2)


@pytest.mark.parametrize("world", ["virtual", pytest.param("mpi", marks=pytest.mark.mpi)])
def test_after_an_error_in_the_middle_of_a_pass_on_all_ranks_training_goes_on(world):
    class Sometimes(Blocks):
        fails = ""

        def body(self, x):
            if self.fails == "forward":
                self.blocks[0](x)
                raise KeyError("forward")
            x = super().body(x)
            if self.fails == "backward":
                x.register_hook(lambda _: [].pop())
            return x

    def program(comm):
        module = Sometimes()
        stage = Stage3(comm, module, partial(torch.optim.SGD, lr=0.1, momentum=0.9))
        for step in range(3):
            for module.fails in ("forward", "backward"):
                with pytest.raises((KeyError, IndexError)):
                    stage.backward(module(inputs(step)).sum(), 6)
            module.fails = ""
            stage.backward(module(inputs(step)[comm.rank :: comm.size]).square().sum(), 3)
            stage.step()
        return whole_weights(module, stage)

    for found in launch(program, 2, world=world).results:
        torch.testing.assert_close(found, serial_steps(Blocks), rtol=1e-12, atol=1e-13)


def test_a_rank_that_dies_in_a_gather_is_an_error_and_not_a_hang():
    def program(comm):
        module = Blocks()
        stage = Stage3(comm, module, torch.optim.SGD)
        if comm.rank == 1:
            module.blocks[1].register_forward_pre_hook(lambda *_: 1 / 0, prepend=True)
        stage.backward(module(inputs(0)).sum(), 6)

    with pytest.raises(Exception, match="division by zero"):
        launch(program, 3)


def test_ranks_that_run_units_of_other_sizes_are_told_so():
    """Of one size they would not be: see Price."""

    def program(comm):
        module = Blocks()
        Stage3(comm, module, torch.optim.SGD, [*module.blocks, module.last])
        part = module.last if comm.rank else module.blocks[0]
        part(torch.zeros(1, 4).double())

    with pytest.raises(Exception, match=r"calls Iallgather\(count=.* but rank . called Iallgather"):
        launch(program, 2)


def test_a_step_needs_a_gradient():
    def program(comm):
        module = Blocks()
        stage = Stage3(comm, module, torch.optim.SGD)
        with pytest.raises(RuntimeError, match="needs the gradients of a backward pass with sync=True"):
            stage.step()
        stage.backward(module(inputs(0)).sum(), 6, sync=False)
        with pytest.raises(RuntimeError, match="needs the gradients of a backward pass with sync=True"):
            stage.step()

    launch(program, 2)


def test_the_hooks_can_be_taken_off_and_a_moment_says_when():
    def program(comm):
        module, log = Blocks(), []
        stage = Stage3(comm, module, torch.optim.SGD, log=log)
        stage.remove()
        stage.root.start_gather(False)
        stage.root.wait()
        module.first(inputs(0))
        return log

    assert launch(program, 1).results == [[]]
    assert Moment(1.0, "root", "free").seconds == 1.0

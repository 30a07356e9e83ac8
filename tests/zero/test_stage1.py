"""Stages 1 and 2: the serial program's weights; what is held and sent; impostors; what can go wrong."""

import gc
from functools import partial

import pytest
import torch
from torch import nn

from reference.collectives.tree import binomial_allreduce_volume
from reference.data_parallel import replicate
from reference.data_parallel.accumulation import accumulate
from reference.data_parallel.replica import Replica
from reference.models import MLP, Data, batch, digits, loss_sum, share
from reference.perf.meter import Meter
from reference.worlds import RankFailed, launch
from reference.zero.shards import by_rows, flat
from reference.zero.stage1 import Stage1
from reference.zero.stage2 import Stage2

from .training import MODELS, OPTIMIZERS, STEPS, allowed, my_batch, serial_training, weights

STAGES = [Stage1, Stage2]
SMALL = {"bucket_bytes": 1500, "first_bucket_bytes": 500}  # float64: three buckets of the MLP, and more of the GPT


def training(comm, Stage, model="mlp", optimizer="momentum", K=1, mine=my_batch, **options):
    """The program of every user, in STEPS steps of K micro-batches."""
    module = MODELS[model][0]()
    stage = Stage(comm, module, OPTIMIZERS[optimizer], **SMALL | options)
    for step in range(STEPS):
        accumulate(stage, loss_sum, mine(model, comm, step), K)
        stage.step()
    replicate.check_replicas(comm, module)
    return weights(module.parameters())


def agrees(run, model="mlp", optimizer="momentum"):
    expected, start = serial_training(model, optimizer), weights(MODELS[model][0]().parameters())
    bound = allowed(model, optimizer, len(run.results))
    assert bound < 1e-7 * (expected - start).abs().max()
    return all((found - expected).abs().max() < bound for found in run.results)


# Equal to the serial program ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "Stage, cut, P",
    [(Stage1, flat, P) for P in (1, 3, 8)]
    + [(Stage1, by_rows, P) for P in (2, 5)]
    + [(Stage2, flat, P) for P in (2, 5)]
    + [(Stage2, by_rows, P) for P in (1, 3, 8)],
)
def test_training_is_that_of_the_serial_program(Stage, cut, P):
    """By rows some ranks have none of a layer of 10 or 13 rows; batches of 3 samples leave ranks without data."""
    assert agrees(launch(partial(training, Stage=Stage, cut=cut), P))


@pytest.mark.parametrize(
    "Stage, options", [(Stage1, {}), (Stage2, {}), (Stage2, {"accumulate": "whole"}), (Stage2, {"waiting": 0})]
)
def test_so_it_is_with_micro_batches(Stage, options):
    assert agrees(launch(partial(training, Stage=Stage, K=3, **options), 3))


def test_so_it_is_for_a_gpt_with_a_tied_head_and_adam():
    assert agrees(launch(partial(training, Stage=Stage2, model="gpt", optimizer="adam"), 3), "gpt", "adam")


@pytest.mark.mpi
@pytest.mark.parametrize("Stage", STAGES)
def test_so_it_is_on_real_ranks(Stage):
    assert agrees(launch(partial(training, Stage=Stage, K=2), 3, world="mpi"))


class Mixed(nn.Module):
    """Tied, frozen, used by some ranks, by none, without elements, a single number; of two types."""

    def __init__(self):
        super().__init__()
        self.tied = nn.Parameter(torch.full((3,), 2.0))
        self.again = self.tied
        self.frozen = nn.Parameter(torch.full((3,), 5.0), requires_grad=False)
        self.wide = nn.Parameter(torch.full((3,), 2.0, dtype=torch.float64))
        self.sometimes, self.never = nn.Parameter(torch.ones(3)), nn.Parameter(torch.ones(2))
        self.empty, self.number = nn.Parameter(torch.ones(0, 3)), nn.Parameter(torch.tensor(1.0))

    def forward(self, x, sometimes):
        y = x * self.tied * self.again * self.frozen + self.wide.float() * x + self.empty.sum() + self.number
        return (y + self.sometimes * x if sometimes else y).sum()


@pytest.mark.parametrize("cut", [flat, by_rows])
@pytest.mark.parametrize("Stage", STAGES)
def test_parameters_of_all_kinds(Stage, cut):
    """Two steps of 0.1 on two ranks; the mean over two samples, of which one uses `sometimes`. More ranks than rows."""

    def program(comm):
        module = Mixed()
        stage = Stage(comm, module, partial(torch.optim.SGD, lr=0.01), cut, 20, 20)
        for _ in range(2):
            assert stage.backward(module(torch.ones(3), comm.rank == 1), 1) == comm.size
            stage.step()
        return {name: value.flatten().tolist() for name, value in module.named_parameters()}

    for P in (2, 8):
        expected = {
            "tied": 2 * 0.9**2,
            "frozen": 5,
            "wide": 1.98,
            "sometimes": 1 - 0.02 / P,
            "never": 1,
            "number": 0.94,
        }
        for found in launch(program, P).results:
            assert found.pop("empty") == []
            for name, value in expected.items():
                assert found[name] == pytest.approx([value] * len(found[name]), rel=1e-6)


def mixed_precision(comm, Stage, cut):
    module = MLP((64, 16, 13, 10)).bfloat16()
    stage = Stage(comm, module, OPTIMIZERS["momentum"], cut, **SMALL)
    for step in range(5):
        mine = my_batch("mlp", comm, step)
        stage.backward(*loss_sum(module, Data(mine.x.bfloat16(), mine.y)))
        stage.step()
    return weights(module.parameters())


def serial_mixed_precision(P):
    """Gradients of 16 bits of each share, added in float32, and a step of the float32 weights."""

    class Rank:
        size = P

    module = MLP((64, 16, 13, 10)).bfloat16()
    master = [(name, nn.Parameter(p.detach().float())) for name, p in module.named_parameters()]
    optimizer = OPTIMIZERS["momentum"](master)
    for step in range(5):
        shares = [my_batch("mlp", type("Rank", (), {"rank": rank, "size": P}), step) for rank in range(P)]
        optimizer.zero_grad()
        for mine in shares:
            module.zero_grad()
            loss_sum(module, Data(mine.x.bfloat16(), mine.y))[0].backward()
            for p, (_, wide) in zip(module.parameters(), master):
                wide.grad = p.grad.float() + (0 if wide.grad is None else wide.grad)
        for _, wide in master:
            wide.grad /= sum(len(mine.y) for mine in shares)
        optimizer.step()
        for p, (_, wide) in zip(module.parameters(), master):
            p.data.copy_(wide)
    return weights(module.parameters())


@pytest.mark.parametrize("Stage, cut", [(Stage1, flat), (Stage2, by_rows)])
def test_weights_of_16_bits_are_those_of_a_serial_program_with_a_master_copy(Stage, cut):
    """Bit by bit with two ranks, whose sums are the same in either order."""
    expected = serial_mixed_precision(2)
    assert all(torch.equal(found, expected) for found in launch(mixed_precision, 2, Stage, cut).results)
    assert not torch.equal(expected, weights(MLP((64, 16, 13, 10)).bfloat16().parameters()))


# What is held, and sent -----------------------------------------------------------------------------------------------


BUCKETS = {"bucket_bytes": 800, "first_bucket_bytes": 200}  # float32: five buckets of the MLP


def held(comm, Stage, **options):
    """Live bytes between steps and the peak of each kind, float32 and Adam; and the groups' n."""
    module = MLP((64, 16, 13, 10))
    meter = Meter(module=module)
    stage = Stage(comm, module, torch.optim.Adam, hold=meter.hold, **BUCKETS | options)
    meter.optimizer = stage.optimizer
    with meter:
        for _ in range(2):
            stage.backward(*loss_sum(module, Data(*(part[:2] for part in digits()))))
            stage.step()
    comm.Barrier()
    gc.collect()  # requests are complete on all ranks, and their buffers gone
    own = sum(piece.numel() for group in stage.groups for piece in group.pieces)
    return meter.live, meter.peak, [group.n for group in stage.groups], own


def state(own):
    """Bytes of Adam's state of a shard: two float32 an element, and a number of 4 bytes for each of 6 parameters."""
    return 8 * own + 6 * 4


def whole_gradients_and_a_shard_of_the_state(P, live, peak, n, own):
    """What stage 1 is for."""
    assert live["weights"] == peak["weights"] == live["gradients"] == peak["gradients"] == 4 * P * sum(n)
    assert live["optimizer"] == state(own)


def shards_and_a_bucket(P, live, peak, n, own):
    """What stage 2 is for: whole gradients of a bucket, packed, while those before it are shards already."""
    assert live["weights"] == peak["weights"] == 4 * P * sum(n)
    most = max(4 * (sum(n[: i + 1]) + 2 * P * n[i]) for i in range(len(n)))
    assert live["gradients"] == 0 and peak["gradients"] == pytest.approx(most, rel=0.02)
    assert live["optimizer"] == state(own)


@pytest.mark.parametrize("P", [1, 3])
def test_each_rank_holds_its_part(P):
    for live, peak, n, own in launch(held, P, Stage1).results:
        assert len(n) == 5
        whole_gradients_and_a_shard_of_the_state(P, live, peak, n, own)
    for live, peak, n, own in launch(partial(held, Stage=Stage2, waiting=0), P).results:
        shards_and_a_bucket(P, live, peak, n, own)


def test_by_rows_a_rank_has_a_copy_of_its_shard():
    everything = {"bucket_bytes": 1e9, "first_bucket_bytes": 1e9}
    for live, peak, n, own in launch(partial(held, Stage=Stage1, cut=by_rows, **everything), 2).results:
        assert live["weights"] == 4 * (1401 + sum(n)) and live["gradients"] == 0 and live["optimizer"] == state(own)
        assert peak["weights"] == live["weights"] + 4 * 2 * sum(n)  # what arrives, before it is copied out


class KeepsEverything(Replica):
    """Data parallelism with a step(): the weights are right, and nothing is saved."""

    def __init__(self, comm, module, make_optimizer, hold=None, **options):
        super().__init__(comm, module, **options)
        self.optimizer, self.groups = make_optimizer(list(module.named_parameters())), []
        if hold:
            hold("gradients", *[bucket.flat for bucket in self.buckets])

    def step(self, clip=None):
        self.optimizer.step()


def test_who_keeps_everything_has_the_right_weights_and_is_caught():
    assert agrees(launch(partial(training, Stage=KeepsEverything), 3))
    shards = launch(held, 3, Stage1).results
    for (live, peak, *_), (stage1, stage1_peak, n, own) in zip(launch(held, 3, KeepsEverything).results, shards):
        with pytest.raises(AssertionError):
            whole_gradients_and_a_shard_of_the_state(3, live, peak, n, own)
        with pytest.raises(AssertionError):  # and stage 1 is no stage 2
            shards_and_a_bucket(3, stage1, stage1_peak, n, own)


def steps(comm, Stage, number, K, options):
    module = MLP((64, 16, 13, 10))
    stage = Stage(comm, module, torch.optim.Adam, **BUCKETS | options)
    for _ in range(number):
        accumulate(stage, loss_sum, Data(*(part[:3] for part in digits())), K)
        stage.step()
    return [group.n for group in stage.groups]


@pytest.mark.parametrize("P", [1, 2, 5])
@pytest.mark.parametrize(
    "Stage, options, reduces", [(Stage1, {}, 1), (Stage2, {}, 3), (Stage2, {"accumulate": "whole"}, 1)]
)
def test_a_step_of_three_micro_batches_sends(Stage, options, reduces, P):
    """Stage 1 sends 2 Psi however many there are; stage 2 four times Psi, or keeps whole gradients."""
    before, after = (launch(steps, P, Stage, number, 3, options) for number in (1, 2))
    count = binomial_allreduce_volume(P, 1, 8).nbytes
    moved = (P - 1) * sum(after.results[0]) * 4
    expected = [(reduces + 1) * moved + reduces * each for each in count.tolist()]
    assert [b - a for a, b in zip(before.bytes_sent, after.bytes_sent)] == expected


def test_gradients_travel_during_the_backward_pass():
    """The first bucket has left before the gradients of the first layer are there."""

    def program(comm, Stage):
        module, begun = MLP((64, 16, 13, 10)), []
        stage = Stage(comm, module, torch.optim.Adam, **BUCKETS)
        module[0].weight.register_hook(lambda _: begun.append(stage._started))
        stage.backward(*loss_sum(module, Data(*(part[:3] for part in digits()))))
        return begun, len(stage.groups)

    for Stage in STAGES:
        assert launch(program, 2, Stage).results == [([4], 5)] * 2


# Impostors ------------------------------------------------------------------------------------------------------------


class DividesTwice(Stage1):
    """Divides by the number of ranks, too, as who averages the ranks' means does."""

    def _divide(self, total):
        super()._divide(total * self.comm.size)


class Silent(Stage1):
    """Takes its own gradients for those of all: right if all ranks draw the same samples."""

    def _start_reduce(self, comm, index, whole):
        group, n = self.groups[index], self.groups[index].n
        group.add(whole[comm.rank * n :][:n].clone() * comm.size)
        return comm.Ibarrier()


def batch_of_all(model, comm, step):
    """The same samples on all ranks, as in a test that seeds all of them alike."""
    return batch(MODELS[model][1], 13, step)


def test_impostors_are_caught():
    assert not agrees(launch(partial(training, Stage=DividesTwice), 2))
    assert not agrees(launch(partial(training, Stage=Silent), 2))
    assert agrees(launch(partial(training, Stage=Silent, mine=batch_of_all), 2))  # so a test must share the batch out


# What can go wrong ----------------------------------------------------------------------------------------------------


def refused(make, match, ranks=3, error=ValueError):
    """All ranks raise the same message."""

    def program(comm):
        with pytest.raises(error) as caught:
            make(comm)
        return str(caught.value)

    (message,) = set(launch(program, ranks).results)
    assert match in message


SGD = partial(torch.optim.SGD, lr=0.1)


def layer_of_ones():
    layer = nn.Linear(2, 1, bias=False)
    nn.init.ones_(layer.weight)
    return layer


def test_bad_arguments_are_refused_on_every_rank():
    refused(lambda comm: Stage1(comm, MLP(seed=comm.rank), SGD), "Was the model broadcast", error=replicate.Diverged)
    refused(lambda comm: Stage1(comm, MLP().requires_grad_(False), SGD), "no parameter of this module is trained")
    refused(lambda comm: Stage1(comm, MLP(), SGD, order="ready"), "the order of a stage is 'reverse' or numbers")
    refused(lambda comm: Stage1(comm, MLP(), SGD, waiting=-1), "0 or more buckets may be waiting, got -1")
    refused(lambda comm: Stage2(comm, MLP(), SGD, accumulate="no"), "accumulate is 'shards' or 'whole', got 'no'")
    refused(lambda comm: Stage1(comm, MLP(), SGD, [flat, by_rows][comm.rank % 2]), "the arguments of a stage must be")
    refused(lambda comm: Stage1(comm, MLP(), partial(torch.optim.SGD, lr=0.1 + comm.rank)), "the optimizers must be")


def test_weights_that_were_changed_outside():
    """By one rank, in the middle of the training: all learn of it. With take_weights the training goes on from it."""

    def program(comm):
        module = MLP((64, 16, 10))
        stage, data = Stage2(comm, module, SGD), Data(*(part[:4] for part in digits()))
        if comm.rank == 1:
            with torch.no_grad():
                module[0].bias += 1
        with pytest.raises(RuntimeError, match=r"0.bias changed outside of the stage.*\[rank 1\]"):
            stage.backward(*loss_sum(module, data))
        with pytest.raises(replicate.Diverged):
            stage.take_weights()
        module.load_state_dict(MLP((64, 16, 10), seed=7).state_dict())
        stage.take_weights()
        stage.backward(*loss_sum(module, data))
        stage.step()
        return weights(module.parameters())

    model = MLP((64, 16, 10), seed=7)
    total, count = loss_sum(model, Data(*(part[:4] for part in digits())))
    (total / count).backward()
    SGD(model.parameters()).step()
    for found in launch(program, 3).results:
        torch.testing.assert_close(found, weights(model.parameters()))


@pytest.mark.parametrize("Stage", STAGES)
@pytest.mark.parametrize("counts", [[1, -1, 3], [0, 0, 0]])
def test_impossible_counts_and_the_step_after(Stage, counts):
    def program(comm):
        model = layer_of_ones()
        stage = Stage(comm, model, SGD)
        with pytest.raises(ValueError, match="each must be 0 or more"):
            stage.backward(model(torch.ones(1, 2)).sum(), counts[comm.rank])
        assert stage.backward(model(torch.ones(1, 2)).sum(), 1) == 3
        stage.step()
        return model.weight.tolist()

    assert launch(program, 3).results == [[[pytest.approx(0.9)] * 2]] * 3


@pytest.mark.parametrize("Stage", STAGES)
def test_a_step_needs_gradients_of_its_own(Stage):
    def program(comm):
        model = layer_of_ones()
        stage, needs = Stage(comm, model, SGD), pytest.raises(RuntimeError, match="needs the gradients")
        with needs:
            stage.step()
        stage.backward(model(torch.ones(1, 2)).sum(), 1, sync=False)
        with needs:
            stage.step()
        stage.backward(model(torch.ones(1, 2)).sum(), 1)
        with pytest.raises(ValueError, match="a norm above 0, got 0"):
            stage.step(clip=0)
        stage.step()
        with needs:
            stage.step()

    launch(program, 2)


def test_a_gradient_that_comes_twice_is_refused():
    from torch.utils.checkpoint import checkpoint

    def program(comm):
        layer, x = nn.Linear(2, 2), torch.ones(1, 2, requires_grad=True)
        stage = Stage2(comm, layer, SGD)
        stage.backward(checkpoint(layer, checkpoint(layer, x, use_reentrant=True), use_reentrant=True).sum(), 1)

    with pytest.raises(RankFailed, match=r"gradient of (weight|bias) came twice .* use_reentrant=False"):
        launch(program, 1)


def test_a_rank_that_dies_before_the_gather_is_named():
    def program(comm):
        model = layer_of_ones()
        stage = Stage1(comm, model, SGD)
        stage.backward(model(torch.ones(1, 2)).sum(), 1)
        if comm.rank == 1:
            raise OSError("no more power")
        stage.step()

    with pytest.raises(RankFailed, match="raised on rank 1: OSError: no more power"):
        launch(program, 3)


def test_shares_of_a_batch_are_what_the_tests_use():
    """All samples of a step, each once: else an impostor that is silent might pass."""
    parts = [my_batch("mlp", type("Rank", (), {"rank": r, "size": 3}), 0) for r in range(3)]
    whole = batch(MODELS["mlp"][1], 13, 0)
    assert torch.equal(torch.cat([part.x for part in parts]), whole.x) and share(whole.y, 0, 3).equal(parts[0].y)

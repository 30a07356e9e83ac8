"""A replica: equal to the serial program, in few bytes, while the backward pass goes on; and what can go wrong."""

from math import inf, nan

import pytest
import torch
from torch import nn

from reference import mpi
from reference.collectives import ALLREDUCE, allreduce, rounding
from reference.collectives.ring import ring_allreduce_cost, ring_allreduce_volume
from reference.collectives.tree import binomial_allreduce_volume
from reference.data_parallel import replicate, step_time
from reference.data_parallel.replica import Replica
from reference.models import GPT, MLP, TINY, Data, batch, digits, gradients, loss_sum, share, text, train
from reference.networks import Link
from reference.perf.meter import Meter
from reference.perf.roofline import Device
from reference.worlds import launch, networks
from reference.worlds.virtual.polling import POLL_SECONDS

from .timed import timed

SIZES, SIZE, STEPS = (64, 16, 10), 13, 4
DATA = Data(digits().x[:29].double(), digits().y[:29])  # batches of 13, 13, 3 samples: uneven, and ranks without any
OPTIMIZERS = {
    "sgd": lambda parameters: torch.optim.SGD(parameters, lr=0.1),
    "momentum": lambda parameters: torch.optim.SGD(parameters, lr=0.1, momentum=0.9, weight_decay=1e-3),
    "adam": lambda parameters: torch.optim.Adam(parameters, lr=0.1, eps=1e-3),
}
SENSITIVE = {"sgd": 1, "momentum": 10, "adam": 1000}  # 1 / (1 - 0.9), 1 / eps: how much more a step changes than its g


def ring(comm, index, flat):
    return allreduce.start(comm, flat, algorithm="ring")


def iallreduce(comm, index, flat):
    return comm.Iallreduce(mpi.IN_PLACE, flat)


def weights(model):
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])


def share_of(data, comm):
    return Data(*(share(part, comm.rank, comm.size) for part in data))


# Equal to the serial program ----------------------------------------------------------------------------------------


def parallel_training(comm, name, micro_batches=1, **options):
    """The program of every user: broadcast, then backward and step."""
    model = MLP(SIZES, seed=comm.rank).double()
    replicate.broadcast_parameters(comm, model)
    replica, optimizer = Replica(comm, model, **options), OPTIMIZERS[name](model.parameters())
    for step in range(STEPS):
        mine = batch(DATA, SIZE, step, rank=comm.rank, ranks=comm.size)
        for k in range(micro_batches):
            part = Data(*(share(each, k, micro_batches) for each in mine))
            replica.backward(*loss_sum(model, part), sync=k == micro_batches - 1)
        optimizer.step()
        optimizer.zero_grad()
    replicate.check_replicas(comm, model)
    return weights(model)


def serial_training(name, shift=0.0):
    model = MLP(SIZES, seed=0).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += shift * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(0))
    train(model, DATA, OPTIMIZERS[name](model.parameters()), STEPS, SIZE)
    return weights(model)


def allowed(name, ranks):
    """How far rounding may drive two programs apart that do the same sums in another order.

    A step: 2 g(h) M, with M the mean magnitude of the samples' gradients; h additions, over the samples, over the
    ranks, and within a sample's forward and backward pass. All steps: the sum, times how much the training itself
    enlarges a small difference, which is measured.
    """
    model, h = MLP(SIZES, seed=0).double(), SIZE + ranks + 3 * sum(SIZES)
    samples = []
    for i in range(SIZE):
        gradients(model, Data(DATA.x[i : i + 1], DATA.y[i : i + 1]))
        samples.append(torch.cat([p.grad.abs().flatten() for p in model.parameters()]))
    M = torch.stack(samples).mean(0).max().item()
    enlarged = (serial_training(name, 1e-6) - serial_training(name)).abs().max().item() / 1e-6
    return STEPS * 0.1 * SENSITIVE[name] * max(enlarged, 1) * rounding.allowance(M, "float64", h, h)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_training_is_that_of_the_serial_program(name):
    expected, far = serial_training(name), (serial_training(name) - weights(MLP(SIZES, seed=0).double())).abs().max()
    for ranks in (1, 2, 3, 5, 8):
        run = launch(lambda comm: parallel_training(comm, name, bucket_bytes=1000, order="ready"), ranks)
        assert all(torch.equal(each, run.results[0]) for each in run.results)
        assert (run.results[0] - expected).abs().max() < allowed(name, ranks) < 1e-8 * far


@pytest.mark.mpi
def test_so_it_is_on_real_ranks():
    def program(comm):
        return parallel_training(comm, "momentum", 2, bucket_bytes=1000, communicate=ring)

    results = launch(program, 3, world="mpi").results
    assert all(torch.equal(each, results[0]) for each in results)
    assert (results[0] - serial_training("momentum")).abs().max() < allowed("momentum", 3)


@pytest.mark.parametrize("algorithm", ALLREDUCE)
def test_every_all_reduce_gives_all_ranks_the_same_bits(algorithm):
    options = {"segments": 2} if "tree" in algorithm and "binomial" not in algorithm else {}
    options |= {"ranks_per_node": 2} if algorithm in ("hierarchical", "leader") else {}
    options |= {"width": 2} if algorithm in ("torus", "x then y") else {}

    def communicate(comm, index, flat):
        return allreduce.start(comm, flat, algorithm=algorithm, **options)

    results = launch(lambda comm: parallel_training(comm, "sgd", communicate=communicate), 4).results
    assert all(torch.equal(each, results[0]) for each in results)
    assert (results[0] - serial_training("sgd")).abs().max() < allowed("sgd", 4)


# What is sent -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
@pytest.mark.parametrize("micro_batches", [1, 3])
def test_a_step_sends_each_bucket_and_the_count_once(ranks, micro_batches):
    """An answer that never synchronises sends nothing; one that does so for each micro-batch three times as much."""

    def program(comm, steps):
        model = MLP(SIZES, seed=0)
        replica = Replica(comm, model, 600, 100, communicate=ring)
        for _ in range(steps):
            for k in range(micro_batches):
                replica.backward(*loss_sum(model, Data(DATA.x[:2].float(), DATA.y[:2])), sync=k == micro_batches - 1)
        return [bucket.flat.numel() for bucket in replica.buckets]

    without, once, twice = (launch(program, ranks, steps) for steps in (0, 1, 2))
    assert once.results[0] == [10, 160, 16, 1024]  # 40 bytes, then what fits into 600
    parts = [ring_allreduce_volume(ranks, count, 4) for count in once.results[0]] + [
        binomial_allreduce_volume(ranks, 1, 8)
    ]
    for more, less in ((once, without), (twice, once)):
        assert [a - b for a, b in zip(more.bytes_sent, less.bytes_sent)] == sum(p.nbytes for p in parts).tolist()
        assert [a - b for a, b in zip(more.messages, less.messages)] == sum(p.messages for p in parts).tolist()


# Overlap ------------------------------------------------------------------------------------------------------------

ALPHA, BETA, RANKS, COUNT = 1e-6, 1e-9, 4, 40_000
FORWARD, BACKWARD = [1e-4] * 6, [2e-4] * 6
NETWORK = networks.uniform(ALPHA, BETA, gap=inf)  # buckets follow each other, as the recurrence has it


def timed_steps(comm, steps, limit, communicate):
    model = timed(comm, [COUNT] * 6, FORWARD, BACKWARD)
    replica = Replica(comm, model, limit, limit, communicate=communicate)
    comm.Barrier()
    for _ in range(steps):
        replica.backward(model(torch.ones(3)).sum(), 3)


def one_step(limit, communicate):
    """The second of two steps: its seconds, the seconds of its backward pass, and its events with times from 0."""
    one, two = (launch(timed_steps, RANKS, n, limit, communicate, network=NETWORK) for n in (1, 2))
    seconds = two.seconds - one.seconds
    events = [e._replace(start=e.start - one.seconds, end=e.end - one.seconds) for e in two.timeline]
    return seconds, [event for event in events if event.start >= -1e-9]


@pytest.mark.parametrize("layers_a_bucket", [1, 2, 3, 6])
def test_the_step_takes_what_the_recurrence_says(layers_a_bucket):
    number = 6 // layers_a_bucket
    seconds, _ = one_step(layers_a_bucket * COUNT * 4, iallreduce)
    all_reduce = ring_allreduce_cost(RANKS, layers_a_bucket * COUNT, 4, Link(ALPHA, BETA)).seconds
    predicted = step_time.step(sum(FORWARD), [layers_a_bucket * BACKWARD[0]] * number, [all_reduce] * number).seconds
    polls = 6 * (number + 1) * POLL_SECONDS  # each hook asks for what is under way
    assert predicted - 1e-12 <= seconds <= predicted + polls


def sent_by(events, time, rank=1):
    """Bytes of gradients that a rank has sent by then."""
    return sum(e.nbytes for e in events if e.kind == "send" and e.rank == rank and e.nbytes > 8 and e.end <= time)


def test_gradients_travel_during_the_backward_pass():
    _, events = one_step(COUNT * 4, iallreduce)
    end = max(event.end for event in events if event.kind == "compute")
    a_bucket = 2 * (RANKS - 1) * COUNT * 4 // RANKS
    assert sent_by(events, sum(FORWARD) + BACKWARD[0]) == 0  # nothing is final before
    assert 4 * a_bucket <= sent_by(events, end) < 5 * a_bucket  # the last is ready when the backward pass is over,
    assert sent_by(events, inf) == 6 * a_bucket  # and here the one before it is still on its way


def test_one_bucket_for_all_does_not_overlap():
    seconds, events = one_step(inf, iallreduce)
    end = max(event.end for event in events if event.kind == "compute")
    assert sent_by(events, end) == 0
    all_reduce = ring_allreduce_cost(RANKS, 6 * COUNT, 4, Link(ALPHA, BETA)).seconds
    assert seconds == pytest.approx(step_time.without_overlap(sum(FORWARD), BACKWARD, [all_reduce]), abs=1e-6)


def test_our_own_collectives_advance_in_the_hooks():
    """Their rounds are posted when a hook tests them: slower than a card that reduces, quicker than no overlap."""
    own, card, after = (one_step(*how)[0] for how in [(COUNT * 4, ring), (COUNT * 4, iallreduce), (inf, ring)])
    assert card < own < 0.9 * after
    _, events = one_step(COUNT * 4, ring)
    end = max(event.end for event in events if event.kind == "compute")
    assert sent_by(events, end) > 2 * 2 * (RANKS - 1) * COUNT * 4 // RANKS


@pytest.mark.parametrize("communicate", [iallreduce, ring])
def test_a_real_model_on_the_meters_clock(communicate):
    """A GPT whose operations take their time: buckets may be too large and too small; gradients are there once."""
    device, network = Device(flops=5e9, bandwidth=5e9), networks.uniform(2e-5, 1e-8, gap=inf)

    def program(comm, limit):
        model = GPT(TINY._replace(layers=4), seed=0)
        replica = Replica(comm, model, limit, limit, communicate=communicate)
        mine = batch(text(TINY.length), 8, 0, rank=comm.rank, ranks=comm.size)
        with Meter(comm, device, model) as meter:
            comm.Barrier()
            start = mpi.wtime(comm)
            replica.backward(*loss_sum(model, mine))
            seconds = mpi.wtime(comm) - start
        assert meter.peak["gradients"] == sum(parameter.nbytes for parameter in model.parameters())
        return seconds, meter.by_label["forward"].seconds + meter.by_label["backward"].seconds

    (small, computed), (medium, _), (large, _) = (
        launch(program, 4, limit, network=network).results[0] for limit in (2000, 64_000, inf)
    )
    assert computed < medium < 0.95 * min(small, large)


# Order --------------------------------------------------------------------------------------------------------------


class Branches(nn.Module):
    """Four layers, which this rank uses in the order it was told."""

    def __init__(self, order):
        super().__init__()
        self.order, self.layers = order, nn.ModuleList(nn.Linear(2, 2, bias=False) for _ in range(4))
        for layer in self.layers:
            nn.init.eye_(layer.weight)

    def forward(self, x):
        for number in self.order:
            x = self.layers[number](x)
        return x.sum()


def test_all_ranks_start_in_one_order_whatever_is_ready_first():
    def program(comm):
        started = []

        def communicate(comm, index, flat):
            started.append(index)
            return iallreduce(comm, index, flat)

        model = Branches([[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]][comm.rank])
        replica = Replica(comm, model, 16, 16, communicate=communicate)
        replica.backward(model(torch.ones(1, 2)), 1)
        return started, replica.ready_order, [p.grad.tolist() for p in model.parameters()]

    started, ready, found = zip(*launch(program, 3).results)
    assert started == ([0, 1, 2, 3],) * 3 and ready == ([3, 2, 1, 0], [0, 1, 2, 3], [1, 3, 0, 2])
    assert found == ([[[1.0, 1.0], [1.0, 1.0]]] * 4,) * 3


def test_the_order_is_learned_in_the_first_step_from_rank_0():
    """And frees the buckets earlier: with the wrong order all of them wait for the last gradient."""

    def program(comm):
        model = Branches([3, 1, 0, 2] if comm.rank == 0 else [0, 1, 2, 3])
        replica, orders = Replica(comm, model, 32, 32, order="ready"), []
        for _ in range(3):
            replica.backward(model(torch.ones(1, 2)), 1)
            orders.append(replica.assignment)
            assert all(p.grad.tolist() == [[1.0, 1.0]] * 2 for p in model.parameters())
            for bucket in replica.buckets:
                assert all(p.grad is view for p, view in zip(bucket.parameters, bucket.views))
        return orders

    first, learned = [[3, 2], [1, 0]], [[2, 0], [1, 3]]
    assert launch(program, 2).results == [[first, learned, learned]] * 2


def test_the_first_bucket_is_no_larger_than_the_others():
    def program(comm, limits):
        return [len(bucket) for bucket in Replica(comm, Branches([0, 1, 2, 3]), *limits).assignment]

    for limits, expected in [((32,), [2, 2]), ((48, 16), [1, 3]), ((32, 48), [2, 2])]:
        assert launch(program, 1, limits).results == [expected]


def test_a_given_order():
    def program(comm):
        model = Branches([0, 1, 2, 3])
        return Replica(comm, model, 32, 32, order=[1, 3, 2, 0]).assignment

    assert launch(program, 2).results == [[[1, 3], [2, 0]]] * 2


# Parameters of all kinds --------------------------------------------------------------------------------------------


class Mixed(nn.Module):
    """Tied, frozen, used by some ranks, by none; of two types."""

    def __init__(self):
        super().__init__()
        self.tied = nn.Parameter(torch.full((3,), 2.0))
        self.again = self.tied
        self.frozen = nn.Parameter(torch.full((3,), 5.0), requires_grad=False)
        self.bf16 = nn.Parameter(torch.full((3,), 2.0, dtype=torch.bfloat16))
        self.sometimes, self.never = nn.Parameter(torch.ones(3)), nn.Parameter(torch.ones(2))

    def forward(self, x, sometimes):
        y = x * self.tied * self.again * self.frozen + self.bf16.float() * x
        return (y + self.sometimes * x if sometimes else y).sum()


def test_frozen_unused_tied_and_mixed_parameters():
    def program(comm):
        model = Mixed()
        replica = Replica(comm, model, 20, 20)
        for _ in range(2):
            assert replica.backward(model(torch.ones(3), comm.rank == 1), 1) == 2
        assert replica.names == ["tied", "bf16", "sometimes", "never"]
        assert [{p.dtype for p in bucket.parameters} for bucket in replica.buckets] == [
            {torch.float32},
            {torch.bfloat16},
            {torch.float32},
        ]
        assert model.frozen.grad is None
        return [parameter.grad.tolist() for parameter in replica.parameters]

    assert launch(program, 2).results == [[[20.0] * 3, [1.0] * 3, [0.5] * 3, [0.0] * 2]] * 2


@pytest.mark.parametrize("empty", ["a batch of no samples", "a constant"])
def test_a_rank_without_data_takes_part(empty):
    def program(comm):
        model = MLP((64, 10), seed=0)
        mine = Data(*(part[:2] if comm.rank == 1 else part[:0] for part in digits()))
        total, count = loss_sum(model, mine)
        replica = Replica(comm, model)
        assert replica.backward(torch.zeros(()) if empty == "a constant" and count == 0 else total, count) == 2
        return weights(model), model[0].weight.grad

    serial = MLP((64, 10), seed=0)
    gradients(serial, Data(*(part[:2] for part in digits())))
    for _, found in launch(program, 3).results:
        torch.testing.assert_close(found, serial[0].weight.grad)


# Gradients belong to a step -----------------------------------------------------------------------------------------


def twice(comm, between):
    """Two steps of the same batch: the same gradient, in the same memory."""
    model = MLP((64, 10), seed=0)
    replica, optimizer = Replica(comm, model), torch.optim.SGD(model.parameters(), lr=0.1)
    found = []
    for _ in range(2):
        replica.backward(*loss_sum(model, Data(*(part[:3] for part in digits()))))
        found.append(model[0].weight.grad.clone())
        assert model[0].weight.grad.untyped_storage().data_ptr() == replica.buckets[0].flat.data_ptr()
        between(optimizer)
    return found


@pytest.mark.parametrize("set_to_none", [True, False, None])
def test_with_and_without_zero_grad(set_to_none):
    def between(optimizer):
        if set_to_none is not None:
            optimizer.zero_grad(set_to_none=set_to_none)

    for first, second in launch(twice, 2, between).results:
        assert torch.equal(first, second)


def test_micro_batches_of_different_size_and_number():
    """Rank 0 has one micro-batch of 5 samples, rank 1 three of 1, 0 and 2: the mean is over all 8."""
    data = Data(*(part[:8] for part in digits()))
    parts = [[slice(0, 5)], [slice(5, 6), slice(6, 6), slice(6, 8)]]

    def program(comm):
        model = MLP((64, 10), seed=0)
        replica = Replica(comm, model)
        for part in parts[comm.rank]:
            mine = Data(data.x[part], data.y[part])
            found = replica.backward(*loss_sum(model, mine), sync=part is parts[comm.rank][-1])
            assert found == (8 if part is parts[comm.rank][-1] else None)
        return model[0].weight.grad

    serial = MLP((64, 10), seed=0)
    gradients(serial, data)
    for found in launch(program, 2).results:
        torch.testing.assert_close(found, serial[0].weight.grad)


def test_without_sync_nothing_is_sent_and_gradients_are_sums():
    def program(comm, backward):
        model = Branches([0, 1, 2, 3])
        replica = Replica(comm, model)
        for _ in range(backward):
            replica.backward(model(torch.full((1, 2), comm.rank + 1.0)), 1, sync=False)
        return [p.grad.tolist() for p in model.parameters()] if backward else None

    run = launch(program, 2, 3)
    assert run.results == [[[[3.0 * (r + 1)] * 2] * 2] * 4 for r in range(2)]
    assert run.bytes_sent == launch(program, 2, 0).bytes_sent


def test_hooks_can_be_taken_off():
    def program(comm):
        model = Branches([0, 1, 2, 3])
        Replica(comm, model).remove()
        other = Replica(comm, model, communicate=iallreduce)
        other.backward(model(torch.ones(1, 2)), 1)
        return model.layers[0].weight.grad.tolist()

    assert launch(program, 2).results == [[[1.0, 1.0]] * 2] * 2


# What can go wrong --------------------------------------------------------------------------------------------------


def refused(make, match, ranks=3, error=ValueError):
    """All ranks raise the same message."""

    def program(comm):
        with pytest.raises(error) as caught:
            make(comm)
        return str(caught.value)

    (message,) = set(launch(program, ranks).results)
    assert match in message


def test_different_modules_are_refused_on_every_rank():
    told = "the modules must be alike on all ranks, but differ on rank(s) [1, 2]: rank 1 has '0.weight"
    refused(lambda comm: Replica(comm, MLP((4, 2 + (comm.rank > 0)))), told)

    def unfreeze(comm):
        model = MLP((4, 2))
        model[0].bias.requires_grad_(comm.rank > 0)
        Replica(comm, model)

    refused(unfreeze, "rank 1 has '0.bias float32 [2] trained' where rank 0 has '0.bias float32 [2]'")


def test_different_arguments_are_refused_on_every_rank():
    told = "rank 2 has 'bucket_bytes=200 first_bucket_bytes=1048576 order='reverse' check_finite=False'"
    refused(lambda comm: Replica(comm, MLP(), 200 if comm.rank == 2 else 100), told)


def test_impossible_arguments():
    refused(lambda comm: Replica(comm, MLP(), 0), "a bucket must hold more than 0 bytes: got a limit of 0")
    refused(
        lambda comm: Replica(comm, MLP(), 10, -1), "a bucket must hold more than 0 bytes: got a limit of 10, and -1"
    )
    refused(lambda comm: Replica(comm, MLP(), order=[0, 1]), "an order of 4 tensors names each of 0 ... 3 once")
    refused(lambda comm: Replica(comm, MLP(), order="forward"), "order is 'reverse', 'ready' or a list of numbers")
    refused(lambda comm: Replica(comm, MLP().requires_grad_(False)), "no parameter of this module is trained")


@pytest.mark.parametrize("counts", [[1, -1, 3], [0, 0, 0], [1, nan, 1]])
def test_impossible_counts_and_the_step_after(counts):
    """All ranks learn of it, and none of them hangs: the next step is a new one."""

    def program(comm):
        model = Branches([0, 1, 2, 3])
        replica = Replica(comm, model)
        with pytest.raises(ValueError, match="as their numbers of samples: each must be 0 or more"):
            replica.backward(model(torch.ones(1, 2)), counts[comm.rank])
        assert replica.backward(model(torch.ones(1, 2)), 1) == 3
        return model.layers[0].weight.grad.tolist()

    assert launch(program, 3).results == [[[1.0, 1.0]] * 2] * 3


def test_a_negative_count_is_not_made_good_by_another_micro_batch():
    def program(comm):
        model = Branches([0, 1, 2, 3])
        replica = Replica(comm, model)
        replica.backward(model(torch.ones(1, 2)), -1, sync=False)
        with pytest.raises(ValueError, match="each must be 0 or more"):
            replica.backward(model(torch.ones(1, 2)), 5)

    launch(program, 2)


def spoilt(comm, check_finite):
    model = Branches([0, 1, 2, 3])
    replica = Replica(comm, model, 16, 16, check_finite=check_finite)
    x = torch.ones(1, 2)
    if comm.rank == 1:  # from layer 1 on backwards
        model.layers[1].register_full_backward_hook(lambda module, into, out: (into[0] * nan,))
    replica.backward(model(x), 1)
    return [bool(parameter.grad.isnan().any()) for parameter in model.parameters()]


def test_nan_reaches_everybody_through_the_sum():
    assert launch(spoilt, 3, False).results == [[True, False, False, False]] * 3


def test_nan_is_an_error_on_every_rank_that_says_where_it_was_made():
    told = "NaN or infinity in the gradients that ranks have added to the sum: rank 1: layers.0.weight"
    refused(lambda comm: spoilt(comm, True), told, error=FloatingPointError)


def test_a_gradient_that_comes_twice_is_refused():
    from torch.utils.checkpoint import checkpoint

    def program(comm):
        layer = nn.Linear(2, 2)
        replica = Replica(comm, layer)
        x = torch.ones(1, 2, requires_grad=True)
        with pytest.raises(RuntimeError, match=r"gradient of (weight|bias) came twice .* use_reentrant=False"):
            replica.backward(checkpoint(layer, checkpoint(layer, x, use_reentrant=True), use_reentrant=True).sum(), 1)

    launch(program, 1)

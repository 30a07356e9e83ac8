"""BatchNorm across ranks: torch's BatchNorm on the whole batch is the specification; one collective each way."""

import copy

import pytest
import torch
from torch import nn

from reference.collectives.doubling import core
from reference.data_parallel.batch_norm import (
    DelayedBatchNorm,
    SyncBatchNorm,
    combine,
    convert,
    statistics,
    unpack_statistics,
)
from reference.data_parallel.replica import Replica
from reference.models.batches import batch, share
from reference.models.cnn import CNN
from reference.models.data import digits
from reference.models.loss import accuracy, loss_sum
from reference.models.seeds import generator
from reference.models.trainer import train
from reference.mpi import compute, wtime
from reference.worlds import LaunchError, launch, networks


def numbers(*shape, seed=0, dtype=torch.float64):
    return torch.randn(*shape, generator=generator(seed), dtype=dtype)


def parts(x, ranks):
    """Uneven ones: rank 1 gets nothing, the last one what is left."""
    sizes = [0 if rank == 1 and ranks > 2 else 2 for rank in range(ranks - 1)]
    return x.split([*sizes, len(x) - sum(sizes)])


def one_layer(comm, x, dy, options):
    """What a rank sees of one forward and backward pass, and its running statistics."""
    layer = SyncBatchNorm(comm, x.shape[1], dtype=x.dtype, **options)
    if layer.affine:
        with torch.no_grad():
            layer.weight.copy_(numbers(x.shape[1], seed=7)), layer.bias.copy_(numbers(x.shape[1], seed=8))
    mine = parts(x, comm.size)[comm.rank].clone().requires_grad_()
    y = layer(mine)
    y.backward(parts(dy, comm.size)[comm.rank])
    weights = [parameter.grad for parameter in layer.parameters()]
    return y.detach(), mine.grad, weights, [buffer.clone() for buffer in layer.buffers()]


def serial_layer(x, dy, options):
    layer = nn.BatchNorm2d(x.shape[1], dtype=x.dtype, **options)
    if layer.affine:
        with torch.no_grad():
            layer.weight.copy_(numbers(x.shape[1], seed=7)), layer.bias.copy_(numbers(x.shape[1], seed=8))
    x = x.clone().requires_grad_()
    y = layer(x)
    y.backward(dy)
    return y.detach(), x.grad, [parameter.grad for parameter in layer.parameters()], list(layer.buffers())


@pytest.mark.parametrize(
    "ranks, options",
    [(1, {}), (2, {}), (3, {"momentum": None}), (5, {"affine": False}), (8, {"track_running_stats": False})],
)
def test_equal_to_the_serial_layer_on_the_whole_batch(ranks, options):
    check_equal(ranks, options, "virtual")


@pytest.mark.mpi
def test_equal_to_the_serial_layer_on_real_ranks():
    check_equal(3, {}, "mpi")


def whole_batch():
    """x and dy [19, 4, 3, 2]."""
    return numbers(19, 4, 3, 2, seed=1) * 3 + 5, numbers(19, 4, 3, 2, seed=2)


def check_equal(ranks, options, world):
    x, dy = whole_batch()
    results = launch(one_layer, ranks, x, dy, options, world=world).results
    y, dx, weights, buffers = serial_layer(x, dy, options)
    close = {"rtol": 1e-10, "atol": 1e-12}
    torch.testing.assert_close(torch.cat([result[0] for result in results]), y, **close)
    torch.testing.assert_close(torch.cat([result[1] for result in results]), dx, **close)
    for i, whole in enumerate(weights):
        torch.testing.assert_close(sum(result[2][i] for result in results), whole, **close)
    for result in results:
        torch.testing.assert_close(result[3], buffers, **close)
        assert all(torch.equal(*pair) for pair in zip(result[3], results[0][3]))  # bit for bit the same on all ranks


def test_equal_to_torchs_own(oracles):
    theirs = oracles["sync_batch_norm"]
    ours = launch(one_layer, len(theirs), *whole_batch(), {}).results
    for (y, dx, weights, buffers), (their_y, their_dx, their_weights, their_running) in zip(ours, theirs):
        torch.testing.assert_close((y, dx), (their_y, torch.zeros_like(dx) if their_dx is None else their_dx))
        zero = torch.zeros_like(weights[0])
        torch.testing.assert_close(weights, [zero if grad is None else grad for grad in their_weights])
        torch.testing.assert_close(buffers[:2], their_running)


@pytest.mark.parametrize("ranks", [2, 4, 5, 8])
def test_one_small_all_reduce_each_way(ranks):
    def program(comm, backward):
        layer = SyncBatchNorm(comm, 16)
        y = layer(numbers(3, 16, 4, 4, seed=comm.rank, dtype=torch.float32))
        if backward:
            y.sum().backward()

    forward, both = (launch(program, ranks, backward) for backward in (False, True))
    rounds = core(ranks).bit_length() - 1
    assert max(forward.messages) == rounds + (core(ranks) < ranks) and max(both.messages) == 2 * max(forward.messages)
    if core(ranks) == ranks:
        assert forward.bytes_sent == [rounds * 8 * 33] * ranks and both.bytes_sent == [rounds * 8 * (33 + 32)] * ranks


def test_a_large_mean_does_not_cancel():
    """Mean 1,000 and variance 0.01: sums of x and x^2 in float32 lose the variance, Chan's combination does not."""
    x = (numbers(64, 3, seed=3) * 0.1 + 1000).float()
    exact = x.double().var(0, correction=0)
    naive = (x * x).mean(0) - x.mean(0) ** 2
    assert ((naive - exact).abs() > 0.5 * exact).any()
    found = statistics(x[:0])
    for part in parts(x, 5):
        found = combine(found, statistics(part))
    n, mean, M = unpack_statistics(found)
    torch.testing.assert_close(M / n, exact, rtol=1e-4, atol=0)
    torch.testing.assert_close(mean, x.double().mean(0), rtol=1e-7, atol=0)


def test_half_precision_is_normalised_in_float32():
    x, dy = numbers(16, 3, 4, seed=1).bfloat16(), numbers(16, 3, 4, seed=2).bfloat16()

    def program(comm, kind):
        mine = share(x, comm.rank, comm.size).to(kind).requires_grad_()
        y = SyncBatchNorm(comm, 3)(mine)
        y.backward(share(dy, comm.rank, comm.size).to(kind))
        return y.detach(), mine.grad

    low, high = (launch(program, 2, kind).results for kind in (torch.bfloat16, torch.float32))
    for tensor, exact in zip((t for pair in low for t in pair), (t for pair in high for t in pair)):
        assert tensor.dtype == torch.bfloat16
        torch.testing.assert_close(tensor.float(), exact, rtol=2**-7, atol=2**-7)


def test_fewer_than_two_values_are_refused_on_every_rank():
    def program(comm):
        x = torch.ones(1 if comm.rank == 2 else 0, 4)
        with pytest.raises(ValueError, match=r"over 3 ranks needs 2 or more values a channel .* there are 1"):
            SyncBatchNorm(comm, 4)(x)
        with pytest.raises(ValueError, match=r"expected \[N, 4, ...\], got \[2, 3\]"):
            SyncBatchNorm(comm, 4)(torch.ones(2, 3))

    launch(program, 3)


def trained(comm, kind, steps=6, size=50, lr=0.1, seed=0):
    """The state and the accuracy of a CNN with BatchNorm that has learned the digits."""
    model = CNN(channels=(4, 8), seed=seed, batch_norm=True)
    if kind is not None:
        model = convert(comm, model, kind)
    replica, optimizer = Replica(comm, model, first_bucket_bytes=200), torch.optim.SGD(model.parameters(), lr)
    for step in range(steps):
        total, count = loss_sum(model, batch(digits(), size, step, seed, comm.rank, comm.size))
        replica.backward(total, count)
        optimizer.step()
    model.eval()
    return {name: tensor.clone() for name, tensor in model.state_dict().items()}, accuracy(model, digits(train=False))


def test_a_network_learns_as_the_serial_one_and_without_it_does_not():
    model = CNN(channels=(4, 8), batch_norm=True)
    train(model, digits(), torch.optim.SGD(model.parameters(), 0.1), 6, 50)
    states = [state for state, _ in launch(trained, 3, SyncBatchNorm).results]
    for state in states:
        torch.testing.assert_close(state, dict(model.state_dict()), rtol=1e-4, atol=1e-5)
        assert all(torch.equal(state[name], states[0][name]) for name in state)
    local = [state for state, _ in launch(trained, 3, None).results]
    name = "stages.1.1.running_mean"
    assert not torch.allclose(local[0][name], model.state_dict()[name], rtol=0.01)
    assert not torch.equal(local[0][name], local[1][name])  # each rank's own; the weights are the same, and wrong
    assert not torch.allclose(local[0]["head.weight"], model.head.weight, rtol=1e-3)


def test_conversion_keeps_the_state_and_evaluation_sends_nothing():
    def program(comm):
        model = CNN(channels=(4, 8), batch_norm=True)
        before = copy.deepcopy(model.state_dict())
        parameters = list(model.parameters())
        model = convert(comm, model)
        assert all(a is b for a, b in zip(parameters, model.parameters(), strict=True))  # an optimizer keeps them
        assert model.state_dict().keys() == before.keys()
        groups = {layer.comm.name for layer in model.modules() if isinstance(layer, SyncBatchNorm)}
        assert groups == {"world.dup"}  # buckets of gradients may be under way in another order on each rank
        return model.eval()(digits().x[:5]).detach()

    serial = CNN(channels=(4, 8), batch_norm=True).eval()
    run = launch(program, 2)
    assert torch.equal(run.results[0], serial(digits().x[:5])) and run.bytes_sent == [0, 0]


def delayed(comm, xs):
    layer, outputs = DelayedBatchNorm(comm, xs.shape[2]), []
    waited = 0.0
    for x in xs:
        mine = share(x, comm.rank, comm.size)
        before = wtime(comm)
        outputs.append(layer(mine).detach())
        waited = wtime(comm) - before
        compute(comm, 1.0)
    return torch.cat(outputs), waited, [buffer.clone() for buffer in layer.eval().buffers()]


def test_delayed_uses_the_statistics_of_the_step_before_and_does_not_wait():
    xs = numbers(4, 10, 3, seed=4, dtype=torch.float32) * 2 + 100
    network = networks.uniform(alpha=1e-3)
    run = launch(delayed, 4, xs, network=network)
    means, variances = xs.mean(1), xs.var(1, correction=0)
    for rank, (y, waited, buffers) in enumerate(run.results):
        mine = [share(x, rank, 4) for x in xs]
        expected = [(x - means[known]) / (variances[known] + 1e-5).sqrt() for x, known in zip(mine, [0, 0, 1, 2])]
        torch.testing.assert_close(y, torch.cat(expected), rtol=1e-4, atol=1e-4)
        assert waited == 0.0
        torch.testing.assert_close(buffers, serial_buffers(xs), rtol=1e-5, atol=1e-5)


def serial_buffers(xs):
    layer = nn.BatchNorm1d(xs.shape[2])
    for x in xs:
        layer(x)
    return list(layer.buffers())


def test_delayed_is_exact_where_nothing_changes_and_its_gradient_has_no_terms_of_the_statistics():
    x, dy = numbers(8, 3, seed=5), numbers(8, 3, seed=6)

    def program(comm):
        layer = DelayedBatchNorm(comm, 3, dtype=x.dtype)
        mine = share(x, comm.rank, comm.size).clone().requires_grad_()
        layer(mine)
        y = layer(mine)
        y.backward(share(dy, comm.rank, comm.size))
        layer.finish()
        return y.detach(), mine.grad

    y, dx = map(torch.cat, zip(*launch(program, 3).results))
    torch.testing.assert_close(y, nn.BatchNorm1d(3, dtype=x.dtype)(x).detach())
    torch.testing.assert_close(dx, dy / (x.var(0, correction=0) + 1e-5).sqrt())  # w / s dy, and nothing else


def test_delayed_learns_a_little_worse_and_bears_no_large_learning_rate():
    """Digits, 100 steps; what is delayed is the same however many ranks there are, so one will do."""

    def accuracy_of(kind, lr):
        return launch(trained, 1, kind, 100, 50, lr, 1).results[0][1]

    exact, late = (accuracy_of(kind, 0.1) for kind in (SyncBatchNorm, DelayedBatchNorm))
    assert 0.8 < late < exact < 0.95
    exact, late = (accuracy_of(kind, 0.5) for kind in (SyncBatchNorm, DelayedBatchNorm))
    assert late < 0.5 and exact > 0.85


def test_statistics_under_way_at_the_end_are_reported():
    def program(comm):
        DelayedBatchNorm(comm, 3)(torch.ones(4, 3))

    with pytest.raises(LaunchError):
        launch(program, 2)

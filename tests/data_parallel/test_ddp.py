"""The same as torch DistributedDataParallel over gloo: losses, gradients, parameters, no_sync, order of the buckets."""

import torch

from reference.collectives import rounding
from reference.data_parallel.accumulation import accumulate
from reference.data_parallel.replica import Replica
from reference.models import loss_sum
from reference.worlds import launch

from ..oracles import RANKS
from ..oracles.ddp import SIZE, STEPS, Shuffled, flat, model_and_optimizer, my_batch


def training(comm):
    """What `ddp_training` does, and this rank's own sums in the first step."""
    model, optimizer = model_and_optimizer()
    replica, losses, found = Replica(comm, model, 4000), [], []
    loss_sum(model, my_batch(0, comm.rank, comm.size))[0].backward()
    sums = flat(parameter.grad for parameter in model.parameters())
    for step in range(STEPS):
        total, count = loss_sum(model, my_batch(step, comm.rank, comm.size))
        replica.backward(total, count)
        losses.append(comm.allreduce(total.item()) / SIZE)
        found.append(flat(parameter.grad for parameter in model.parameters()))
        optimizer.step()
    return {"losses": losses, "gradients": found, "parameters": flat(model.parameters()), "sums": sums}


def test_training_is_that_of_ddp(oracles):
    """Gradients to rounding: the ranks' sums are the same bits, added in another order and divided otherwise."""
    own, ddp = launch(training, RANKS).results, oracles["ddp_training"]
    for mine, theirs in zip(own, ddp, strict=True):
        torch.testing.assert_close(torch.tensor(mine["losses"]), torch.tensor(theirs["losses"]))
        torch.testing.assert_close(mine["parameters"], theirs["parameters"], rtol=1e-5, atol=1e-7)
        for ours, expected in zip(mine["gradients"], theirs["gradients"], strict=True):
            torch.testing.assert_close(ours, expected, rtol=1e-4, atol=1e-7)
    magnitude = sum(each["sums"].double().abs() for each in own) / SIZE
    additions = RANKS, RANKS + 2  # ours: P - 1 and a division; DDP: it divides by P, and we multiply by P / n
    first, expected = own[0]["gradients"][0], ddp[0]["gradients"][0]
    assert not rounding.difference(first, expected, magnitude, "float32", *additions)


def test_a_replica_without_sync_is_ddps_no_sync(oracles):
    def program(comm):
        model, _ = model_and_optimizer()
        accumulate(Replica(comm, model), loss_sum, my_batch(0, comm.rank, comm.size), 3)
        return flat(parameter.grad for parameter in model.parameters())

    for mine, theirs in zip(launch(program, RANKS).results, oracles["ddp_no_sync"], strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-5, atol=1e-7)


def test_the_buckets_are_rebuilt_as_ddp_rebuilds_them(oracles):
    """From the second step on: the same layers in the same buckets in the same order. (DDP begins with one bucket.)"""

    def program(comm):
        model, steps = Shuffled(), []
        limit = 2 * 64 * 64 * 4
        replica = Replica(comm, model, limit, limit, order="ready")
        for _ in range(3):
            replica.backward(model(torch.ones(1, 64)).sum(), 1)
            steps.append([[replica.names[number] for number in bucket] for bucket in replica.assignment])
        return steps

    for mine, theirs in zip(launch(program, RANKS).results, oracles["ddp_buckets"], strict=True):
        assert mine[1:] == theirs[1:] and mine[0] != mine[1]

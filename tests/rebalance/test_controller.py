"""A controller moves little, seldom, and only when it pays; it trains what one device trains."""

import pytest
import torch

from reference.data_parallel import Replica
from reference.data_parallel.stragglers import part
from reference.models import MLP, Data, batch, digits, loss_sum, train
from reference.mpi import compute, wtime
from reference.rebalance import AT_ONCE, Controller, Limits, Monitor, MoveCost, gathered
from reference.verify import compare
from reference.worlds import Slow, launch

EVEN, SLOW = [16] * 4, [1, 1, 1, 0.5]


def test_waits_then_moves_a_tenth_at_a_time_and_rests():
    controller = Controller(EVEN)
    seen = {step: list(controller.shares) for step in range(400) if controller.step(SLOW, 1000)}
    assert seen == {9: [18, 18, 18, 10], 109: [19, 18, 18, 9]}


def test_patience_interval_and_fraction():
    limits = Limits(patience=3, interval=7, fraction=0.05)
    controller = Controller(EVEN, limits)
    steps = [step for step in range(60) if controller.step(SLOW, 1000)]
    assert steps == [2, 9, 16] and controller.shares == [19, 18, 18, 9]


def test_at_once():
    controller = Controller(EVEN, AT_ONCE)
    assert sum(move.units for move in controller.step(SLOW, 1000)) == 7
    assert not any(controller.step(SLOW, 1000) for _ in range(10))


@pytest.mark.parametrize("remaining, moves", [(33, False), (35, True)])
def test_moves_only_if_it_pays(remaining, moves):
    """10 % of 64 units are 6: the step becomes 20 s and not 32 s, which pays a pause of 400 s from 34 steps on."""
    controller = Controller(EVEN, Limits(patience=1), MoveCost(pause=400))
    assert bool(controller.step(SLOW, remaining)) == moves
    assert controller.shares == ([18, 18, 18, 10] if moves else EVEN)


def test_near_ranks_first():
    moves = Controller(EVEN, AT_ONCE, nodes=[0, 0, 1, 1]).step(SLOW, 1000)
    assert moves[0][:2] == (3, 2)


# Training: unequal shares, changed on the way, equal one device -----------------------------------------------------

SIZE, STEPS = 24, 10


def setting(seed):
    some = digits()
    return MLP((64, 16, 10), seed=seed).double(), Data(some.x[:96].double(), some.y[:96])


def rebalanced_training(comm, seed):
    """Data-parallel steps whose shares follow the measured speeds; weights, and the shares of each step."""
    model, data = setting(seed)
    replica, optimizer = Replica(comm, model), torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    controller, monitor = Controller([SIZE // comm.size] * comm.size, Limits(patience=2, interval=2)), Monitor(2)
    seen = []
    for step in range(STEPS):
        seen.append(list(controller.shares))
        mine = Data(*(part(tensor, controller.shares, comm.rank) for tensor in batch(data, SIZE, step, seed)))
        start = wtime(comm)
        total, count = loss_sum(model, mine)
        compute(comm, 1e-3 * count)  # the virtual clock's; real ranks work by themselves
        monitor.record(count, wtime(comm) - start)
        replica.backward(total, count)
        optimizer.step()
        controller.step(gathered(comm, monitor), STEPS - step - 1)
    return [p.detach().clone() for p in model.parameters()], seen


def serial_training(seed):
    model, data = setting(seed)
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    train(model, data, optimizer, STEPS, SIZE, seed)
    return [p.detach() for p in model.parameters()]


@pytest.mark.parametrize("seed", range(3))
def test_training_with_moving_shares_equals_one_device(seed):
    run = launch(rebalanced_training, 3, seed, faults=[Slow(2, 3.0)])
    for weights, seen in run.results:
        assert compare(weights, serial_training(seed), 1e-9, 1e-3)
        assert seen == run.results[0][1] and sorted(seen[-1]) == [3, 10, 11]
        assert all(sum(shares) == SIZE for shares in seen) and len({tuple(shares) for shares in seen}) >= 3


@pytest.mark.mpi
def test_training_on_real_ranks_equals_one_device():
    for weights, seen in launch(rebalanced_training, 3, 0, world="mpi").results:
        assert compare(weights, serial_training(0), 1e-9, 1e-3)
        assert all(sum(shares) == SIZE for shares in seen)

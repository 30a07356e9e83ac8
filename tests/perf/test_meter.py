"""The meter, by hand on a small MLP: FLOPs, live bytes, seconds on the clock of a rank; the same in both worlds."""

from itertools import pairwise
from math import inf

import numpy as np
import pytest
import torch
from torch import nn
from torch.distributed._tools.mem_tracker import MemTracker
from torch.utils.checkpoint import checkpoint

from reference import mpi
from reference.models.data import Data
from reference.models.gpt import GPT, Config
from reference.models.loss import loss_sum
from reference.models.mlp import MLP
from reference.perf.meter import Meter, OperationCost
from reference.perf.roofline import Device
from reference.worlds import Slow, launch

COUNTING_FLOPS, COUNTING_BYTES = Device(1.0, inf), Device(inf, 1.0)  # a clock that shows FLOPs, or bytes
SMALL = Config(vocabulary=32, length=16, width=32, heads=2, layers=6)
WEIGHTS = 64 * 32 + 32 + 32 * 10 + 10
FORWARD = [2 * 8 * 64 * 32, 2 * 8 * 32 * 10]  # 8 samples, by layer
BACKWARD = [FORWARD[0], 2 * FORWARD[1]]  # of the first layer no gradient of its input is wanted


def digits(n=8):
    generator = torch.Generator().manual_seed(0)
    return Data(torch.rand(n, 64, generator=generator), torch.randint(10, (n,), generator=generator))


def text(n=4):
    tokens = torch.randint(32, (n, 17), generator=torch.Generator().manual_seed(0))
    return Data(tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous())


def step(model, data, optimizer=None):
    loss_sum(model, data)[0].backward()
    if optimizer is not None:
        optimizer.step()


# FLOPs and seconds -----------------------------------------------------------------------------------------------


def test_flops_of_an_mlp_by_hand():
    with Meter(device=COUNTING_FLOPS) as meter:
        step(MLP(), digits())
    assert {label: cost.flops for label, cost in meter.by_label.items()} == {
        "forward": sum(FORWARD),
        "backward": sum(BACKWARD),
    }
    assert meter.total.flops == meter.total.seconds == sum(FORWARD) + sum(BACKWARD)


def test_labels_tell_the_parts_apart():
    """Forward, backward and optimizer by themselves; any other name where one is given."""
    model, data = MLP(), digits()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with Meter(None, COUNTING_FLOPS, model, optimizer) as meter:
        step(model, data, optimizer)
        with meter.label("evaluation"):
            model(data.x)
            with meter.label("head"):
                model[-1](data.x[:, :32])
    flops = {label: cost.flops for label, cost in meter.by_label.items()}
    assert flops.pop("evaluation") == sum(FORWARD) and flops.pop("head") == FORWARD[1]
    assert list(flops) == ["forward", "backward", "optimizer"] and flops["optimizer"] == 0
    assert meter.by_label["optimizer"].nbytes == 4 * 3 * WEIGHTS  # w += -lr g reads w and g and writes w
    assert OperationCost(*map(sum, zip(*meter.by_label.values()))) == meter.total


def test_each_operation_takes_what_the_roofline_says():
    """n = 100: a product of matrices is as long as its FLOPs, a sum as its bytes, a view nothing at all."""
    a, b, device = torch.ones(100, 100), torch.ones(100, 100), Device(flops=1e9, bandwidth=1e8, overhead=1e-6)
    with Meter(device=device) as meter:
        (a @ b).add_(b.t())
    assert meter.total == (2e6, 4 * 60_000, pytest.approx((2e-3 + 1e-6) + (1.2e-3 + 1e-6)), 2)


def test_handing_a_tensor_to_mpi_moves_no_bytes_on_the_device():
    """DLPack asks whether the memory is pinned. That is an operation for torch, and reads nothing."""

    def begin(comm):
        x = torch.ones(1000)
        with Meter(comm, COUNTING_BYTES) as meter:
            request = comm.Iallreduce(mpi.IN_PLACE, x)
        request.Wait()
        return meter.by_label

    assert launch(begin, 2).results == [{}] * 2


def test_nothing_outside_is_counted_and_the_hooks_are_gone():
    model, data = MLP(), digits()
    optimizer = torch.optim.Adam(model.parameters())
    with Meter(None, None, model, optimizer) as meter:
        pass
    step(model, data, optimizer)
    assert meter.total == OperationCost() and meter.live == {
        **meter.live,
        "gradients": 0,
        "optimizer": 0,
        "activations": 0,
    }


# Memory ----------------------------------------------------------------------------------------------------------


def test_memory_of_a_training_step_to_the_byte():
    model, data = MLP(), digits()
    optimizer = torch.optim.Adam(model.parameters())
    with Meter(None, None, model, optimizer) as meter:
        total, _ = loss_sum(model, data)
        hidden, logarithms, scalars = 4 * 8 * 32, 4 * 8 * 10, 4 + 4  # the loss and its weight
        forward = {"weights": 4 * WEIGHTS, "gradients": 0, "optimizer": 0, "activations": hidden + logarithms + scalars}
        assert meter.live == forward

        total.backward()
        backward = {**forward, "gradients": 4 * WEIGHTS, "activations": 4}  # the loss
        assert meter.live == backward
        # The last operations: of the first layer's weight and bias the gradients, from that of its output [8, 32];
        # the loss and the 1 that it began with are there.
        assert meter.peak == {**backward, "activations": 4 * (64 * 32 + 32) + hidden + 4 + 4}

        optimizer.step()
        adam = 2 * 4 * WEIGHTS + 4 * 4  # two moments, and a step count for each of four parameters
        assert meter.live == {**backward, "optimizer": adam}
        assert meter.peak["optimizer"] == adam + 2 * 4 * 64 * 32  # the root of a moment, and what it becomes
        assert meter.peak["activations"] < 4 * WEIGHTS  # the moments were never among them

        optimizer.zero_grad()
        del total
        assert meter.live == {**forward, "optimizer": adam, "activations": 0}
    assert sum(meter.at_peak.values()) == 2 * 4 * WEIGHTS + adam + 4 + 2 * 4 * 64 * 32


@pytest.mark.parametrize("name", ["MLP", "GPT"])
def test_the_peak_is_what_torchs_own_tracker_finds(name):
    """It also counts the targets, which are no activation: the loss of the GPT flattens them, a view of its input."""
    model, data, viewed = (MLP(), digits(), 0) if name == "MLP" else (GPT(SMALL), text(), text().y.nbytes)
    optimizer = torch.optim.Adam(model.parameters())
    torchs = MemTracker()
    torchs.track_external(model, optimizer)
    with torchs:
        step(model, data, optimizer)
    model.zero_grad()
    optimizer.state.clear()
    with Meter(None, None, model, optimizer) as meter:
        step(model, data, optimizer)
    theirs = torchs.get_tracker_snapshot("peak")[torch.device("cpu")]
    assert sum(meter.at_peak.values()) == theirs["Total"] - viewed


def test_gradients_and_states_from_before_are_counted_and_parts_of_one_memory_once():
    model, data = MLP(), digits()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    flat = torch.zeros(WEIGHTS)  # one memory for all gradients, as buckets have it
    for parameter, part in zip(model.parameters(), flat.split([p.numel() for p in model.parameters()]), strict=True):
        parameter.grad = part.view_as(parameter)
    step(model, data, optimizer)
    with Meter(None, None, model, optimizer) as meter:
        step(model, data)
    assert meter.live == dict.fromkeys(["weights", "gradients", "optimizer"], 4 * WEIGHTS) | {"activations": 0}


def test_an_input_is_not_an_activation_and_what_is_held_is_what_it_is_said_to_be():
    x, error = torch.ones(100), torch.zeros(50)
    with Meter() as meter:
        y = x.view(10, 10)[:5] + 1
        assert meter.live["activations"] == 200
        meter.hold("optimizer", error)
        meter.hold("gradients", y, y[0])
        assert meter.live == {"weights": 0, "gradients": 200, "optimizer": 200, "activations": 0}
        del y, error
    assert set(meter.live.values()) == {0}
    with pytest.raises(ValueError, match="weights, gradients, optimizer, activations, not 'errors'"):
        meter.hold("errors", x)


def test_memory_that_was_emptied_is_counted_anew_when_it_is_held():
    with Meter() as meter:
        y = torch.ones(100)
        meter.hold("weights", y)
        for size in (0, 400):
            y.untyped_storage().resize_(size)
            meter.hold("weights", y)
            assert meter.live["weights"] == size
        del y
    assert meter.live["weights"] == 0


def test_checkpointing_trades_activations_for_flops():
    """The blocks' forward passes are carried out again, each but for its last product, whose result nobody needs; and
    only one block's activations are there at a time."""
    model, data = GPT(SMALL), text()
    with Meter(None, None, model) as plain:
        step(model, data)
    model.zero_grad()
    model.blocks.forward = lambda x: _checkpointed(model.blocks, x)
    with Meter(None, None, model) as again:
        step(model, data)
    assert again.peak["activations"] < 0.4 * plain.peak["activations"]
    head, last_products = 2 * 4 * 16 * 32 * 32, 6 * 2 * 4 * 16 * 128 * 32
    forward = plain.by_label["forward"].flops
    assert again.by_label["forward"].flops == forward
    assert again.total.flops == plain.total.flops + forward - head - last_products


def _checkpointed(blocks: nn.Sequential, x):
    for block in blocks:
        x = checkpoint(block, x, use_reentrant=False)
    return x


# The clock of a rank ---------------------------------------------------------------------------------------------


def metered(comm, devices):
    """A step on each rank's own device, with as many samples as its number and 1; what it counted, and its clock."""
    model, data = MLP(), digits(comm.rank + 1)
    optimizer = torch.optim.Adam(model.parameters())
    before = mpi.wtime(comm)
    with Meter(comm, devices[comm.rank], model, optimizer) as meter:
        step(model, data, optimizer)
        elapsed = mpi.wtime(comm) - before
    return meter.total, meter.peak, elapsed


@pytest.mark.mpi
def test_four_ranks_with_four_devices_and_the_same_on_real_ranks():
    """FLOPs for one, bytes for another, ... : each clock shows what its device is slow at."""
    mixed, launches = Device(1e9, 1e8, 1e-5), Device(inf, inf, 1.0)
    run = launch(metered, 4, [COUNTING_FLOPS, COUNTING_BYTES, launches, mixed])
    totals, peaks, clocks = zip(*run.results)
    assert [total.flops for total in totals] == [(sum(FORWARD) + sum(BACKWARD)) // 8 * n for n in (1, 2, 3, 4)]
    assert clocks[0] == totals[0].flops and clocks[1] == totals[1].nbytes and clocks[2] == totals[2].operations
    assert clocks == pytest.approx([total.seconds for total in totals])
    assert run.seconds == max(clocks)

    real = launch(metered, 2, [COUNTING_FLOPS, COUNTING_BYTES], world="mpi")
    assert [result[:2] for result in real.results] == [(totals[rank], peaks[rank]) for rank in (0, 1)]
    assert max(result[2] for result in real.results) < 60  # seconds of its own, and not a hundred thousand


def test_a_hook_of_the_backward_pass_finds_everything_before_it_on_the_clock():
    """Each parameter's hook posts an all-reduce, which starts then; ranks take turns in the middle of their passes."""

    def program(comm):
        model, data, log, requests = MLP((64, 48, 32, 10)), digits(), [], []
        with Meter(comm, COUNTING_FLOPS, model) as meter:

            def ready(parameter):
                log.append((mpi.wtime(comm), meter.total.seconds))
                requests.append(comm.Iallreduce(mpi.IN_PLACE, parameter.grad))
                requests[-1].Test()  # others run

            for parameter in model.parameters():
                parameter.register_post_accumulate_grad_hook(ready)
            step(model, data)
            ends = mpi.wtime(comm)
            mpi.waitall(requests)
        return log, ends, [parameter.grad.sum().item() for parameter in model.parameters()], meter.total.flops

    run = launch(program, 3)
    posted, charged = map(np.array, zip(*run.results[0][0]))
    assert posted == pytest.approx(charged, abs=1e-3)  # polls take a moment as well
    forward = 2 * 8 * (64 * 48 + 48 * 32 + 32 * 10)
    layers = [4 * 8 * 32 * 10, 4 * 8 * 48 * 32, 2 * 8 * 64 * 48]
    assert sorted(set(charged)) == list(forward + np.cumsum(layers))
    assert len({str(result[2]) for result in run.results}) == 1
    first = min(event.start for event in run.timeline.of(kind="send"))
    assert first == pytest.approx(forward + layers[0], abs=1e-3) and run.results[0][1] > first


def test_the_timeline_has_one_computation_for_each_part_of_a_step():
    def program(comm):
        model, data = MLP(), digits()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        with Meter(comm, COUNTING_BYTES, model, optimizer):
            for _ in range(2):
                step(model, data, optimizer)
                comm.Barrier()

    timeline = launch(program, 2).timeline
    for rank in (0, 1):
        computations = timeline.of(rank, "compute")
        assert [event.label for event in computations] == ["forward", "backward", "optimizer"] * 2
        assert all(a.end == b.start for a, b in pairwise(computations[:3]))


def test_a_slow_rank_takes_longer_for_the_same_work():
    run = launch(metered, 2, [Device(1.0, inf)] * 2, faults=[Slow(0, 10.0)])
    (one, _, slow), (two, _, usual) = run.results
    assert slow == 10 * one.seconds and usual == two.seconds


def test_charges_that_follow_each_other_make_one_computation():
    def program(comm):
        for label in ("a", "a", "b", "", ""):
            mpi.charge(comm, 1.0, label)
        for seconds in (1.0, 2.0):
            mpi.charge(comm, seconds, "b")
            mpi.sleep(comm, 1.0)
        mpi.charge(comm, 0.0, "c")

    events = launch(program, 2).timeline.of(1)
    assert [(e.label, e.start, e.end) for e in events] == [
        *(("a", 0, 2), ("b", 2, 3), ("", 3, 4), ("", 4, 5)),
        *(("b", 5, 6), ("b", 7, 9)),
    ]

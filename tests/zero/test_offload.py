"""Offload: the serial program's weights, its formula on the clock, and what is left in the first tier."""

from functools import partial
from math import inf

import pytest
import torch
from torch import nn

from reference.data_parallel import replicate
from reference.models import MLP, Data, batch, digits, loss_sum, train
from reference.networks import uniform
from reference.perf.meter import Meter
from reference.tiers.tier import Tier
from reference.worlds import launch
from reference.zero.offload import Offload
from reference.zero.offload_time import OffloadTimes, delayed_steps, offload_step

from ..data_parallel.timed import timed

SIZES, SIZE, STEPS = (64, 16, 10), 13, 4
DATA = Data(digits().x[:29].double(), digits().y[:29])
SLOW = Tier("slow", read=2e6, write=1e6, latency=1e-3)
OPTIMIZERS = {
    "momentum": lambda named: torch.optim.SGD(named, lr=0.1, momentum=0.9, weight_decay=1e-3),
    "adam": lambda named: torch.optim.AdamW(named, lr=0.01, eps=1e-3),
}


def weights(model):
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])


def mine(comm, step):
    return batch(DATA, SIZE, step, rank=comm.rank, ranks=comm.size)


def offloaded(comm, name, clip=None, **how):
    """The weights after some steps, and bytes to and from the tier."""
    model = MLP(SIZES, seed=comm.rank).double()
    replicate.broadcast_parameters(comm, model)
    stage = Offload(comm, model, OPTIMIZERS[name], SLOW, bucket_bytes=3000, first_bucket_bytes=3000, **how)
    norms = []
    for step in range(STEPS):
        stage.backward(*loss_sum(model, mine(comm, step)))
        norms.append(stage.step(clip))
    stage.finish()
    replicate.check_replicas(comm, model)
    return weights(model), stage.copies.bytes_down, stage.copies.bytes_up, norms


def serial(name, clip=None):
    model = MLP(SIZES, seed=0).double()
    optimizer = OPTIMIZERS[name](model.parameters())
    if clip is None:
        train(model, DATA, optimizer, STEPS, SIZE)
        return weights(model), []
    norms = []
    for step in range(STEPS):
        total, count = loss_sum(model, batch(DATA, SIZE, step))
        optimizer.zero_grad()
        (total / count).backward()
        norms.append(nn.utils.clip_grad_norm_(model.parameters(), clip).item())
        optimizer.step()
    return weights(model), norms


@pytest.mark.parametrize(
    "name, early, ranks", [("momentum", True, (2, 5)), ("adam", True, (1, 3, 8)), ("adam", False, (2, 3))]
)
def test_weights_are_those_of_the_serial_program(name, early, ranks):
    expected, _ = serial(name)
    for P in ranks:
        run = launch(lambda comm: offloaded(comm, name, early=early), P)
        for found, down, up, _ in run.results:
            assert torch.allclose(found, expected, rtol=1e-10, atol=1e-12)
            assert down == up and 8 * STEPS * len(expected) / P <= down <= 8 * STEPS * (len(expected) / P + 3)


@pytest.mark.mpi
def test_so_they_are_on_real_ranks():
    def both(comm):
        return offloaded(comm, "adam")[0], offloaded(comm, "adam", early=False, delayed=True)[0]

    for early, delayed in launch(both, 3, world="mpi").results:
        assert torch.allclose(early, serial("adam")[0], rtol=1e-10, atol=1e-12)
        assert torch.allclose(delayed, delayed_serial("adam"), rtol=1e-10, atol=1e-12)


def test_a_step_that_is_clipped_by_the_global_norm_waits_for_all_gradients():
    expected, norms = serial("adam", clip=0.5)
    for found, _, _, had in launch(lambda comm: offloaded(comm, "adam", 0.5, early=False), 3).results:
        assert torch.allclose(found, expected, rtol=1e-10, atol=1e-12)
        assert had == pytest.approx(norms) and max(norms) > 0.5
    with pytest.raises(Exception, match="knows no global norm: early=False"):
        launch(lambda comm: offloaded(comm, "adam", 0.5) and None, 2)


def delayed_serial(name):
    """The serial program with gradients one step late: step k uses those at the weights before step k - 1."""
    model, late = MLP(SIZES, seed=0).double(), None
    optimizer = OPTIMIZERS[name](model.parameters())
    for step in range(STEPS + 1):
        fresh = None
        if step < STEPS:
            total, count = loss_sum(model, batch(DATA, SIZE, step))
            fresh = torch.autograd.grad(total / count, list(model.parameters()))
        if late is not None:
            for parameter, gradient in zip(model.parameters(), late):
                parameter.grad = gradient
            optimizer.step()
        late = fresh
    return weights(model)


def test_delayed_is_the_serial_program_with_gradients_one_step_late():
    expected = delayed_serial("adam")
    assert not torch.allclose(expected, serial("adam")[0], rtol=1e-3)
    for P in (1, 3):
        for found, *_ in launch(lambda comm: offloaded(comm, "adam", early=False, delayed=True), P).results:
            assert torch.allclose(found, expected, rtol=1e-10, atol=1e-12)


def test_micro_batches_without_sync_stay_on_the_rank(world):
    def program(comm):
        model = MLP(SIZES, seed=0).double()
        stage = Offload(comm, model, OPTIMIZERS["momentum"], SLOW)
        for step in range(STEPS):
            halves = [Data(*(part[k::2] for part in mine(comm, step))) for k in range(2)]
            stage.backward(*loss_sum(model, halves[0]), sync=False)
            stage.backward(*loss_sum(model, halves[1]))
            stage.step()
        return weights(model), stage.copies.bytes_down

    for found, down in launch(program, 2, world=world).results:
        assert torch.allclose(found, serial("momentum")[0], rtol=1e-10, atol=1e-12)
        assert down <= 8 * STEPS * (len(found) / 2 + 3)


# The clock ------------------------------------------------------------------------------------------------------------

LAYERS = [4000, 1000, 6000, 2000]
BACKWARD = [3e-3, 5e-3, 2e-3, 4e-3]


def seconds_of_steps(comm, clip=None, **how):
    """Each of several steps, of layers that take known times; each is a bucket."""
    model, took = timed(comm, LAYERS, [1e-3] * 4, BACKWARD), []
    stage = Offload(
        comm, model, OPTIMIZERS["adam"], SLOW, lambda n: 2e-6 * n, bucket_bytes=1, first_bucket_bytes=1, **how
    )
    for _ in range(4):
        start = comm.wtime()
        stage.backward(model(torch.ones(1)).sum(), 1)
        stage.step(clip)
        took.append(comm.wtime() - start)
    stage.finish()
    return took


def times_of(P, alpha=0.0, beta=0.0):
    """The same in formulas: a reduction or a gather takes P - 1 messages of a shard."""
    n = [-(-count // P) for count in LAYERS[::-1]]
    network = [(P - 1) * (alpha + 4 * k * beta) for k in n]
    down, up = ([SLOW.latency + 4 * k / one for k in n] for one in (SLOW.write, SLOW.read))
    return OffloadTimes(network, down, [2e-6 * k for k in n], up, network)


FULL = [4e-3, 6e-3, 11e-3, 14e-3]


@pytest.mark.parametrize("P, alpha, beta", [(1, 0, 0), (4, 0, 0), (2, 1e-4, 1e-7)])
def test_the_clock_is_the_formulas(P, alpha, beta):
    times, network = times_of(P, alpha, beta), uniform(alpha, beta, gap=inf)
    for how in ({"early": True}, {"early": False}, {"early": False, "clip": 1.0}):
        expected = offload_step(4e-3, FULL, times, how["early"], "clip" in how).seconds
        for took in launch(partial(seconds_of_steps, **how), P, network=network).results:
            assert took[-1] == pytest.approx(expected, rel=5e-3)
    expected = delayed_steps(4e-3, FULL, times, 4)
    for took in launch(partial(seconds_of_steps, early=False, delayed=True), P, network=network).results:
        assert took == pytest.approx(expected, rel=5e-3)


# Memory ---------------------------------------------------------------------------------------------------------------


def test_the_first_tier_has_weights_and_what_is_on_its_way():
    def program(comm):
        model = timed(comm, [6000, 6000], [0.0] * 2, [1.0] * 2)
        with Meter(comm, module=model) as meter:
            how = {"bucket_bytes": 1, "first_bucket_bytes": 1, "hold": meter.hold}
            stage = Offload(comm, model, OPTIMIZERS["adam"], SLOW, **how)
            stage.backward(model(torch.ones(1)).sum(), 1)
            stage.step()
        with Meter(comm, module=model) as second:
            for group in stage.groups:
                group.hold = second.hold
            stage.hold = second.hold
            stage.backward(model(torch.ones(1)).sum(), 1)
            stage.step()
            return meter.live, second.live, second.peak

    for first, live, peak in launch(program, 2).results:
        assert first["weights"] == live["weights"] == 48000
        assert first["gradients"] == live["gradients"] == first["optimizer"] == live["optimizer"] == 0
        assert first["activations"] < 500
        assert peak["weights"] == 48000 + 2 * 12000  # both shards of new weights wait for the gather
        assert peak["gradients"] <= 3 * 24000 + 2 * 12000  # of stage 2: one fills, one is packed, one under way; shards
        assert peak["optimizer"] == 0


# Refusals -------------------------------------------------------------------------------------------------------------


def test_wrong_use_is_refused():
    def program(comm, wrong):
        model = MLP(SIZES, seed=0).double()
        stage = Offload(comm, model, OPTIMIZERS["adam"], SLOW)
        if wrong == "step":
            stage.step()
        if wrong == "twice":
            stage.backward(*loss_sum(model, mine(comm, 0)))
            stage.backward(*loss_sum(model, mine(comm, 0)))
        if wrong == "both":
            Offload(comm, model, OPTIMIZERS["adam"], SLOW, delayed=True)
        stage.backward(loss_sum(model, mine(comm, 0))[0], {"none": 0, "negative": -comm.rank}[wrong])

    for wrong, says in {
        "step": "each only once",
        "twice": "had no step: call step",
        "both": "early or delayed, not both",
        "none": "more than 0",
        "negative": "each must be 0 or more",
    }.items():
        with pytest.raises(Exception, match=says):
            launch(program, 2, wrong)

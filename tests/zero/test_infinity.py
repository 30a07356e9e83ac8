"""Weights and optimizer state in files: the serial program's steps, memory, bytes, the clock; and what can go wrong."""

import errno
import os
from functools import partial

import pytest
import torch
from torch import nn

from reference.data_parallel import replicate
from reference.models import MLP, Data, batch, digits, loss_sum, train
from reference.networks import uniform
from reference.perf.meter import Meter
from reference.tiers.blocks import BLOCK, Format, TierError
from reference.tiers.files import FileTier
from reference.tiers.tier import FREE, Tier
from reference.worlds import launch
from reference.zero.infinity import Infinity, state_tensors
from reference.zero.offload_time import paged_pass, paged_step

from ..data_parallel.timed import timed

SIZES, SIZE, STEPS = (64, 16, 12, 10), 13, 4
DATA = Data(digits().x[:29].double(), digits().y[:29])
SLOW = Tier("slow", read=2e6, write=1e6, latency=1e-3)
SMALL = Format(chunk=BLOCK, fsync=False)
OPTIMIZERS = {
    "momentum": lambda named: torch.optim.SGD(named, lr=0.1, momentum=0.9, weight_decay=1e-3),
    "adam": lambda named: torch.optim.AdamW(named, lr=0.01, eps=1e-3),
}


def make_model(seed=0):
    return MLP(SIZES, seed=seed).double()


def units_of(model):
    return [part for part in model.modules() if isinstance(part, nn.Linear)]


def mine(comm, step):
    return batch(DATA, SIZE, step, rank=comm.rank, ranks=comm.size)


def shards(stage):
    """What the files say of the weights, as the shards of this rank."""
    found = []
    for group in stage.groups:
        stage.files.start_read(group.name, shard := torch.empty(group.n, dtype=group.dtype)).wait()
        found.append(shard)
    return found


def whole(stage):
    """All weights, as the ranks' files say: collective."""
    with torch.no_grad():
        for unit in reversed(stage.all_units):
            unit.start_gather(False)
            unit.wait()
        found = torch.cat([parameter.detach().flatten().clone() for parameter in stage.module.parameters()])
        for unit in stage.all_units:
            unit.free()
    return found


def paged(comm, folder, name, steps=STEPS, clip=None, pwrite=os.pwrite, tier=FREE, **how):
    model = make_model(comm.rank)
    replicate.broadcast_parameters(comm, model)
    files = FileTier(comm, folder, tier, SMALL, pwrite=pwrite)
    stage = Infinity(comm, model, OPTIMIZERS[name], files, units=units_of(model), **how)
    for step in range(stage.steps, steps):
        if step == 2:  # what comes in another order is not what was read ahead
            whole(stage)
        stage.backward(*loss_sum(model, mine(comm, step)))
        stage.step(clip)
    assert all(piece.numel() == 0 for group in stage.groups for piece in group.pieces)  # nothing stays in memory
    return whole(stage)


def serial(name, clip=None, steps=STEPS):
    model = make_model()
    optimizer = OPTIMIZERS[name](model.parameters())
    if clip is None:
        train(model, DATA, optimizer, steps, SIZE)
    else:
        for step in range(steps):
            total, count = loss_sum(model, batch(DATA, SIZE, step))
            optimizer.zero_grad()
            (total / count).backward()
            nn.utils.clip_grad_norm_(model.parameters(), clip)
            optimizer.step()
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])


def close(found, expected):
    return torch.allclose(found, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name, ranks", [("momentum", (2, 5)), ("adam", (1, 3, 8))])
def test_weights_are_those_of_the_serial_program(name, ranks, tmp_path):
    expected = serial(name)
    for P in ranks:
        run = launch(partial(paged, folder=tmp_path / str(P), name=name), P)
        assert all(close(found, expected) for found in run.results)


def test_so_they_are_with_a_global_norm_one_buffer_and_no_reading_ahead(tmp_path, world):
    how = {"clip": 0.5, "buffers": 1, "read_ahead": 0}
    run = launch(partial(paged, folder=tmp_path, name="adam", **how), 3, world=world)
    assert all(close(found, serial("adam", 0.5)) for found in run.results)


def test_going_on_from_a_state_is_as_if_nothing_had_happened(tmp_path):
    launch(partial(paged, folder=tmp_path, name="adam", steps=2, tier=SLOW), 3)
    run = launch(partial(paged, folder=tmp_path, name="adam", tier=SLOW), 3)
    assert all(close(found, serial("adam")) for found in run.results)


def test_what_an_optimizer_keeps_of_an_element():
    kept = [state_tensors(make, torch.float32) for make in OPTIMIZERS.values()]
    assert kept == [1, 2] and state_tensors(lambda named: torch.optim.SGD(named, lr=1.0), torch.float32) == 0


# What is written, what is held ----------------------------------------------------------------------------------------


def test_only_a_step_writes_and_a_frozen_unit_is_never_written_again(tmp_path):
    """E2-34: weights are not written back after computing; computing does not change them."""

    def program(comm):
        model = make_model()
        frozen = units_of(model)[1]
        frozen.requires_grad_(False)
        files = FileTier(comm, tmp_path, FREE, SMALL)
        stage = Infinity(comm, model, OPTIMIZERS["adam"], files, units=units_of(model))
        written, read, names = [], [], []
        for step in range(2):
            start = files.bytes_written, files.bytes_read
            stage.backward(*loss_sum(model, mine(comm, step)))
            written.append(files.bytes_written - start[0])
            read.append(files.bytes_read - start[1])
            stage.step()
            names.append({label for _, label, *_ in files.writes.records} if step else set())
            written.append(files.bytes_written - start[0])
        sizes = [group.n for group in stage.groups]
        return written, read, sizes, [group.n for group in stage.trained], sorted(os.listdir(tmp_path))

    for written, read, sizes, trained, files in launch(program, 2).results:
        assert written == [0, 8 * sum(trained) * (3 + 1)] * 2
        assert read[0] == 8 * (2 * sum(sizes))  # for the forward, and again for the backward pass
        assert [name for name in files if ".weights1." in name] == ["rank0.weights1.1", "rank1.weights1.1"]


def test_the_rank_has_gradients_and_the_units_that_compute(tmp_path):
    """Peaks of the first tier are those of stage 3 without its shards of weights and of optimizer state."""

    def program(comm):
        model = timed(comm, [6000] * 4, [1.0] * 4, [1.0] * 4)
        files = FileTier(comm, tmp_path, FREE, SMALL)
        with Meter(comm, module=model) as meter:
            how = {"prefetch": 0, "hold": meter.hold}
            stage = Infinity(comm, model, OPTIMIZERS["adam"], files, buffers=2, read_ahead=1, **how)
        live = []
        for _ in range(2):
            with Meter(comm, module=model) as meter:
                for group in stage.groups:
                    group.hold = meter.hold
                stage.backward(model(torch.ones(1)).sum(), 1)
                live.append(meter.live)
                stage.step()
                live.append(meter.live)
        return live, meter.peak, stage.reader.buffers_made

    for live, peak, buffers in launch(program, 2).results:
        assert [sum(one.values()) for one in live[1::2]] == [0, 0]  # after a step there is nothing
        assert all(one["weights"] == 0 and one["gradients"] >= 4 * 12000 for one in live[::2])
        assert peak["weights"] == 24000 and peak["optimizer"] == 0  # one unit
        assert peak["gradients"] <= 4 * 12000 + 3 * 24000  # shards; a layer's own, a packed one, and one on its way
        assert buffers == 2


# The clock ------------------------------------------------------------------------------------------------------------

LAYERS, FORWARD, BACKWARD = [4000, 1000, 6000, 2000], [4e-3, 9e-3, 2e-3, 6e-3], [3e-3, 5e-3, 20e-3, 4e-3]


@pytest.mark.parametrize("ahead, buffers", [(0, 1), (1, 2), (3, 4)])
def test_the_clock_is_the_formulas(tmp_path, ahead, buffers):
    def program(comm):
        model, took = timed(comm, LAYERS, FORWARD, BACKWARD), []
        files = FileTier(comm, tmp_path, SLOW, SMALL)
        how = {"buffers": buffers, "read_ahead": ahead, "prefetch": 0}
        stage = Infinity(comm, model, OPTIMIZERS["adam"], files, lambda n: 2e-6 * n, **how)
        for _ in range(2):
            start = comm.wtime()
            stage.backward(model(torch.ones(1)).sum(), 1)
            middle = comm.wtime()
            stage.step()
            took.append((middle - start, comm.wtime() - middle))
        return took[-1]

    reads = [SLOW.reading(4 * n) for n in LAYERS]
    passes = paged_pass(reads + reads[::-1], FORWARD + BACKWARD[::-1], ahead)
    states = [SLOW.reading(12 * n) for n in LAYERS], [2e-6 * n for n in LAYERS]
    writes = [SLOW.writing(12 * n) + SLOW.writing(4 * n) for n in LAYERS]
    step = max(service.end for service in paged_step(*states, writes, buffers))
    ((computing, stepping),) = launch(program, 1, network=uniform(0, 0)).results
    assert computing == pytest.approx(passes, rel=1e-3) and stepping == pytest.approx(step, rel=1e-3)


def test_buffers_let_reads_and_writes_overlap_and_reading_ahead_hides_reads():
    takes = [1.0] * 6
    ends = [max(service.end for service in paged_step(takes, takes, takes, buffers)) for buffers in (1, 2, 3, 9)]
    assert ends == [18, 10, 8, 8]
    assert paged_pass(takes, [1.0] * 6, 0) == 12 and paged_pass(takes, [1.0] * 6, 1) == 7
    assert paged_pass(takes, [0.5] * 6, 5) == 6.5


# What can go wrong ----------------------------------------------------------------------------------------------------


def full_on(rank, left):
    """An os.pwrite of a drive that is full on one rank after so many writes."""

    def make(comm):
        count = [0]

        def pwrite(file, data, offset):
            count[0] += 1
            if comm.rank == rank and count[0] > left:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return os.pwrite(file, data, offset)

        return pwrite

    return make


def test_a_full_drive_is_told_to_all_and_the_last_step_is_whole(tmp_path, world):
    make = full_on(1, 35)

    def program(comm):
        try:
            paged(comm, tmp_path, "adam", pwrite=make(comm))
        except TierError as error:
            return str(error), FileTier(comm, tmp_path, FREE, SMALL).step

    results = launch(program, 3, world=world).results
    (said, step), *others = results
    assert all(other == (said, step) for other in others)
    assert "No space left on device" in said and "[rank 1]" in said and f"The state of step {step} is whole" in said
    assert 0 < step < STEPS
    for found in launch(partial(paged, folder=tmp_path, name="adam"), 3).results:  # with room again
        assert close(found, serial("adam"))


def test_weights_that_are_damaged_are_told_to_all_and_nobody_waits_for_ever(tmp_path):
    launch(partial(paged, folder=tmp_path, name="adam", steps=2), 3)
    path = next(tmp_path.glob("rank2.weights1.*"))
    data = bytearray(path.read_bytes())
    data[BLOCK + 3] ^= 1
    path.write_bytes(data)
    with pytest.raises(Exception, match=rf"{path.name} in .* is damaged: chunk 0 .* The state of step 2 is whole"):
        launch(partial(paged, folder=tmp_path, name="adam"), 3)


@pytest.mark.parametrize("moment", ["forward", "step", "commit"])
def test_a_rank_that_dies_leaves_the_last_step_whole(tmp_path, moment):
    def program(comm):
        model = make_model()
        files = FileTier(comm, tmp_path, FREE, SMALL)
        stage = Infinity(comm, model, OPTIMIZERS["adam"], files, units=units_of(model))
        for step in range(2):
            if step == 1 and comm.rank == 1:
                if moment == "forward":
                    raise SystemExit("dies")
                if moment == "step":
                    stage._step_shard = lambda number, *rest: exit("dies") if number else None
                if moment == "commit":
                    files.commit = lambda *rest: exit("dies")
            stage.backward(*loss_sum(model, mine(comm, step)))
            stage.step()

    with pytest.raises(Exception, match="dies"):
        launch(program, 3)
    found = launch(partial(paged, folder=tmp_path, name="adam"), 3).results
    assert all(close(one, serial("adam")) for one in found)


def test_after_a_failure_it_says_so(tmp_path):
    def program(comm):
        model = make_model()
        stage = Infinity(comm, model, OPTIMIZERS["adam"], FileTier(comm, tmp_path, FREE, SMALL), units=units_of(model))
        with pytest.raises(RuntimeError, match="needs the gradients"):
            stage.step()
        stage.backward(*loss_sum(model, mine(comm, 0)))
        with pytest.raises(ValueError, match="above 0"):
            stage.step(clip=0)
        next(tmp_path.glob("rank0.state1.*")).unlink(missing_ok=True) if comm.rank == 0 else None
        with pytest.raises(TierError, match=r"rank0.state1.1 in .* cannot be read: No such file"):
            stage.step()
        with pytest.raises(RuntimeError, match=r"an earlier step has failed: .* Go on with a new Infinity"):
            stage.step()

    launch(program, 2)
    with pytest.raises(ValueError, match="1 or more buffers"):
        Infinity(None, make_model(), OPTIMIZERS["adam"], None, buffers=0)

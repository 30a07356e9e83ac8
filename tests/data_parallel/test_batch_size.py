"""The batch size that memory allows: predicted from two measurements, agreed by all ranks, and it settles."""

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from reference.data_parallel.accumulation import accumulate
from reference.data_parallel.batch_size import MemoryFit, decide, fit_memory
from reference.data_parallel.learning_rate import accumulation
from reference.data_parallel.replica import Replica
from reference.models.batches import batch
from reference.models.cnn import CNN
from reference.models.data import digits
from reference.models.loss import loss_sum
from reference.models.mlp import MLP
from reference.models.trainer import train
from reference.perf.meter import Meter
from reference.worlds import launch


class Alone:
    """A communicator of one rank, as far as `decide` needs it."""

    def Allreduce(self, send, recv, op=None):
        """What one rank brings is what comes out."""


def peak_of(model, size):
    """Live bytes at the peak of a step."""
    optimizer, data = torch.optim.Adam(model.parameters()), digits()
    with Meter(None, None, model, optimizer) as meter:
        train(model, data, optimizer, 2, size)  # the optimizer's state is there from the second step on
    return sum(meter.at_peak.values())


@pytest.mark.parametrize("make", [MLP, CNN])
def test_two_measurements_predict_a_third(make):
    sizes = 64, 128, 512
    peaks = [peak_of(make(), size) for size in sizes]
    memory = fit_memory(sizes[0], peaks[0], sizes[1], peaks[1])
    assert memory.at(512) == pytest.approx(peaks[2], rel=0.01)
    parameters = sum(p.numel() for p in make().parameters())
    assert 12 * parameters < memory.fixed < 16 * parameters  # at the peak not all gradients are there yet


def test_above_the_band_shrink_below_grow_inside_stay():
    """10 + 1 x size bytes of 100: the band is 81 to 90, its middle 85.5."""
    found = {size: decide(Alone(), size, 10 + size, 1.0, 100.0) for size in (20, 70, 71, 80, 81, 200)}
    assert {size: decision.size for size, decision in found.items()} == {
        20: 75,
        70: 75,
        71: 71,
        80: 80,
        81: 75,
        200: 75,
    }
    assert found[20].k == 3.75 and found[71].k == 1.0 and found[200].peak == 210.0


@given(st.floats(1, 500), st.floats(0.5, 200), st.integers(1, 400))
def test_it_settles_in_one_step_and_never_exceeds_the_band(fixed, per_sample, size):
    memory, capacity = MemoryFit(fixed, per_sample), 1000.0
    edge = (0.9 * capacity - fixed) / per_sample  # the largest size that fits, if it were whole
    assume(edge > 1 and abs(edge - round(edge)) > 1e-9)
    first = decide(Alone(), size, memory.at(size), per_sample, capacity).size
    assert memory.at(first) <= 0.9 * capacity * (1 + 1e-12)
    fits = [n for n in range(1, 2000) if 0.81 * capacity <= memory.at(n) <= 0.9 * capacity]
    assert not fits or first in fits
    assert decide(Alone(), first, memory.at(first), per_sample, capacity).size == first


def test_a_size_above_the_middle_is_taken_where_no_other_lies_in_the_band():
    """One sample of 88 bytes, or two of 44, of 100: both fit, and the middle is 85.5."""
    assert decide(Alone(), 2, 176.0, 88.0, 100.0).size == 1
    assert decide(Alone(), 5, 220.0, 44.0, 100.0).size == 2
    assert decide(Alone(), 1, 68.0, 20.0, 100.0).size == 2
    assert decide(Alone(), 10, 96.0, 1.0, 100.0).size == 1  # 86 bytes, above the middle already
    assert decide(Alone(), 3, 98.0, 5.0, 100.0).size == 1  # 83 bytes whatever the size: one sample ends in the band


def test_one_threshold_would_never_settle():
    """Peaks that scatter by 2 %: the band leaves the size alone, a threshold at 85.5 % changes it every other step."""
    scatter = np.random.default_rng(0).uniform(0.98, 1.02, 100)

    def changes(low, high):
        size, number = 75, 0
        for s in scatter:
            after = decide(Alone(), size, (10 + size) * s, 1.0, 100.0, low, high).size
            size, number = after, number + (after != size)
        return number

    assert changes(0.81, 0.90) == 0 and changes(0.855, 0.855) > 50


@pytest.mark.parametrize("ranks", [2, 3, 5])
def test_all_ranks_agree_where_each_alone_would_not(ranks):
    def program(comm):
        peak, per_sample = 40 + 6 * comm.rank, 0.6 + 0.1 * comm.rank
        return decide(Alone(), 50, peak, per_sample, 100.0).size, decide(comm, 50, peak, per_sample, 100.0)

    alone, agreed = zip(*launch(program, ranks).results)
    assert len(set(alone)) == ranks and len(set(agreed)) == 1 and agreed[0].size == min(alone)


def test_what_does_not_fit_is_said_on_every_rank():
    def program(comm):
        with pytest.raises(ValueError, match=r"no size that fits into 90% of 100 bytes: .* shard it"):
            decide(comm, 4, 101.0 + comm.rank, 4.0, 100.0)

    launch(program, 3)
    with pytest.raises(ValueError, match="farther apart"):
        fit_memory(8, 100, 8, 100)
    with pytest.raises(ValueError, match="farther apart"):
        fit_memory(8, 100, 16, 100)


def test_the_micro_batch_follows_the_memory_and_training_does_not_notice():
    """Peaks 10 + 1 x size of 40 bytes, then of 20: micro-batches of 24, then of 7, and the serial run all the same."""

    def program(comm):
        model, size, sizes = MLP(), 8, []
        replica, optimizer = Replica(comm, model), torch.optim.SGD(model.parameters(), 0.1)
        for step, capacity in enumerate([40.0] * 3 + [20.0] * 3):
            K = accumulation(100, comm.size, size)
            accumulate(replica, loss_sum, batch(digits(), 100, step, 0, comm.rank, comm.size), K)
            optimizer.step()
            size = decide(comm, size, 10.0 + size, 1.0, capacity).size
            sizes.append(size)
        return sizes, [p.detach() for p in model.parameters()]

    model = MLP()
    train(model, digits(), torch.optim.SGD(model.parameters(), 0.1), 6, 100)
    for sizes, parameters in launch(program, 2).results:
        assert sizes == [24, 24, 24, 7, 7, 7]
        torch.testing.assert_close(parameters, [p.detach() for p in model.parameters()], rtol=1e-4, atol=1e-6)

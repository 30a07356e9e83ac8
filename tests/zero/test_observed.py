"""What the formulas say, met by the stages that train: memory to the byte, bytes sent, the time of units in turn."""

import numpy as np
import pytest

from reference.mpi import DOUBLE
from reference.perf.recipes import ADAM
from reference.worlds import launch
from reference.zero import observed
from reference.zero.criterion import units_in_turn
from reference.zero.hybrid import hybrid
from reference.zero.memory import Setting
from reference.zero.observed import GROUPS, observe
from reference.zero.plus_plus import blocks, plus_plus
from reference.zero.step_time import step
from reference.zero.volume import sent

COUNT = np.zeros(1)  # of samples, which every step adds up


@pytest.mark.parametrize("stage", [1, 2, 3])
@pytest.mark.parametrize("P", [1, 2, 5])
def test_memory_is_met_to_the_byte_on_every_rank(stage, P):
    for seen in launch(observe, P, stage).results:
        assert seen.counted == seen.expected and seen.counted_peak == seen.expected_peak and seen.off == 0


def test_a_stage_that_keeps_everything_is_found(monkeypatch):
    monkeypatch.setitem(observed.STAGE, 2, observed.STAGE[1])
    for seen in launch(observe, 2, 2).results:
        assert seen.counted["gradients"] > 0 == seen.expected["gradients"] and seen.off > 0.1


def sent_in_a_step(P, stage, K=1, counts=1, **options):
    """Bytes of the third step of each rank, without the counts of samples."""

    def count(comm):
        comm.Allreduce([COUNT, DOUBLE], [COUNT.copy(), DOUBLE])

    def training(comm, steps):
        made = {name: make(comm) for name, make in options.items()}
        observe(comm, stage, steps, K, **made)

    two, three = (np.array(launch(training, P, steps).bytes_sent) for steps in (2, 3))
    return three - two - counts * np.array(launch(count, P).bytes_sent)


@pytest.mark.parametrize("stage, P, K", [(1, 3, 1), (1, 2, 3), (2, 3, 3), (3, 5, 1), (3, 2, 3)])
def test_the_bytes_of_a_step_are_counted(stage, P, K):
    counts = K if stage == 2 else 1  # stage 2 reduces every micro-batch, and counts its samples
    assert set(sent_in_a_step(P, stage, K, counts)) == {sent(Setting(GROUPS, P, stage, ADAM), K).total}


@pytest.mark.parametrize("stage, volume", [(2, 2), (3, 2 * 3 + 1)])
def test_whole_gradients_are_reduced_once(stage, volume):
    found = sent_in_a_step(2, stage, 3, accumulate=lambda _: "whole")
    assert set(found) == {sent(Setting(GROUPS, 2, stage, ADAM), 3, each=False).total} == {volume * 2 * sum(GROUPS)}


def test_units_that_stay_gathered_send_two_thirds():
    found = sent_in_a_step(2, 3, reshard_after_forward=lambda _: False)
    assert set(found) == {sent(Setting(GROUPS, 2, 3, ADAM, reshard=False)).total}


def test_hybrid_shards():
    found = sent_in_a_step(6, 3, make_group=lambda comm: hybrid(comm, 3))
    assert found.mean() == pytest.approx(sent(Setting(GROUPS, 6, 3, ADAM, shard_group=3)).total)


def test_zero_plus_plus():
    found = sent_in_a_step(4, 3, make_group=lambda comm: plus_plus(comm, 2))
    packed = {"weights": blocks(8).nbytes, "gradients": blocks(4).nbytes, "per_node": 2}
    assert set(found) == {sent(Setting(GROUPS, 4, 3, ADAM, secondary=2), **packed).total}


@pytest.mark.parametrize("seconds", [0.1, 1.0, 2.0, 3.5])
@pytest.mark.parametrize("units", [1, 2, 5])
def test_the_closed_form_is_the_recurrence_for_equal_units(seconds, units):
    gather, reduce = 1.0, 1.5
    closed = units_in_turn(units, seconds, gather, 0) + units_in_turn(units, 2 * seconds, gather, reduce)
    every = ([each] * units for each in (seconds, 2 * seconds, gather, reduce))
    assert step(*every).seconds == pytest.approx(closed)

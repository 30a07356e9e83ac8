"""The prepared loop computes the same, in memory of its own; what is changed of the process is put back."""

import gc
import json
import os

import numpy as np
import torch

from reference.realtime import deterministic


def scenes(count=20):
    draw = np.random.default_rng(3)
    return [draw.standard_normal((n % deterministic.MOST + 1, deterministic.WIDTH), np.float32) for n in range(count)]


def test_both_say_the_same_whatever_the_number_of_objects():
    both = deterministic.weights()
    plain, prepared = deterministic.PlainController(*both), deterministic.PreparedController(*both)
    for objects in scenes():
        torch.testing.assert_close(prepared.step(objects), plain.step(objects).detach(), rtol=1e-4, atol=1e-4)


def test_the_prepared_one_answers_in_the_same_memory_and_records_no_gradient():
    both = deterministic.weights()
    plain, prepared = deterministic.PlainController(*both), deterministic.PreparedController(*both)
    assert len({prepared.step(objects).data_ptr() for objects in scenes()}) == 1
    assert plain.step(scenes(1)[0]).requires_grad and not prepared.step(scenes(1)[0]).requires_grad


def test_the_process_is_as_before():
    before = os.sched_getaffinity(0), os.sched_getscheduler(0), gc.isenabled()
    with deterministic.undisturbed() as said:
        assert not gc.isenabled()
        if said["one processor"] == "yes":
            assert len(os.sched_getaffinity(0)) == 1
    assert (os.sched_getaffinity(0), os.sched_getscheduler(0), gc.isenabled()) == before
    assert set(said) == {"garbage collection", "one processor", "SCHED_FIFO", "mlockall"}


def test_a_refusal_of_the_system_is_told():
    def refused():
        raise PermissionError(1, "Operation not permitted")

    assert deterministic._asked(refused) == "no: Operation not permitted"


def test_each_remedy_alone_and_both_and_the_process_is_as_before():
    before = os.sched_getaffinity(0), gc.isenabled(), torch.get_num_threads()
    found = deterministic.remedies(20, 0.5)
    assert set(found) == {(False, False), (False, True), (True, False), (True, True)}
    assert all(0 < q["p50"] <= q["p99"] <= q["worst"] for q in found.values())
    assert (os.sched_getaffinity(0), gc.isenabled(), torch.get_num_threads()) == before


def test_the_program(capsys):
    assert deterministic.main(["--ticks", "20", "--period", "0.5", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    for loop in ("plain", "prepared"):
        assert 0 < found[loop]["p50"] <= found[loop]["p99"] <= found[loop]["p99.9"] <= found[loop]["worst"]
    assert deterministic.main(["--ticks", "10"]) == 0
    assert "SCHED_FIFO: " in capsys.readouterr().out

"""Engines: when jobs begin and end on the virtual clock, that waiting costs only what is left, and that data moves."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from reference import mpi
from reference.perf.meter import Meter
from reference.tiers.engine import Engine
from reference.worlds import launch

from ..examples import examples


def test_a_job_is_hidden_behind_what_the_rank_computes():
    def program(comm):
        engine, waited = Engine(comm, "copy"), []
        for computing in (0.0, 1.0, 5.0):
            job = engine.submit("k", 3.0, lambda: None)
            mpi.compute(comm, computing)
            waited.append(job.wait())
        return waited, engine.waited, comm.wtime()

    assert launch(program, 1).results == [([3, 2, 0], 5, 3 + 3 + 5)]


@examples(20)
@given(jobs=st.lists(st.tuples(st.floats(0, 2), st.floats(0, 2), st.integers(0, 1)), min_size=1, max_size=8))
def test_start_is_the_latest_of_now_the_engine_and_the_jobs_before(jobs):
    def program(comm):
        engines, made, free, right = [Engine(comm, "a"), Engine(comm, "b")], [], [0.0, 0.0], []
        for computing, seconds, number in jobs:
            mpi.compute(comm, computing)
            job = engines[number].submit("k", seconds, lambda: None, after=made[-2:-1])
            start = max(comm.wtime(), free[number], *(earlier.end for earlier in made[-2:-1]), 0.0)
            right.append((job.start, job.end) == (start, start + seconds))
            free[number] = start + seconds
            made.append(job)
        for engine in engines:
            engine.drain()
        return all(right), comm.wtime() >= max(free) - 1e-9, sum(len(engine.records) for engine in engines)

    assert launch(program, 1).results == [(True, True, len(jobs))]


def test_data_moves_when_its_time_has_come_and_not_before(world):
    def program(comm):
        engine, source, target = Engine(comm, "copy"), torch.ones(4), torch.zeros(4)
        job = engine.submit("k", 1.0, lambda: target.copy_(source))
        early = target.sum().item()
        engine.submit("l", 1.0, lambda: target.mul_(2), after=[job]).wait()
        return early, target.tolist(), [record.label for record in engine.records]

    for early, target, labels in launch(program, 2, world=world).results:
        assert (early == 0 or world == "mpi") and target == [2] * 4 and labels == ["k", "l"]


def test_an_error_comes_out_where_it_is_waited_for_and_fails_what_comes_after(world):
    def program(comm):
        def fail():
            raise OSError(28, "no space")

        engine, other, done = Engine(comm, "a"), Engine(comm, "b"), []
        first = engine.submit("k", 1.0, fail)
        second = other.submit("l", 1.0, lambda: done.append("l"), after=[first])
        third = other.submit("m", 1.0, lambda: done.append("m"))
        seen = []
        for job in (second, first, first):
            with pytest.raises(OSError, match="no space"):
                job.wait()
            seen.append(job.label)
        third.wait()
        engine.submit("n", 1.0, fail)
        with pytest.raises(OSError, match="no space"):
            engine.drain()
        engine.drain()
        return seen, done

    assert launch(program, 1, world=world).results == [(["l", "k", "k"], ["m"])]


def test_an_engines_work_is_not_the_ranks_and_its_memory_is_freed_when_the_job_has_ended():
    def program(comm):
        engine = Engine(comm, "copy")
        with Meter(comm) as meter:
            source, target = torch.ones(1000), torch.zeros(1000)
            del source
            held = meter.live["activations"]
            source = torch.ones(1000)
            engine.submit("k", 1.0, lambda source=source: target.copy_(torch.cat([source])))
            del source
            under_way = meter.live["activations"]
            mpi.compute(comm, 2.0)
            engine.poll()
            return held, under_way, meter.peak["activations"], meter.live["activations"], target.sum().item()

    assert launch(program, 1).results == [(4000, 8000, 8000, 4000, 1000)]

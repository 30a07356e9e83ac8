"""Measuring: the slowest rank counts, turns are taken, and every rank gets the same answer."""

import pytest

from reference import mpi
from reference.perf.measure import measure, spread
from reference.worlds import Slow, launch, networks


def test_quartiles():
    assert spread([5.0, 1.0, 2.0, 4.0, 3.0]) == (2.0, 3.0, 4.0)


def test_the_slowest_rank_counts_on_every_rank():
    def program(comm):
        return measure(comm, [lambda: mpi.compute(comm, 1e-3), lambda: mpi.compute(comm, 2e-3)], repeat=3)

    run = launch(program, 3, faults=[Slow(1, 2.0)], network=networks.uniform(0.0, 0.0))
    for first, second in run.results:
        assert first == pytest.approx((2e-3,) * 3) and second == pytest.approx((4e-3,) * 3)


def test_programs_take_turns_after_a_warm_up():
    def program(comm):
        calls = []
        measure(comm, [lambda: calls.append("a"), lambda: calls.append("b")], repeat=2)
        return "".join(calls)

    assert launch(program, 2).results == ["ababab"] * 2

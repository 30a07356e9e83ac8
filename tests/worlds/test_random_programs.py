"""Random programs over the whole API: legal ones run alike however often and wherever, mutants of them are reported."""

import hashlib
import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.perf.pace import pace
from reference.worlds import LaunchError, TimedOut, launch, networks
from tests.examples import examples

from .random_programs import mutant, play, program

SEEDS = st.integers(0, 2**32 - 1)
RANKS = st.integers(1, 6)
SOON = 60.0 * pace()


def in_order(run) -> list:
    """What came in an order that MPI prescribes, on every rank."""
    return [seen for seen, *_ in run.results]


@examples(10)
@given(SEEDS, RANKS)
def test_a_legal_program_runs_alike_each_time_and_its_network_matters_to_the_clock_alone(seed, ranks):
    steps = program(seed)
    first, again = (launch(play, ranks, steps, timeout=SOON) for _ in range(2))
    assert first.results == again.results
    assert (first.seconds, first.bytes_sent, first.messages) == (again.seconds, again.bytes_sent, again.messages)
    assert list(first.timeline) == list(again.timeline)
    elsewhere = launch(play, ranks, steps, network=networks.two_level(2), buffered=True, timeout=SOON)
    assert in_order(elsewhere) == in_order(first)


@pytest.mark.mpi
@examples(6)
@given(SEEDS, RANKS)
def test_real_ranks_agree(seed, ranks):
    steps = program(seed)
    virtual, real = (launch(play, ranks, steps, world=world, timeout=SOON) for world in ("virtual", "mpi"))
    assert in_order(virtual) == in_order(real)


@given(SEEDS, st.integers(2, 6), SEEDS)
def test_a_mutant_ends_with_a_report_that_names_all_ranks(seed, ranks, which):
    steps = program(seed)
    twist = mutant(which, [roles for *_, roles in launch(play, ranks, steps, timeout=SOON).results])
    if twist is None:
        return
    with pytest.raises(LaunchError) as caught:
        launch(play, ranks, steps, twist, timeout=SOON)
    report = caught.value
    assert not isinstance(report, TimedOut) and report.cause, report
    assert [status.rank for status in report.roll_call] == list(range(ranks))


def digest(seeds) -> str:
    """All that comes of some programs, in short."""
    whole = hashlib.sha256()
    for seed in seeds:
        run = launch(play, 2 + seed % 4, program(seed), timeout=SOON)
        whole.update(repr((run.results, run.seconds, run.messages, list(run.timeline))).encode())
    return whole.hexdigest()


def test_the_order_of_sets_and_dictionaries_decides_nothing():
    """Two processes with other hash seeds come to the same, to the last event."""
    code = "from tests.worlds.test_random_programs import digest; print(digest(range(30)))"
    found = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": str(number)},
            capture_output=True,
            text=True,
            timeout=600 * pace(),
            check=True,
        ).stdout
        for number in (1, 2)
    ]
    assert found[0] == found[1] == f"{digest(range(30))}\n"

"""When compression pays: the exercise as it is told and as it is, where it stops paying, and a step on the clock."""

import math

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from reference.collectives.ring import ring_allreduce_cost
from reference.compression import top_k
from reference.compression.reduce import allgather_cost, allgather_sum
from reference.compression.step_time import (
    Piece,
    all_gather_speedup,
    compressed_step,
    dense_ring,
    exercise,
    gathered,
    paying_bandwidth,
    paying_overhead,
    paying_ranks,
    speedup_of_step,
)
from reference.models import generator
from reference.mpi import compute
from reference.networks import Link
from reference.worlds import launch, networks

GB, MS = 1e9, 1e-3
TOLD = {"nbytes": 25 * GB, "wire": 0.5 * GB, "beta": 1 / (200 * GB)}


def test_e1_54_one_transfer_is_1_22_as_told_and_2_38_as_written():
    """125 ms against 50 + 2.5 + 50, or 50 + 2.5."""
    dense, wire, beta = TOLD.values()
    assert round(exercise(dense, wire, beta, 100 * MS), 2) == 1.22
    assert round(exercise(dense, wire, beta, 50 * MS), 2) == 2.38


@pytest.mark.parametrize("P, expected", [(2, 1.22), (8, 1.86), (16, 1.70), (64, 0.96), (256, 0.34)])
def test_e1_54_against_the_dense_ring_it_depends_on_the_ranks(P, expected):
    assert round(all_gather_speedup(P, **TOLD, overhead=100 * MS, alpha=0), 2) == expected


def test_e1_54_where_it_stops_paying():
    """Between 2 and 59 ranks; without overhead up to 100, where the wires are as many bytes as the ring."""
    low, high = paying_ranks(**TOLD, overhead=100 * MS, alpha=0)
    assert 1 < low < 2 and 59 < high < 60
    assert paying_ranks(**TOLD, overhead=0, alpha=0) == pytest.approx((1, 100))
    low, high = paying_ranks(**TOLD, overhead=200 * MS, alpha=0)
    assert 7 < low < 8 and 13 < high < 14 and paying_ranks(**TOLD, overhead=250 * MS, alpha=0) is None
    assert paying_overhead(8, **TOLD, alpha=0) == pytest.approx(201.25 * MS)
    rate = {P: paying_bandwidth(P, TOLD["nbytes"], TOLD["wire"], 100 * MS) / GB for P in (8, 64, 256)}
    assert rate == pytest.approx({8: 402.5, 64: 177.2, 256: 0}, rel=1e-3)


def test_e1_54_the_indices_of_so_many_elements_need_more_than_32_bits():
    """0.5 GB are 62.5 million values and as many 32-bit indices; of 6.25e9 elements an index has 33 bits."""
    d, k = int(6.25e9), int(6.25e7)
    assert 8 * k == 0.5 * GB and (d - 1).bit_length() == 33
    assert top_k(k).nbytes(d) == pytest.approx(0.508 * GB, rel=1e-3)


def test_e1_29_an_overhead_in_time_is_added():
    """125 ms are all of the "step", 100 ms are 0.8 of it: 1 / (1/50 + 0.8)."""
    assert round(speedup_of_step(1, 50, 0.8), 2) == 1.22
    assert speedup_of_step(0.5, 50, 0) == pytest.approx(1 / 0.51) and speedup_of_step(0, 50, 0.1) < 1


@given(st.integers(2, 500), st.floats(0.001, 1), st.floats(0, 3), st.floats(0, 0.1), st.floats(0.01, 5))
@example(2, 0.01, 1.0, 0.001, 0.01)  # a wire takes as long as a latency: the parabola is a line
def test_the_bounds_are_where_the_speedup_is_1(P, share, overhead, alpha, beta):
    args = {"nbytes": 10.0, "wire": 10 * share, "alpha": alpha, "beta": beta}
    pays = dense_ring(P, 10, alpha, beta) >= gathered(P, 10 * share, overhead, alpha, beta)
    found = paying_ranks(**args, overhead=overhead)
    low, high = found or (math.inf, -math.inf)
    if all(abs(P - bound) > 1e-6 * P for bound in (low, high)):
        assert pays == (low <= P <= high)
    if abs(paying_overhead(P, **args) - overhead) > 1e-9:
        assert pays == (paying_overhead(P, **args) >= overhead)
    if (
        alpha == 0
        and overhead
        and abs(1 / beta - (rate := paying_bandwidth(P, 10, 10 * share, overhead))) > 1e-9 * rate
    ):
        assert pays == (1 / beta <= rate)


# With overlap


def test_a_step_by_hand():
    """Two pieces: 2 s backward, 1 s to encode, 4 s on the link, 1 s to decode; forward 3 s."""
    pieces = [Piece(2, 1, 4, 1)] * 2
    assert compressed_step(3, pieces) == (15, 4, 4)  # encoded at 6 and 9, arrived at 10 and 14
    assert compressed_step(3, [Piece(2, 0, 0, 0)] * 2) == (7, 0, 0)
    assert compressed_step(0, []) == (0, 0, 0)


def test_what_is_hidden_anyway_gets_slower_when_it_is_compressed():
    """50 times fewer bytes, on a link that was quick enough: the codec's time is all one gets."""
    dense, compressed = [Piece(1, 0, 0.9, 0)] * 10, [Piece(1, 0.1, 0.9 / 50, 0.1)] * 10
    assert compressed_step(5, dense).seconds == pytest.approx(15.9) and compressed_step(5, compressed).seconds > 16.9
    slow, compressed = [Piece(1, 0, 9, 0)] * 10, [Piece(1, 0.1, 9 / 50, 0.1)] * 10
    assert compressed_step(5, slow).seconds == pytest.approx(96) and compressed_step(5, compressed).seconds < 17.3


def test_the_step_is_that_of_the_virtual_cluster():
    """Two ranks, three pieces of different sizes, top-k: the same seconds to rounding."""
    alpha, beta, d = 1e-5, 5e-8, (4000, 500, 2000)
    backward, encode, decode, codec = (2e-4, 3e-5, 8e-5), (1e-5, 2e-6, 9e-6), (3e-5, 4e-6, 2e-5), top_k(0.1)

    def program(comm):
        compute(comm, 1e-4)
        requests = []
        for size, seconds, extra in zip(d, backward, encode):
            compute(comm, seconds + extra)
            requests.append(allgather_sum.start(comm, codec, torch.randn(size, generator=generator(comm.rank))))
        for request, seconds in zip(requests, decode):
            request.Wait()
            compute(comm, seconds)

    transfers = [allgather_cost(2, codec.nbytes(size), size, Link(alpha, beta)).seconds for size in d]
    predicted = compressed_step(1e-4, [Piece(*each) for each in zip(backward, encode, transfers, decode)])
    assert launch(program, 2, network=networks.uniform(alpha, beta, gap=math.inf)).seconds == pytest.approx(
        predicted.seconds
    )
    assert predicted.exposed > 0


def test_the_formulas_are_those_of_the_schedules():
    assert dense_ring(8, 800, 3e-6, 2e-9) == pytest.approx(ring_allreduce_cost(8, 800, 1, Link(3e-6, 2e-9)).seconds)
    assert gathered(8, 100, 0, 3e-6, 2e-9) == pytest.approx(allgather_cost(8, 100, 1, Link(3e-6, 2e-9)).seconds)

"""Overlap: the same numbers, the bytes of a ring, and the time of the formula on the virtual clock."""

import math

import pytest
import torch
import torch.nn.functional as F

from reference import mpi
from reference.networks import uniform
from reference.perf.meter import Meter
from reference.perf.roofline import Device
from reference.tensor_parallel import overlap
from reference.tensor_parallel.mappings import copy, gather_total, scatter_total
from reference.worlds import launch

from .cases import numbers

ALPHA, BETA = 1e-5, 1e-9
PAIRS = {  # name: (the overlapped one, the same one after the other, tokens in, tokens out, calls backward)
    "gather": (overlap.gather_matmul, lambda comm, x, w: F.linear(gather_total(comm, x, 1), w), False, True),
    "scatter": (overlap.matmul_scatter, lambda comm, x, w: scatter_total(comm, F.linear(x, w), 1), True, False),
    "copy": (overlap.copy_matmul, lambda comm, x, w: F.linear(copy(comm, x), w), True, True),
}


def both_ways(comm, function, whole_in, s=12):
    x = numbers(2, s if whole_in else s // comm.size, 6, seed=comm.rank).requires_grad_()
    weight = numbers(5, 6, seed=50 + comm.rank).requires_grad_()
    y = function(comm, x, weight)
    y.backward(numbers(*y.shape, seed=100 + comm.rank))
    return y.detach(), x.grad, weight.grad


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
@pytest.mark.parametrize("name", PAIRS)
def test_the_same_numbers_as_one_after_the_other(name, ranks):
    quick, plain, whole_in, _ = PAIRS[name]
    found, expected = (launch(both_ways, ranks, function, whole_in).results for function in (quick, plain))
    for ours, theirs in zip(found, expected):
        assert all(torch.allclose(a, b, rtol=0, atol=1e-12) for a, b in zip(ours, theirs))


@pytest.mark.mpi
@pytest.mark.parametrize("name", PAIRS)
def test_so_it_is_on_real_ranks(name):
    quick, plain, whole_in, _ = PAIRS[name]
    found = launch(both_ways, 3, quick, whole_in, world="mpi").results
    for ours, theirs in zip(found, launch(both_ways, 3, plain, whole_in).results):
        assert all(torch.allclose(a, b, rtol=0, atol=1e-12) for a, b in zip(ours, theirs))


def test_the_backward_pass_of_gather_gathers_again():
    ways = PAIRS["gather"]
    once, again = launch(both_ways, 4, ways[1], False), launch(both_ways, 4, ways[0], False)
    block = 2 * 3 * 6 * 8
    assert sum(once.bytes_sent) == 4 * 3 * 2 * block and sum(again.bytes_sent) == 4 * 3 * 3 * block


@pytest.mark.parametrize("product", [1e-6, 4e-5, 5e-4])
def test_the_next_block_travels_while_this_one_is_multiplied(product):
    """(P - 1) max(t, c) + c where one after the other takes (P - 1) t + P c."""
    P, elements = 4, 2000
    t = ALPHA + 8 * elements * BETA

    def blocks(comm):
        for _ in overlap.ring_blocks(comm, torch.zeros(elements, dtype=torch.float64)):
            mpi.compute(comm, product)

    def sums(comm):
        def term(rank):
            mpi.compute(comm, product)
            return torch.zeros(elements, dtype=torch.float64)

        overlap.ring_sum(comm, term)

    def gathered(comm):
        comm.Allgather(torch.zeros(elements, dtype=torch.float64), torch.zeros(P * elements, dtype=torch.float64))
        mpi.compute(comm, P * product)

    network = uniform(ALPHA, BETA)
    for program in (blocks, sums):
        assert launch(program, P, network=network).seconds == pytest.approx((P - 1) * max(t, product) + product)
    assert launch(gathered, P, network=network).seconds == pytest.approx((P - 1) * t + P * product)


def test_the_weight_gradient_hides_the_all_reduce_of_a_column_parallel_layer():
    """The time of the backward pass: the product for dX, then the longer of the all-reduce and the product for dA."""

    def program(comm, rate):
        x, weight = numbers(1, 20, 10).requires_grad_(), numbers(8, 10).requires_grad_()
        y = overlap.copy_matmul(comm, x, weight)
        with Meter(comm, Device(rate, math.inf)):
            before = mpi.wtime(comm)
            y.backward(torch.ones_like(y))
            return mpi.wtime(comm) - before

    product, reduce = 2 * 20 * 10 * 8, 2 * (ALPHA + 100 * 8 * BETA)
    for rate in (math.inf, 2 * product / reduce, product / reduce / 3):
        seconds = launch(program, 2, rate, network=uniform(ALPHA, BETA)).results[0]
        assert seconds == pytest.approx(product / rate + max(reduce, product / rate))

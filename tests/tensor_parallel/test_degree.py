"""The time of a layer against the virtual clock, and the degree that is worth its ranks."""

import math

import pytest
import torch

from reference import mpi
from reference.collectives import choose
from reference.models import Config
from reference.networks import two_level, uniform
from reference.perf.meter import Meter
from reference.perf.roofline import Device, device
from reference.tensor_parallel import degree
from reference.tensor_parallel.dropout import Masks
from reference.tensor_parallel.gpt import Block
from reference.worlds import launch

from .cases import SMALL, serial_gpt

NODES = two_level(8, 4e-6, 1 / 370e9, 8e-6, 1 / 48e9, nics=8)  # of 8 H100: NVLink, and a card of 400 Gbit/s for each
LARGE = Config(width=8192, heads=64, kv_heads=8, layers=80, length=4096)  # a 70B


@pytest.mark.parametrize("ranks", [1, 2, 4])
@pytest.mark.parametrize("kv_heads", [8, 4])
def test_equal_to_the_virtual_clock(ranks, kv_heads):
    config, work, network = SMALL._replace(kv_heads=kv_heads), Device(1e9, math.inf), uniform(1e-5, 1e-9)

    def program(comm):
        block = Block(comm, serial_gpt(config).blocks[0], Masks(comm))
        x = torch.ones(2, 24, 32, dtype=torch.float64, requires_grad=True)
        with Meter(comm, work):
            before = mpi.wtime(comm)
            block(x).sum().backward()
            return mpi.wtime(comm) - before

    predicted = degree.layer_time(ranks, 2, 24, config, work, network, itemsize=8, algorithm="ring")
    found = launch(program, ranks, network=network).results
    assert max(found) == pytest.approx(predicted.seconds, rel=1e-9)


def test_the_all_reduce_of_several_nodes_is_about_as_long_as_published():
    """arXiv 2411.13055, in the picture that Bekman shows (data/nccl_allreduce_busbw_vs_nodes_h100.csv of chapter 1)."""
    for ranks, published in ((32, 599.2e-6), (64, 699.1e-6)):  # 64 MiB
        assert choose(ranks, 2**25, 2, NODES).seconds == pytest.approx(published, rel=0.12), ranks


def test_beyond_the_node_most_of_the_time_is_spent_on_messages():
    """A layer of a 70B, one sequence (PIT-09, TP=32): a little faster, at a third to a half of the efficiency."""
    fast = device("H100 SXM", efficiency=0.6)
    times = {P: degree.layer_time(P, 1, 4096, LARGE, fast, NODES) for P in (1, 2, 4, 8, 16, 32)}
    seconds = [times[P].seconds for P in times]
    assert seconds == sorted(seconds, reverse=True)
    assert times[8].efficiency > 0.6 and times[32].efficiency < 0.3
    assert times[8].seconds / times[32].seconds < 1.5
    assert degree.best_degree(times, 1, 4096, LARGE, fast, NODES).P == 8
    one_domain = uniform(4e-6, 1 / 370e9)  # as far as fast links reach: then 8 is no limit
    assert degree.best_degree(times, 1, 4096, LARGE, fast, one_domain).P > 8


def test_one_card_a_node_makes_it_slower_than_a_node():
    fast = device("H100 SXM", efficiency=0.6)
    poor = two_level(8, 4e-6, 1 / 370e9, 8e-6, 1 / 48e9, nics=1)
    assert (
        degree.layer_time(16, 1, 4096, LARGE, fast, poor).seconds
        > degree.layer_time(8, 1, 4096, LARGE, fast, poor).seconds
    )


def test_small_batches_and_slow_links_make_it_worse():
    """Too fine a cut (CHAL-02, CHAL-07, CHAL-17): the same degree computes most of the time, or hardly ever."""
    fast = device("H100 SXM", efficiency=0.6)
    pcie = two_level(8, 10e-6, 1 / 25e9, 10e-6, 1 / 25e9)

    def share(s, width, network):
        config = Config(width=width, heads=64, length=4096)
        return degree.layer_time(8, 1, s, config, fast, network).efficiency

    assert share(4096, 8192, NODES) > 0.7 > share(128, 8192, NODES) > 0.5 and share(16, 1024, NODES) < 0.05
    assert share(4096, 8192, pcie) < share(4096, 8192, NODES) / 2


@pytest.mark.parametrize(
    "P, particular, words",
    [
        (3, {}, "3 does not divide 64 heads"),
        (4, {"heads": 8, "kv_heads": 8}, ""),
        (16, {"heads": 16, "kv_heads": 8}, ""),
        (4, {"heads": 36, "kv_heads": 6, "width": 36 * 128}, "4 neither divides 6 heads of keys and values nor is a"),
    ],
)
def test_degrees_that_the_heads_allow(P, particular, words):
    found = degree.check_degree(P, LARGE._replace(**particular))
    assert found.startswith(words) and bool(found) == bool(words)


def test_no_possible_degree_is_an_error():
    with pytest.raises(ValueError, match=r"none of the degrees \[3, 5\] suits 64 heads in 8 groups"):
        degree.best_degree((5, 3), 1, 4096, LARGE, device("H100 SXM"), NODES)


def test_a_step_that_does_not_pay_is_the_last_one_although_a_later_one_would():
    """An all-reduce that costs much from 2 ranks on and hardly more on 8: the search does not jump over the border."""
    dear, fast = uniform(0.0, 3e-11), device("H100 SXM", efficiency=0.6)
    asked = {P: degree.layer_time(P, 1, 4096, LARGE, fast, dear) for P in (1, 2, 8)}
    assert asked[1].seconds < 1.5 * asked[2].seconds and asked[1].seconds >= 1.5 * asked[8].seconds
    assert degree.best_degree(asked, 1, 4096, LARGE, fast, dear).P == 1

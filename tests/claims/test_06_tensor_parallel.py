"""Sentences of chapter 6 that no cell shows."""

import numpy as np
import pytest
import torch

from reference.models import GPT, Config
from reference.networks import Link, uniform
from reference.perf.accelerators import accelerator
from reference.perf.roofline import Device
from reference.planner.blocks import block, layer, sizes
from reference.planner.programme import integer_programme
from reference.planner.sharding import Problem
from reference.planner.strategies import Setting
from reference.tensor_parallel import degree, volume
from reference.worlds import launch


def sent(b, s, h, P=8, **how):
    config = Config(width=h, heads=8, length=s)
    return sum(one.elements for one in volume.block(P, b, s, config, **how))


def test_twice_the_width_and_half_the_tokens_send_as_much_and_compute_twice():
    for s, h in ((4096, 4096), (512, 1024), (64, 8192)):
        assert sent(1, s, h) == sent(1, s // 2, 2 * h)
        linear, twice = (24 * tokens * width**2 for tokens, width in ((s, h), (s // 2, 2 * h)))
        assert twice == 2 * linear


def test_the_small_all_reduces_of_sequence_parallelism_are_as_small_as_told():
    """0.25 of (P - 1) n with 48 tokens, 0.003 with 4,096."""
    for tokens, told in ((48, 0.25), (4096, 0.003)):
        stream = 7 * tokens * 32
        assert (sent(1, tokens, 32, sequence=True) - sent(1, tokens, 32)) / stream == pytest.approx(told, rel=0.03)


def test_a_layer_of_64_heads_has_12_h_squared_weights_and_a_70b_wants_13_devices():
    block = GPT(Config(width=64, heads=64, length=8)).blocks[0]
    matrices = sum(p.numel() for p in block.parameters() if p.dim() == 2)
    assert matrices == 12 * 64**2
    assert 12 < 80 * 16 * 12 * 8192**2 / accelerator("H100 SXM").memory < 13


def test_forward_is_right_and_gradients_are_not_without_the_backward_all_reduce():
    """For any number of ranks above 1 the gradient of x is this rank's term alone."""

    def program(comm):
        x = torch.ones(3, 4, dtype=torch.float64, requires_grad=True)
        a = torch.arange(1.0, 33, dtype=torch.float64).view(4, 8)
        (x @ a.chunk(comm.size, 1)[comm.rank]).sum().backward()
        return x.grad[0, 0].item()

    for P in (2, 4):
        found = launch(program, P).results
        assert sum(found) == 36 and all(part != 36 for part in found)


def test_most_is_gained_by_overlap_where_block_and_product_take_as_long():
    """(P - 1) t + P c against (P - 1) max(t, c) + c, for any P > 1."""
    ratios = np.logspace(-2, 2, 401)
    for P in (2, 4, 8, 64):
        gain = ((P - 1) + P * ratios) / ((P - 1) * np.maximum(1, ratios) + ratios)
        assert ratios[gain.argmax()] == pytest.approx(1)
    assert 7 / 4 == ((4 - 1) + 4) / 4


def test_a_degree_that_heads_allow():
    """It divides the heads; and the groups of keys and values, or is a multiple of them."""
    config = Config(width=128, heads=32, kv_heads=8)
    allowed = [P for P in range(1, 65) if not degree.check_degree(P, config)]
    assert allowed == [1, 2, 4, 8, 16, 32]


def test_on_four_ranks_two_dimensions_never_send_less_in_training():
    for h in (64, 1024, 16384):
        for m in (1, 10**3, 10**6, 10**9):
            assert volume.mlp_2d(4, m, h) > volume.mlp_1d(4, m, h)


def test_a_degree_that_divides_the_heads_may_still_not_suit_the_groups():
    """36 heads in 6 groups: 4 divides the heads, and neither divides 6 nor is a multiple of it."""
    assert degree.check_degree(4, Config(width=36 * 4, heads=36, kv_heads=6))
    assert not degree.check_degree(12, Config(width=36 * 4, heads=36, kv_heads=6))


def test_the_gaps_of_eight_ranks_are_three_times_those_of_two():
    """On the network of "See it": 14 steps in place of 2, and 7/4 of the bytes."""
    config, network = Config(length=24, width=64, heads=8, layers=1), uniform(6e-5, 1.6e-8)
    two, eight = (degree.layer_time(P, 4, 24, config, Device(1e9, np.inf), network, 4, "ring") for P in (2, 8))
    assert 1e3 * two.communicating == pytest.approx(2.1, abs=0.06)
    assert 1e3 * eight.communicating == pytest.approx(6.1, abs=0.06)
    assert two.computing == pytest.approx(4 * eight.computing) and eight.communicating > eight.computing


def test_the_programme_leaves_norms_whole_that_take_no_time():
    """The control for what the page gives as the cause: with them free, nothing is cut along the tokens."""
    made, link = block(layer("x"), sizes(1, 2048, 4096, 32)), Link(1e-6, 1e-11)
    for bandwidth, way in ((2e12, "split s"), (np.inf, "whole")):
        plan = integer_programme(Problem(made, Setting(4, link, Device(312e12, bandwidth))))
        assert {plan.strategy(name).name for name in ("norm1", "norm2")} == {way}


def test_two_stages_of_a_70b_do_not_fit_and_four_do():
    def needed(p, t=8):
        return (16 * 69e9 / p + 34 * 4096 * 8192 * 80) / t

    room = accelerator("H100 SXM").memory
    assert 1e-9 * needed(2) == pytest.approx(80.4, abs=0.05)
    assert needed(2) > 0.9 * room > needed(4)

"""How far data parallelism carries: the network's limit, the samples' limit, and no cliff at 1,000."""

import pytest

from reference.collectives.select import predict
from reference.data_parallel.layers import Layer, gpt, timed
from reference.data_parallel.scaling import efficiency, on_nodes, speedup, step_seconds, time_to_target
from reference.data_parallel.step_time import MIB, by_limit
from reference.networks import Link, two_level

INSIDE, OUTSIDE = Link(2e-6, 1 / 300e9), Link(5e-6, 1 / 50e9)  # NVLink 3 and InfiniBand NDR, a card for each rank


def gpt_efficiency(samples, P, across):
    """6.65e9 parameters, sequences of 2,048 tokens, gradients in 16 bits, buckets of 100 MiB, 400 TFLOP/s a rank."""
    layers = timed(gpt(4096, 32, 50257, 2048), samples, 400e12, itemsize=2)
    return efficiency(layers, by_limit(layers, 100 * MIB), on_nodes(8, INSIDE, OUTSIDE, across), P)


def test_the_closed_form_is_what_is_simulated():
    found = on_nodes(4, INSIDE, OUTSIDE, itemsize=4)(8, 4 * 32_000)
    network = two_level(4, *INSIDE[:2], *OUTSIDE[:2], nics=4)
    simulated = predict("hierarchical", 8, 32_000, 4, network, ranks_per_node=4, across="halving-doubling")
    assert found == pytest.approx(simulated)


def test_alone_nothing_is_sent():
    layers = [Layer("a", 100, 1.0, 2.0), Layer("b", 100, 1.0, 2.0)]
    allreduce = on_nodes(8, INSIDE, OUTSIDE)
    assert efficiency(layers, by_limit(layers, 100), allreduce, 1) == 1.0
    assert step_seconds(layers, by_limit(layers, 100), lambda P, nbytes: 0.5, 8) == 6.5


def test_from_8_to_131072_ranks():
    """With enough samples a rank there is no cliff, at 1,000 or later, unless latencies are paid in proportion to P."""
    many = {P: gpt_efficiency(8, P, "halving-doubling") for P in (8, 1024, 8192, 131_072)}
    assert many == pytest.approx({8: 0.997, 1024: 0.995, 8192: 0.995, 131_072: 0.995}, abs=1e-3)
    ring = {P: gpt_efficiency(8, P, "ring") for P in (8, 1024, 8192, 100_000)}
    assert ring == pytest.approx({8: 0.997, 1024: 0.994, 8192: 0.984, 100_000: 0.358}, abs=1e-3)


def test_few_samples_a_rank_cost_efficiency_at_any_scale():
    layers = timed(gpt(1600, 48, 50257, 1024), 1, 400e12, itemsize=2)
    allreduce = on_nodes(8, INSIDE, OUTSIDE)
    found = [efficiency(layers, by_limit(layers, 100 * MIB), allreduce, P) for P in (8, 64, 1024)]
    assert found == pytest.approx([0.893, 0.590, 0.544], abs=1e-3)


def test_the_noise_scale_limits_what_more_ranks_are_good_for():
    """4 samples a rank, B_noise = 4,096: half of what 1,024 ranks do is lost, and no number is 1,025 times faster."""
    found = {P: speedup(P, 4, 4096) for P in (8, 1024, 100_000)}
    assert found == pytest.approx({8: 7.946, 1024: 512.5, 100_000: 1014.6}, abs=0.1)
    assert speedup(1000, 4, 2**20) == pytest.approx(996.2, abs=0.1)  # where gradients are noisier, 1,000 ranks are few
    assert speedup(8, 4, 4096, slowdown=2.0) == pytest.approx(found[8] / 2)
    assert time_to_target(1024, 4, 4096, 0.5) == 1.0

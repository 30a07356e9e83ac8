"""The bucket recurrence: by hand, against every way to cut the layers, and against the clock of the virtual cluster."""

from itertools import combinations, pairwise
from math import inf

import numpy as np
import pytest

from reference.collectives.ring import ring_allreduce_cost
from reference.data_parallel import step_time
from reference.data_parallel.layers import Layer, timed, vgg16
from reference.data_parallel.step_time import MIB, accumulated, best_buckets, best_limit, by_limit, step, step_of
from reference.mpi import IN_PLACE, compute, waitall, wtime
from reference.networks import Link
from reference.worlds import launch, networks

LAYERS = [Layer(f"layer {i}", nbytes, 1e-4, 2e-4) for i, nbytes in enumerate([4000, 80_000, 0, 160_000, 40_000])]


def test_by_hand():
    """Forward 5, ten buckets of 1: the last is exposed, or the network is busy from the first on."""
    short, long = (step(5.0, [1.0] * 10, [c] * 10) for c in (0.8, 1.4))
    assert short.seconds == pytest.approx(15.8) and short.exposed == pytest.approx(0.8)
    assert long.seconds == pytest.approx(5 + 1 + 10 * 1.4) and long.exposed == pytest.approx(5.0)
    assert short.spans[0].start == 6.0 and long.spans[-1].end == pytest.approx(20.0)
    assert [step_time.often_claimed(5.0, [1.0] * 10, [c] * 10) for c in (0.8, 1.4)] == [15.0, 15.0]


def test_rules():
    rng = np.random.default_rng(0)
    for _ in range(50):
        forward, (backward, communication) = rng.random(), rng.random((2, rng.integers(1, 9)))
        found = step(forward, backward, communication)
        assert found.seconds >= max(step_time.often_claimed(forward, backward, communication), forward + sum(backward))
        assert found.seconds <= step_time.without_overlap(forward, backward, communication) + 1e-12
        assert found.exposed >= communication[-1] - 1e-12  # nothing is left to hide the last one behind
        assert all(before.end <= after.start + 1e-12 for before, after in pairwise(found.spans))


def test_nothing_to_send_and_frozen_layers():
    assert step(1.0, [], []).seconds == 1.0 and step(1.0, [2.0], [0.0]).exposed == 0.0
    frozen = [Layer("frozen", 0, 1.0, 3.0), Layer("trained", 8, 1.0, 1.0)]
    found = step_of(frozen, by_limit(frozen, 100), lambda nbytes: 2.0)
    assert found.seconds == 6.0 and found.exposed == 0.0  # two seconds behind the three of the frozen layer


def training_step(comm, forward, backward, counts):
    """One step as data parallelism makes it; on this network MPI's own all-reduce is a ring."""
    compute(comm, forward)
    gradients = [np.ones(count, np.float32) for count in counts]
    requests = []
    for seconds, gradient in zip(backward, gradients):
        compute(comm, seconds)
        requests.append(comm.Iallreduce(IN_PLACE, gradient))
    waitall(requests)
    assert all((gradient == comm.size).all() for gradient in gradients)
    return wtime(comm)


def communication(P, counts, network):
    return [step_time.allreduce_time(P, network, "ring")(4 * count) for count in counts]


@pytest.mark.parametrize("ranks", [1, 2, 3, 5, 8])
@pytest.mark.parametrize(
    "beta", [1e-10, 1e-9, 1e-8]
)  # all is hidden but the last; about even; the network is the brake
def test_equal_to_the_clock_of_the_virtual_cluster(ranks, beta):
    network = networks.uniform(alpha=1e-5, beta=beta, gap=inf)
    forward, backward, counts = 1e-3, [5e-4, 2e-4, 1e-3, 3e-4], [120_000, 12_000, 1200, 60_000]
    run = launch(training_step, ranks, forward, backward, counts, network=network)
    predicted = step(forward, backward, communication(ranks, counts, network))
    assert run.seconds == pytest.approx(predicted.seconds) and run.results == pytest.approx([predicted.seconds] * ranks)
    if ranks > 1:
        assert run.seconds > max(forward + sum(backward), sum(communication(ranks, counts, network)))


@pytest.mark.parametrize("ranks", [2, 5])
@pytest.mark.parametrize("beta", [1e-9, 1e-8])
def test_buckets_under_way_at_once_use_each_others_latencies(ranks, beta):
    """At most the recurrence, at least what holds the ports: gaps and bytes, and one latency at the end."""
    alpha, gap = 1e-5, 4e-8
    network = networks.uniform(alpha, beta, gap=gap)
    forward, backward, counts = 1e-3, [5e-4, 2e-4, 1e-3, 3e-4], [120_000, 12_000, 1200, 60_000]
    seconds = launch(training_step, ranks, forward, backward, counts, network=network).seconds
    most = step(forward, backward, communication(ranks, counts, network)).seconds
    holding = communication(ranks, counts, networks.uniform(gap, beta))
    least = step(forward, backward, holding).seconds + alpha - gap
    assert least * (1 - 1e-12) <= seconds <= most * (1 + 1e-12) and most - least < 0.1 * most
    assert beta < 1e-8 or seconds < most - 1e-6  # where buckets are under way together


def test_uneven_blocks_and_additions_stay_within_the_bound():
    """At most the prediction, and at least what one bucket after the other could hide of each other's additions."""
    network = networks.uniform(alpha=1e-5, beta=1e-9, gamma=2e-10, gap=inf)
    forward, backward, counts = 1e-3, [5e-4, 2e-4, 1e-3], [100_001, 10_003, 50_002]
    run = launch(training_step, 5, forward, backward, counts, network=network)
    predicted = step(forward, backward, communication(5, counts, network)).seconds
    additions = sum(ring_allreduce_cost(5, count, 4, Link(0, 0, network.gamma)).reduction for count in counts)
    assert predicted - additions <= run.seconds <= predicted * (1 + 1e-9)


def test_the_best_cut_is_the_best_of_all_cuts():
    def all_cuts(order):
        for r in range(len(order)):
            for cuts in combinations(range(1, len(order)), r):
                yield [order[a:b] for a, b in pairwise((0, *cuts, len(order)))]

    def seconds(layers, buckets, allreduce):
        return step_of(layers, buckets, allreduce).seconds

    rng = np.random.default_rng(1)
    for allreduce in (lambda n: 1e-6 + n * 1e-9, lambda n: 1e-4 + n * 1e-9, lambda n: 1e-3 + n * 1e-9):
        layers = [Layer("", int(n), 0.1, b) for n, b in zip(rng.integers(0, 10**6, 7), rng.random(7) * 1e-3)]
        least = min(seconds(layers, cut, allreduce) for cut in all_cuts([6, 5, 4, 3, 2, 1, 0]))
        assert seconds(layers, best_buckets(layers, allreduce), allreduce) == pytest.approx(least)
        by_one_limit = by_limit(layers, best_limit(layers, allreduce))
        assert least <= seconds(layers, by_one_limit, allreduce) * (1 + 1e-12)


def test_the_smallest_of_equal_limits():
    assert best_limit([Layer("only", 100, 1.0, 1.0)], lambda nbytes: 1.0) == 1
    assert best_limit([Layer("a", 100, 1.0, 1.0), Layer("b", 100, 1.0, 1.0)], lambda nbytes: 1.0, [50, 200, 400]) == 50


def test_too_large_and_too_small_buckets():
    """One bucket hides nothing, one a layer pays for every latency, and the best is between; all as simulated."""
    network, P = networks.uniform(alpha=5e-5, beta=1e-9, gap=inf), 4
    layers = [Layer(f"layer {i}", 40_000, 1e-4, 2e-4) for i in range(24)]
    allreduce = step_time.allreduce_time(P, network, "ring")
    seconds = {}
    for limit in (40_000, best_limit(layers, allreduce), 24 * 40_000):
        buckets = by_limit(layers, limit)
        backward, nbytes = step_time.bucket_times(layers, buckets)
        run = launch(training_step, P, 24e-4, backward, [n // 4 for n in nbytes], network=network)
        seconds[len(buckets)] = run.seconds
        assert run.seconds == pytest.approx(step_of(layers, buckets, allreduce).seconds)
    small, best, large = seconds[24], *[s for n, s in seconds.items() if n not in (1, 24)], seconds[1]
    assert best < min(small, large) and large == pytest.approx(24 * 3e-4 + allreduce(24 * 40_000))


def test_a_bucket_in_the_wrong_place_holds_up_those_behind_it():
    right = by_limit(LAYERS, 1)
    assert right == [[4], [3], [1], [0]]  # layer 2 has nothing to send
    first, last = (step_of(LAYERS, buckets, lambda n: n * 1e-9).seconds for buckets in (right, right[::-1]))
    assert last == pytest.approx(step_time.without_overlap(5e-4, [1e-3], [284_000 * 1e-9])) and first < last


def test_accumulation_communicates_once_and_hides_behind_one_micro_batch():
    forward, backward, communication = 1.0, [0.5, 0.5, 1.0], [0.7, 0.7, 0.7]
    once = step(forward, backward, communication)
    for K in (1, 2, 8):
        found = accumulated(K, forward, backward, communication)
        assert found.seconds == pytest.approx((K - 1) * 3.0 + once.seconds)
        assert found.exposed == pytest.approx(once.exposed)


def test_the_claimed_maximum_is_below_every_step_of_vgg():
    """32 pictures a rank at 50 TFLOP/s, 8 ranks, 10 GB/s: 97 ms claimed, 117 ms with the best buckets there are."""
    layers = timed(vgg16(), samples=32, flops_per_second=50e12)
    allreduce = step_time.allreduce_time(8, networks.uniform(5e-6, 1 / 10e9), "ring")
    best, usual = best_buckets(layers, allreduce), by_limit(layers, 25 * MIB)
    assert step_of(layers, best, allreduce).seconds == pytest.approx(0.11687, rel=1e-3)
    assert step_of(layers, usual, allreduce).seconds == pytest.approx(0.11708, rel=1e-3)
    backward, nbytes = step_time.bucket_times(layers, usual)
    claimed = step_time.often_claimed(sum(layer.forward for layer in layers), backward, [*map(allreduce, nbytes)])
    assert claimed == pytest.approx(0.09727, rel=1e-3)

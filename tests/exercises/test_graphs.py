"""What the graders take for the best ring and the widest path, against trying everything."""

import itertools

import numpy as np
import pytest

from exercises.graders.ch01_collectives import graphs

pytestmark = pytest.mark.chapter(number=1)
SEEDS = range(12)


def is_built_of_levels(seconds):
    return (seconds[:, :, None] <= np.maximum(seconds[:, None, :], seconds.T[None])).all()


def machine(seed):
    rng = np.random.default_rng(seed)
    draws = [
        lambda: graphs.machine(rng, 2, 2, 2),
        lambda: graphs.machine(rng, 2, 3),
        lambda: graphs.machine(rng, 7),
        lambda: graphs.ragged_machine(rng, int(rng.integers(1, 8))),
    ]
    return draws[seed % len(draws)]()


@pytest.mark.parametrize("seed", SEEDS)
def test_the_least_seconds_of_a_ring_are_the_least_over_all_orders(seed):
    seconds = machine(seed)
    assert is_built_of_levels(seconds) and (seconds == seconds.T).all() and not seconds.diagonal().any()
    orders = ([0, *rest] for rest in itertools.permutations(range(1, len(seconds))))
    least = min(graphs.ring_seconds(seconds, order) for order in orders)
    assert graphs.least_ring_seconds(seconds) == pytest.approx(least, rel=1e-12)


def test_a_machine_has_its_largest_parts_outermost():
    seconds = graphs.machine(np.random.default_rng(1), 2, 3, 4)
    assert seconds.shape == (24, 24)
    for row in seconds:
        assert np.unique(row, return_counts=True)[1].tolist() == [1, 3, 8, 12]  # itself, its node, its rack, the other


@pytest.mark.parametrize("P", [1, 2, 3, 40, 64])
def test_a_ragged_machine_is_built_of_levels(P):
    seconds = graphs.ragged_machine(np.random.default_rng(P), P)
    assert seconds.shape == (P, P) and is_built_of_levels(seconds)
    assert (seconds > 0).sum() == P * (P - 1)


def simple_paths(bandwidth, path, b):
    """Every path that continues `path` to b."""
    if path[-1] == b:
        yield path
        return
    for node in np.flatnonzero(bandwidth[path[-1]]):
        if node not in path:
            yield from simple_paths(bandwidth, [*path, int(node)], b)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_widest_path_is_the_widest_of_all(seed):
    rng = np.random.default_rng(seed)
    bandwidth, a, b = graphs.random_network(rng, int(rng.integers(2, 8)), 0.4, fastest=9)
    assert (bandwidth == bandwidth.T).all()
    paths = list(simple_paths(bandwidth, [a], b))
    assert graphs.widths(bandwidth)[a, b] == max(min(map(bandwidth.item, path, path[1:])) for path in paths)
    lengths = np.where(bandwidth > 0, 1.0, np.inf)
    assert graphs.least_sums(lengths)[a, b] == min(map(len, paths)) - 1

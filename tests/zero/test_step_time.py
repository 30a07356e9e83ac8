"""The recurrence of stage 3: by hand, its bounds, and the virtual cluster's clock."""

from math import inf

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from reference.collectives.ring import ring_allgather_cost, ring_reduce_scatter_cost
from reference.networks import Link
from reference.worlds import launch, networks
from reference.zero.shards import flat
from reference.zero.stage3 import Stage3
from reference.zero.step_time import step

from ..data_parallel.timed import timed

SECONDS = st.lists(st.tuples(*[st.floats(0.1, 9)] * 4), min_size=1, max_size=5)


def test_by_hand():
    """Four units: forward 1, backward 2, a message 1 each."""
    of = [1] * 4, [2] * 4, [1] * 4, [1] * 4
    assert step(*of, prefetch=0).seconds == 4 * (1 + 1) + 4 * (1 + 2) + 3 + 1  # a gather behind each but the last sum
    assert step(*of, prefetch=1).seconds == (1 + 4) + (1 + 8) + 1
    assert step(*of, prefetch=1, reshard=False).seconds == (1 + 4) + 8 + 1


@given(units=SECONDS, prefetch=st.integers(0, 3), reshard=st.booleans())
def test_a_step_is_no_shorter_than_computing_or_sending_and_no_longer_than_both(units, prefetch, reshard):
    forward, backward, gather, reduce = zip(*units)
    found = step(*zip(*units), prefetch, reshard)
    computing, sending = sum(forward) + sum(backward), sum(gather) * (1 + reshard) + sum(reduce)
    assert max(computing, sending) - 1e-9 <= found.seconds <= computing + sending + 1e-9
    assert found.exposed == pytest.approx(found.seconds - computing)


ALPHA, BETA, COUNT = 1e-6, 1e-9, 60_000
FORWARD, BACKWARD = [1e-4, 3e-4, 5e-5, 1e-4], [2e-4, 6e-4, 1e-4, 2e-4]
SIZES = [COUNT, COUNT // 2, 2 * COUNT, COUNT]


def steps(comm, number, prefetch, reshard):
    model = timed(comm, SIZES, FORWARD, BACKWARD)
    stage = Stage3(comm, model, torch.optim.SGD, cut=flat, reshard_after_forward=reshard, prefetch=prefetch)
    comm.Barrier()
    for _ in range(number):
        stage.backward(model(torch.ones(3)).sum(), 3)
        stage.step()


def clock_and_formula(P, prefetch, reshard):
    """A second step, on a network on which messages follow each other."""
    network = networks.uniform(ALPHA, BETA, gap=inf)
    one, two = (launch(steps, P, n, prefetch, reshard, network=network).seconds for n in (1, 2))
    link = Link(ALPHA, BETA)
    gather = [ring_allgather_cost(P, n, 4, link).seconds for n in SIZES]
    reduce = [ring_reduce_scatter_cost(P, n, 4, link).seconds for n in SIZES]
    return two - one, step(FORWARD, BACKWARD, gather, reduce, prefetch, reshard).seconds


COUNTING = 1e-5  # of samples: a few latencies


@pytest.mark.parametrize("prefetch", [0, 1, 2])
@pytest.mark.parametrize("reshard", [True, False])
def test_the_clock_says_what_the_recurrence_says(prefetch, reshard):
    found, predicted = clock_and_formula(2, prefetch, reshard)
    assert predicted - 1e-9 <= found <= predicted + COUNTING


@pytest.mark.parametrize("P, prefetch", [(3, 1), (5, 0), (5, 1)])
def test_rounds_of_two_collectives_that_take_turns_cost_a_little(P, prefetch):
    found, predicted = clock_and_formula(P, prefetch, True)
    assert predicted - 1e-9 <= found <= 1.05 * predicted

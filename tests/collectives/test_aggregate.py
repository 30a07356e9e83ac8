"""Many small arrays in one message: the same sums for one latency, and when it does not pay."""

import numpy as np
import pytest
import torch

from reference.collectives import allreduce, allreduce_together, cost
from reference.worlds import launch, networks

NETWORK = networks.uniform(alpha=5e-6, beta=1e-10)


def arrays(comm, kind=np.asarray):
    return [kind(np.full(shape, comm.rank + 1.0, "float32")) for shape in (3, (2, 4), 0, 1)]


@pytest.mark.parametrize(
    "kind, world",
    [(np.array, "virtual"), (torch.tensor, "virtual"), pytest.param(np.array, "mpi", marks=pytest.mark.mpi)],
)
def test_each_array_is_summed_in_place(kind, world):
    def program(comm):
        mine = arrays(comm, kind)
        assert allreduce_together(comm, mine, algorithm="ring") is mine
        return [each.tolist() for each in mine]

    assert launch(program, 3, world=world).results == [[[6.0] * 3, [[6.0] * 4] * 2, [], [6.0]]] * 3


def test_one_after_another_pays_a_latency_each():
    def program(comm, together):
        mine = [np.ones(10, "float32") for _ in range(20)]
        if together:
            allreduce_together(comm, mine, algorithm="recursive doubling")
        else:
            for each in mine:
                allreduce(comm, each, algorithm="recursive doubling")

    one, many = (launch(program, 8, together, network=NETWORK) for together in (True, False))
    assert one.messages == [3] * 8 and many.messages == [60] * 8 and one.bytes_sent == many.bytes_sent
    expected_one, expected_many = (3 * seconds for seconds in cost.aggregated([40] * 20, 5e-6, 1e-10))
    assert one.seconds == pytest.approx(expected_one) and many.seconds == pytest.approx(expected_many)


def test_nothing_to_reduce_is_fine_and_mixed_types_are_refused():
    assert launch(lambda comm: allreduce_together(comm, []), 2).results == [[], []]

    def mixed(comm):
        with pytest.raises(TypeError, match="float32, int64"):
            allreduce_together(comm, [np.ones(1, "float32"), np.ones(1, "int64")])

    launch(mixed, 2)

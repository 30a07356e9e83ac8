"""What each rank sends is what the formulas say: counted in both worlds, and by the evaluation of all ranks at once."""

import numpy as np
import pytest

from reference.collectives import allreduce, cost, volume
from reference.collectives.algorithms import ALLREDUCE
from reference.collectives.evaluate import evaluate
from reference.worlds import launch, networks

FORMULAS = {
    "ring": (volume.ring_volume, {}),
    "direct": (volume.direct_volume, {}),
    "recursive doubling": (volume.recursive_doubling_volume, {}),
    "halving-doubling": (volume.halving_doubling_volume, {}),
    "binomial tree": (volume.binomial_volume, {}),
    "binary tree": (volume.tree_volume, {"segments": 3}),
    "double tree": (lambda *a, **o: volume.tree_volume(*a, trees=2, **o), {"segments": 2}),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_bytes_and_messages_of_every_rank(name):
    (formula, own), algorithm = FORMULAS[name], ALLREDUCE[name]
    for P in [*range(1, 18), 31, 32, 33]:
        for count in (0, 5, 16 * P, 1003):
            expected = formula(P, count, 8, **own)
            found = evaluate(algorithm.rounds, P, count, 8, networks.uniform(), algorithm.blocks(P, **own), **own)
            assert found.bytes_sent.tolist() == expected.nbytes.tolist(), (P, count)
            assert found.messages.tolist() == expected.messages.tolist(), (P, count)
            assert expected.nbytes.sum() == cost.total_bytes(name, P, 8 * count)


def test_counted_in_both_worlds(world):
    def program(comm, name, own):
        allreduce(comm, np.ones(101), algorithm=name, **own)

    for name, (formula, own) in FORMULAS.items():
        for P in (3, 5):
            run, expected = launch(program, P, name, own, world=world), formula(P, 101, 8, **own)
            assert (run.bytes_sent, run.messages) == (expected.nbytes.tolist(), expected.messages.tolist()), (name, P)

"""ZeRO that survives: with nobody dying it is the serial program; shards are cut anew from what is left."""

import numpy as np
import pytest

from reference.recovery.problem import SmallNet
from reference.recovery.replicated import serially
from reference.recovery.reshard import owners
from reference.recovery.sharded import Heard, Holding, Version, Whole, begin, holders, recover, take_steps
from reference.worlds import RankFailed, launch

PROBLEM = SmallNet()
RATES, SIZES = [0.02] * 10, [20] * 10


def rule(ranks):
    return 20, 0.02


@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
def test_it_is_the_serial_program(world, ranks):
    def program(comm):
        held = begin(comm, PROBLEM)
        take_steps(comm, PROBLEM, held, 10, rule)
        return held

    alone = serially(PROBLEM, SIZES, RATES)
    for held in launch(program, ranks, world=world).results:
        assert held.steps() == [9, 10]
        np.testing.assert_allclose(held.versions[-1].w, alone.w, rtol=0, atol=1e-12)
        np.testing.assert_allclose(held.versions[-1].losses, alone.losses, rtol=0, atol=1e-12)


def held_by(rank: int, ranks: int, steps: list[int]) -> Holding:
    """What rank `rank` of `ranks` holds after these steps: numbers that tell step and element."""
    return Holding(rank, ranks, [version(rank, ranks, step) for step in steps])


def version(rank, ranks, step):
    cut = owners(PROBLEM.n, ranks)
    own, kept = (np.array([part, part], float) + 1000.0 * step for part in (cut[rank], cut[rank - 1]))
    return Version(step, 20 * step, (0.5,) * step, np.full(PROBLEM.n, float(step)), own, kept)


@pytest.mark.parametrize(
    ("before", "dead", "joined"),
    [
        (4, [1], 0),
        (4, [0], 0),
        (4, [3], 0),
        (5, [0, 2], 0),
        (2, [1], 0),
        (3, [], 0),
        (3, [], 2),
        (4, [2], 1),
        (4, [3, 1], 3),
    ],
)
def test_shards_are_cut_anew_at_the_newest_step_that_all_have(before, dead, joined):
    """Rank 0 of the survivors is a step ahead: it goes back. Who has joined gets its shard."""
    alive = [rank for rank in range(before) if rank not in dead]

    def program(comm):
        held = Holding()
        if comm.rank < len(alive):
            held = held_by(alive[comm.rank], before, [6, 7] if comm.rank == 0 and comm.size > 1 else [5, 6])
        recover(comm, PROBLEM, held)
        return held

    for rank, held in enumerate(launch(program, len(alive) + joined).results):
        want = version(rank, len(alive) + joined, 6)
        assert (held.rank, held.ranks, held.steps()) == (rank, len(alive) + joined, [6])
        for got, right in zip(held.versions[0], want):
            np.testing.assert_array_equal(got, right)


def test_a_shard_whose_owner_and_partner_died_is_lost():
    heard = [Heard(rank, 4, [3]) for rank in (0, 3)]
    assert holders(heard, 40) is None
    assert holders([Heard(rank, 4, [3]) for rank in (1, 3)], 40) is not None

    def program(comm):
        recover(comm, PROBLEM, held_by([0, 3][comm.rank], 4, [3]))

    with pytest.raises(RankFailed, match=r"TooFew: a rank died together with the partner"):
        launch(program, 2)


def test_a_lost_shard_comes_from_the_fallback():
    def fallback():
        return Whole(2, 40, (0.5, 0.5), np.full(PROBLEM.n, 2.0), np.array([range(PROBLEM.n)] * 2) + 2000.0)

    def program(comm):
        held = held_by([0, 3][comm.rank], 4, [3])
        recover(comm, PROBLEM, held, fallback)
        return held

    for rank, held in enumerate(launch(program, 2).results):
        for got, right in zip(held.versions[0], version(rank, 2, 2)):
            np.testing.assert_array_equal(got, right)

"""Silent corruption: what the checks notice, whom they name, and what they cannot see."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference import mpi
from reference.collectives import ring_allreduce
from reference.recovery.checked import checked_allreduce, differing, fingerprint, replay, slack, vote
from reference.recovery.problem import SmallNet
from reference.worlds import RankFailed, launch

PROBLEM = SmallNet()


def flipped(array: np.ndarray, bit: int, element: int = 3) -> np.ndarray:
    """A copy with one bit of one float64 turned over; bit 63 is the sign, 52 to 62 the exponent."""
    copy = array.copy()
    copy.view(np.uint64)[element] ^= np.uint64(1) << np.uint64(bit)
    return copy


@given(st.integers(0, 63), st.integers(0, 7))
def test_a_fingerprint_notices_every_bit(bit, element):
    x = np.arange(1.0, 9.0)
    assert fingerprint([x]) != fingerprint([flipped(x, bit, element)])
    assert fingerprint([x[:3], x[3:]]) == fingerprint([x])


@pytest.mark.parametrize(
    ("prints", "verdict"), [([1, 1, 2], (1, [2])), ([1, 2], (None, [])), ([1, 2, 3], (None, [])), ([5], (5, []))]
)
def test_a_majority_decides(prints, verdict):
    assert vote(prints) == verdict


@pytest.mark.parametrize("ranks", [3, 4, 5])
def test_weights_of_a_replica_that_differ_are_found(ranks):
    def program(comm):
        w = PROBLEM.start()
        return differing(comm, [flipped(w, 0) if comm.rank == 1 else w])

    assert [tuple(found) for found in launch(program, ranks).results] == [([1], [])] * ranks


def test_two_replicas_cannot_tell_who_is_wrong():
    def program(comm):
        return differing(comm, [np.array([float(comm.rank)])])

    assert launch(program, 2).results[0] == ([], [0, 1])


def in_place(comm, vector):
    comm.Allreduce(mpi.IN_PLACE, vector)


def summing(bit: int | None, dtype=np.float64):
    """A ring all-reduce in which rank 1 turns over a bit of what it has, after the sums were taken."""

    def wrong(comm, vector):
        if comm.rank == 1 and bit is not None:
            vector[:] = flipped(vector, bit)
        ring_allreduce(comm, vector)

    def program(comm):
        x = np.random.default_rng(comm.rank).normal(size=50).astype(dtype)
        return checked_allreduce(comm, x, wrong)

    return program


@pytest.mark.parametrize("ranks", [1, 2, 5])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_right_sum_passes(ranks, dtype):
    want = sum(np.random.default_rng(rank).normal(size=50).astype(dtype) for rank in range(ranks))
    for y in launch(summing(None, dtype), ranks).results:
        assert y.dtype == dtype
        np.testing.assert_allclose(y, want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("bit", [40, 51, 55, 63])
def test_a_wrong_sum_is_noticed_on_every_rank(bit):
    with pytest.raises(RankFailed, match="Corrupted: the sum is off by more than rounding"):
        launch(summing(bit), 3)


def test_what_is_below_rounding_is_not_noticed():
    assert len(launch(summing(0), 3).results) == 3


def test_nan_is_noticed():
    def program(comm):
        def spoil(comm, vector):
            in_place(comm, vector)
            vector[0] = np.nan

        return checked_allreduce(comm, np.ones(3), spoil)

    with pytest.raises(RankFailed, match="Corrupted"):
        launch(program, 2)


@given(st.integers(0, 10**6))
def test_rounding_stays_within_slack(seed):
    x = np.random.default_rng(seed).normal(size=(4, 30)).astype(np.float32) * 10 ** np.float32(seed % 7 - 3)
    off = abs(float(x.sum(0).sum()) - float(x.sum(1).sum()))
    assert off <= slack(float(np.abs(x).sum()), 30, 4, x.dtype)


def working(wrong_at: int | None, always: bool, times: int):
    """Each rank's gradient, computed by others too; rank `wrong_at` turns a bit over in its own, or in all it does."""

    def program(comm):
        w = PROBLEM.start()

        def compute(rank):
            g, _ = PROBLEM.gradient(w, np.arange(rank, 96, comm.size))
            return flipped(g, 20) if comm.rank == wrong_at and (always or rank == comm.rank) else g

        return replay(comm, compute, times)

    return program


@pytest.mark.parametrize("always", [False, True])
@pytest.mark.parametrize("wrong_at", [0, 2])
def test_replay_names_the_rank_that_computes_wrongly(wrong_at, always):
    for found in launch(working(wrong_at, always, 3), 4).results:
        assert (found.wrong, found.undecided) == ([wrong_at], [])


def test_replay_finds_nothing_where_nothing_is_wrong():
    assert not any(launch(working(None, False, 3), 3).results)


def test_two_times_tell_that_somebody_is_wrong_but_not_who():
    assert launch(working(1, False, 2), 4).results[0] == ([], [1])


def test_a_wrong_gradient_is_invisible_to_replicas_and_sums():
    """Its rank adds up what it has: the sum fits, and all replicas are alike. Only the replay sees it."""

    def program(comm):
        w = PROBLEM.start()
        g, _ = PROBLEM.gradient(w, np.arange(comm.rank, 96, comm.size))
        summed = checked_allreduce(comm, flipped(g, 51) if comm.rank == 1 else g, in_place)
        return bool(differing(comm, [w - summed]))

    assert launch(program, 3).results == [False] * 3


def test_a_number_of_times_that_cannot_be_is_refused():
    with pytest.raises(RankFailed, match="between 2 to 3 ranks, got times=4"):
        launch(working(None, False, 4), 3)

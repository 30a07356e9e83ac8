"""What is kept between all-reduces: the same results, messages and time as without, and memory that is used again."""

import numpy as np
import pytest

from reference import mpi
from reference.collectives import ALLREDUCE, allreduce
from reference.collectives.planned import plan_allreduce
from reference.worlds import launch, networks

NETWORK = networks.uniform(5e-6, 1e-10, 1e-11)


def share(comm, n: int, dtype="float64") -> np.ndarray:
    """This rank's array: another one on each rank, whole numbers, so that sums are exact in any order."""
    return (np.arange(n) % 97 + comm.rank).astype(dtype)


def total(comm, n: int, dtype="float64") -> np.ndarray:
    return (comm.size * (np.arange(n) % 97) + comm.size * (comm.size - 1) // 2).astype(dtype)


def reduce_twice(comm, algorithm: str, n: int, begin: bool):
    """The times of two all-reduces, and what is kept of the second's memory."""
    own, ends, kept = ALLREDUCE[algorithm].some_options(comm.size), [], []
    for _ in range(2):
        x = share(comm, n)
        comm.Barrier()
        start = mpi.wtime(comm)
        if begin:
            mpi.waitall([allreduce.start(comm, x, algorithm=algorithm, **own)])
        else:
            allreduce(comm, x, algorithm=algorithm, **own)
        ends.append(mpi.wtime(comm) - start)
        assert np.array_equal(x, total(comm, n)), f"{algorithm}, {n} elements, begun: {begin}"
        kept.append(list(map(id, *mpi.kept(comm)["spare", x.dtype, x.device])))
    assert kept[0] == kept[1]
    return ends


@pytest.mark.parametrize("algorithm", ALLREDUCE)
@pytest.mark.parametrize("n", [1, 1003])
def test_called_and_begun_are_the_same_messages_in_the_same_time(algorithm, n):
    called, begun = (launch(reduce_twice, 6, algorithm, n, begin, network=NETWORK) for begin in (False, True))
    assert called.messages == begun.messages and called.bytes_sent == begun.bytes_sent
    np.testing.assert_allclose(called.results, begun.results, rtol=1e-9)


def test_most_algorithms_go_by_blocking_calls():
    def program(comm):
        made = {name: record.some_options(comm.size) for name, record in ALLREDUCE.items()}
        return {name: plan_allreduce(comm, np.zeros(24), name, own).in_turn for name, own in made.items()}

    first, *others = launch(program, 8).results
    together = {name for name in first if not all(result[name] for result in (first, *others))}
    assert "direct" in together and {"ring", "recursive doubling", "halving-doubling", "binomial tree"}.isdisjoint(
        together
    )


@pytest.mark.parametrize("world", ["virtual", "mpi"])
def test_several_under_way_have_memory_of_their_own(world):
    def program(comm):
        sizes = [5000, 5000, 7, 12_000]
        arrays = [share(comm, n) + 1000 * k for k, n in enumerate(sizes)]
        for turn in range(3):
            for k, n in enumerate(sizes):
                arrays[k][:] = share(comm, n) + 1000 * k + turn
            mpi.waitall([allreduce.start(comm, x, algorithm="direct") for x in arrays])
            for k, n in enumerate(sizes):
                assert np.array_equal(arrays[k], total(comm, n) + comm.size * (1000 * k + turn)), f"{turn}, {k}"
        return len(mpi.kept(comm)["spare", arrays[0].dtype, arrays[0].device])

    assert set(launch(program, 3, world=world).results) == {4}


@pytest.mark.parametrize("world", ["virtual", "mpi"])
def test_arrays_of_all_lengths_and_types_share_what_is_kept(world):
    import torch

    def program(comm):
        for n in (9, 4001, 1, 0, 64):
            for dtype in ("float32", "int16", "float64"):
                for algorithm in ("direct", "recursive doubling", "ring"):
                    x = share(comm, n, dtype)
                    assert allreduce(comm, x, algorithm=algorithm) is x and np.array_equal(x, total(comm, n, dtype))
                    t = torch.from_numpy(share(comm, n, dtype))
                    assert np.array_equal(allreduce(comm, t, algorithm=algorithm).numpy(), total(comm, n, dtype))

    launch(program, 3, world=world)


def test_after_an_operation_that_failed_the_next_call_is_right():
    def program(comm):
        def fails(a, b):
            raise ArithmeticError("not today")

        x = share(comm, 10)
        with pytest.raises(ArithmeticError):
            allreduce(comm, x, op=fails, algorithm="direct")
        comm.Barrier()
        x = share(comm, 10)
        allreduce(comm, x, algorithm="direct")
        return np.array_equal(x, total(comm, 10))

    assert all(launch(program, 2).results)

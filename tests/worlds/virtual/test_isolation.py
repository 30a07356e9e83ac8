"""Each rank has its own copy of program, closure and arguments, and its own random states; the caller sees nothing."""

# ruff: noqa: NPY002  (the legacy generators are what is tested)

import os
import random
import sys
import threading
import warnings

import numpy as np
import pytest
import torch

from reference import mpi
from reference.worlds import RankFailed, launch

RANKS = 3


def drawn(rank, times=4):
    """What a rank whose generators started from seed = rank draws from each of the three."""
    generator, own, legacy = torch.Generator().manual_seed(rank), random.Random(rank), np.random.RandomState(rank)
    return [(own.random(), legacy.random_sample(), torch.rand(1, generator=generator).item()) for _ in range(times)]


def draw(comm, times=4):
    """Draw from the global generators, with communication in between so that ranks take turns."""
    seen = []
    for _ in range(times):
        seen.append((random.random(), np.random.random_sample(), torch.rand(1).item()))
        comm.Barrier()
    return seen


def test_random_states_start_from_the_rank(world):
    """The same numbers in both worlds, in every launch, however the ranks take turns."""
    for _ in range(2):
        assert launch(draw, RANKS, world=world).results == [drawn(rank) for rank in range(RANKS)]


def test_seeding_one_rank_leaves_the_others_alone(world):
    def program(comm):
        if comm.rank == 0:
            random.seed(99), np.random.seed(99), torch.manual_seed(99)
        comm.Barrier()
        return draw(comm, 2)

    assert launch(program, 2, world=world).results == [drawn(99, 2), drawn(1, 2)]


def test_the_launcher_goes_on_as_if_nothing_had_run(world):
    """Its own random numbers are those it would have drawn without the launch, even if the program fails."""

    def fails(comm):
        draw(comm, 1)
        raise ValueError

    random.seed(5), np.random.seed(5), torch.manual_seed(5)
    want = drawn(5, 3)
    got = draw_once()
    launch(draw, RANKS, world=world)
    second = draw_once()
    with pytest.raises(RuntimeError):
        launch(fails, RANKS, world=world)
    assert [got, second, draw_once()] == want


def draw_once():
    return random.random(), np.random.random_sample(), torch.rand(1).item()


def test_the_launcher_keeps_the_second_half_of_a_pair_of_normal_numbers():
    """NumPy's legacy generator draws normal numbers in pairs and keeps one back."""
    np.random.seed(5)
    seen = [np.random.standard_normal()]
    launch(draw, RANKS)
    seen += np.random.standard_normal(2).tolist()
    assert seen == np.random.RandomState(5).standard_normal(3).tolist()


def test_arguments_are_copied(world):
    """A rank may change what it is given; neither another rank nor the launcher sees it."""

    def program(comm, words, array, model):
        words.append(comm.rank)
        array += comm.rank
        with torch.no_grad():
            model.weight.fill_(comm.rank)
        comm.Barrier()
        return words, array.tolist(), model.weight.item()

    words, array, model = ["mine"], np.zeros(2), torch.nn.Linear(1, 1)
    weight = model.weight.item()
    run = launch(program, RANKS, words, array, model, world=world)
    assert run.results == [(["mine", rank], [rank, rank], rank) for rank in range(RANKS)]
    assert (words, array.tolist(), model.weight.item()) == (["mine"], [0, 0], weight)


def test_closures_are_copied(world):
    """Variables that the program closes over, its default arguments and its attributes are each rank's own."""
    seen, count = [], 0

    def program(comm, default=[]):  # noqa: B006  (a mutable default, on purpose)
        nonlocal count
        count += comm.rank
        seen.append(comm.rank)
        default.append(comm.rank)
        program.mark = comm.rank
        comm.Barrier()
        return seen, count, default, program.mark

    for _ in range(2):
        assert launch(program, RANKS, world=world).results == [([r], r, [r], r) for r in range(RANKS)]
    assert (seen, count, program.__defaults__, hasattr(program, "mark")) == ([], 0, ([],), False)


def test_an_argument_given_twice_is_one_object(world):
    """Copying keeps identity within a rank: a and b are the same list, as they are for the launcher."""

    def program(comm, a, b):
        a.append(comm.rank)
        return b, a is b

    shared = []
    assert launch(program, 2, shared, shared, world=world).results == [([0], True), ([1], True)]


def test_messages_are_copies(world):
    """Whoever changes a received buffer or object changes only his own."""

    def program(comm):
        mine, got, root = np.zeros(2), np.empty(2), np.zeros(2)
        comm.Sendrecv(mine, comm.rank, 0, got, comm.rank, 0)
        got += 1
        comm.Bcast(root)
        root += comm.rank
        everyone = comm.allgather(mine)
        everyone[0] += 1
        comm.Barrier()
        return mine.tolist(), got.tolist(), root.tolist()

    assert launch(program, RANKS, world=world).results == [([0, 0], [1, 1], [r, r]) for r in range(RANKS)]


def test_results_are_the_ranks_own(world):
    """What a rank returns may be anything that can be copied: tensors, None, its own random generator's numbers."""

    def program(comm):
        return None if comm.rank else {"t": torch.arange(2), "x": [np.float32(1)]}

    first, second = launch(program, 2, world=world).results
    assert first["t"].tolist() == [0, 1] and first["x"] == [1] and second is None


def test_thread_settings_of_torch(world):
    """Each rank computes with one torch thread; the launcher keeps its own number."""
    before = torch.get_num_threads()
    assert launch(lambda comm: torch.get_num_threads(), 2, world=world).results == [1, 1]
    assert torch.get_num_threads() == before


def test_grad_mode_belongs_to_a_rank(world):
    """no_grad on one rank does not switch off gradients on another, across a communication."""

    def program(comm):
        with torch.set_grad_enabled(comm.rank != 0):
            comm.Barrier()
            return torch.is_grad_enabled()

    assert launch(program, RANKS, world=world).results == [False, True, True]


def test_a_blocking_collective_inside_backward(world):
    """A hook that sums gradients over the ranks while autograd runs."""

    def program(comm):
        w = torch.ones(3, requires_grad=True)
        w.register_hook(lambda g: (comm.Allreduce(mpi.IN_PLACE, h := g.clone()), h)[1])
        (w * (comm.rank + 1)).sum().backward()
        return w.grad.tolist()

    assert launch(program, RANKS, world=world).results == [[6, 6, 6]] * RANKS


def settings_of_the_process():
    """What a process has once."""
    return {
        "directory": os.getcwd(),
        "variable": os.environ.get("A_RANKS_VARIABLE"),
        "home": os.environ.get("HOME"),
        "filters": list(warnings.filters),
        "recursion": sys.getrecursionlimit(),
        "errors": np.geterr(),
        "digits": np.get_printoptions()["precision"],
        "dtype": torch.get_default_dtype(),
        "grad": torch.is_grad_enabled(),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
    }


def change_the_settings(comm, fails):
    """Change them all, and show that they have changed."""
    os.chdir("/")
    os.environ["A_RANKS_VARIABLE"] = "1"
    os.environ.pop("HOME", None)
    warnings.simplefilter("error")
    sys.setrecursionlimit(sys.getrecursionlimit() + 7)
    np.seterr(all="raise")
    np.set_printoptions(precision=3)
    torch.set_default_dtype(torch.float64)
    torch.set_grad_enabled(False)
    torch.use_deterministic_algorithms(True)
    comm.Barrier()
    if fails:
        raise ValueError("planted")


@pytest.mark.parametrize("fails", [False, True])
def test_a_programs_settings_reach_neither_the_caller_nor_the_next_launch(fails, world):
    def look(comm):
        return settings_of_the_process()

    before, first = settings_of_the_process(), launch(look, 2, world=world).results
    try:
        launch(change_the_settings, 2, fails, world=world)
    except RankFailed as error:
        assert fails and "planted" in str(error)
    assert settings_of_the_process() == before
    assert launch(look, 2, world=world).results == first


def test_a_directory_that_is_gone_does_not_hinder(tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert launch(lambda comm: comm.rank, 2).results == [0, 1]


def test_a_warning_is_shown_once_however_many_launches_there_are():
    """What the ranks leave alone is not touched: `warnings` would forget what it has shown already."""
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("default")
        for _ in range(3):
            warnings.warn("once", stacklevel=1)
            launch(lambda comm: None, 2)
    assert len(shown) == 1


def test_nothing_is_left_behind():
    """A virtual launch ends all the threads that it began."""
    before = threading.active_count()
    for _ in range(3):
        launch(draw, 8)
    assert threading.active_count() == before


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="only Linux binds")
@pytest.mark.parametrize("fails", [False, True])
def test_ranks_share_a_core_and_the_launcher_keeps_its_own(fails):
    """Threads of which one runs at a time hand over quicker on one core; who launches them is not bound by that."""

    def program(comm):
        if fails:
            raise ValueError
        return sorted(os.sched_getaffinity(0))

    before = os.sched_getaffinity(0)
    if fails:
        with pytest.raises(RankFailed):
            launch(program, 2)
    else:
        first, second = launch(program, 2).results
        assert first == second and len(first) == 1 and set(first) <= before
    assert os.sched_getaffinity(0) == before

"""The store: right values in every budget down to the lowest, refused below it, and errors where a tensor is used."""

import errno
import os

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from reference import mpi
from reference.tiers.blocks import BLOCK, TierError
from reference.tiers.budget import ByteBudget, OverBudget
from reference.tiers.http_store import HttpStorage, StoreServer
from reference.tiers.storages import FolderStorage, HostStorage
from reference.tiers.store import TieredStore, lowest_budget
from reference.tiers.stored import StoreTier
from reference.tiers.tier import Tier
from reference.worlds import launch

from ..examples import examples

SLOW = Tier("slow", read=1000.0, write=500.0, latency=0.25)
N = 100  # floats of a tensor: 400 bytes


def on_one(program, *arguments, world="virtual"):
    return launch(program, 1, *arguments, world=world).results[0]


def filled(value, n=N):
    return torch.full((n,), float(value))


def test_memory_counts_until_it_is_free_and_once():
    budget = ByteBudget(1000)
    tensor = filled(1)
    budget.count(tensor, 400)
    view = tensor[5:]
    assert view in budget and filled(1) not in budget and budget.used == 400
    del tensor
    assert budget.used == 400 and budget.missing(700) == 100
    with pytest.raises(
        OverBudget, match=r"it: 601 bytes are wanted, and 400 of the budget of 1,000 are in use"
    ) as told:
        budget.ask(601, "it")
    del view
    assert told.value.missing == 1 and (budget.used, budget.peak, budget.needed) == (0, 400, 1001)


# Programs: each operation is (what, names) --------------------------------------------------------------------------

NAMES = "abcde"
OPERATIONS = st.lists(st.tuples(st.sampled_from(["use", "add", "drop", "down", "up"]), st.sets(st.sampled_from(NAMES))))


def carry_out(store, operations):
    """The program on a store: tensors of several sizes, used together, changed, dropped. What each use has seen."""
    seen, there = [], {}

    def look(names, add):
        with store.use(*names) as tensors:
            for name, tensor in zip(names, tensors):
                tensor.add_(add)
                there[name] += add
                seen.append(tensor.unique().tolist() == [there[name]])

    for number, (what, chosen) in enumerate(operations):
        names = sorted(chosen)
        for name in names:
            if name not in there:
                there[name] = float(number)
                store.put(name, filled(number, N * (1 + NAMES.index(name) % 3)))
        if what in ("use", "add"):
            look(names, 1 if what == "add" else 0)
        for name in names:
            if what == "drop":
                store.drop(name)
                del there[name]
            if what in ("down", "up"):
                getattr(store, f"start_{what}")(name)
    for name in sorted(there):
        look([name], 0)
    return all(seen)


@examples(15)
@given(operations=OPERATIONS, extra=st.integers(0, 2000))
def test_values_are_right_in_every_budget_down_to_the_lowest(operations, extra):
    def program(comm):
        def below():
            return [StoreTier(HostStorage(), SLOW, capacity=1500), StoreTier(HostStorage(), SLOW._replace(read=1e4))]

        needed = lowest_budget(comm, below(), lambda store: carry_out(store, operations))
        for budget in (needed, needed + extra):
            store = TieredStore(comm, budget, below())
            assert carry_out(store, operations) and store.budget.peak <= budget
        if needed:
            with pytest.raises(OverBudget, match=": 1 bytes are missing") as told:
                carry_out(TieredStore(comm, needed - 1, below()), operations)
            assert told.value.missing == 1

    on_one(program)


def test_a_copy_that_is_begun_again_ends_once():
    """The tensor is changed while the first copy goes down: the second one is of what it is now."""

    def program(comm):
        store = TieredStore(comm, 2400, [StoreTier(HostStorage(), SLOW)])
        store.put("a", filled(1))
        store.start_down("a")
        with store.use("a") as (a,):
            a.add_(1)
            del a
        store.start_down("a")
        mpi.compute(comm, 10)
        with store.use("a") as (a,):
            return a.unique().tolist(), store["a"].clean, store.bytes_down

    assert on_one(program) == ([2.0], True, 800)


def test_the_same_on_real_ranks_with_files_and_an_object_store(world, tmp_path):
    operations = [("add", set("abc")), ("add", set("de")), ("add", set("ab")), ("drop", set("b")), ("add", set("abe"))]

    def program(comm):
        with StoreServer() as server:
            folder = FolderStorage(tmp_path / world, chunk=BLOCK)
            below = [StoreTier(folder, SLOW, capacity=1000), StoreTier(HttpStorage(server.url), SLOW)]
            store = TieredStore(comm, 2400, below)
            right = carry_out(store, operations * 3)
            return (
                right,
                store.bytes_down > 0,
                store.budget.peak <= 2400,
                server.requests > 0,
                len(os.listdir(folder.folder)),
            )

    assert on_one(program, world=world)[:4] == (True, True, True, True)


# Seconds ------------------------------------------------------------------------------------------------------------


def test_copies_go_on_beside_the_computing():
    def program(comm, computing):
        store = TieredStore(comm, 800, [StoreTier(HostStorage(), SLOW)])
        for name in "ab":
            store.put(name, filled(1))
            store.start_down(name)
        mpi.compute(comm, computing)
        start = comm.wtime()
        store.put("c", filled(2))  # a must have gone
        middle = comm.wtime()
        store.start_up("a")  # no room until b has gone: both must wait
        with store.use("a") as (a,):
            assert a.sum() == N
        return middle - start, comm.wtime() - middle

    write, read = 0.25 + 400 / 500, 0.25 + 400 / 1000
    assert on_one(program, 0.0) == pytest.approx((write, write + read))
    assert on_one(program, 1.5) == pytest.approx((0.0, 2 * write - 1.5 + read))
    assert on_one(program, 9.0) == pytest.approx((0.0, read))


def test_what_has_not_changed_is_not_copied_down_again():
    def program(comm):
        store = TieredStore(comm, 400, [StoreTier(HostStorage())])
        for name in "ab":
            store.put(name, filled(1))
        moved = []
        for change in (0, 0, 1, 0):
            for name in "ab":
                with store.use(name) as (tensor,):
                    if change:
                        tensor.add_(change)
                del tensor
            moved.append((store.bytes_down, store.bytes_up))
        return moved

    moved = on_one(program)
    assert moved == [(800, 800), (800, 1600), (1200, 2400), (1600, 3200)]


# What goes wrong ------------------------------------------------------------------------------------------------------


def full(file, data, offset):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def harmed(folder, name):
    data = bytearray(folder.path(name).read_bytes())
    data[BLOCK] ^= 1
    folder.path(name).write_bytes(data)


@pytest.mark.parametrize(
    "harm, says",
    [
        (lambda folder: setattr(folder.blocks, "pwrite", full), "No space left on device.*400 bytes"),
        (lambda folder: None, "damaged"),
        (lambda folder: folder.folder.rename(folder.folder.with_name("gone")), "No such file"),
    ],
)
def test_an_error_in_a_tier_is_an_error_at_the_next_use_of_its_tensor(world, tmp_path, harm, says):
    def program(comm):
        folder = FolderStorage(tmp_path / world)
        store = TieredStore(comm, 400, [StoreTier(HostStorage(), capacity=400), StoreTier(folder)])
        store.put("fine", filled(1))
        store.put("hit", filled(2))  # fine goes to the host
        if says != "damaged":
            harm(folder)
        store.put("third", filled(3))  # hit goes to the folder
        if says == "damaged":
            harmed(folder, "hit")
        for _ in range(2):
            with pytest.raises(TierError, match=says):
                store.take("hit")
        with store.use("fine") as (fine,):
            right = fine.sum().item() == N
        del fine
        store.drop("hit")
        store.put("hit", filled(4))
        return right, store.take("hit").sum().item()

    assert on_one(program, world=world) == (True, 4 * N)


def test_a_tensor_that_is_changed_while_it_goes_down_is_an_error_and_not_half_of_each():
    def program(comm, used):
        store = TieredStore(comm, 800, [StoreTier(HostStorage(), SLOW)])
        tensor = filled(1)
        store.put("a", tensor)
        store.start_down("a", stay=used)
        if used:
            with store.use("a") as (tensor,):
                tensor.add_(1)
        if not used:
            tensor.add_(1)
        del tensor
        store.drain()
        return store.take("a").tolist()

    assert on_one(program, True) == [2.0] * N
    with pytest.raises(Exception, match="changed in place after the store had got it"):
        on_one(program, False)


@pytest.mark.parametrize("change", ["data", "numpy"])
def test_a_change_that_torch_does_not_count_is_not_seen(change):
    def program(comm):
        store = TieredStore(comm, 800, [StoreTier(HostStorage())])
        tensor = filled(1)
        store.put("a", tensor)
        store.start_down("a")
        store.drain()
        if change == "data":
            tensor.data.add_(1)
        else:
            tensor.numpy()[:] = 2
        del tensor
        store.put("b", filled(0))
        store.put("c", filled(0))
        return store.take("a").tolist()

    assert on_one(program) == [1.0] * N  # the copy below, and not the 2 that was here


def test_what_the_store_does_not_take_and_tiers_that_are_full():
    def program(comm):
        store = TieredStore(comm, 400, [StoreTier(HostStorage(), capacity=400), StoreTier(HostStorage(), capacity=500)])
        for name in "abc":
            store.put(name, filled(1))
        with pytest.raises(TierError, match="c: no tier below has room for 400 bytes more; the most is 100"):
            store.put("d", filled(1))
        with pytest.raises(KeyError, match="'a' already"):
            store.put("a", filled(1))
        for tensor in (torch.ones(4, 3).t(), torch.ones(9)[1:]):
            with pytest.raises(ValueError, match="memory alone"):
                store.put("e", tensor)
        store.drop("c")
        with pytest.raises(OverBudget) as told, store.use("a", "b"):
            pass
        assert told.value.missing == 400

    on_one(program)

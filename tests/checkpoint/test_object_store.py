"""A save into an object store: nothing is there before the manifest is put, and everything afterwards."""

from pathlib import Path

import numpy as np
import pytest
import torch

from reference.checkpoint import at, committed, keep, load, save
from reference.checkpoint.object_store import ObjectStore
from reference.worlds import launch

STORE = Path("bucket/run")


class Told(ObjectStore):
    """Notes the keys in the order of their puts, and what was committed before each."""

    def __init__(self):
        super().__init__()
        self.order = []

    def _put(self, path, content):
        self.order.append((path.name, [found.name for found in committed(STORE, self)]))
        super()._put(path, content)


def test_what_one_rank_puts_two_can_get():
    """Virtual ranks share nothing, so one of them saves: its store comes back, and others begin with a copy of it."""

    def one(comm):
        store, w = Told(), torch.arange(12.0).reshape(6, 2)
        save(comm, STORE, 7, {"w": at(w, (6, 2), (0, 0))}, {"rate": 0.1}, files=store)
        return store

    kept = launch(one, 1).results[0]
    assert [name for name, _ in kept.order] == ["rank00000.safetensors", "manifest.json"]
    assert all(not before for _, before in kept.order) and len(committed(STORE, kept)) == 1

    def other(comm):
        part = torch.empty(3, 2)
        loaded = load(comm, STORE, {"w": at(part, (6, 2), (3 * comm.rank, 0))}, files=kept)
        return loaded.step, loaded.extra, part.tolist()

    found = launch(other, 2).results
    assert [step for step, _, _ in found] == [7, 7] and found[0][1] == {"rate": 0.1}
    assert found[0][2] + found[1][2] == torch.arange(12.0).reshape(6, 2).tolist()


def test_a_store_offers_what_files_do():
    store = ObjectStore()
    store.make_folder(STORE)
    store.write(STORE / "a.partial", [b"ab", bytes(range(3))])
    assert store.names(STORE) == [] and store.requests["put"] == 0
    store.rename(STORE / "a.partial", STORE / "a")
    store.write(STORE / "deep/b", [b"x"])
    assert store.names(STORE) == ["a", "deep"] and store.names(STORE.parent) == ["run"]
    into = np.empty(2, np.uint8)
    with store.reading(STORE / "a") as read:
        read(2, into)
        assert into.tolist() == [0, 1] and store.size(STORE / "a") == 5
        with pytest.raises(OSError, match="ends at byte 5"):
            read(4, into)
    for wrong in (lambda: store.rename(STORE / "a", STORE / "c"), lambda: store.size(STORE / "none")):
        with pytest.raises(FileNotFoundError):
            wrong()
    store.remove(STORE / "none")
    store.remove_folder(STORE)
    assert store.objects == {} and store.free(STORE) > 2**60
    store.sync_folder(STORE)


def test_old_checkpoints_are_deleted_object_by_object():
    def program(comm):
        store = ObjectStore()
        for step in (1, 2, 3):
            save(comm, STORE, step, {"w": at(torch.zeros(2), (2,), (0,))}, files=store)
        keep(STORE, 2, store)
        return [path.name for path in committed(STORE, store)], len(store.objects)

    assert launch(program, 1).results == [(["step-00000002", "step-00000003"], 4)]

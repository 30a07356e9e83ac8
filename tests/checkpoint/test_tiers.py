"""Tiers: which level a failure leaves, how reading saturates, and a ladder of savers that fall one after the other."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from reference import mpi
from reference.checkpoint.tiers import FAILURES, Ladder, Rung, StorageTier, newest_left, recovery
from reference.worlds import launch, networks

OWN = StorageTier("own memory", 1e10, 1e13, 0.0, frozenset({"process"}))
PARTNER = StorageTier("partner", 5e9, 1e12, 1e-3, frozenset({"process", "node"}))
DRIVE = StorageTier("drive", 3e9, 3e12, 1e-3, frozenset({"process", "power"}))
STORE = StorageTier("store", 1e9, 2e10, 0.1, frozenset(FAILURES))
TIERS = (OWN, PARTNER, DRIVE, STORE)


def test_the_newest_step_that_a_failure_leaves():
    saved = {"own memory": 1234, "partner": 1234, "drive": 1200, "store": 1000}
    left = {failure: newest_left(TIERS, saved, failure) for failure in FAILURES}
    assert left == {
        "process": ("own memory", 1234),  # of two with the same step the quicker one
        "node": ("partner", 1234),
        "power": ("drive", 1200),
        "site": ("store", 1000),
    }
    assert newest_left(TIERS[:2], saved, "power") is None
    assert newest_left(TIERS, {"store": 7, "partner": 3}, "node") == ("store", 7)
    with pytest.raises(ValueError, match="none of the failures process, node"):
        newest_left(TIERS, saved, "flood")


@given(st.floats(1, 1e13), st.integers(1, 10_000))
def test_reading_saturates(nbytes, streams):
    seconds = STORE.seconds(nbytes, streams)
    assert seconds >= STORE.latency + nbytes / STORE.total * (1 - 1e-12)
    assert seconds >= STORE.latency + nbytes / streams / STORE.stream * (1 - 1e-12)
    assert STORE.useful_streams == 20
    if streams > 20:
        assert seconds == STORE.seconds(nbytes, 20)


def test_a_recovery_is_more_than_reading():
    """14 TB from a store of 20 GB/s is 700 s, with 1,000 readers as with 20; by streams alone it would be 14."""
    found = recovery(STORE, 14e12, 1000, every=3600, detect=30, restart=120, unpack_rate=2e9, warm_up=20)
    assert found.read == pytest.approx(700.1) and found.unpack == pytest.approx(7) and found.redo == 1800
    assert found.seconds == pytest.approx(30 + 120 + 700.1 + 7 + 20 + 1800)


@pytest.mark.parametrize("readers", [1, 2, 4, 8, 12])
def test_readers_of_a_few_servers_on_the_virtual_cluster(readers):
    """Four ranks serve a state in equal parts; each port carries 1 GB/s: b = 1 GB/s, B = 4 GB/s."""
    servers, beta, parts, size = 4, 1e-9, 48, 10_000
    tier = StorageTier("store", 1 / beta, servers / beta, 0.0, frozenset(FAILURES))

    def program(comm):
        if comm.rank < servers:
            mine = [part for part in range(parts) if part % servers == comm.rank]
            requests = [comm.Isend(torch.zeros(size // 4), servers + reader(part), tag=part) for part in mine]
        else:
            mine = [part for part in range(parts) if servers + reader(part) == comm.rank]
            requests = [comm.Irecv(torch.zeros(size // 4), part % servers, tag=part) for part in mine]
        mpi.waitall(requests)
        return comm.wtime()

    def reader(part):
        return (part // servers + part) % readers

    seconds = max(launch(program, servers + readers, network=networks.uniform(1e-9, beta)).results)
    assert seconds == pytest.approx(tier.seconds(parts * size, readers), rel=0.3)
    assert seconds >= 0.99 * tier.seconds(parts * size, readers)


class Kept:
    """A saver that a failure can empty."""

    def __init__(self):
        self.states, self.broken = {}, False

    def rung(self, name, every):
        return Rung(name, every, self.states.__setitem__, lambda: max(self.states, default=None), self.load)

    def load(self, step):
        if self.broken:
            raise OSError(5, "it is damaged")
        return self.states[step]


def test_a_ladder_falls_rung_by_rung():
    memory, drive, store = Kept(), Kept(), Kept()
    ladder = Ladder([memory.rung("memory", 1), drive.rung("drive", 10), store.rung("store", 20)])
    where = {step: ladder.save(step, f"state {step}") for step in range(1, 36)}
    assert where[7] == ["memory"] and where[10] == ["memory", "drive"] and len(where[20]) == 3
    assert ladder.recover() == ("memory", 35, "state 35")
    memory.states.clear()
    assert ladder.recover() == ("drive", 30, "state 30")
    drive.broken = True
    assert ladder.recover() == ("store", 20, "state 20")
    store.broken = True
    with pytest.raises(LookupError, match=r"drive: .*damaged; store: .*damaged"):
        ladder.recover()
    drive.states.clear()
    store.states.clear()
    with pytest.raises(LookupError, match="no rung has saved anything"):
        ladder.recover()


def test_of_equal_steps_the_quicker_rung_and_what_is_refused():
    memory, drive = Kept(), Kept()
    ladder = Ladder([memory.rung("memory", 2), drive.rung("drive", 2)])
    ladder.save(2, "x")
    assert ladder.recover()[0] == "memory"
    with pytest.raises(ValueError, match="not so: drive"):
        Ladder([drive.rung("drive", 0)])
    with pytest.raises(ValueError, match="there is none"):
        Ladder([])

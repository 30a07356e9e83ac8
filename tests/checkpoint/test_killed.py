"""A rank is killed while it trains and saves in memory: survivors shrink, and its state comes back from theirs.

Partner copies and parity alone are tested with ranks that forget; here one dies, at any of its calls, and whoever is
left finds out by an error, with a save under way or not.
"""

import numpy as np
import pytest

from reference.checkpoint.parity import recover_parity, save_parity
from reference.checkpoint.partner import PartnerCopies, StateLost, recover
from reference.checkpoint.placement import in_groups
from reference.recovery import survive
from reference.worlds import Kill, launch

RANKS, STEPS = 4, 3


def state(rank, step):
    """What a rank has after a step: other lengths on other ranks."""
    return np.random.default_rng([rank, step]).integers(0, 256, 100 + rank, dtype=np.uint8)


class Partners:
    """Each rank's state lies with its partner, too."""

    def __init__(self, comm):
        self.copies = PartnerCopies(comm, in_groups(comm.size, 2))

    def save(self, step, own):
        self.copies.save(step, own)

    def recover(self, comm, wanted):
        return recover(comm, self.copies.states, wanted, RANKS)


class Parity:
    """One parity block for each stripe; of two saves the newest that all survivors have is whole."""

    def __init__(self, comm):
        self.comm, self.kept = comm, {}

    def save(self, step, own):
        self.kept[step] = save_parity(self.comm, own)
        self.comm.Barrier()  # now everybody has it: the one before can go
        self.kept = {step: self.kept[step]}

    def recover(self, comm, wanted):
        steps = set.intersection(*comm.allgather(set(self.kept)))
        if not steps:
            raise StateLost("no step is on all ranks")
        return max(steps), recover_parity(comm, self.kept[max(steps)], wanted)


def train(comm, kind):
    """After each step save in memory; after a death, (newest step that somebody has seen whole, what came back)."""
    memory, done = kind(comm), 0

    def work(now):
        nonlocal done
        if now.size == RANKS:
            for step in range(1, STEPS + 1):
                now.allreduce(step)  # the step itself, for which all are needed
                memory.save(step, state(comm.rank, step))
                done = step
            return None
        there = now.allgather(comm.rank)
        lost = [rank for rank in range(RANKS) if rank not in there]
        wanted = [comm.rank, *(lost if now.rank == now.size - 1 else [])]
        newest = max(now.allgather(done))
        try:
            step, found = memory.recover(now, wanted)
        except StateLost:
            return newest, 0, True
        right = all(np.array_equal(found[owner], state(owner, step)) for owner in wanted)
        return newest, step, right and list(found) == wanted

    return survive(comm, work)[0]


@pytest.mark.parametrize("dead", range(RANKS))
@pytest.mark.parametrize("kind", [Partners, Parity])
def test_a_killed_rank_s_state_comes_back_from_the_others_memory(kind, dead):
    """At the newest step that anybody knew to be whole, or one later; all at the same, whatever call it died in."""
    seen = set()
    for calls in range(1, 60):
        found = launch(train, RANKS, kind, faults=[Kill(dead, after=calls)]).results
        if None in found[:dead] + found[dead + 1 :]:
            break  # it died when all was done, or not at all
        left = [one for rank, one in enumerate(found) if rank != dead]
        assert len(set(left)) == 1, (calls, left)
        newest, step, right = left[0]
        assert right and newest <= step <= newest + 1, (calls, left)
        seen.add(step)
    else:
        pytest.fail("it dies in the 59th call still: more calls are to be tried")
    assert seen >= {0, 1, 2}

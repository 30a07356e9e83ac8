"""Parity: a group of ranks keeps r parity blocks of its states, and any r of its ranks can be lost.

Idea      A copy of each state costs as much memory as the states. Parity costs less: P ranks cut their states into
          k = P - r chunks each, and stripe s takes one chunk of each of k ranks; its r parity blocks lie on the others.
          The places rotate, so that every rank holds as much parity and none is asked more than others (r = 1, P = 4):

              rank        0      1      2      3
              stripe 0    p      a      b      c         p = a + b + c: each column may be lost
              stripe 1    c      p      a      b
              stripe 2    b      c      p      a
              stripe 3    a      b      c      p

          A lost rank takes one block of each stripe with it; k are left, and reed_solomon.py solves for the others.
Before    n bytes a rank, and n more for a copy
After     n bytes a rank, and n r / (P - r) more
Sends     r n bytes a rank to save. To recover one rank, its peers send each other about n bytes each, and n to it.
Price     The group's loss of r + 1 ranks is final, and groups are larger than pairs: bear the failures of a node by
          taking each rank of a group from another node (placement.across_nodes).
Exact     All bytes of the states, of any lengths, from any P - r of the P ranks.
Left out  Saving while training goes on, as partner.py does; parity of what has changed only.
Source    Moody et al., "Design, Modeling, and Evaluation of a Scalable Multi-level Checkpointing System" (SC 2010):
          SCR, whose schemes PARTNER, XOR and RS (Reed-Solomon) these are. Gropp, Ross and Miller, "Providing Efficient
          I/O Redundancy in MPI Environments" (2004): the rotated XOR.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import mpi
from .partner import StateLost
from .reed_solomon import add_multiple, decode, parity_matrix


class StripeSet(NamedTuple):
    """What one member of a group keeps: its state in chunks [P - r, c], its parity blocks [r, c], all lengths."""

    member: int
    tolerated: int
    chunks: np.ndarray
    parity: np.ndarray
    lengths: list[int]

    def state(self) -> np.ndarray:
        """The member's own state, uint8 [n]."""
        return self.chunks.reshape(-1)[: self.lengths[self.member]].copy()

    def block(self, stripe: int) -> np.ndarray:
        """This member's block of a stripe."""
        number = place(self.member, stripe, len(self.lengths), self.tolerated)
        k = len(self.lengths) - self.tolerated
        return self.chunks[number] if number < k else self.parity[number - k]


def place(member: int, stripe: int, P: int, r: int) -> int:
    """Which block of a stripe a member has: 0 ... P - r - 1 data, which is also the number of its chunk; then parity.

    The parity of stripe s lies on members s, s + 1, ..., s + r - 1.
    """
    return (member - stripe - r) % P


def save_parity(comm, state: np.ndarray, tolerated: int = 1) -> StripeSet:
    """Cut this rank's state (bytes, uint8 [n], any n) into chunks and compute the group's parity. Collective.

    comm         the group's; at most 256 ranks, and used for nothing else meanwhile
    tolerated    r, how many of them may be lost
    The state may change as soon as this has returned. Keep the StripeSet of the step before until all ranks have this.
    Raises ValueError on every rank unless 0 < r < P.
    """
    P, r, rank = comm.size, tolerated, comm.rank
    if not 0 < r < P:
        raise ValueError(f"a group of {P} ranks cannot bear the loss of {r}: take 1 to {P - 1}")
    k, lengths = P - r, comm.allgather(len(state))
    width = -(-max(lengths) // k)
    chunks = np.zeros((k, width), dtype=np.uint8)
    chunks.reshape(-1)[: len(state)] = state
    parity, G = np.zeros((r, width), dtype=np.uint8), parity_matrix(k, r)
    for distance in range(1, P):  # to the rank so far ahead: those chunks of whose stripes it has parity
        pairs = [(row, (row - distance - r) % P) for row in range(r)]
        pairs = [(row, number) for row, number in pairs if number < k]  # else this rank has parity there, too
        if not pairs:
            continue
        out = np.ascontiguousarray(chunks[[number for _, number in pairs]])
        come = np.empty_like(out)
        comm.Sendrecv(out, (rank + distance) % P, recvbuf=come, source=(rank - distance) % P)
        for (row, number), block in zip(pairs, come):
            add_multiple(parity[row], int(G[row, number]), block)
    return StripeSet(rank, r, chunks, parity, lengths)


class Repair(NamedTuple):
    """How lost states are computed: {stripe: (who computes, [who sends a block])}, by ranks of the new communicator."""

    lost: list[int]  # members
    stripes: dict[int, tuple[int, list[int]]]


def repair(members: Sequence[int | None], wanted: Sequence[Sequence[int]], P: int, r: int) -> Repair:
    """Plan what it takes to give each rank the states that it wants; the stripes go to the survivors in turn.

    members    of each rank that is there: which member of the group it was; None for a newcomer
    wanted     of each: members whose state it wants
    Raises StateLost if more than r members are missing.
    """
    left = {member: rank for rank, member in enumerate(members) if member is not None}
    if len(left) < P - r:
        gone = sorted(set(range(P)) - set(left))
        raise StateLost(f"members {gone} of a group of {P} are lost, and its parity bears {r}: use a slower tier")
    lost = sorted({member for want in wanted for member in want} - set(left))
    there, stripes = sorted(left), {}
    for stripe in range(P):
        if any(place(member, stripe, P, r) < P - r for member in lost):
            helpers = [there[(stripe + step) % len(there)] for step in range(P - r)]  # as many as needed, in turn
            stripes[stripe] = left[helpers[0]], [left[member] for member in helpers]
    return Repair(lost, stripes)


def recover_parity(comm, saved: StripeSet | None, wanted: Sequence[int]) -> dict[int, np.ndarray]:
    """Give this rank the states of the members that it wants: {member: uint8 [n]}, from those that are left.

    comm      the ranks that go on: survivors in any order, and newcomers in the place of the lost
    saved     what this rank has kept, of the same step on all; None for a newcomer
    wanted    members of the group: its own old number for a newcomer; more for one that takes over
    Collective. The group has no parity after that, only states: save anew. Raises StateLost on every rank.
    """
    heard = comm.allgather((saved and (saved.member, saved.tolerated, saved.lengths), list(wanted)))
    told = [own for own, _ in heard if own is not None]
    if not told:
        raise StateLost("no member of the group is left: use a slower tier")
    members = [own and own[0] for own, _ in heard]
    r, lengths, want = told[0][1], told[0][2], [want for _, want in heard]
    plan = repair(members, want, len(lengths), r)
    solved = _solve(comm, saved, plan, members, lengths, r)
    return _deliver(comm, saved, plan, members, want, lengths, r, solved)


def _solve(comm, saved: Any, plan: Repair, members: Sequence, lengths: list[int], r: int) -> dict:
    """Send the blocks of each stripe to who computes it: {(stripe, member): chunk} of the lost, there."""
    P, width = len(lengths), -(-max(lengths) // (len(lengths) - r))
    requests, known, solved = [], {}, {}
    for stripe, (worker, helpers) in plan.stripes.items():
        if comm.rank == worker:
            known[stripe] = {}
            for helper in helpers:
                block = np.empty(width, dtype=np.uint8)
                known[stripe][place(members[helper], stripe, P, r)] = block
                if helper == worker:
                    block[:] = saved.block(stripe)
                else:
                    requests.append(comm.Irecv(block, source=helper, tag=0))
        elif comm.rank in helpers:
            requests.append(comm.Isend(saved.block(stripe), dest=worker, tag=0))
    mpi.waitall(requests)
    for stripe, blocks in known.items():
        data = decode(P - r, r, blocks)
        numbers = {member: place(member, stripe, P, r) for member in plan.lost}
        solved.update({(stripe, member): data[number] for member, number in numbers.items() if number < P - r})
    return solved


def _deliver(comm, saved, plan: Repair, members, want, lengths: list[int], r: int, solved: dict) -> dict:
    """Send each rank the chunks of the states that it wants, from who has them or has computed them."""
    P, k = len(lengths), len(lengths) - r
    width = -(-max(lengths) // k)
    requests, found = [], {}
    for taker, owners in enumerate(want):
        for owner in owners:
            if taker == comm.rank:
                found[owner] = np.zeros((k, width), dtype=np.uint8)
            for stripe in (stripe for stripe in range(P) if place(owner, stripe, P, r) < k):
                number = place(owner, stripe, P, r)
                source = plan.stripes[stripe][0] if owner in plan.lost else members.index(owner)
                if source == comm.rank:
                    chunk = solved[stripe, owner] if owner in plan.lost else saved.chunks[number]
                    if taker == source:
                        found[owner][number] = chunk
                    else:
                        requests.append(comm.Isend(chunk, dest=taker, tag=1))
                elif taker == comm.rank:
                    requests.append(comm.Irecv(found[owner][number], source=source, tag=1))
    mpi.waitall(requests)
    return {owner: chunks.reshape(-1)[: lengths[owner]].copy() for owner, chunks in found.items()}


def parity_bytes(nbytes: int, P: int, tolerated: int) -> int:
    """Bytes of parity that each of P ranks keeps for states of at most so many bytes: r ceil(n / (P - r))."""
    return tolerated * -(-nbytes // (P - tolerated))

"""The volume of ZeRO: what a rank sends in one step, in exact bytes, for each stage and each way to accumulate.

Idea      An all-gather or a reduce-scatter of a group cut among S ranks makes each rank send (S - 1) n elements,
          n = ceil(g / S). (By a ring, or by whatever else is optimal in bytes.) An all-reduce is both. So count calls:

              stage                                   all-gathers of weights   reduce-scatters of gradients   Psi
              0   data parallelism, an all-reduce     1 (of gradients)         1                              2
              1   after K micro-batches               1                        1                              2
              2   one reduce-scatter for each         1                        K                              K + 1
              2   whole gradients kept                1                        1                              2
              3   a gather forward, one backward      2 K                      K                              3 K
              3   units stay gathered until backward  K                        K                              2 K
              3   whole gradients kept                2 K                      1                              2 K + 1

          The last column is the volume in units of (S - 1) / S Psi elements.
Sends     It receives as much. Hybrid sharding adds an all-reduce of the gradients' shard among the P / S ranks that own
          the same shard. With a second copy of the weights in each node (ZeRO++) the backward gathers stay inside it.
          A codec sends fewer bytes for the same elements. The root of stage 3, which stays whole between the passes, is
          gathered once for each micro-batch.
Exact     Equal to the bytes that the virtual cluster counts.
Left out  Loss and norm: a few bytes a step. Latencies: criterion.py.
Source    Rajbhandari et al. (2020), section 7; Wang et al. (2023), section 3, for ZeRO++.
Try       python -m reference.memory --parameters 7e9 --ranks 64 --stage 3 --micro-batches 8
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from .memory import Setting, check

Packed = Callable[[int], float]
"""Bytes on the wire of so many elements."""


class Sent(NamedTuple):
    """Bytes that one rank sends in a step.

    gathers   all-gathers of weights (stage 0: the second half of the all-reduce of gradients)
    inside    all-gathers of weights among the ranks that share a second copy (ZeRO++)
    reduces   reduce-scatters of gradients
    across    all-reduces of gradient shards between the groups of hybrid sharding
    """

    gathers: float = 0
    inside: float = 0
    reduces: float = 0
    across: float = 0

    @property
    def total(self) -> float:
        """All of them."""
        return sum(self)


class Calls(NamedTuple):
    """How often each group is gathered forward (or after the step), gathered backward, and reduced, in a step."""

    forward: int
    backward: int
    reduces: int


def calls(setting: Setting, K: int = 1, each: bool = True) -> Calls:
    """Collectives of one group in a step of K micro-batches.

    each: in stages 2 and 3 a reduce-scatter follows every micro-batch, so that no rank keeps whole gradients. Stages 0
    and 1 keep them anyway, and reduce once. Raises ValueError for fewer than one micro-batch.
    """
    check(setting)
    if K < 1:
        raise ValueError(f"a step has at least 1 micro-batch, got {K}")
    reduces = K if each and setting.stage >= 2 else 1
    if setting.stage < 3:
        return Calls(1, 0, reduces)
    return Calls(K, K if setting.reshard else 0, reduces)


def sent(
    setting: Setting,
    K: int = 1,
    each: bool = True,
    weights: Packed | None = None,
    gradients: Packed | None = None,
    per_node: int = 0,
) -> Sent:
    """Bytes that a rank sends in a step of K micro-batches.

    weights, gradients: bytes of so many elements on the wire, where a codec packs them; else the recipe's. per_node:
    ranks of a node, where gradients are exchanged inside nodes first, then across (qgZ of ZeRO++); 0: all at once.
    At stage 0 the bytes are those of a rank on average, for an all-reduce does not pad.
    """
    count = calls(setting, K, each)
    w = weights or (lambda n: setting.recipe.weights * n)
    o = gradients or (lambda n: setting.recipe.gradients * n)
    if setting.stage == 0:
        half = sum(allreduce(setting.P, g) / 2 * o(1) for g in setting.groups)
        return Sent(gathers=half, reduces=half)
    S, near, shards = setting.S, setting.secondary, [*setting.shards, setting.root_shard]
    L, R = per_node or 1, S // (per_node or 1)
    units, root = (S - 1) * sum(map(w, setting.shards)), (S - 1) * w(setting.root_shard)
    copies = (near - 1) * S // near * sum(setting.shards) * setting.recipe.weights if near else 0
    return Sent(
        gathers=units * (count.forward + (0 if near else count.backward)) + root * count.forward,
        inside=copies * count.backward,
        reduces=sum((L - 1) * o(R * n) + (R - 1) * o(n) for n in shards) * count.reduces,
        across=sum(allreduce(setting.P // S, n) * o(1) for n in shards),
    )


def allreduce(P: int, elements: float) -> float:
    """Elements that a rank sends on average in an all-reduce that is optimal in bytes: 2 (P - 1) / P of them."""
    return 2 * (P - 1) / P * elements


def in_psi(setting: Setting, K: int = 1, each: bool = True) -> float:
    """The volume in units of (S - 1) / S Psi elements, as papers give it: 2 for stages 0 to 2, 3 for stage 3."""
    count = calls(setting, K, each)
    return count.forward + count.backward + count.reduces


def between_nodes(P: int, per_node: int, shard: int, levels: bool) -> int:
    """Elements of a group's gradients that a rank sends to other nodes in an all-to-all reduce-scatter.

    shard: n. levels: first among the per_node ranks of a node, then among nodes (qgZ of ZeRO++): (P / L - 1) n in place
    of (P - L) n. Both send (P - 1) n in all.
    """
    if P % per_node:
        raise ValueError(f"{per_node} ranks a node must divide {P} ranks")
    return (P // per_node - 1) * shard if levels else (P - per_node) * shard

"""Policies of recomputation in a pipeline: blocks, or runs of blocks of a stage, which no cut divides.

Idea      What recompute/policies.py does inside of a block it does in a stage, too. K blocks that are computed again
          together are neighbours on one stage; at a cut a run ends.
          A schedule that splits the backward pass (I and W) splits the layers while a stage computes. A block that is
          computed again inside of I would compute its W there, too. And a schedule that updates weights before all
          micro-batches are done has older weights for a stage's second forward pass. So with these "full" means whole
          stages, which the passes compute again themselves: split as they were, with the weights that they had.
Left out  Other policies with such a schedule.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from torch import Tensor, nn

from ...recompute.checkpoint import Random
from ...recompute.policies import in_runs, randomness, recompute_blocks
from ..schedule import Schedule
from ..stages import ChainLink, Stage


def by_stages(schedule: Schedule) -> bool:
    """Whether with this schedule nothing less than a stage can be computed again."""
    return bool(schedule.splits) or schedule.weights != "flush"


def check_recompute(words: str, schedule: Schedule) -> None:
    """Raise ValueError if this policy cannot be had with this schedule."""
    if by_stages(schedule) and words not in ("none", "full"):
        why = "goes backward in two parts, I and W" if schedule.splits else "updates while micro-batches are under way"
        raise ValueError(
            f"{schedule.name} {why}, so that a part of a stage cannot be computed again: take recompute full, which "
            f"here keeps what enters a stage, or another schedule; got {words}"
        )


def recompute_stages(model: nn.Module, stages: Sequence[Stage], schedule: Schedule, words: str) -> Sequence[int]:
    """Have stages of this model train by the policy; the stages that the passes shall compute again as a whole.

    Raises ValueError as `check_recompute` and `policies.policy` do.
    """
    check_recompute(words, schedule)
    if words == "none":
        return ()
    if by_stages(schedule):
        return range(schedule.stages)
    K = recompute_blocks(model, words)
    for stage in stages if K > 1 else ():
        stage.links = tuple(runs(stage.links, K, randomness(model)))
    return ()


def runs(links: Sequence[ChainLink], K: int, random: Sequence[Random]) -> list[ChainLink]:
    """The links, with each K blocks that follow each other as one link, which is computed again."""
    found: list[ChainLink] = []
    waiting: list[ChainLink] = []
    for link in [*links, None]:
        block = link is not None and link.name.startswith("blocks.")
        if waiting and (not block or len(waiting) == K):
            names, parts = [one.name for one in waiting], [part for one in waiting for part in one.parts]
            found.append(ChainLink(" ".join(names), tuple(parts), partial(run_again, tuple(waiting), K, random)))
            waiting = []
        if link is not None:
            (waiting if block else found).append(link)
    return found


def run_again(links: Sequence[ChainLink], K: int, random: Sequence[Random], stage: nn.Module, x: Tensor) -> Tensor:
    """Links of a stage one after the other, K of them computed again together."""
    return in_runs([partial(link.run, stage) for link in links], K, random)(x)

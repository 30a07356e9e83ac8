"""The layouts that are measured, and what both sides are given: model, batch, optimizer."""

from __future__ import annotations

from typing import NamedTuple

RANKS, LAYERS, SEQUENCES = 4, 4, 8
CLIP, RATE = 1.0, 1e-3
ENDS = {1: (LAYERS + 2,), 2: (1 + LAYERS // 2, LAYERS + 2)}  # of stages: the embedding, the blocks, the head


class Case(NamedTuple):
    """A layout: the degrees, and the ways of torch's data parallelism ("" for none)."""

    dp: int
    pp: int
    tp: int
    zero: int = 0
    torchs: tuple[str, ...] = ("",)

    @property
    def micro_batches(self) -> int:
        """One sequence each in a pipeline; the whole share without."""
        return SEQUENCES // self.dp if self.pp > 1 else 1


CASES = {
    "DP2 x TP2": Case(2, 1, 2, torchs=("FSDP2, replicated", "FSDP2, sharded")),
    "DP2 x PP2": Case(2, 2, 1, torchs=("FSDP2, replicated", "DDP")),
    "TP2 x PP2": Case(1, 2, 2),
    "ZeRO-3 x TP2": Case(2, 1, 2, zero=3, torchs=("FSDP2",)),
}


def model_and_share(case: Case, copy: int):
    """A GPT without the tied weight, which torch's stages cannot share, and the sequences of one of its copies."""
    from reference.models import BENCHMARK, GPT, batch, text

    model = GPT(BENCHMARK._replace(tied=False, layers=LAYERS))
    return model, batch(text(BENCHMARK.length), SEQUENCES, 0, 0, copy, case.dp)


def adamw(parameters):
    """The optimizer of both: one kernel for all parameters, as torchtitan has it."""
    import torch

    return torch.optim.AdamW(parameters, lr=RATE, fused=True)

"""Sequence and context parallelism: one sequence, cut over ranks, with exact attention.

    from reference.sequence_parallel import ring_attention, zigzag
    layout = zigzag(128, comm.size)  # which tokens are whose
    o = ring_attention(comm, q, k, v, layout)  # of this rank's tokens; differentiable

Attention by blocks, which all methods compute with, is in online_softmax.py, masks.py and blockwise.py; layouts.py
tells which tokens a rank holds. Queries meet the keys of other ranks in four ways: ring_attention.py, gather_kv.py,
ulysses.py, and usp.py, which joins two of them. A GPT that trains so is in gpt.py; volume.py counts what all of them
send.
"""

from .blockwise import attention
from .gather_kv import gather_attention
from .gpt import SequenceParallelGPT, shard, shard_gpt
from .layouts import SequenceLayout, contiguous, striped, zigzag, zigzag_documents
from .masks import Tokens, packed
from .online_softmax import merge
from .ring_attention import ring_attention
from .ulysses import ulysses_attention
from .usp import grid, usp_attention

__all__ = [
    "SequenceLayout",
    "SequenceParallelGPT",
    "Tokens",
    "attention",
    "contiguous",
    "gather_attention",
    "grid",
    "merge",
    "packed",
    "ring_attention",
    "shard",
    "shard_gpt",
    "striped",
    "ulysses_attention",
    "usp_attention",
    "zigzag",
    "zigzag_documents",
]

"""Recomputation: which activations of a step are kept, and which are computed again in the backward pass.

checkpoint.py keeps a function's inputs, and computes its inside again. For a whole step:

chain.py is a chain of links as data, and the operations of a schedule; predict.py says what a schedule takes, in
seconds and bytes; carry_out.py carries any schedule out on a list of modules.
"""

from .chain import Chain, ChainOperation, LinkCost, backward, equal_links, forward, free, keep_all
from .checkpoint import checkpoint

__all__ = [
    "Chain",
    "ChainOperation",
    "LinkCost",
    "backward",
    "checkpoint",
    "equal_links",
    "forward",
    "free",
    "keep_all",
]

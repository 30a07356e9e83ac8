"""Recomputation: which activations of a step are kept, and which are computed again in the backward pass.

chain.py is a chain of links as data, and the operations of a schedule; predict.py says what a schedule takes, in
seconds and bytes; carry_out.py carries any schedule out on a list of modules.
"""

from .chain import Chain, ChainOperation, LinkCost, backward, equal_links, forward, free, keep_all

__all__ = ["Chain", "ChainOperation", "LinkCost", "backward", "equal_links", "forward", "free", "keep_all"]

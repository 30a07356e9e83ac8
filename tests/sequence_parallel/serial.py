"""Attention over a whole sequence by torch, which all methods must equal, and one method on one rank of several."""

import torch
import torch.nn.functional as F

from reference.models.seeds import generator
from reference.sequence_parallel.masks import packed
from reference.worlds import launch


def inputs(a=4, g=2, s=24, d=3, b=2, dtype=torch.float64, seed=0):
    """q, k, v and the gradient of the output, in their shapes of the whole sequence."""
    numbers = generator(seed)
    return [torch.randn(b, heads, s, d, generator=numbers, dtype=torch.float64).to(dtype) for heads in (a, g, g, a)]


def mask(tokens, causal):
    """Who sees whom, the whole matrix at once, from the tokens of the sequence in its own order."""
    same = tokens.documents[:, None] == tokens.documents
    return same & (tokens.positions[:, None] >= tokens.positions) if causal else same


def serial(x, causal=True, tokens=None):
    """The output and dq, dk, dv of scaled_dot_product_attention on the whole sequence."""
    q, k, v = (tensor.clone().requires_grad_() for tensor in x[:3])
    tokens = tokens or packed([q.shape[2]])
    o = F.scaled_dot_product_attention(q, k, v, attn_mask=mask(tokens, causal), enable_gqa=True)
    o.backward(x[3])
    return [o.detach(), q.grad, k.grad, v.grad]


def part(comm, x, layout, causal, attend):
    """The output and dq, dk, dv of this rank's tokens; attend(comm, q, k, v, layout, causal)."""
    q, k, v, do = (layout.shard(tensor, comm.rank, 2).clone() for tensor in x)
    q, k, v = (tensor.requires_grad_() for tensor in (q, k, v))
    o = attend(comm, q, k, v, layout, causal)
    o.backward(do)
    return [o.detach(), q.grad, k.grad, v.grad]


def parallel(attend, x, layout, causal=True, **where):
    """The same of all ranks of the layout, joined."""
    results = launch(part, layout.ranks, x, layout, causal, attend, **where).results
    return [layout.join(parts, 2) for parts in zip(*results)]


def assert_equal(found, wanted):
    """Equal up to rounding of float64."""
    torch.testing.assert_close(found, wanted, rtol=1e-12, atol=1e-12)


def assert_close(found, exact, s):
    """Within what rounding may do to float32 sums of s products, relative to the largest element."""
    for one, other in zip(found, exact, strict=True):
        assert (one.double() - other).abs().max() <= 4 * s * 2**-24 * other.abs().max()

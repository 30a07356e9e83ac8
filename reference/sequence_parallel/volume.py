"""What each way to share a layer sends, per layer and rank, forward and backward: bytes, messages, seconds, memory.

Idea      x is the b s h activations of a layer in bytes, n the keys of one rank, b g (s/P) d, and P the ranks:

              method               forward                        backward
              tensor parallelism   4 (P-1)/P x                    4 (P-1)/P x            2 all-reduces each way
              Megatron SP          4 (P-1)/P x                    6 (P-1)/P x            all-gathers, reduce-scatters
              gather, ring         2 (P-1) n                      4 (P-1) n              k, v; backward again, dk, dv
              Ulysses              2 (P-1)/P (x/P + n')           as much                q, k, v, o
              USP, P = U R         2 (U-1)/U (x/P + n') + 2 (R-1) n'     ... + 4 (R-1) n'

          where n' are the keys of one rank repeated for max(g, U) heads, and U = P for Ulysses.

          The first two grow with all of x. A ring and an all-gather of keys send (P-1)/P of all keys: as much as an
          all-gather of x if g = a, and g / a of it with grouped heads. Ulysses divides by P once more.
          Tensor parallelism cuts the weights, too. The others hold them whole, and average their gradients once a
          step: that is `weight_gradients`, which a job with data parallelism sends anyway, over more ranks.
Price     Seconds are messages alpha + bytes beta: rounds one after the other, nothing hidden. `overlapped` is a ring
          that computes meanwhile.
Exact     Bytes and messages are those that the code of this package sends, for any P. Those of tensor parallelism are
          formulas of tensor_parallel/volume.py, which has terms without s besides; messages are those of rings. Sums
          of dk and dv travel in float32 or better (`sums`).
Source    Korthikanti et al., "Reducing Activation Recomputation in Large Transformer Models" (2022), for Megatron's
          sequence parallelism, whose backward pass gathers the inputs of both layers again, and for the activations;
          Jacobs et al. (2023), section 3.2; Liu et al. (2023), section 3, for the least block.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ..models import Config
from ..networks.network import Link
from ..tensor_parallel.volume import STEPS, block
from .ulysses import heads_trouble


class LayerShape(NamedTuple):
    """A transformer layer and the P ranks that share it: b sequences of s tokens, width h, a heads, g of keys."""

    b: int
    s: int
    h: int
    a: int
    g: int
    P: int
    itemsize: int = 2  # bytes of an element of an activation

    @property
    def x(self) -> float:
        """Bytes of the b s h activations of all ranks."""
        return self.b * self.s * self.h * self.itemsize

    def keys(self, heads: int | None = None) -> float:
        """n: bytes of the keys of one rank's tokens, of g heads unless told; its values are as many."""
        return self.x / self.P / self.a * (self.g if heads is None else heads)

    @property
    def held_keys(self) -> float:
        """n': bytes of the keys of one rank's tokens, each head as often as Ulysses sends it to P ranks."""
        return self.keys(max(self.g, self.P))

    @property
    def sums(self) -> float:
        """How many times as long an element of dk and dv is on its way as one of k: float32 at least."""
        return max(self.itemsize, 4) / self.itemsize


class LayerTraffic(NamedTuple):
    """What one rank sends in one layer, in bytes and in messages, forward and backward."""

    forward: float
    backward: float
    forward_messages: int
    backward_messages: int

    @property
    def nbytes(self) -> float:
        """Both ways together."""
        return self.forward + self.backward

    def seconds(self, link: Link) -> float:
        """Both ways, one message after the other on a network of such links, with nothing hidden."""
        return (self.forward_messages + self.backward_messages) * link.alpha + self.nbytes * link.beta


def tensor_parallel(layer: LayerShape) -> LayerTraffic:
    """Two all-reduces of x forward, after attention and after the feed-forward network; two backward."""
    return _of_block(layer, sequence=False)


def megatron_sp(layer: LayerShape) -> LayerTraffic:
    """Each all-reduce in its two halves, reduce-scatter and all-gather; backward both inputs are gathered again."""
    return _of_block(layer, sequence=True)


def _of_block(layer: LayerShape, sequence: bool) -> LayerTraffic:
    config = Config(width=layer.h, heads=layer.a, kv_heads=layer.g)
    both = block(layer.P, layer.b, layer.s, config, sequence, again=sequence)
    there, back = (way.per_rank(layer.P, layer.itemsize) for way in both)
    rounds = [sum(STEPS[name] * times for name, times in way.calls.items()) * (layer.P - 1) for way in both]
    return LayerTraffic(there, back, *rounds)


def ring(layer: LayerShape) -> LayerTraffic:
    """Keys and values P - 1 hops in one message; backward again, and their gradients as many hops."""
    hops, n = layer.P - 1, layer.keys()
    return LayerTraffic(2 * hops * n, 2 * hops * n * (1 + layer.sums), hops, 2 * hops)


def gather(layer: LayerShape) -> LayerTraffic:
    """An all-gather of keys and values; backward again, and a reduce-scatter: by rings, what `ring` sends."""
    return ring(layer)


def ulysses(layer: LayerShape) -> LayerTraffic:
    """All-to-alls of q, k, v and o, and of their gradients."""
    others = layer.P - 1
    nbytes = others / layer.P * 2 * (layer.x / layer.P + layer.held_keys)
    return LayerTraffic(nbytes, nbytes, 4 * others, 4 * others)


def usp(layer: LayerShape, inside: int) -> LayerTraffic:
    """Ulysses over U = inside ranks, then a ring of P / U with the keys of U ranks' tokens for 1 / U of the heads."""
    outside = layer.P // inside
    n = layer.keys(max(layer.g, inside))  # of max(g, U) heads before the all-to-all, and as many bytes after it
    exchanged = (inside - 1) / inside * 2 * (layer.x / layer.P + n)
    hops = outside - 1
    return LayerTraffic(
        exchanged + 2 * hops * n,
        exchanged + 2 * hops * n * (1 + layer.sums),
        4 * (inside - 1) + hops,
        4 * (inside - 1) + 2 * hops,
    )


METHODS: dict[str, Callable[[LayerShape], LayerTraffic]] = {
    "tensor parallelism": tensor_parallel,
    "Megatron SP": megatron_sp,
    "gather": gather,
    "ring": ring,
    "ulysses": ulysses,
}


def allowed(layer: LayerShape, method: str) -> bool:
    """Whether P ranks can share the layer so: tensor parallelism and Ulysses deal out heads."""
    by_heads = method in ("tensor parallelism", "Megatron SP", "ulysses")
    return not by_heads or not heads_trouble(layer.P, layer.a, layer.g)


def cheapest(layer: LayerShape, link: Link) -> str:
    """The method of METHODS whose messages take the fewest seconds in this layer, among those that are allowed."""
    return min((name for name in METHODS if allowed(layer, name)), key=lambda name: METHODS[name](layer).seconds(link))


def weight_gradients(parameters: int, P: int, itemsize: int = 4) -> float:
    """Bytes a rank sends a step to average the gradients of whole weights over the ranks of a sequence, by a ring."""
    return 2 * (P - 1) / P * parameters * itemsize


# A ring that computes meanwhile --------------------------------------------------------------------------------------


def block_flops(layer: LayerShape) -> float:
    """FLOPs of the queries of one rank with the keys of one rank, forward, nothing masked: 4 b a (s/P)^2 d."""
    return 4 * layer.b * (layer.s / layer.P) ** 2 * layer.h


def transfer(layer: LayerShape, link: Link) -> float:
    """X: seconds of one hop of the keys and values of one rank."""
    return link.alpha + 2 * layer.keys() * link.beta


def overlapped(first: float, other: float, layer: LayerShape, link: Link) -> float:
    """Seconds of a forward pass of a ring: `first` to compute a rank's own block, `other` for each of the P - 1 others.

    A step ends when its block is computed and the next one is there; in the last step none comes:

        T = max(first, X) + (P - 2) max(other, X) + other,    X = alpha + 2 n beta,    P > 1
    """
    if layer.P == 1:
        return first
    X = transfer(layer, link)
    return max(first, X) + (layer.P - 2) * max(other, X) + other


def exposed(layer: LayerShape, method: str, link: Link, flops: float) -> float:
    """Seconds of a forward pass, nothing masked, for which a rank of so many FLOP/s waits for messages.

    A ring hides what it can behind the computing of blocks; of the others nothing is hidden.
    """
    if method == "ring":
        return (layer.P - 1) * max(0.0, transfer(layer, link) - block_flops(layer) / flops)
    traffic = METHODS[method](layer)
    return traffic.forward_messages * link.alpha + traffic.forward * link.beta


def least_block(layer: LayerShape, flops: float, beta: float) -> float:
    """Tokens a rank from which on computing a block hides the next one (alpha = 0): itemsize g F beta / (2 a).

    From 4 b c^2 h / F >= 2 b c g d itemsize beta with c tokens a rank. flops: F, of a device, a second. For the causal
    mask in zigzag, where a block is half as much work, twice as many.
    """
    return layer.itemsize * layer.g / (2 * layer.a) * flops * beta


# Memory --------------------------------------------------------------------------------------------------------------


def activation_bytes(layer: LayerShape, method: str = "ring", blockwise: bool = True) -> float:
    """Bytes of activations of one layer that a rank keeps for the backward pass; P = 1: without any of the methods.

    Korthikanti et al., section 4, in 16 bits, with dropout and g = a: b s h (34 + 5 a s / h) on one rank, the second
    term for the scores. Tensor parallelism leaves 10 of the 34 on every rank, inputs of norms and dropout masks; all
    others divide everything by P. Blockwise, L is in place of the scores: 4 bytes for each head and token.
    """
    token = layer.b * layer.s * layer.h
    linear = token * (10 + 24 / layer.P) if method == "tensor parallelism" else token * 34 / layer.P
    rows = layer.b * layer.a * layer.s / layer.P  # of a softmax
    return linear + (4 * rows if blockwise else 5 * rows * layer.s)


def passing_bytes(layer: LayerShape, method: str) -> float:
    """Bytes that a rank holds of other ranks' tensors during a forward pass, and frees.

    gather: the keys and values of the whole sequence. ring: two blocks of k and v. ulysses: q, k, v and o of its heads.
    """
    n = layer.keys()
    return {"gather": 2 * layer.P * n, "ring": 4 * n, "ulysses": 2 * (layer.x / layer.P + layer.held_keys)}[method]

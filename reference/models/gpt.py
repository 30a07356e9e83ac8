"""GPT: a decoder-only transformer that tells the next token, small, and written to be read.

Idea      A stream x [b, s, h] of one vector per token. Each layer adds to it twice: attention, where a token looks at
          those before it, and a feed-forward network, where it thinks by itself.
          The head that turns a vector into logits uses the weights of the token embedding (Press and Wolf, 2017): one
          parameter with two uses, whose gradient is the sum of both.
          GPT-2 draws its weights with a standard deviation of 0.02, which suits a width of a thousand. At a width of 32
          so little comes out of a layer that hundreds of steps pass before the model sees more than how often a byte
          occurs. So here it is 1 / sqrt(inputs), which leaves the size of a vector as it is at any width.
          Grouped heads (GQA): g heads of keys and values serve a heads of queries, a / g each; g = a is the plain form,
          g = 1 is called multi-query attention.
Left out  Rotary positions, RMSNorm, a cache for generating.
Source    Vaswani et al., "Attention Is All You Need" (2017); Radford et al., "Language Models are Unsupervised
          Multitask Learners" (GPT-2, 2019), whose layout this is: learned positions, the norm before each sublayer
          (pre-norm), GELU, and the sublayers' last weights initialised smaller, since 2 L of them add up. Ainslie et
          al., "GQA" (2023), for grouped heads.

Letters in the shapes: b sequences, s tokens, h width, a heads, g of keys and values, L layers, V vocabulary.
"""

from __future__ import annotations

from typing import NamedTuple

import torch.nn.functional as F
from torch import Tensor, nn

from .seeds import seeded


class Config(NamedTuple):
    """What a GPT is like. Needs width % heads == 0 and heads % groups == 0."""

    vocabulary: int = 256  # V; bytes
    length: int = 64  # the longest s
    width: int = 64  # h
    heads: int = 4  # a
    layers: int = 2  # L
    dropout: float = 0.0
    tied: bool = True
    kv_heads: int | None = None  # g, which divide the heads; None: as many as heads

    @property
    def groups(self) -> int:
        """g: how many heads of keys and values there are, each with heads / g of queries."""
        return self.heads if self.kv_heads is None else self.kv_heads


TINY = Config(length=32, width=32, heads=2, layers=2)
"""35 thousand parameters, for tests."""

BENCHMARK = Config(length=128, width=256, heads=8, layers=8)
"""6.4 million parameters, that is a gradient of 26 MB."""


def parameter_count(config: Config) -> int:
    """Psi: the parameters of a GPT by formula. A tied head has none of its own."""
    V, s, h, a, L, _, tied, _ = config
    attention = 2 * (h + 1) * (h + h * config.groups // a)  # q and out, k and v, with biases
    feed_forward = 8 * h * h + 5 * h
    norms = 2 * 2 * h
    return (V + s) * h + L * (attention + feed_forward + norms) + 2 * h + (0 if tied else V * h)


def split_heads(qkv: Tensor, heads: int, groups: int) -> tuple[Tensor, Tensor, Tensor]:
    """What the qkv layer puts out, [b, s, (a + 2 g) d], as q [b, a, s, d] and k, v [b, g, s, d].

    What belongs to one group lies together, its a / g heads of queries, its k, its v: so it can be cut by groups.
    """
    each = heads // groups  # heads of queries in a group
    d = qkv.shape[-1] // (heads + 2 * groups)
    q, k, v = qkv.unflatten(-1, (groups, -1)).transpose(1, 2).split([each * d, d, d], dim=-1)  # each [b, g, s, .]
    return (q if each == 1 else q.unflatten(-1, (each, d)).transpose(2, 3).flatten(1, 2)), k, v


def repeat_groups(kv: Tensor, heads: int) -> Tensor:
    """Keys or values [b, g, s, d] for every head of queries, [b, a, s, d]."""
    return kv if kv.shape[1] == heads else kv.repeat_interleave(heads // kv.shape[1], dim=1)


def join_heads(y: Tensor) -> Tensor:
    """[b, a, s, d] -> [b, s, a d]."""
    return y.transpose(1, 2).flatten(2)


class Attention(nn.Module):
    """Each token looks at itself and those before it, in a different way for each head. x [b, s, h] -> [b, s, h]."""

    def __init__(self, config: Config):
        super().__init__()
        self.heads, self.groups, self.dropout = config.heads, config.groups, config.dropout
        self.qkv = nn.Linear(config.width, config.width // self.heads * (self.heads + 2 * self.groups))
        self.out = nn.Linear(config.width, config.width)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(join_heads(self.attend(*split_heads(self.qkv(x), self.heads, self.groups))))

    def attend(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """softmax(q k^T / sqrt(h / a)) v, causal: q [b, a, s, h / a], k and v [b, g, s, h / a]."""
        k, v = repeat_groups(k, self.heads), repeat_groups(v, self.heads)
        dropout = self.dropout if self.training else 0.0
        return F.scaled_dot_product_attention(q, k, v, dropout_p=dropout, is_causal=True)


class FeedForward(nn.Sequential):
    """Each token by itself, through a layer four times as wide. [b, s, h] -> [b, s, h]."""

    def __init__(self, config: Config):
        h = config.width
        super().__init__(nn.Linear(h, 4 * h), nn.GELU(), nn.Linear(4 * h, h))


class Block(nn.Module):
    """One layer: x + attention(norm(x)), then x + feed_forward(norm(x)). [b, s, h] -> [b, s, h]."""

    def __init__(self, config: Config):
        super().__init__()
        self.norm1, self.attention = nn.LayerNorm(config.width), Attention(config)
        self.norm2, self.feed_forward = nn.LayerNorm(config.width), FeedForward(config)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x: Tensor) -> Tensor:
        return self.think(self.attend(x))

    def attend(self, x: Tensor) -> Tensor:
        """The first half."""
        return x + self.dropout(self.attention(self.norm1(x)))

    def think(self, x: Tensor) -> Tensor:
        """The second half."""
        return x + self.dropout(self.feed_forward(self.norm2(x)))


class GPT(nn.Module):
    """From tokens [b, s] to logits [b, s, V]; those of a token depend on no later one.

    Dropout draws from torch's global generator, which is each rank's own. Raises ValueError if the heads do not divide
    the width or the groups the heads, and for sequences longer than config.length.
    """

    def __init__(self, config: Config, seed: int = 0):
        super().__init__()
        if config.width % config.heads:
            raise ValueError(f"{config.heads} heads cannot share a width of {config.width}: change one of the two")
        if config.groups < 1 or config.heads % config.groups:
            raise ValueError(f"{config.groups} heads of keys and values cannot serve {config.heads} heads alike")
        self.config = config
        with seeded(seed):
            self.token = nn.Embedding(config.vocabulary, config.width)
            self.position = nn.Embedding(config.length, config.width)
            self.dropout = nn.Dropout(config.dropout)
            self.blocks = nn.Sequential(*[Block(config) for _ in range(config.layers)])
            self.norm = nn.LayerNorm(config.width)
            self.head = nn.Linear(config.width, config.vocabulary, bias=False)
            self._initialise()
        if config.tied:
            self.head.weight = self.token.weight

    def _initialise(self) -> None:
        for name, weight in self.named_parameters():
            if name.endswith("bias"):
                nn.init.zeros_(weight)
            elif weight.dim() == 2:  # not the gain of a norm, which stays 1
                last = name.endswith(("out.weight", "feed_forward.2.weight"))  # of a sublayer
                nn.init.normal_(weight, std=(weight.shape[1] * (2 * self.config.layers if last else 1)) ** -0.5)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.tell(self.blocks(self.embed(tokens)))

    def embed(self, tokens: Tensor) -> Tensor:
        """Before the blocks: tokens [b, s] -> [b, s, h]."""
        s = tokens.shape[1]
        if s > self.config.length:
            raise ValueError(f"a sequence of {s} tokens; this model has positions for {self.config.length}")
        return self.dropout(self.token(tokens) + self.position.weight[:s])

    def tell(self, x: Tensor) -> Tensor:
        """After the blocks: what they put out -> logits [b, s, V]."""
        return self.head(self.norm(x))

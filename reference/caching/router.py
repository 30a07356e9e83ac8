"""A small language model with experts, trained here, so that there is a routing to record.

Idea      Each block has E small feed-forward networks. A router, a linear layer, scores them for each token, and the
          token goes to the k best; their outputs are added, weighted by the softmax of the scores. A second loss,
          E sum(part of the tokens * mean probability), keeps all experts in use.
Exact     Trained in 64 bits. Which experts are best is a comparison, and one that other last digits turn changes the
          trace from there on: data/moe_routing.txt was recorded once (tests/caching/moe_routing.py).
Left out  Capacity limits, experts on other ranks: every expert computes every token here, and k of them count.
Source    Shazeer et al., "Outrageously Large Neural Networks" (2017); Fedus et al., "Switch Transformers" (2022), for
          the second loss (equation 4).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from ..models import batch, text
from ..models.gpt import Attention, Config
from ..models.seeds import generator, seeded

SMALL = Config(length=64, width=32, heads=2, layers=2)


class Experts(nn.Module):
    """E networks of one hidden layer, of which each token uses k. x [b, s, h] -> [b, s, h]; `chosen` [b, s, k]."""

    def __init__(self, h: int, experts: int, k: int):
        super().__init__()
        self.k, self.router = k, nn.Linear(h, experts, bias=False)
        self.up = nn.Parameter(torch.randn(experts, h, 2 * h) * h**-0.5)
        self.down = nn.Parameter(torch.randn(experts, 2 * h, h) * (2 * h) ** -0.5)
        self.chosen = self.balance = torch.zeros(0)

    def forward(self, x: Tensor) -> Tensor:
        scores = self.router(x)
        best, self.chosen = scores.topk(self.k)
        weights = torch.zeros_like(scores).scatter(-1, self.chosen, best.softmax(-1))
        part = (weights > 0).double().mean((0, 1))
        self.balance = len(part) * (part * scores.softmax(-1).mean((0, 1))).sum()
        each = torch.einsum("bsef,efh->bseh", torch.relu(torch.einsum("bsh,ehf->bsef", x, self.up)), self.down)
        return (weights[..., None] * each).sum(2)


class RoutedGPT(nn.Module):
    """Blocks of attention and experts. tokens [b, s] -> logits [b, s, V]."""

    experts: Any  # a list of Experts; of a ModuleList mypy knows only that its members are modules

    def __init__(self, config: Config, experts: int, k: int, seed: int = 0):
        super().__init__()
        h = config.width
        with seeded(seed):
            self.token, self.position = nn.Embedding(config.vocabulary, h), nn.Embedding(config.length, h)
            self.attention = nn.ModuleList(Attention(config) for _ in range(config.layers))
            self.experts = nn.ModuleList(Experts(h, experts, k) for _ in range(config.layers))
            self.norms = nn.ModuleList(nn.LayerNorm(h) for _ in range(2 * config.layers + 1))
            self.head = nn.Linear(h, config.vocabulary, bias=False)
        self.double()

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.token(tokens) + self.position.weight[: tokens.shape[1]]
        for i, (attention, experts) in enumerate(zip(self.attention, self.experts)):
            x = x + attention(self.norms[2 * i](x))
            x = x + experts(self.norms[2 * i + 1](x))
        return self.head(self.norms[-1](x))


def trained(steps: int, config: Config = SMALL, experts: int = 16, k: int = 2) -> RoutedGPT:
    """A RoutedGPT after so many steps of Adam on the novel, 8 windows each."""
    model, data = RoutedGPT(config, experts, k), text(config.length)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for step in range(steps):
        x, y = batch(data, 8, step)
        loss = nn.functional.cross_entropy(model(x).flatten(0, 1), y.flatten())
        loss = loss + 0.01 * sum(layer.balance for layer in model.experts)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model


def routing(model: RoutedGPT, windows: int, seed: int = 0) -> Tensor:
    """Which experts the tokens of some windows of held-out text use, in reading order: [tokens, layers, k]."""
    x = text(model.position.num_embeddings, train=False).x
    first = int(torch.randint(len(x) - windows + 1, (), generator=generator(seed)))
    with torch.no_grad():
        model(x[first : first + windows])
    return torch.stack([layer.chosen.flatten(0, 1) for layer in model.experts], 1)

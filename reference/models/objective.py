"""Training as a function of one flat vector: what papers on compression and asynchrony mean by f(w).

Idea      Those papers know neither layers nor optimizers: there is w, and a rank can ask for the gradient of its share
          of a batch at w. `Objective` makes that of a model and its data. `Quadratic` has the same methods and a
          minimum, curvature and noise that are known exactly.
Exact     As everywhere here, a gradient is that of a SUM over samples and comes with their number.
"""

from __future__ import annotations

from copy import deepcopy

import torch
from torch import Tensor, nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from .batches import batch, share
from .data import Data
from .loss import accuracy, loss_sum, mean_loss
from .seeds import generator


class Objective:
    """The mean loss of a model over some data, as a function of the vector w [d] of its trainable parameters.

    A gradient is taken on global batches of `size` samples. The model is copied; one object serves any number of ranks.
    What a model keeps besides parameters, such as batch normalisation's running mean, is in the copy and not in w.
    """

    def __init__(self, model: nn.Module, data: Data, size: int, seed: int = 0):
        self.model, self.data, self.size, self.seed = deepcopy(model), data, size, seed
        self._weights = [weight for weight in self.model.parameters() if weight.requires_grad]  # a tied one once
        self._start = parameters_to_vector(self._weights).detach()
        self.d = len(self._start)

    def start(self) -> Tensor:
        """The model's parameters as they were, w [d]."""
        return self._start.clone()

    def gradient(self, w: Tensor, step: int, rank: int = 0, ranks: int = 1) -> tuple[Tensor, int]:
        """The gradient g [d] of the SUM of the losses over this rank's share of the batch, and how many targets."""
        total, count = loss_sum(self._at(w), batch(self.data, self.size, step, self.seed, rank, ranks))
        parts = torch.autograd.grad(total, self._weights, materialize_grads=True)
        return torch.cat([part.reshape(-1) for part in parts]), count

    def loss(self, w: Tensor, data: Data | None = None) -> float:
        """The mean loss at w, over all the data or over other data."""
        return mean_loss(self._at(w), data or self.data)

    def accuracy(self, w: Tensor, data: Data | None = None) -> float:
        """The share of the targets that the model gets right at w, of all the data or of other data."""
        return accuracy(self._at(w), data or self.data)

    def _at(self, w: Tensor) -> nn.Module:
        vector_to_parameters(w, self._weights)  # views of w: nothing is copied
        return self.model


class Quadratic:
    """f(w) = 1/2 sum_i a_i (w_i - m_i)^2, with its minimum 0 at m, and samples whose gradients differ by noise.

    The curvatures a go from 1/condition to 1 in even ratios, so gradient descent is stable below a learning rate of 2.
    A sample's gradient is a (w - m) + xi, xi normal with standard deviation `noise`, independent for each element,
    sample and step, and the same however many ranks share the batch of `size` samples.
    """

    def __init__(self, d: int, seed: int = 0, noise: float = 0.0, condition: float = 10.0, size: int = 8):
        self.d, self.seed, self.noise, self.size = d, seed, noise, size
        self.curvature = torch.logspace(0, -1, d, base=condition)
        self.minimum = torch.randn(d, generator=generator(seed))

    def start(self) -> Tensor:
        """Zeros, w [d]."""
        return torch.zeros(self.d)

    def gradient(self, w: Tensor, step: int, rank: int = 0, ranks: int = 1) -> tuple[Tensor, int]:
        """The gradient g [d] of the SUM over this rank's samples of the batch, and their number."""
        count = len(share(range(self.size), rank, ranks))
        g = count * self.curvature * (w - self.minimum)
        if self.noise:
            xi = torch.randn(self.size, self.d, generator=generator(self.seed, step))
            g += self.noise * share(xi, rank, ranks).sum(0)
        return g, count

    def loss(self, w: Tensor, data: None = None) -> float:
        """f(w)."""
        return float((self.curvature * (w - self.minimum) ** 2).sum() / 2)

    def accuracy(self, w: Tensor, data: None = None) -> float:
        """How much of the way down is behind us: 1 - f(w) / f(start), 1 at the minimum."""
        return 1 - self.loss(w) / self.loss(self.start())

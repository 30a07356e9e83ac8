"""A problem to train on in NumPy alone: real ranks that die and start by the dozen should not import torch each time.

Idea      A net with one hidden layer learns what another one computes: y = tanh(x A) b. Its parameters are one vector,
          its gradient is written out by hand.
Exact     In float64. A gradient is that of the SUM over samples, and comes with the sum of the losses.
"""

from __future__ import annotations

import numpy as np


class SmallNet:
    """1/2 (tanh(x A) b - y)^2 over `samples` samples of 4 features, with `hidden` units: n = 5 hidden parameters."""

    features = 4

    def __init__(self, samples: int = 96, hidden: int = 16, seed: int = 0):
        random = np.random.default_rng(seed)
        self.samples, self.hidden, self.seed = samples, hidden, seed
        self.n = (self.features + 1) * hidden
        self.x = random.normal(size=(samples, self.features))
        self.y = self._outputs(random.normal(size=self.n), self.x)[1]

    def start(self) -> np.ndarray:
        """The first parameters [n]."""
        return np.random.default_rng([self.seed, 1]).normal(scale=0.5, size=self.n)

    def _outputs(self, w: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        A, b = w[: -self.hidden].reshape(self.features, self.hidden), w[-self.hidden :]
        a = np.tanh(x @ A)
        return a, a @ b

    def gradient(self, w: np.ndarray, indices: np.ndarray) -> tuple[np.ndarray, float]:
        """The gradient [n] of the SUM of the losses of these samples, and that sum."""
        x, y = self.x[indices], self.y[indices]
        a, found = self._outputs(w, x)
        error = found - y
        inner = np.outer(error, w[-self.hidden :]) * (1 - a**2)
        return np.concatenate([(x.T @ inner).ravel(), a.T @ error]), 0.5 * float(error @ error)

"""The small models, the real data and the serial trainer that every parallel program is compared with.

    from reference.models import GPT, MLP, Config, digits, text, train
    model, data = MLP(seed=1), digits()
    losses = train(model, data, torch.optim.SGD(model.parameters(), lr=0.1), steps=100, size=32)

No communicator anywhere: a rank asks for its share of a batch by its number. Nothing is drawn from torch's global
generator: the same seed gives the same bits on every rank, whatever was drawn before.
"""

from .batches import batch, batch_indices, share
from .cnn import CNN
from .data import IGNORED, Data, digits, text
from .gpt import BENCHMARK, GPT, TINY, Config, parameter_count
from .loss import accuracy, cross_entropy_sum, loss_sum, mean_loss
from .mlp import MLP
from .objective import Objective, Quadratic
from .seeds import drawn_from, generator, seeded
from .trainer import gradients, train

__all__ = [
    "BENCHMARK",
    "CNN",
    "Config",
    "Data",
    "GPT",
    "IGNORED",
    "MLP",
    "Objective",
    "Quadratic",
    "TINY",
    "accuracy",
    "batch",
    "batch_indices",
    "cross_entropy_sum",
    "digits",
    "drawn_from",
    "generator",
    "gradients",
    "loss_sum",
    "mean_loss",
    "parameter_count",
    "seeded",
    "share",
    "text",
    "train",
]

"""The optimizer of one device, for pieces: which can be cut, with groups of options, and state from the beginning."""

from functools import partial

import pytest
import torch
from torch import nn

from reference.models import MLP
from reference.worlds import RankFailed, launch
from reference.zero.optimizer import not_element_wise, shard_optimizer
from reference.zero.resident import Resident
from reference.zero.shards import flat

optim = torch.optim


class Lamb(optim.Optimizer):
    """A step as long as the weights are: their norm over the gradient's, for each tensor."""

    def __init__(self, parameters):
        super().__init__(parameters, {"lr": 0.1})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                p -= group["lr"] * p.norm() * p.grad / p.grad.norm()


NAMED = list(MLP((8, 4, 2)).named_parameters())
WEIGHTS = [(name, parameter) for name, parameter in NAMED if parameter.dim() == 2]


@pytest.mark.parametrize(
    "make",
    [
        partial(optim.SGD, lr=0.1, momentum=0.9, nesterov=True),
        optim.Adam,
        partial(optim.AdamW, amsgrad=True, foreach=True),
        optim.Adamax,
        optim.NAdam,
        optim.RAdam,
        optim.Adagrad,
        optim.Adadelta,
        partial(optim.RMSprop, centered=True),
        optim.Rprop,
        optim.ASGD,
    ],
    ids=lambda make: getattr(make, "func", make).__name__,
)
def test_element_wise_optimizers_pass(make):
    assert not_element_wise(make, NAMED) == ""


@pytest.mark.parametrize("make", [optim.Adafactor, optim.LBFGS, optim.Muon, Lamb], ids=lambda make: make.__name__)
def test_others_are_told_by_what_they_do(make):
    assert not_element_wise(make, WEIGHTS).startswith(f"{make.__name__} does not change every element by itself")


def sharded(comm, make, module):
    named = list(module.named_parameters())
    groups = [Resident(comm, [parameter for _, parameter in named], flat)]
    return shard_optimizer(comm, make, named, groups), groups


def test_groups_with_options_are_those_of_one_device():
    """Weight decay for matrices, by shape, though pieces are vectors where the cut goes through a row."""

    def make(named):
        plain = [p for _, p in named if p.dim() < 2]
        return optim.AdamW([{"params": [p for _, p in named if p.dim() == 2]}, {"params": plain, "weight_decay": 0.0}])

    def program(comm):
        optimizer, (group,) = sharded(comm, make, MLP((8, 4, 2)))
        places = {id(piece): number for number, piece in enumerate(group.pieces)}
        found = [[places[id(piece)] for piece in options["params"]] for options in optimizer.param_groups]
        return found, [options["weight_decay"] for options in optimizer.param_groups]

    assert launch(program, 3).results == [([[0, 2], [1, 3]], [0.01, 0.0])] * 3


def test_state_from_the_beginning_is_cut():
    def program(comm):
        optimizer, (group,) = sharded(comm, partial(optim.Adagrad, initial_accumulator_value=0.5), MLP((8, 4, 2)))
        return [(optimizer.state[piece]["sum"].numel(), piece.numel()) for piece in group.pieces]

    found = launch(program, 3).results
    assert all(kept == own for rank in found for kept, own in rank)
    assert sum(own for rank in found for _, own in rank) == sum(p.numel() for _, p in NAMED)


@pytest.mark.parametrize(
    "make, says",
    [
        (optim.Adafactor, "Adafactor does not change every element by itself"),
        (lambda named: optim.SGD([nn.Parameter(torch.ones(2))]), "has 1 parameters that make_optimizer was not given"),
        (lambda named: optim.SGD(named, lr=-1), "the optimizer cannot be made: Invalid learning rate: -1"),
    ],
)
def test_what_cannot_be_sharded_is_refused_on_every_rank(make, says):
    with pytest.raises(RankFailed) as told:
        launch(lambda comm: sharded(comm, make, MLP((8, 4, 2))), 2)
    assert {type(error) for error in told.value.errors.values()} == {ValueError} and len(told.value.errors) == 2
    assert all(says in str(error) for error in told.value.errors.values())

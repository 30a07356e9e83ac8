"""Units: which are taken, whose a parameter is, and which cannot be."""

import pytest
import torch
from torch import nn

from reference.models import GPT, MLP, TINY
from reference.worlds import launch
from reference.zero.stage3 import Stage3
from reference.zero.units import default_units

from .test_stage3 import Blocks, Tied


def test_units_are_the_members_of_the_outermost_sequential():
    """Those of a block's own Sequential are not; nor is what has no parameters."""
    gpt, mlp = GPT(TINY), MLP((4, 3, 2))
    assert default_units(gpt) == list(gpt.blocks)
    assert default_units(mlp) == [part for part in mlp if isinstance(part, nn.Linear)]


def test_a_parameter_of_two_units_belongs_to_the_root():
    def program(comm):
        stage = Stage3(comm, Tied(), torch.optim.SGD)
        return {unit.name: sum(map(sum, (g.sharding.lengths(0) for g in unit.groups))) for unit in stage.all_units}

    (found,) = launch(program, 1).results
    assert found == {"blocks.0": 12, "blocks.1": 28, "blocks.2": 12, "blocks.3": 28, "root": 16 + 16 + 10}


@pytest.mark.parametrize(
    "units, message",
    [
        (lambda m: [m.blocks[0], m.blocks[0]], "blocks.0 is listed twice among the units"),
        (lambda m: [m.blocks[0], m.blocks[0][1]], "blocks.0.1 is inside blocks.0: a unit cannot be part of another"),
        (lambda m: [nn.Linear(2, 2)], r"unit 0 \(Linear\) is not a submodule"),
        (lambda m: [m], r"unit 0 \(Blocks\) is not a submodule"),
    ],
)
def test_units_that_cannot_be(units, message):
    def program(comm):
        module = Blocks()
        with pytest.raises(ValueError, match=message):
            Stage3(comm, module, torch.optim.SGD, units(module))

    launch(program, 2)

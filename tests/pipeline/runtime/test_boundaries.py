"""Boundaries: shapes along the chain without computing, the same on all ranks; and what does not fit."""

import torch
from torch import nn

from reference.models import GPT, MLP, TINY
from reference.pipeline.runtime.boundaries import Boundary, infer_boundaries, of, on_meta
from reference.pipeline.schedules.plain import one_f_one_b
from reference.pipeline.stages import cut
from reference.worlds import launch


def agreed(stages, first, ranks=3):
    """What each rank finds, or the error that it raises."""

    def program(comm):
        try:
            return infer_boundaries(comm, one_f_one_b(ranks, 2), {comm.rank: stages[comm.rank]}, first)
        except ValueError as error:
            return str(error)

    found = launch(program, ranks).results
    assert all(each == found[0] for each in found)
    return found[0]


def test_shapes_types_and_gradients():
    tokens = Boundary((2, 8), torch.int64)
    hidden = Boundary((2, 8, 32), torch.float32, True)
    logits = hidden._replace(shape=(2, 8, 256))
    assert agreed(cut(GPT(TINY), [1, 2, 4]), tokens) == [hidden, hidden, logits]
    assert agreed(cut(GPT(TINY).bfloat16(), [1, 2, 4]), tokens)[0] == hidden._replace(dtype=torch.bfloat16)
    frozen = cut(GPT(TINY), [1, 2, 4])
    frozen[0].requires_grad_(False)
    assert agreed(frozen, tokens) == [hidden._replace(requires_grad=False), hidden, logits]
    assert hidden.nbytes == 2 * 8 * 32 * 4 and str(hidden) == "float32 [2, 8, 32]"


def test_it_is_what_the_stage_makes_and_changes_nothing():
    stage = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Dropout(0.5), nn.Unflatten(1, (2, 3)))
    before = torch.get_rng_state(), stage[1].running_mean.clone()
    found = on_meta(stage, Boundary((5, 4), torch.float32))
    assert torch.equal(torch.get_rng_state(), before[0]) and torch.equal(stage[1].running_mean, before[1])
    assert of(found) == of(stage(torch.rand(5, 4)))


def test_what_does_not_fit_is_an_error_on_every_rank():
    stages = [MLP((64, 8)), MLP((9, 8)), MLP((8, 10))]
    told = agreed(stages, Boundary((5, 64), torch.float32))
    assert told.startswith("stage 1 cannot take what stage 0 hands on, float32 [5, 8]: ") and "[9, 8]" in told
    told = agreed([MLP((64, 8))] * 3, Boundary((5, 63), torch.float32))
    assert told.startswith("stage 0 cannot take what a micro-batch has, float32 [5, 63]: ")


def test_several_tensors_cannot_be_handed_on():
    stages = [nn.LSTM(4, 4), nn.Identity(), nn.Identity()]
    told = agreed(stages, Boundary((2, 4), torch.float32))
    assert told == "stage 0 hands on a tuple, and not one tensor: cut the model elsewhere"


def test_the_last_stage_is_asked_too():
    told = agreed([MLP((64, 8)), MLP((8, 8)), MLP((9, 10))], Boundary((5, 64), torch.float32))
    assert told.startswith("stage 2 cannot take what stage 1 hands on, float32 [5, 8]: ")

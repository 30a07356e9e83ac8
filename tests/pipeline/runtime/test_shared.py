"""Parameters in several places: equal at the start, one gradient, the same bits."""

import pytest
import torch
from torch import nn

from reference.models import GPT, TINY
from reference.pipeline.runtime.shared import Shared, parameters_by_name
from reference.pipeline.stages import cut
from reference.worlds import launch

PLACES = [(0, 3), (1, 2), (1, 2), (0, 3)]  # of four ranks the stages: as in DualPipe, and a V on each rank


def place(comm, scale=None):
    """A tied GPT's stages as in DualPipe, each rank with weights and gradients of its own."""
    stages = cut(GPT(TINY, seed=comm.rank), [1, 2, 3, 4])
    own = {s: stages[s] for s in PLACES[comm.rank]}
    for copies in parameters_by_name(own).values():
        for parameter in copies:
            parameter.grad = torch.full_like(parameter, 10.0**comm.rank)
    return own


def test_copies_begin_equal_and_add_up():
    """On real ranks: test_half_precision_and_copies_on_real_ranks in test_executor.py."""

    def program(comm):
        own = place(comm)
        Shared(comm, own).add_gradients()
        return {n: (p[0].detach(), p[0].grad.unique().tolist()) for n, p in parameters_by_name(own).items()}

    results = launch(program, 4).results
    for rank, other in ((0, 3), (1, 2)):
        assert results[rank].keys() == results[other].keys()
        for name, (value, gradient) in results[rank].items():
            assert torch.equal(value, results[other][name][0])
            assert torch.equal(value, GPT(TINY, seed=rank).get_parameter(name))
            assert gradient == results[other][name][1] == [10.0**rank + 10.0**other]


def test_three_copies_in_two_places_of_one_rank():
    """Rank 0 has two modules of the same name that are not one: their gradients are added as well."""

    def program(comm):
        places = [(0, 1), (2,)][comm.rank]
        own = {s: cut(nn.Sequential(nn.Linear(1, 1, bias=False)), [1])[0] for s in places}
        for s, stage in own.items():
            stage.get_parameter("0.weight").grad = torch.full((1, 1), 10.0**s)
        Shared(comm, own).add_gradients()
        return [
            (stage.get_parameter("0.weight").item(), stage.get_parameter("0.weight").grad.item())
            for stage in own.values()
        ]

    (first, second), (third,) = launch(program, 2).results
    assert first == second == third and first[1] == 111.0


def test_a_copy_that_was_not_used_counts_as_zeros_and_frozen_ones_are_left_alone():
    def program(comm):
        model = nn.Sequential(nn.Linear(1, 1))
        model[0].bias.requires_grad_(False)
        stage = cut(model, [1])[0]
        if comm.rank:
            stage.get_parameter("0.weight").grad = torch.ones(1, 1)
        Shared(comm, {0: stage}).add_gradients()
        return model[0].weight.grad.item(), model[0].bias.grad

    assert launch(program, 2).results == [(1.0, None)] * 2


def test_equal_names_of_different_stages_are_different_parameters():
    """Modules that no model was cut into: only the same stage on two ranks is the same."""

    def program(comm):
        own = {s: nn.Linear(1, 1 + s) for s in [(0, 1), (1, 2)][comm.rank]}
        shared = Shared(comm, own)
        return {name: ranks for name, ranks in shared.ranks.items() if len(ranks) > 1}

    assert launch(program, 2).results == [{"stage 1: weight": [0, 1], "stage 1: bias": [0, 1]}] * 2


def test_nothing_is_sent_if_nothing_is_shared():
    def program(comm, stages):
        return Shared(comm, {comm.rank: cut(GPT(TINY._replace(tied=False)), stages)[comm.rank]}).add_gradients()

    sends = launch(program, 2, [2, 4]).timeline.of(kind="send")
    assert all(event.nbytes < 4000 for event in sends)  # names only


def refused(make, match, **options):
    def program(comm):
        with pytest.raises(ValueError) as caught:
            Shared(comm, make(comm), **options)
        return str(caught.value)

    (message,) = set(launch(program, 3).results)
    assert match in message


def test_copies_that_do_not_look_alike():
    told = "stage 0: weight is one parameter, but float32 [2, 1] trained on rank 0 and float32 [3, 1] trained on rank 2"
    refused(lambda comm: {0: nn.Linear(1, 2 + comm.rank // 2)}, told)
    refused(
        lambda comm: {0: nn.Linear(1, 2).requires_grad_(comm.rank == 0)}, "trained on rank 0 and float32 [2, 1] frozen"
    )


def test_copies_cannot_be_updated_at_different_times():
    told = 'stage 0: weight lives in 3 places, whose stages would be updated at different times with weights="stash"'
    refused(lambda comm: {0: nn.Linear(1, 2)}, told, weights="stash")

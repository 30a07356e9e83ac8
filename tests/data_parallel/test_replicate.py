"""Replicate: the root's bits on every rank in few messages, and a difference is found, named and told to all."""

import pytest
import torch
from torch import nn

from reference.agreement import agree
from reference.data_parallel.replicate import Diverged, broadcast_parameters, check_replicas, structure
from reference.models.mlp import MLP
from reference.worlds import launch


def odd_model(seed: int) -> nn.Module:
    """Of many types and shapes, tied, partly frozen."""
    torch.manual_seed(seed)
    model = MLP((3, 5, 5, 2), seed)
    model[2].weight = nn.Parameter(torch.randn(5, 5).to(torch.bfloat16))
    model[4].bias = model[4].bias.requires_grad_(False)
    model.register_parameter("again", model[0].weight)
    model.register_parameter("turned", nn.Parameter(torch.randn(3, 4).t()))
    model.register_buffer("steps", torch.tensor(seed))
    model.register_buffer("flags", torch.randn(3) > 0)
    model.register_buffer("empty", torch.zeros(0, 2))
    return model


def test_every_rank_holds_the_roots_bits(world):
    def program(comm):
        model = odd_model(comm.rank)
        broadcast_parameters(comm, model, root=comm.size - 1)
        check_replicas(comm, model)
        return {name: tensor.clone() for name, tensor in model.state_dict().items()}

    for ranks in (1, 2, 3) if world == "mpi" else (1, 2, 3, 5, 8):
        expected = odd_model(ranks - 1).state_dict()
        for found in launch(program, ranks, world=world).results:
            assert found.keys() == expected.keys()
            assert all(torch.equal(found[name], expected[name]) for name in expected)


def test_tied_stays_tied_and_nothing_is_allocated_anew():
    def program(comm):
        model = odd_model(comm.rank)
        before = [tensor.data_ptr() for tensor in model.state_dict().values()]
        broadcast_parameters(comm, model)
        assert model.again is model[0].weight
        assert before == [tensor.data_ptr() for tensor in model.state_dict().values()]

    launch(program, 2)


def test_the_whole_model_is_one_message():
    def program(comm, layers, all_of_it):
        model = nn.Sequential(*[nn.Linear(8, 8) for _ in range(layers)])
        if all_of_it:
            broadcast_parameters(comm, model)
        else:
            agree(comm, "the modules", structure(model))

    few, many, without = (launch(program, 4, *how) for how in [(1, True), (20, True), (20, False)])
    assert few.messages == many.messages  # whatever the number of tensors
    n = 20 * (8 * 8 + 8) * 4
    sent = [a - b for a, b in zip(many.bytes_sent, without.bytes_sent)]
    scattered, gathered = n // 2 + n // 4 + n // 4, 3 * n  # a tree hands rank 2 one half, and ranks 1 and 3 a quarter
    assert sum(sent) == scattered + gathered and max(sent) < 2 * n


def a_little_more(model):
    model[2].bias.data[1] += 1e-7


def another_sign(model):
    model[4].weight.data[0, 0] = -0.0


def other_flags(model):
    model.flags.logical_not_()


@pytest.mark.parametrize(
    "spoil, ranks, name",
    [(a_little_more, [1, 3], "2.bias"), (another_sign, [2], "4.weight"), (other_flags, [1, 2], "flags")],
)
def test_a_difference_is_named_on_every_rank(spoil, ranks, name):
    def program(comm):
        model = odd_model(0)
        model[4].weight.data[0, 0] = 0.0
        if comm.rank in ranks:
            spoil(model)
        with pytest.raises(Diverged) as caught:
            check_replicas(comm, model)
        return str(caught.value)

    messages = launch(program, 4).results
    assert len(set(messages)) == 1 and messages[0].startswith(f"{name} of shape")
    assert f"on rank(s) {ranks} is not what rank 0 has, and 1 of 10 tensors differ" in messages[0]


def test_the_first_of_several_is_named_and_rank_0_may_be_the_odd_one():
    def program(comm):
        model = MLP(seed=0)
        spoilt = {0: "2.bias", 1: "0.bias"}.get(comm.rank)
        if spoilt:
            model.get_parameter(spoilt).data.add_(1)
        with pytest.raises(Diverged, match=r"0\.bias of shape \(32,\) on rank\(s\) \[1\] .* 2 of 4 tensors differ"):
            check_replicas(comm, model)

    launch(program, 3)


def test_nan_equals_nan():
    def program(comm):
        model = MLP(seed=0)
        model[0].weight.data[0, 0] = torch.nan
        check_replicas(comm, model)

    launch(program, 2)


def longer(model):
    model.append(nn.Linear(10, 1))


def frozen(model):
    model[0].weight.requires_grad_(False)


def wider(model):
    model[2] = nn.Linear(32, 11)


def double(model):
    model[2].double()


@pytest.mark.parametrize(
    "change, told",
    [
        (longer, r"rank 2 has '3\.weight float32 \[1, 10\] trained' where rank 0 has nothing more"),
        (frozen, r"rank 2 has '0\.weight float32 \[32, 64\]' where rank 0 has '0\.weight float32 \[32, 64\] trained'"),
        (
            wider,
            r"rank 2 has '2\.weight float32 \[11, 32\] trained' where rank 0 has '2\.weight float32 \[10, 32\] tra",
        ),
        (double, r"rank 2 has '2\.weight float64 .* where rank 0 has '2\.weight float32"),
    ],
)
@pytest.mark.parametrize("function", [broadcast_parameters, check_replicas])
def test_modules_of_another_structure_are_refused_on_every_rank(function, change, told):
    def program(comm):
        model = MLP(seed=0)
        if comm.rank == 2:
            change(model)
        with pytest.raises(ValueError, match=r"the modules must be alike .* differ on rank\(s\) \[2\]: " + told):
            function(comm, model)

    launch(program, 3)


def test_a_module_without_parameters_is_no_problem():
    launch(lambda comm: (broadcast_parameters(comm, nn.ReLU()), check_replicas(comm, nn.ReLU())), 2)

"""The norm of a gradient on a mesh: each element of the serial one counts once, whatever copies there are."""

import math

import pytest
import torch

from reference.mesh import Axes, Mesh
from reference.mesh.gpt import MeshGPT
from reference.mesh.norm import clip_global_norm, first_held, global_norm
from reference.models import GPT, Config
from reference.pipeline.stages import cut
from reference.tensor_parallel.shards import shard
from reference.worlds import launch

CONFIG = Config(vocabulary=16, length=8, width=16, heads=4, layers=2, kv_heads=2)


def held(mesh, gpt, pad=False):
    """What this rank has of the model: each parameter's name and part."""
    part = MeshGPT(mesh["tp"], mesh["cp"], gpt, pad=pad)
    stages = cut(part, (2, 4), part.links())
    stage = stages[mesh.coordinate("pp")]
    return {stage.first_names[name]: parameter for name, parameter in stage.named_parameters()}


@pytest.mark.parametrize("t, pad", [(1, False), (2, False), (4, False), (3, True)])
def test_the_norm_is_the_serial_one_for_any_degree_with_tied_embeddings_and_copies_of_keys(t, pad):
    """With t = 4 two ranks hold each head of keys and values; with t = 3 there are heads of zeros."""
    gpt = GPT(CONFIG, seed=2).double()
    serial = math.sqrt(sum(float(weight.detach().norm()) ** 2 for weight in gpt.parameters()))

    def program(comm):
        mesh = Mesh(comm, Axes({"pp": 2, "cp": 1, "tp": t}))
        named = held(mesh, gpt, pad)
        masks = first_held(mesh["tp"], named, {"token.weight"} if mesh.coordinate("pp") else ())
        values = [parameter.detach().clone() for parameter in named.values()]
        norm = clip_global_norm(comm, values, list(masks.values()), 1.0)
        counted = sum(masks[name].expand_as(parameter).sum() for name, parameter in named.items())
        return norm, global_norm(comm, values, list(masks.values())), counted

    results = launch(program, 2 * t).results
    assert [norm for norm, _, _ in results] == pytest.approx([serial] * 2 * t, rel=1e-12)
    assert [norm for _, norm, _ in results] == pytest.approx([1.0] * 2 * t, rel=1e-5)
    assert len({norm for norm, _, _ in results}) == 1, "ranks have other bits"
    assert sum(float(count) for _, _, count in results) == sum(weight.numel() for weight in gpt.parameters())


def test_an_element_on_several_ranks_is_counted_by_the_first_and_padding_by_none():
    owns = [(0, 1, 2), (2, 3, -1), (1, 3, 4)]

    def program(comm):
        weight = shard(torch.arange(5.0), 0, owns[comm.rank])
        return first_held(comm, {"w": weight, "whole": torch.ones(2)})

    found = launch(program, 3).results
    assert [one["w"].tolist() for one in found] == [1, [0, 1, 0], [0, 0, 1]]
    assert [one["whole"].tolist() for one in found] == [1, 0, 0]


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_gradient_that_is_no_number_spoils_all_of_it(bad):
    def program(comm):
        gradient = torch.tensor([1.0, bad if comm.rank else 2.0])
        clip_global_norm(comm, [gradient], [torch.ones(2)], 1.0)
        return gradient

    expected = torch.tensor([1.0, 2.0, 1.0, bad], requires_grad=True)
    expected.grad = expected.detach().clone()
    torch.nn.utils.clip_grad_norm_([expected], 1.0)
    found = torch.cat(launch(program, 2).results)
    assert torch.equal(torch.nan_to_num(found, 7.0), torch.nan_to_num(expected.grad, 7.0))

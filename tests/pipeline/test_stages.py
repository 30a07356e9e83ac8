"""Stages: a cut model is the model, under the same names."""

import pytest
import torch
from torch import nn

from reference.models import CNN, GPT, MLP, TINY, digits, text
from reference.pipeline.stages import ChainLink, cut, layers

MODELS = {
    "mlp": (MLP((64, 8, 8, 10)), digits().x[:3]),
    "cnn": (CNN((4, 4, 4)), digits().x[:3]),
    "gpt": (GPT(TINY), text(32).x[:2]),
    "untied gpt": (GPT(TINY._replace(tied=False, layers=3)), text(8).x[:2]),
    "one layer": (nn.Sequential(nn.Linear(64, 2)), digits().x[:3]),
}


@pytest.mark.parametrize("name", MODELS)
def test_stages_one_after_the_other_are_the_model(name):
    model, x = MODELS[name]
    number = len(layers(model))
    for ends in ([number], list(range(1, number + 1)), sorted({1, number})):
        y = x
        for stage in cut(model, ends):
            y = stage(y)
        assert torch.equal(y, model(x))


@pytest.mark.parametrize("name", MODELS)
def test_each_parameter_is_on_its_stage_by_its_name(name):
    """Nothing is copied, and nothing but the stage's own is there."""
    model, _ = MODELS[name]
    stages = cut(model, range(1, len(layers(model)) + 1))
    found = {name: p for stage in stages for name, p in stage.named_parameters()}
    assert all(p is model.get_parameter(name) for name, p in found.items())
    assert {id(p) for p in found.values()} == {id(p) for p in model.parameters()}
    assert sum(len(list(stage.parameters())) for stage in stages) == len(found)


def test_a_tied_parameter_is_known_by_its_first_name():
    first, *_, last = cut(GPT(TINY), [1, 3, 4])
    assert last.first_names["head.weight"] == first.first_names["token.weight"] == "token.weight"
    (whole,) = cut(GPT(TINY), [4])
    assert "head.weight" not in whole.first_names and len(whole.first_names) == len(list(GPT(TINY).parameters()))


def test_a_stage_can_be_trained_or_evaluated_as_the_model_was():
    model = GPT(TINY).eval()
    assert not any(module.training for stage in cut(model, [2, 4]) for module in stage.modules())


def test_any_model_with_its_own_links():
    model = nn.Bilinear(2, 2, 3)
    square = ChainLink("square", ("inner",), lambda model, x: model.get_submodule("inner")(x, x))
    wrapped = nn.Module()
    wrapped.inner = model
    (stage,) = cut(wrapped, [1], [square])
    assert torch.equal(stage(torch.ones(1, 2)), model(torch.ones(1, 2), torch.ones(1, 2)))


@pytest.mark.parametrize(
    "ends, why",
    [
        ([2, 2, 5], "stage 1 would have no layer"),
        ([0, 5], "stage 0 would have no layer"),
        ([3, 2, 5], "stage 1 would have no layer"),
        ([2, 4], "the last stage has to end with the last layer"),
        ([2, 6], "the last stage has to end with the last layer"),
        ([], "the last stage has to end with the last layer"),
    ],
)
def test_cuts_that_do_not_fit(ends, why):
    with pytest.raises(ValueError) as caught:
        cut(MLP((64, 8, 8, 10)), ends)
    assert str(caught.value).startswith(f"5 layers cannot be cut at {ends}: {why}. Give numbers that grow")


def test_a_model_that_is_no_known_chain():
    with pytest.raises(TypeError, match=r"how a Linear is a chain of layers: make it an nn.Sequential, or give cut"):
        cut(nn.Linear(2, 2), [1])

"""Stages: a model cut into contiguous parts of its layers, each with the parameters' names of the whole model.

Idea      A model that can be a pipeline is a chain: its output is what the last layer makes of what the layer before
          made of ... its input, one tensor each time. `layers` says what the chain is; a stage runs some of its links.
          A parameter has in its stage the name that it has in the model. So a stage's parameters are part of the
          model's checkpoint, and one that is in two places is known by its name: the embedding that is also the head's
          weight (tied), or a stage that lives on two ranks (DualPipe). Their gradients are added up in shared.py.
Before    model(x)
After     stages[-1](... stages[1](stages[0](x)))
Left out  Layers that hand on several tensors, and connections that skip a stage: what they carry would have to travel
          with the rest through every stage between.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

from torch import Tensor, nn

from ..models import CNN, GPT


class ChainLink(NamedTuple):
    """A layer of the chain, which no cut divides.

    name    what to call it
    parts   the modules that it needs, by their names in the model
    run     run(model, x) -> y; in the place of the model may be a stage, which has these modules by these names
    """

    name: str
    parts: tuple[str, ...]
    run: Callable[[Any, Tensor], Tensor]


class Stage(nn.Module):
    """Some links of a model, one after the other. Its modules are the model's own, not copies, by the same names.

    first_names    {name of a parameter here: its first name in the model}, which differ where two names share a tensor
    """

    def __init__(self, model: nn.Module, links: Sequence[ChainLink]):
        super().__init__()
        self.links = tuple(links)
        for name in dict.fromkeys(part for link in links for part in link.parts):
            _put(self, name, model.get_submodule(name))
        first = {id(parameter): name for name, parameter in model.named_parameters()}
        self.first_names = {name: first[id(parameter)] for name, parameter in self.named_parameters()}
        self.train(model.training)

    def forward(self, x: Tensor) -> Tensor:
        """What the last link puts out."""
        for link in self.links:
            x = link.run(self, x)
        return x


def cut(model: nn.Module, ends: Sequence[int], links: Sequence[ChainLink] | None = None) -> list[Stage]:
    """The model in len(ends) stages: stage s has the layers ends[s - 1] ... ends[s] - 1, the first those from 0.

    links: what the model consists of; layers(model) unless given. Raises ValueError if a stage would have no layer or
    the last one does not end with the model, TypeError as `layers` does.
    """
    links = layers(model) if links is None else links
    empty = [s for s, (first, end) in enumerate(pairwise([0, *ends])) if end <= first]
    if empty or not ends or ends[-1] != len(links):
        why = f"stage {empty[0]} would have no layer" if empty else "the last stage has to end with the last layer"
        raise ValueError(
            f"{len(links)} layers cannot be cut at {list(ends)}: {why}. Give numbers that grow from 1 or more to "
            f"{len(links)}, one for each stage, {len(links)} stages at most"
        )
    return [Stage(model, links[first:end]) for first, end in pairwise([0, *ends])]


def layers(model: nn.Module) -> list[ChainLink]:
    """The model as a chain: of a GPT, a CNN, or any nn.Sequential. Raises TypeError for another."""
    if isinstance(model, nn.Sequential):
        return [_child(name) for name, _ in model.named_children()]
    if isinstance(model, GPT):
        blocks = [_child(f"blocks.{k}") for k in range(len(model.blocks))]
        return [
            ChainLink("embedding", ("token", "position", "dropout"), _embed),
            *blocks,
            ChainLink("head", ("norm", "head"), _tell),
        ]
    if isinstance(model, CNN):
        first, *others = [_child(f"stages.{k}") for k in range(len(model.stages))]
        return [
            first._replace(run=_look),
            *others,
            ChainLink("head", ("head",), lambda model, x: model.head(x.flatten(1))),
        ]
    raise TypeError(
        f"it is not known here how a {type(model).__name__} is a chain of layers: make it an nn.Sequential, or give "
        f"cut() its links"
    )


def _child(name: str) -> ChainLink:
    return ChainLink(name, (name,), partial(_run_child, name))


def _run_child(name: str, model: nn.Module, x: Tensor) -> Tensor:
    return model.get_submodule(name)(x)


def _embed(gpt: Any, tokens: Tensor) -> Tensor:
    return gpt.dropout(gpt.token(tokens) + gpt.position.weight[: tokens.shape[1]])


def _tell(gpt: Any, x: Tensor) -> Tensor:
    return gpt.head(gpt.norm(x))


def _look(cnn: nn.Module, x: Tensor) -> Tensor:
    return cnn.get_submodule("stages.0")(x.view(-1, 1, 8, 8))


def _put(stage: nn.Module, name: str, module: nn.Module) -> None:
    """Make `module` the submodule of that dotted name, with plain modules on the way to it."""
    *above, last = name.split(".")
    for part in above:
        if part not in stage._modules:
            stage.add_module(part, nn.Module())
        stage = stage.get_submodule(part)
    stage.add_module(last, module)

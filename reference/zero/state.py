"""The state of a sharded training: whole, as one device has it, or in shards, for other ranks and another cut.

Idea      What a rank has of a parameter is a range of its elements, and what the optimizer keeps of it is the same
          range. So shards need no more than ranges to be put together again: to load its part, a rank copies what
          overlaps from whoever has it, and nobody needs the whole.
Before    rank 0 of 2: a[0:5]   rank 1 of 2: a[5:9]
After     rank 0 of 3: a[0:3]   rank 1 of 3: a[3:6]   rank 2 of 3: a[6:9]
Sends     `full_state`: an all-gather of each group's weights, and one of each tensor that the optimizer keeps of them.
          `sharded_state`: nothing.
Exact     Weights of 16 bits are saved as their master copies. Frozen parameters and buffers are saved whole.
Left out  Files: a checkpoint is chapter 13.
Source    Zhao et al., "PyTorch FSDP" (2023), section 3; the resharding of torch.distributed.checkpoint (PyTorch 2.13).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from .. import mpi
from ..agreement import agree
from .group import Group
from .stage import Stage

State = dict[str, Any]
OWN = ("params", "param_names")  # what the groups of torch's optimizers have besides options


class Place(NamedTuple):
    """Where a parameter is: the i-th of a group."""

    group: Group
    i: int

    @property
    def piece(self) -> nn.Parameter:
        """This rank's piece of it."""
        return self.group.pieces[self.i]

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the whole parameter."""
        return self.group.sharding.shapes[self.i]

    @property
    def part(self) -> slice:
        """Which of its elements this rank has."""
        return self.group.sharding.piece(self.group.comm.rank, self.i)


def places(stage: Stage) -> dict[str, Place]:
    """Where each parameter in a group is, by name; tied ones once."""
    names = {id(parameter): name for name, parameter in stage.module.named_parameters()}
    return {names[id(p)]: Place(group, i) for group in stage.groups for i, p in enumerate(group.parameters)}


def stepped(stage: Stage) -> list[str]:
    """The names of the optimizer's parameters, in the order in which it numbers them."""
    names = {id(place.piece): name for name, place in places(stage).items()}
    return [names[id(piece)] for group in stage.optimizer.param_groups for piece in group["params"]]


def whole_elsewhere(stage: Stage) -> Iterator[tuple[str, Tensor]]:
    """Parameters and buffers that are in no group: every rank has them whole."""
    cut_up = {id(parameter) for group in stage.groups for parameter in group.parameters}
    yield from ((name, p.detach()) for name, p in stage.module.named_parameters() if id(p) not in cut_up)
    yield from stage.module.named_buffers()


# Save -----------------------------------------------------------------------------------------------------------------


def sharded_state(stage: Stage) -> State:
    """This rank's part of weights and optimizer state: copies, with the ranges of elements that they are.

        {"parameters": {name: {"shape", "first", "weight", "optimizer": {key: tensor or number}}},
         "whole": {name: tensor}, "options": the optimizer's groups, with names}

    Of dictionaries of all ranks `load_sharded_state` makes the state of any stage.
    """
    saved = {}
    for name, place in places(stage).items():
        kept = {key: _copy(value) for key, value in stage.optimizer.state.get(place.piece, {}).items()}
        saved[name] = {"shape": place.shape, "first": place.part.start, "weight": _copy(place.piece), "optimizer": kept}
    names = iter(stepped(stage))
    options = [
        {key: value for key, value in group.items() if key not in OWN}
        | {"names": [next(names) for _ in group["params"]]}
        for group in stage.optimizer.param_groups
    ]
    return {
        "parameters": saved,
        "whole": {name: _copy(tensor) for name, tensor in whole_elsewhere(stage)},
        "options": options,
    }


def full_state(stage: Stage) -> State:
    """The state that one device would have, on every rank: {"module": ..., "optimizer": ...}, each for
    `load_state_dict` of the module and the optimizer of the serial program. Collective.
    """
    numbers = {name: number for number, name in enumerate(stepped(stage))}
    optimizer, weights = stage.optimizer.state_dict(), dict(whole_elsewhere(stage))
    names = {id(place.piece): name for name, place in places(stage).items()}
    for group in stage.groups:
        own = [names[id(piece)] for piece in group.pieces]
        weights |= zip(own, gathered(group, list(group.pieces)))
        kept = [stage.optimizer.state.get(piece, {}) for piece in group.pieces]
        for key in dict.fromkeys(key for state in kept for key in state):
            values = [state.get(key) for state in kept]
            parts = [v if _like(v, piece) and key != "step" else None for v, piece in zip(values, group.pieces)]
            for name, part, whole in zip(own, parts, gathered(group, parts) if any(map(_there, parts)) else parts):
                if part is not None:
                    optimizer["state"][numbers[name]] = optimizer["state"][numbers[name]] | {key: whole}
    tied = stage.module.named_parameters(remove_duplicate=False)
    first = {id(p): name for name, p in stage.module.named_parameters()}
    weights |= {name: weights[first[id(p)]] for name, p in tied}
    return {"module": {name: weights[name] for name in stage.module.state_dict()}, "optimizer": optimizer}


def gathered(group: Group, parts: Sequence[Tensor | None]) -> list[Tensor]:
    """Whole tensors, of which every rank has these parts, shaped like its pieces; zeros for None. Collective."""
    like = next((part for part in parts if part is not None), group.master)
    every = like.detach().new_zeros(group.comm.size * group.n)
    own = every[group.comm.rank * group.n :][: group.n]
    for view, part in zip(group.sharding.split(own, group.comm.rank), parts):
        if part is not None:
            view.copy_(part.detach())
    group.comm.Allgather(mpi.IN_PLACE, every)
    return [whole.clone() for whole in group.sharding.unpack(every)]


def _copy(value: Any) -> Any:
    return value.detach().clone() if isinstance(value, Tensor) else value


def _like(value: Any, piece: Tensor) -> bool:
    return isinstance(value, Tensor) and value.shape == piece.shape


def _there(part: Tensor | None) -> bool:
    return part is not None


# Load -----------------------------------------------------------------------------------------------------------------


def load_full_state(stage: Stage, state: State) -> None:
    """Load what one device has saved, or `full_state`: each rank keeps its part. Collective.

    Raises ValueError on every rank if names or shapes are not those of the stage's module.
    """
    module, optimizer = state["module"], state["optimizer"]
    name_of = dict(enumerate(stepped(stage)))
    kept = {name: optimizer["state"].get(number, {}) for number, name in name_of.items()}
    options = [group | {"names": list(map(name_of.get, group["params"]))} for group in optimizer["param_groups"]]
    parameters = {
        name: {"shape": tuple(module[name].shape), "first": 0, "weight": module[name], "optimizer": kept.get(name, {})}
        for name in places(stage)
        if name in module
    }
    load_sharded_state(stage, [{"parameters": parameters, "whole": module, "options": options}])


def load_sharded_state(stage: Stage, saved: Sequence[State]) -> None:
    """Load the `sharded_state` of all ranks of another run, in any order; each rank keeps its part. Collective.

    Raises ValueError on every rank if names, shapes or the optimizer's groups are not those of this stage, or if a
    range of elements is in none of the dictionaries.
    """
    agree(stage.comm, error=_mismatch(stage, saved))
    found = places(stage)
    numbers = {name: number for number, name in enumerate(stepped(stage))}
    kept: dict[int, State] = {}
    for name, place in found.items():
        held = _held(saved, name)
        place.piece.data.copy_(_overlap(place.part, place.piece, held, [one["weight"] for one in held]))
        if name in numbers and held[0]["optimizer"]:
            kept[numbers[name]] = {key: _kept(key, place, held) for key in held[0]["optimizer"]}
    optimizer = stage.optimizer.state_dict()
    options = [
        own | {key: value for key, value in theirs.items() if key in own and key not in OWN}
        for own, theirs in zip(optimizer["param_groups"], saved[0]["options"])
    ]
    stage.optimizer.load_state_dict({"state": kept, "param_groups": options})
    for name, tensor in whole_elsewhere(stage):
        held = _held(saved, name)
        tensor.copy_(_overlap(slice(0, tensor.numel()), tensor, held, [one["weight"] for one in held]))
    stage.update_weights()


def _kept(key: str, place: Place, held: Sequence[State]) -> Any:
    """What the optimizer keeps under this key of this rank's piece."""
    values = [one["optimizer"].get(key) for one in held]
    shapes = [tuple(one["weight"].shape) for one in held]
    alike = [isinstance(v, Tensor) and tuple(v.shape) == shape and key != "step" for v, shape in zip(values, shapes)]
    return _overlap(place.part, place.piece, held, values) if any(alike) else values[0]


def _held(saved: Sequence[State], name: str) -> list[State]:
    """The ranges of a tensor that were saved; all of it is one, where it was saved whole."""
    held = [one["parameters"][name] for one in saved if name in one["parameters"]]
    whole = saved[0]["whole"].get(name)
    if held or whole is None:
        return held
    return [{"shape": tuple(whole.shape), "first": 0, "weight": whole, "optimizer": {}}]


def _overlap(part: slice, like: Tensor, held: Sequence[State], values: Sequence[Tensor]) -> Tensor:
    """A part of a tensor, shaped like this, from ranges of its elements."""
    own = torch.empty_like(like, dtype=values[0].dtype).detach()
    for one, value in zip(held, values):
        first, after = max(part.start, one["first"]), min(part.stop, one["first"] + value.numel())
        if after > first:
            overlap = value.reshape(-1)[first - one["first"] : after - one["first"]]
            own.view(-1)[first - part.start : after - part.start] = overlap
    return own


def _mismatch(stage: Stage, saved: Sequence[State]) -> str:
    """Why these dictionaries cannot be loaded, or nothing."""
    if not saved:
        return "there is no state to load: give the dictionaries of all ranks"
    shapes = {name: tuple(place.shape) for name, place in places(stage).items()}
    shapes |= {name: tuple(tensor.shape) for name, tensor in whole_elsewhere(stage)}
    for name, shape in shapes.items():
        held = _held(saved, name)
        if not held:
            return f"{name} is not among what was saved"
        if found := [tuple(one["shape"]) for one in held if tuple(one["shape"]) != shape]:
            return f"{name} has the shape {shape} and was saved with {found[0]}"
        if gap := _gap(held, prod(shape)):
            return f"{gap} of {name} are in none of {len(saved)} shards: give the dictionaries of all ranks"
    names = iter(stepped(stage))
    own = [[next(names) for _ in group["params"]] for group in stage.optimizer.param_groups]
    if own != [group["names"] for group in saved[0]["options"]]:
        return "the optimizer's groups of parameters are not those that were saved"
    return ""


def _gap(held: Sequence[State], length: int) -> str:
    """Which elements are missing, in words, or nothing."""
    there = 0
    for first, number in sorted((one["first"], one["weight"].numel()) for one in held):
        if number and first > there:
            return f"elements {there} to {first - 1}"
        there = max(there, first + number)
    return f"elements {there} to {length - 1}" if there < length else ""

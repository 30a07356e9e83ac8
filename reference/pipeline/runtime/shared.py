"""Parameters that live in several places of a pipeline: the same name, one parameter, one gradient.

Idea      GPT's embedding on the first stage is also the weight of the head on the last one (tied). DualPipe has every
          stage on two ranks, each with half of the micro-batches. Either way a copy sees a part of the gradient only:
          the gradient of the parameter is the sum over its copies, and if all copies begin equal and apply that sum,
          they stay equal.
Before    on each rank the gradient of what its own stages did with the parameter
After     on each rank that has it the sum, the same bits: all add in the order of the ranks
Sends     n bytes to each other rank that has a copy. With two copies no all-reduce sends less.
Source    Shoeybi et al., "Megatron-LM" (2019) does so with its embedding.
Left out  Groups of more than a few ranks, for which an all-reduce is cheaper (chapter 1).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import torch
from torch import Tensor, nn

from ... import mpi
from ...data_parallel.average import by_type, trained_gradients
from ..stages import Stage

TAG = 0  # of these messages: no others of the pipeline are under way then


def parameters_by_name(stages: Mapping[int, nn.Module]) -> dict[str, list[nn.Parameter]]:
    """The parameters of a rank's stages by their first names in the model, each with its copies on this rank.

    A stage that was not made by cut() knows no model: its names are its own, and other stages' are other parameters.
    """
    found: dict[str, dict[int, nn.Parameter]] = {}
    for s, stage in sorted(stages.items()):
        for name, parameter in stage.named_parameters():
            name = stage.first_names[name] if isinstance(stage, Stage) else f"stage {s}: {name}"
            found.setdefault(name, {})[id(parameter)] = parameter
    return {name: list(copies.values()) for name, copies in found.items()}


class Shared:
    """What this rank shares with others, and with itself.

    Collective. Copies are given the values of the lowest rank that has one. Raises ValueError on every rank if copies
    differ in shape, type or in whether they are trained; and if there are any while `weights` is not "flush", since
    copies that are updated at different times are no longer copies.
    """

    def __init__(self, comm, stages: Mapping[int, nn.Module], weights: str = "flush"):
        self.comm, self.copies = comm, parameters_by_name(stages)
        everywhere = comm.allgather({name: _looks(copies) for name, copies in self.copies.items()})
        _refuse_unlike(everywhere)
        self.ranks = {name: [r for r, names in enumerate(everywhere) if name in names] for name in self.copies}
        if weights != "flush":
            _refuse_copies(everywhere, weights)
        self._begin_equal()

    def add_gradients(self) -> None:
        """Make each copy's .grad the sum over all copies; zeros where nothing has used any."""
        alone = [copies for copies in self.copies.values() if len(copies) > 1 and copies[0].requires_grad]
        for first, *others in alone:
            for gradient in trained_gradients(others):
                trained_gradients([first])[0].add_(gradient)
        for group, names in self._groups().items():
            mine = [self.copies[name][0] for name in names if self.copies[name][0].requires_grad]
            for alike in by_type(trained_gradients(mine)):
                self._exchange(group, alike, _add)
        for first, *others in alone:
            for other in others:
                other.grad.copy_(first.grad)

    def _begin_equal(self) -> None:
        with torch.no_grad():
            for group, names in self._groups().items():
                for alike in by_type([self.copies[name][0].detach() for name in names]):
                    self._exchange(group, alike, lambda parts: parts[0])
            for first, *others in self.copies.values():
                for other in others:
                    other.copy_(first)

    def _groups(self) -> dict[tuple[int, ...], list[str]]:
        """{ranks: the names that these ranks share}, in an order that is the same on all of them."""
        groups: dict[tuple[int, ...], list[str]] = {}
        for name, ranks in sorted(self.ranks.items(), key=lambda item: (item[1], item[0])):
            if len(ranks) > 1:
                groups.setdefault(tuple(ranks), []).append(name)
        return groups

    def _exchange(self, group: tuple[int, ...], tensors: list[Tensor], combine) -> None:
        """Replace the tensors by what `combine` makes of those of all ranks of the group, in the order of the ranks."""
        own = torch.cat([tensor.flatten() for tensor in tensors])
        parts = {rank: torch.empty_like(own) for rank in group if rank != self.comm.rank}
        requests = [self.comm.Irecv(raw(part), rank, TAG) for rank, part in parts.items()]
        requests += [self.comm.Isend(raw(own), rank, TAG) for rank in parts]
        mpi.waitall(requests)
        result = combine([parts.get(rank, own) for rank in group])
        for tensor, part in zip(tensors, result.split([tensor.numel() for tensor in tensors])):
            tensor.copy_(part.view(tensor.shape))


def raw(tensor: Tensor) -> Tensor:
    """The bytes of a contiguous tensor, for a message: MPI has no name for some of torch's types."""
    return tensor.detach().view(-1).view(torch.uint8)


def _add(parts: list[Tensor]) -> Tensor:
    total = parts[0].clone()
    for part in parts[1:]:
        total += part
    return total


def _looks(copies: list[nn.Parameter]) -> list[str]:
    return [
        f"{str(p.dtype).removeprefix('torch.')} {list(p.shape)}" + (" trained" if p.requires_grad else " frozen")
        for p in copies
    ]


def _refuse_copies(everywhere: list[dict[str, list[str]]], weights: str) -> None:
    places = Counter(name for names in everywhere for name, copies in names.items() for _ in copies)
    if several := [name for name, number in places.items() if number > 1]:
        raise ValueError(
            f"{several[0]} lives in {places[several[0]]} places, whose stages would be updated at different times with "
            f'weights="{weights}": give each place a parameter of its own (an untied model), or take a schedule that '
            f"flushes"
        )


def _refuse_unlike(everywhere: list[dict[str, list[str]]]) -> None:
    """Raise ValueError if the copies of one name do not look alike."""
    first: dict[str, tuple[int, str]] = {}
    for rank, names in enumerate(everywhere):
        for name, copies in names.items():
            for look in copies:
                r, seen = first.setdefault(name, (rank, look))
                if look != seen:
                    raise ValueError(f"{name} is one parameter, but {seen} on rank {r} and {look} on rank {rank}")

"""Units: the parts of a model whose weights stage 3 gathers, uses and frees together.

Idea      A unit is a submodule. While it computes, its whole weights are there; at other times a rank has a shard of
          them. So units say how much is whole at a time, and how much travels in one message: one unit for the whole
          model saves nothing, one for each small layer pays the latency each time. A block of a transformer is usual.
          What belongs to no unit, and a parameter that two parts of the model share, belongs to the root: the model
          itself, whose weights are whole from the start of the forward pass to the end of the backward pass.
Source    Zhao et al., "PyTorch FSDP: Experiences on Scaling Fully Sharded Data Parallel" (2023), section 3.2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any
from weakref import WeakSet

from torch import Tensor, nn

from .group import Group


def default_units(module: nn.Module) -> list[nn.Module]:
    """The members of the outermost nn.Sequential and nn.ModuleList: the blocks of a transformer."""
    if isinstance(module, (nn.Sequential, nn.ModuleList)):
        return [part for part in module if any(True for _ in part.parameters())]
    return [unit for part in module.children() for unit in default_units(part)]


def check_units(module: nn.Module, units: Sequence[nn.Module]) -> None:
    """Raise ValueError unless units are submodules of the module, each once, and none inside another."""
    names = {part: name for name, part in module.named_modules()}
    for number, unit in enumerate(units):
        if unit not in names or unit is module:
            raise ValueError(f"unit {number} ({type(unit).__name__}) is not a submodule of the module")
        if unit in units[:number]:
            raise ValueError(f"{names[unit]} is listed twice among the units")
        for other in units:
            if other is not unit and unit in set(other.modules()):
                raise ValueError(f"{names[unit]} is inside {names[other]}: a unit cannot be part of another")


def own_parameters(module: nn.Module, units: Sequence[nn.Module]) -> list[list[nn.Parameter]]:
    """The parameters of each unit, and last those of the root: of no unit, or of more than one part."""
    users: dict[nn.Parameter, set[int]] = {}
    for number, unit in enumerate(units):
        for parameter in unit.parameters():
            users.setdefault(parameter, set()).add(number)
    for parameter in outside(module, set(units)):
        users.setdefault(parameter, set()).add(len(units))
    owned: list[list[nn.Parameter]] = [[] for _ in range(len(units) + 1)]
    for parameter in module.parameters():
        numbers = users[parameter]
        owned[min(numbers) if len(numbers) == 1 else len(units)].append(parameter)
    return owned


def outside(module: nn.Module, units: set[nn.Module]) -> Iterator[nn.Parameter]:
    """The parameters that the module uses without passing through a unit."""
    yield from module.parameters(recurse=False)
    for part in module.children():
        if part not in units:
            yield from outside(part, units)


def by_kind(parameters: Sequence[nn.Parameter]) -> list[list[nn.Parameter]]:
    """Parameters of one type and device, trained or frozen, together: what one group can hold."""
    kinds: dict[Any, list[nn.Parameter]] = {}
    for p in parameters:
        kinds.setdefault((p.dtype, p.device, p.requires_grad), []).append(p)
    return list(kinds.values())


class Unit:
    """A part of the model: whole, or a shard of it, or on its way from the one to the other.

    whole   its parameters have their values
    coming  gathers under way: (group, the vector that fills, request)
    calls   forward passes through it whose backward pass has not ended; one whose graph is let go of is forgotten
    """

    def __init__(self, name: str, module: nn.Module, groups: list[Group]):
        self.name, self.module, self.groups = name, module, groups
        for group in groups:
            group.hold_master()
        self.whole = True
        self.coming: list[tuple[Group, Tensor, Any]] = []
        self.calls: WeakSet = WeakSet()
        self.used = False  # in the forward pass, since the last backward pass
        self.in_backward = False
        self.unmarked = False  # no input of a call needs a gradient: nobody tells when its backward pass has ended
        self._versions = [p._version for p in self.parameters]

    @property
    def parameters(self) -> list[nn.Parameter]:
        """Those of all its groups."""
        return [parameter for group in self.groups for parameter in group.parameters]

    def start_gather(self, again: bool) -> None:
        """Begin to gather its weights; again: for the backward pass. Collective."""
        self._refuse_change()
        self.coming = [(group, *group.start_gather(again)) for group in self.groups]

    def wait(self) -> None:
        """Wait for what is coming: then it is whole."""
        while self.coming:
            group, gathered, request = self.coming.pop(0)
            request.Wait()
            group.install(gathered)
        self.whole = True

    def free(self) -> None:
        """Keep its shard only."""
        self._refuse_change()
        for group in self.groups:
            group.free()
        self.whole = False

    def forget(self) -> None:
        """Make ready for the next pass, whatever has become of the last one."""
        self.wait()
        self.free()
        self.calls.clear()
        for parameter in self.parameters:
            parameter.grad = None
        self.used, self.in_backward, self.unmarked = False, False, False

    def _refuse_change(self) -> None:
        for parameter, version in zip(self.parameters, self._versions):
            if parameter._version != version or not (self.whole or parameter.numel() == 0):
                raise RuntimeError(
                    f"a parameter of unit {self.name!r} was changed, and would be overwritten: what counts are the "
                    f"shards, the `pieces` of the stage's groups; change those, or load a state"
                )


def make_units(
    module: nn.Module, parts: Sequence[nn.Module], make_group: Callable[[list[nn.Parameter]], Group]
) -> list[Unit]:
    """The units, and last the root; make_group(parameters) for those of one kind."""
    names = {part: name for name, part in module.named_modules()}
    owned = own_parameters(module, parts)
    return [
        Unit(names[part] or "root", part, [make_group(alike) for alike in by_kind(own)])
        for part, own in zip([*parts, module], owned)
    ]

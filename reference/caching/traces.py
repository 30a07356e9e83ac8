"""Traces: what a training step, a router of experts, and a chat service asked for, one access after the other.

Idea      `training_steps` runs a real training under a dispatch mode and notes whose weights each operation reads or
          writes, so the trace has what autograd really does: a bias is not read in the backward pass, an embedding's
          table neither. Accesses to one unit (a block, an embedding, the last norm) in a row are one.
          `expert_calls` is the routing of a small model that was trained here (router.py), recorded once.
          `conversations` are the first 1,500 requests of a chat service, published by its operators.
Exact     The order of a training step depends on torch's version, not on the processor. Both files are as recorded.
Left out  Gradients and optimizer state, which follow their weights; how long each access computes.
Source    Qin et al., "Mooncake: Trading More Storage for Less Computation" (FAST 2025), for the conversations.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from ..models import GPT, Config
from ..perf.flops import tensors

DATA = Path(__file__).parent / "data"


class Touched(TorchDispatchMode):
    """Notes the unit of every weight that an operation takes; `keys` are the accesses so far."""

    def __init__(self, units: dict[int, str]):
        super().__init__()
        self.units, self.keys = units, list[str]()

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        """Called by torch in place of every operation of this thread."""
        for tensor in tensors(args):
            unit = self.units.get(tensor.untyped_storage().data_ptr())
            if unit is not None and self.keys[-1:] != [unit]:
                self.keys.append(unit)
        return operation(*args, **(kwargs or {}))


def unit_of(name: str) -> str:
    """The unit of a parameter by its name: "blocks.3.norm1.weight" belongs to "blocks.3", "token.weight" to "token"."""
    parts = name.split(".")
    return ".".join(parts[:2]) if parts[0] == "blocks" else parts[0]


def training_steps(
    layers: int, steps: int, in_backward: bool = False, unit: Callable[[str], str] = unit_of
) -> tuple[list[str], dict[str, int]]:
    """The accesses of some steps of a GPT of so many layers under SGD, and the bytes of each unit.

    in_backward: the optimizer updates each weight as soon as its gradient is complete, and not all after the backward
    pass. The model is tiny, since only names and sizes are of interest.
    """
    model = GPT(Config(vocabulary=32, length=8, width=8, heads=1, layers=layers))
    units, sizes = dict[int, str](), dict[str, int]()
    for name, weight in model.named_parameters():
        units[weight.untyped_storage().data_ptr()] = unit(name)
        sizes[unit(name)] = sizes.get(unit(name), 0) + weight.nbytes
    if in_backward:
        for weight in model.parameters():
            weight.register_post_accumulate_grad_hook(_update)
    tokens = torch.zeros(1, 8, dtype=torch.long)
    touched = Touched(units)
    with touched:
        for _ in range(steps):
            nn.functional.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten()).backward()
            if not in_backward:
                for weight in model.parameters():
                    _update(weight)
    return touched.keys, sizes


def _update(weight: torch.Tensor) -> None:
    """A step of SGD, after which the gradient is freed."""
    if weight.grad is not None:
        with torch.no_grad():
            weight.sub_(weight.grad, alpha=0.1)
        weight.grad = None


def expert_calls(tokens: int | None = None) -> list[tuple[int, int]]:
    """(layer, expert) for each token of a text, layer after layer, k experts in each: as a decoder asks for them."""
    return [call for token in _routing()[:tokens] for call in token]


def tokens_routed() -> int:
    """How many tokens were recorded."""
    return len(_routing())


@cache
def _routing() -> list[list[tuple[int, int]]]:
    return [
        [(layer, int(expert)) for layer, experts in enumerate(line.split("|")) for expert in experts.split()]
        for line in _lines("moe_routing.txt")
    ]


@cache
def conversations() -> list[list[int]]:
    """The blocks of 512 tokens that each of 1,500 requests to a chat service consists of, in order of arrival.

    Equal numbers are equal tokens behind equal prefixes, so their keys and values are the same.
    """
    return [
        [block for part in line.split(",") for block in _numbers(*part.split("-"))]
        for line in _lines("mooncake_conversations.txt")
    ]


def _numbers(first: str, last: str | None = None) -> range:
    return range(int(first), int(last or first) + 1)


def _lines(file: str) -> list[str]:
    """The lines of a file of data, less those that tell its source."""
    return [line for line in (DATA / file).read_text().splitlines() if not line.startswith("#")]

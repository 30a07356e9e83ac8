"""All stages of ZeRO for one's own numbers: what a rank holds at the peak, what it sends, and whether that fits."""

from __future__ import annotations

from typing import Any

from ..perf.recipes import Recipe
from ..zero.memory import Held, Setting, peak
from ..zero.sizing import model_setting
from ..zero.volume import sent

AGAINST = "what speaks against it"
MOST_UNITS = 160  # a browser takes a second for as many
GB = 1e9


def stage_table(
    parameters: float,
    ranks: int,
    weights: int,
    gradients: int,
    optimizer: int,
    units: int,
    width: int,
    tokens: int,
    recompute: int,
    per_node: int,
    memory: float,
) -> list[dict[str, float | str | None]]:
    """A row for each way to cut the states of training, in the order of what stays on a rank.

    parameters in billions; weights, gradients, optimizer: bytes a parameter; units: buckets, or units of stage 3;
    width, tokens of a micro-batch on each rank, recompute (1 or 0): for activations; per_node: ranks of a node;
    memory of a rank in GB. Columns in GB: states (when the optimizer takes its step, on the device), passing (whole
    units and gradients, at the peak), activations, peak, what a step of one micro-batch sends; and in words what speaks
    against it. Raises ValueError for numbers that make no sense.
    """
    if not 0 < parameters <= 1e6 or not 0 < memory <= 1e6:
        raise ValueError(f"parameters and memory are above 0 and at most a million, got {parameters:g} and {memory:g}")
    if not (1 <= weights <= 64 and 0 <= gradients <= 64 and 0 <= optimizer <= 64 and recompute in (0, 1)):
        raise ValueError("bytes a parameter are whole numbers up to 64, and recompute is 0 or 1")
    if not 1 <= units <= MOST_UNITS or ranks > 10**6 or per_node < 1:
        raise ValueError(f"there are 1 to {MOST_UNITS} units, at most a million ranks, and 1 rank a node or more")
    recipe = Recipe(weights, gradients, optimizer)
    model = model_setting(round(parameters * GB), ranks, 0, recipe, units, width, tokens, bool(recompute))
    return [_row(name, setting, memory) for name, setting in _ways(model, per_node)]


def _ways(model: Setting, per_node: int) -> list[tuple[str, Setting]]:
    """(name, setting) of each way."""
    plain, one, two, three = (model._replace(stage=stage) for stage in range(4))
    ways = [
        ("stage 0: data parallelism", plain),
        ("stage 1: optimizer state", one),
        ("stage 2: and gradients", two),
        ("stage 2, optimizer offloaded", two._replace(offload="optimizer")),
        ("stage 3: and weights", three),
        ("stage 3, units stay gathered", three._replace(reshard=False)),
        ("stage 3, all offloaded", three._replace(offload="all")),
    ]
    if model.P % per_node == 0 and 1 < per_node < model.P:
        ways.append((f"stage 3 in nodes of {per_node}", three._replace(shard_group=per_node)))
    return ways


def _row(name: str, setting: Setting, memory: float) -> dict[str, Any]:
    most = peak(setting)
    held: Held = most.held
    states = held.weights + held.gradients + held.optimizer
    return {
        "what is cut": name,
        "states (GB)": _round(states),
        "passing (GB)": _round(held.gathered + held.buckets),
        "activations (GB)": _round(held.activations),
        "peak (GB)": _round(held.total),
        "sends (GB)": _round(sent(setting).total),
        AGAINST: f"{held.total / GB / memory:.2f} times the memory" if held.total > memory * GB else "",
    }


def _round(nbytes: float) -> float:
    return float(f"{nbytes / GB:.4g}")

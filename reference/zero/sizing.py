"""Sizing: from the numbers that one knows of a model to what a rank holds, whether that fits, and what would.

Idea      A model of Psi parameters in equal units, a micro-batch of t tokens on each rank, and a layer for each unit
          that keeps 34 h t bytes of activations (perf/transformer.py), or its input alone, 2 h t, if the rest is
          computed again in the backward pass. That makes a `Setting`, and memory.py says the rest.
Left out  Embeddings and heads, which are no larger units than others here; logits.
"""

from __future__ import annotations

from ..perf.recipes import ADAM_MIXED, Recipe
from ..perf.transformer import layer_bytes
from .memory import Setting, peak

UNITS = 64
"""Equal units of a model, unless told."""

MOST_UNITS = 1024
MOST_RANKS = 2**20


def equal_units(parameters: int, units: int) -> tuple[int, ...]:
    """So many groups of nearly as many parameters each. Raises ValueError if there are more groups than parameters."""
    if not 1 <= units <= min(parameters, MOST_UNITS):
        raise ValueError(f"units are from 1 to {min(parameters, MOST_UNITS):,}, got {units:,}")
    each, more = divmod(parameters, units)
    return (each + 1,) * more + (each,) * (units - more)


def model_setting(
    parameters: int,
    P: int,
    stage: int,
    recipe: Recipe = ADAM_MIXED,
    units: int = UNITS,
    width: int = 0,
    tokens: int = 0,
    recompute: bool = False,
) -> Setting:
    """A model of equal units on P ranks; with a width and tokens, each unit is a layer that keeps activations.

    tokens: of one micro-batch, on one rank. Raises ValueError for numbers that make no sense.
    """
    for name, value, least in (
        ("parameters", parameters, 1),
        ("ranks", P, 1),
        ("width", width, 0),
        ("tokens", tokens, 0),
    ):
        if value < least:
            raise ValueError(f"{name} are {least} or more, got {value:,}")
    whole = round(layer_bytes(1, tokens, width, 1, scores=False))
    kept, working = (2 * width * tokens, whole) if recompute else (whole, 0)
    groups = equal_units(parameters, units)
    return Setting(groups, P, stage, recipe, activations=(kept,) * len(groups), working=working)


def at_stage(setting: Setting, stage: int, P: int | None = None) -> Setting:
    """The same model at another stage, or on other ranks, without what only its own stage has."""
    plain = setting._replace(shard_group=0, secondary=0, offload="none", reshard=True, root=0)
    groups = (*setting.groups, setting.root) if setting.root else setting.groups
    kept = (*setting.kept, 0) if setting.root else setting.activations
    return plain._replace(stage=stage, P=P or setting.P, groups=groups, activations=kept)


def fits(setting: Setting, memory: float) -> bool:
    """Whether the peak of a rank is within so many bytes."""
    return peak(setting).held.total <= memory


def least_stage(setting: Setting, memory: float) -> int | None:
    """The lowest stage that fits on these ranks; None if none does."""
    return next((stage for stage in range(4) if fits(at_stage(setting, stage), memory)), None)


def least_ranks(setting: Setting, stage: int, memory: float) -> int | None:
    """The least power of two of ranks on which this stage fits; None if none up to a million does."""
    if not fits(at_stage(setting, stage, MOST_RANKS), memory):
        return None
    return next(P for k in range(21) if fits(at_stage(setting, stage, P := 2**k), memory))


def verdict(setting: Setting, memory: float) -> list[str]:
    """Sentences: whether it fits into so many bytes, and what would."""
    found, P = peak(setting), setting.P
    amount = f"{size_text(found.held.total)} at the peak ({found.what}), of {size_text(memory)}"
    least = least_stage(setting, memory)
    if found.held.total <= memory:
        lower = f" Stage {least} fits as well." if least is not None and least < setting.stage else ""
        return [f"It fits: {amount}.{lower}"]
    told = [f"It does not fit: {amount}."]
    if least is not None:
        told.append(f"On {P} ranks stage {least} fits ({size_text(peak(at_stage(setting, least)).held.total)}).")
    ranks = {stage: least_ranks(setting, stage, memory) for stage in range(4)}
    told += [f"Stage {stage} fits on {more:,} ranks." for stage, more in ranks.items() if more is not None and more > P]
    if ranks[setting.stage] is None and least is None:
        whole = peak(at_stage(setting, setting.stage, MOST_RANKS)).held.total
        told.append(f"Stage {setting.stage} fits on no number of ranks: each needs {size_text(whole)} and more.")
    if not any(ranks.values()):
        told.append("No stage fits on any number of ranks: take more and smaller units, fewer tokens, or recompute.")
    return told


def size_text(nbytes: float) -> str:
    """Bytes in decimal units, with four digits: "332.5 GB"."""
    for power, unit in ((15, "PB"), (12, "TB"), (9, "GB"), (6, "MB"), (3, "kB")):
        if nbytes >= 10**power:
            return f"{nbytes / 10**power:.4g} {unit}"
    return f"{nbytes:.4g} B"

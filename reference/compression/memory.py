"""Memory: what a compressed sum keeps from step to step, taken out and put back, for the same ranks or for others.

Idea      What a rank has not sent yet is a part of the training, as much as the weights are. A checkpoint without it
          loses these gradients for good, and the ranks then train something else.
Exact     On as many ranks each gets its own back, and the random numbers go on where they were: the same bits follow.
          On another number of ranks one rank gets the sum of all errors, also of those on the way down (TwoWay), and
          the others begin with none: the sum of all that will be sent is what it would have been. Nothing is lost, but
          each codec sees other vectors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Generator, Tensor

from .error_feedback import ErrorFeedback
from .powersgd import PowerSGD
from .reduce import TwoWay

Saved = dict[str, Tensor]


def taken(state: Any) -> Saved:
    """What a hook keeps for a bucket, by names: errors, Q of PowerSGD, where random numbers are."""
    if isinstance(state, tuple):
        return {key: tensor for part in state for key, tensor in taken(part).items()}
    if isinstance(state, ErrorFeedback):
        return {"error": state.error}
    if isinstance(state, TwoWay) and isinstance(state.down, ErrorFeedback):
        return {"up": torch.cat([sender.error for sender in _senders(state.up)]), "down": state.down.error}
    if isinstance(state, PowerSGD):
        return {f"{key}{i}": x for key, of in (("Q", state.Q), ("error", state.error)) for i, x in enumerate(of)}
    return {"generator": state.get_state()} if isinstance(state, Generator) else {}


def put_back(state: Any, saved: Mapping[str, Tensor]) -> None:
    """Let a hook's state for a bucket be what `taken` or `merged` has given; what is not in it begins anew."""
    if isinstance(state, tuple):
        for part in state:
            put_back(part, saved)
    elif isinstance(state, ErrorFeedback) and "error" in saved:
        state.error = saved["error"].clone()
    elif isinstance(state, TwoWay) and "up" in saved:
        for sender, error in zip(_senders(state.up), saved["up"].split(state.lengths)):
            sender.error = error.clone()
        if "down" in saved:
            _senders([state.down])[0].error = saved["down"].clone()
    elif isinstance(state, PowerSGD):
        state.Q = [saved[f"Q{i}"].clone() for i in range(len(state.small)) if f"Q{i}" in saved]
        state.error = [saved[f"error{i}"].clone() for i in range(len(state.small)) if f"error{i}" in saved]
    elif isinstance(state, Generator) and "generator" in saved:
        state.set_state(saved["generator"])


def merged(every: Sequence[Mapping[str, Tensor]], rank: int) -> Saved:
    """What rank `rank` of another number of ranks gets of what these ranks have kept for a bucket: rank 0 all errors.

    PowerSGD's Q is the same on all ranks, old and new. Random numbers begin anew.
    """
    found = {key: tensor for key, tensor in every[0].items() if key.startswith("Q")}
    if rank == 0:
        errors = [key for key in every[0] if key.startswith(("error", "up"))]
        found |= {key: sum((one[key] for one in every[1:]), every[0][key].clone()) for key in errors}
        if "down" in every[0]:
            found["up"] += torch.cat([one["down"] for one in every])
    return found


def _senders(of: Sequence[Any]) -> list[ErrorFeedback]:
    return [sender for sender in of if isinstance(sender, ErrorFeedback)]

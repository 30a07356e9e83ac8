"""The state of a training: all that decides what the next step does, in any layout, saved and loaded as a whole.

Idea      The weights are the smaller part of it. Whoever saves them alone starts again with cold moments, a learning
          rate of the first step, the first batch, and dice that have been thrown before; the loss shows a bump, or
          nothing, and the run is another one.

              weights, buffers           model.NAME                  tensors, each element once
              moments, step counts       optimizer.NAME.KEY          tensors, each element once
              learning rate, betas, ...  extra["optimizer"]          once
              schedule, loss scale       extra["scheduler"], ["scaler"]
              place in the data, ...     extra["data"]               once: what the program says
              random state               own[rank]["random"]         of each rank
Exact     Between two steps. Then no activation and no gradient is alive, and neither is saved. (Gradients that are late
          or accumulated over steps, and error feedback, are state, too: the program adds them.)
          With as many ranks as have saved, the resumed run is the uninterrupted one, bit by bit. With others sums are
          rounded in another order, and random numbers are drawn by other ranks: rank r goes on with the generators of
          rank r, and one that had none before keeps its own.
          A buffer that differs from copy to copy is saved from one of them, as DistributedDataParallel keeps rank 0's.
Left out  Optimizers whose state is no tensors by parameter (L-BFGS).
Source    torch.distributed.checkpoint.state_dict (PyTorch 2.13) makes such names of modules and optimizers.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ..agreement import agree
from .boxes import Portion, everything
from .files import FILES, Files
from .load import Loaded, fill, open_checkpoint
from .manifest import CheckpointError, Manifest
from .placed import Placed
from .random_state import Generators, random_state, set_random_state
from .save import save

Json = dict[str, Any]


def nothing() -> None:
    """Do nothing."""


class TrainingState:
    """What a rank holds of a training, gathered under one name.

        state = TrainingState(of_parameters(dict(model.named_parameters())), optimizer)
        state.save(comm, "run", step, data={"step": step})
        loaded = state.load(comm, "run")       # loaded.step, loaded.extra["data"]

    placed      the parameters of this rank, by name: what the optimizer steps, and what is frozen (placed.py)
    optimizer   one of torch's, or None
    buffers     tensors by name that all ranks have alike
    scheduler, scaler   of torch (or with its state_dict and load_state_dict), or None
    generators  that the program draws from, besides the default ones
    loaded      called after a load, on all ranks: lets what follows the parameters follow (`stage.update_weights`)
    """

    def __init__(
        self,
        placed: Mapping[str, Placed],
        optimizer: torch.optim.Optimizer | None = None,
        buffers: Mapping[str, Tensor] | None = None,
        scheduler: Any = None,
        scaler: Any = None,
        generators: Generators | None = None,
        loaded: Callable[[], None] = nothing,
    ):
        self.placed, self.optimizer, self.buffers = placed, optimizer, buffers or {}
        self.stateful = {"scheduler": scheduler, "scaler": scaler}
        self.generators, self.loaded = generators, loaded

    # Save ---------------------------------------------------------------------------------------------------------

    def save(self, comm: Any, folder: str | Path, step: int, data: Json | None = None, files: Files = FILES) -> Path:
        """Save all of it; the folder of the checkpoint. Collective. Raises as `save` does."""
        return save(comm, folder, step, self.portions(), self.extra(data), self.own(), files)

    def portions(self) -> dict[str, Portion]:
        """The tensors: what this rank holds of each."""
        found = {f"model.{name}": place.portion(place.parameter.data) for name, place in self.placed.items()}
        found |= {f"model.{name}": everything(buffer) for name, buffer in self.buffers.items()}
        kept = self.optimizer.state if self.optimizer else {}
        for name, place in self.placed.items():
            for key, value in kept.get(place.parameter, {}).items():
                if value is not None:
                    found[f"optimizer.{name}.{key}"] = _portion(name, place, key, value)
        return found

    def extra(self, data: Json | None = None) -> Json:
        """What is no tensor, and the same on all ranks (JSON)."""
        groups = self.optimizer.param_groups if self.optimizer else []
        options = [{key: _plain(value) for key, value in group.items() if key != "params"} for group in groups]
        found = {name: _plain(of.state_dict()) for name, of in self.stateful.items() if of is not None}
        return {"optimizer": options, "data": data or {}, **found}

    def own(self) -> Json:
        """What is this rank's alone (JSON)."""
        return {"random": random_state(self.generators)}

    # Load ---------------------------------------------------------------------------------------------------------

    def load(self, comm: Any, folder: str | Path, step: int | None = None, files: Files = FILES) -> Loaded:
        """Load the newest checkpoint, or that of a step, saved in any layout; what came with it. Collective.

        Raises CheckpointError on every rank as `load` does, and if the optimizer is another one.
        """
        manifest, path = open_checkpoint(comm, folder, step, files)
        error, count = "", 0
        try:
            self._make_room(manifest)
            count = fill(path, manifest, self.portions(), files)
            self._take(manifest, comm.rank)
        except (CheckpointError, ValueError) as found:
            error = str(found) if isinstance(found, CheckpointError) else f"{path}: {found}"
        agree(comm, error=error, raises=CheckpointError)
        self.loaded()
        return Loaded(manifest.step, manifest.extra, manifest.own, count)

    def _make_room(self, manifest: Manifest) -> None:
        """Give the optimizer the tensors that were saved, to be filled: a fresh one has none."""
        if self.optimizer is None:
            return
        stepped = {id(parameter) for group in self.optimizer.param_groups for parameter in group["params"]}
        for name, place in self.placed.items():
            if id(place.parameter) not in stepped:
                continue
            prefix, state = f"optimizer.{name}.", {}
            for key in (full.removeprefix(prefix) for full in manifest.tensors if full.startswith(prefix)):
                if "." in key:  # of another parameter, whose name begins alike
                    continue
                stored = manifest.tensors[prefix + key]
                whole = key == "step" or stored.shape != place.portion(place.parameter.data).shape
                like = torch.zeros(stored.shape) if whole else torch.zeros_like(place.parameter.data)
                state[key] = like.to(stored.torch_dtype)
            self.optimizer.state[place.parameter] = state

    def _take(self, manifest: Manifest, rank: int) -> None:
        """Take what is no tensor."""
        groups = self.optimizer.param_groups if self.optimizer else []
        options = manifest.extra["optimizer"]
        if len(options) != len(groups):
            raise ValueError(f"the optimizer has {len(groups)} groups of parameters, and {len(options)} were saved")
        for group, saved in zip(groups, options):
            group.update({key: _like(group.get(key), value) for key, value in saved.items()})
        for name, of in self.stateful.items():
            if (of is None) != (name not in manifest.extra):
                raise ValueError(f"there is {'no' if of is None else 'a'} {name}, unlike when it was saved")
            if of is not None:
                now, saved = of.state_dict(), manifest.extra[name]
                of.load_state_dict({key: _like(now.get(key), value) for key, value in saved.items()})
        if rank < len(manifest.own):
            set_random_state(manifest.own[rank]["random"], self.generators)


def _portion(name: str, place: Placed, key: str, value: Any) -> Portion:
    """Of what an optimizer keeps: as large as the parameter, and cut with it, or a number of steps."""
    if not isinstance(value, Tensor):
        raise ValueError(f"what the optimizer keeps of {name} as {key} is no tensor: {type(value).__name__}")
    if key == "step" or value.shape != place.parameter.shape:
        return everything(value)
    return place.portion(value)


def _plain(value: Any) -> Any:
    """As JSON can tell it: tensors of one element as numbers, dictionaries of other keys than text as pairs.

    Raises ValueError for anything that cannot be told.
    """
    if isinstance(value, Tensor) and value.numel() == 1:
        return value.item()
    if isinstance(value, Mapping):
        if all(isinstance(key, str) for key in value):
            return {key: _plain(of) for key, of in value.items()}
        return {"pairs": [[_plain(key), _plain(of)] for key, of in value.items()]}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    try:
        json.dumps(value)
    except TypeError:
        raise ValueError(f"{value!r} is part of the state of a training, and cannot be told in JSON") from None
    return value


def _like(now: Any, saved: Any) -> Any:
    """What was told in JSON, as the type that it has now."""
    if isinstance(now, Tensor):
        return torch.full_like(now, saved)
    if isinstance(saved, dict) and list(saved) == ["pairs"]:
        return type(now)(dict(map(tuple, saved["pairs"])))
    return tuple(saved) if isinstance(now, tuple) else saved

"""Random state: every generator that a training draws from, as text, so that a resumed run draws what comes next.

Idea      Dropout, shuffling and augmentation draw numbers, and the next ones depend on how many were drawn. A run that
          resumes with fresh generators is another run: nothing fails, and its weights differ.
Exact     Each rank has its own. Torch's default generator of the CPU, and of each accelerator; NumPy's global one;
          Python's; and whatever generators the program names.
Source    torch.get_rng_state, numpy.random.get_state, random.getstate.
"""

from __future__ import annotations

import base64
import random
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

Generators = Mapping[str, torch.Generator | np.random.Generator]


def random_state(generators: Generators | None = None) -> dict[str, Any]:
    """The state of all generators of this rank (JSON)."""
    kind, keys, *rest = np.random.get_state(legacy=True)  # noqa: NPY002 - the generator that programs share
    version, numbers, gauss = random.getstate()
    return {
        "torch": _as_text(torch.get_rng_state()),
        "devices": [_as_text(state) for state in torch.cuda.get_rng_state_all()] if torch.cuda.is_available() else [],
        "numpy": [kind, _as_text(torch.from_numpy(np.asarray(keys).view(np.uint8).copy())), *rest],
        "python": [version, list(numbers), gauss],
        "own": {name: _of(one) for name, one in (generators or {}).items()},
    }


def set_random_state(state: Mapping[str, Any], generators: Generators | None = None) -> None:
    """Let all generators go on where they were. Raises ValueError if other ones were saved than are named."""
    if set(state["own"]) != set(generators or {}):
        raise ValueError(f"the generators {sorted(state['own'])} were saved, and there are {sorted(generators or {})}")
    torch.set_rng_state(_tensor(state["torch"]))
    if torch.cuda.is_available() and len(state["devices"]) == torch.cuda.device_count():
        torch.cuda.set_rng_state_all([_tensor(one) for one in state["devices"]])
    kind, keys, *rest = state["numpy"]
    np.random.set_state((kind, _tensor(keys).numpy().view(np.uint32), *rest))  # noqa: NPY002 - as above
    version, numbers, gauss = state["python"]
    random.setstate((version, tuple(numbers), gauss))
    for name, one in (generators or {}).items():
        if isinstance(one, torch.Generator):
            one.set_state(_tensor(state["own"][name]))
        else:
            one.bit_generator.state = state["own"][name]


def _of(generator: torch.Generator | np.random.Generator) -> Any:
    if isinstance(generator, torch.Generator):
        return _as_text(generator.get_state())
    return generator.bit_generator.state


def _as_text(state: Tensor) -> str:
    return base64.b64encode(state.numpy().tobytes()).decode()


def _tensor(text: str) -> Tensor:
    return torch.from_numpy(np.frombuffer(base64.b64decode(text), np.uint8).copy())

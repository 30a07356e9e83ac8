"""What a process has only once: its directory, environment, limits and defaults, which a program may change.

Real ranks have one each, virtual ranks one together, with the caller. Either way a launch puts back what its program
changed, so that neither the caller nor the next launch goes on with, say, another default dtype.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

Setting = tuple[Callable[[], Any], Callable[[Any], Any]]  # how to read it, and how to set it


def _directory() -> str | None:
    try:
        return os.getcwd()
    except OSError:  # it was removed
        return None


def _go_back(directory: str | None) -> None:
    with suppress(OSError, TypeError):
        os.chdir(directory)


def _environment() -> dict[bytes, bytes]:
    """What is behind os.environ, undecoded: decoding takes a hundred microseconds, and launches are many."""
    behind: Any = os.environ
    return behind._data.copy()


def _set_environment(before: dict[bytes, bytes]) -> None:
    wanted = {os.fsdecode(name): os.fsdecode(value) for name, value in before.items()}
    for name in [name for name in os.environ if name not in wanted]:
        del os.environ[name]
    os.environ.update(wanted)


def _set_filters(before: list) -> None:
    """Put the filters back; leaving catch_warnings() makes `warnings` notice that they have changed."""
    filters: Any = warnings.filters
    filters[:] = before
    with warnings.catch_warnings():
        pass


PYTHON: tuple[Setting, ...] = (
    (_directory, _go_back),
    (_environment, _set_environment),
    (lambda: warnings.filters[:], _set_filters),
    (sys.getrecursionlimit, sys.setrecursionlimit),
    (np.geterr, lambda before: np.seterr(**before)),
    (np.get_printoptions, lambda before: np.set_printoptions(**before)),
)


def _of_torch() -> tuple[Setting, ...]:
    torch = sys.modules.get("torch")
    if not hasattr(torch, "get_num_threads"):  # not imported, or not completely
        return ()
    return (
        (torch.get_default_dtype, torch.set_default_dtype),
        (torch.is_grad_enabled, torch.set_grad_enabled),
        (torch.are_deterministic_algorithms_enabled, torch.use_deterministic_algorithms),
        (torch.get_num_threads, torch.set_num_threads),  # ranks set 1 for themselves: the default of threads to come
    )


@contextmanager
def restored() -> Iterator[None]:
    """Put back at the end what is different by then."""
    torch = _of_torch()
    before = [(read, put_back, read()) for read, put_back in (*PYTHON, *torch)]
    try:
        yield
    finally:
        for read, put_back, value in before:
            if read() != value:
                put_back(value)
        if not torch and (new := sys.modules.get("torch")):  # the program has imported it
            new.set_default_dtype(new.float32)

"""What launch() accepts: programs that run when they are called, and numbers that mean something."""

from __future__ import annotations

import functools
import inspect
import math
import types
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

import numpy as np

from .. import networks
from ..networks.network import check_gap

MOST_REAL_RANKS = 256  # processes on one machine
LAZY = (types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType)
NOT_PROGRAMS = (
    (inspect.isgeneratorfunction, "is a generator (it has a `yield`): calling it would run nothing of it"),
    (inspect.iscoroutinefunction, "is an `async def`: calling it would run nothing of it. Use a plain `def`"),
    (inspect.isasyncgenfunction, "is an asynchronous generator: calling it would run nothing of it"),
)


def check_program(program: Callable) -> None:
    """ValueError for a function that does not run when it is called, also behind a partial or an object's __call__."""
    if not callable(program):
        raise ValueError(f"a program is a function program(comm, ...), got {type(program).__name__}")
    inner = program
    while isinstance(inner, functools.partial):
        inner = inner.func
    for function in (inner, type(inner).__call__):
        for is_one, why in NOT_PROGRAMS:
            if is_one(function):
                raise ValueError(f"{getattr(inner, '__name__', type(inner).__name__)} {why}")


def checked_result(result: Any) -> Any:
    """What a rank's program returned; TypeError if that is something that still waits to be run."""
    if isinstance(result, LAZY):
        if isinstance(result, types.CoroutineType):
            result.close()  # else Python warns that nobody has awaited it
        raise TypeError(f"the program returned a {type(result).__name__}, of which nothing has run: return its outcome")
    return result


def checked_ranks(ranks: Any, most: int, instead: str) -> int:
    """The number of ranks as an int; ValueError unless it is a whole number from 1 to `most`."""
    if not isinstance(ranks, Integral) or isinstance(ranks, bool | np.bool_):
        raise ValueError(f"ranks is a whole number, got {ranks!r} ({type(ranks).__name__})")
    ranks = int(ranks)
    if ranks < 1:
        raise ValueError(f"a launch needs at least 1 rank, got {ranks}")
    if ranks > most:
        raise ValueError(f"a launch has at most {most:,} ranks here, got {ranks:,}: {instead}")
    return ranks


def check_timeout(timeout: Any) -> None:
    """ValueError unless it is a positive number of seconds; infinity is one."""
    if not isinstance(timeout, Real) or math.isnan(timeout) or float(timeout) <= 0:
        raise ValueError(f"timeout is a number of seconds and must be positive, got {timeout!r} (math.inf: no limit)")


def check_routes(network: Any, ranks: int) -> None:
    """TypeError if this is no network, ValueError if it would cost what is no number: a clock would stop or jump."""
    networks.check_network(network)
    routes = [network.route(0, ranks - 1), network.route(ranks - 1, 0)]
    costs = [network.gamma, *(cost for route in routes for cost in (route.alpha, route.beta))]
    if not all(0 <= cost < math.inf for cost in costs):
        raise ValueError(f"a network's gamma, alpha and beta are finite and at least 0, got {costs}")
    for route in routes:
        check_gap(route.gap)

"""Every collective as a function that carries out any of its schedules (catalogue.py lists them).

    allgather(comm, x, algorithm="bruck")  # carried out
    request = allgather.start(comm, x)  # begun: request.Test() advances it, mpi.waitall([request]) ends it

Buffers are NumPy arrays or torch tensors, contiguous, of any shape and length, the same on all ranks. They are changed
in place: where a collective has one part a rank, part r is block r of the array, cut as numpy.array_split does it.
All-reduce, which also chooses its algorithm, is in select.py.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from functools import wraps
from inspect import signature
from typing import Any, Protocol, TypeVar, cast

import numpy as np

from .. import mpi
from .bruck import bruck_alltoall_steps
from .catalogue import (
    ALLGATHER,
    ALLTOALL,
    BARRIER,
    BROADCAST,
    GATHER,
    REDUCE,
    REDUCE_SCATTER,
    SCATTER,
)
from .record import Algorithm
from .request import RoundsRequest
from .rounds import Blocks, complete, steps

Known = TypeVar("Known")  # what a table of algorithms holds


def find(algorithms: Mapping[str, Known], name: str) -> Known:
    """The algorithm of that name. Raises ValueError that lists the names there are."""
    try:
        return algorithms[name]
    except KeyError:
        raise ValueError(f"there is no algorithm {name!r} here; choose one of: {', '.join(algorithms)}") from None


class Collective(Protocol):
    """A function that carries out a collective; `start` begins it, and `driver` is for one that is part of another."""

    start: Callable[..., RoundsRequest]
    driver: Callable[..., Generator[list, None, Any]]

    def __call__(self, *arguments, **options) -> Any:
        """What it returns when it is done."""


def collective(driver: Callable[..., Generator[list, None, Any]]) -> Collective:
    """The collective that is carried out as the driver says: the rounds that it yields, and what it returns.

    A driver with a parameter `blocking` is given True when the collective is called, and not started.
    """
    told = {"blocking": True} if "blocking" in signature(driver).parameters else {}

    @wraps(driver)
    def carry_out(*arguments, **options) -> Any:
        return complete(driver(*arguments, **told, **options))

    made = cast(Collective, carry_out)
    made.start = lambda *arguments, **options: RoundsRequest(driver(*arguments, **options))
    made.driver = driver
    return made


def flat(x):
    """A one-dimensional view of x.

    Raises TypeError for what is no array, ValueError if it is not contiguous, BufferError if it needs a gradient.
    """
    if isinstance(x, np.ndarray):
        contiguous = x.flags.c_contiguous
    elif hasattr(x, "is_contiguous"):
        contiguous = x.is_contiguous()
    else:
        raise TypeError(f"a NumPy array or a torch tensor is wanted, not {type(x).__name__}")
    if getattr(x, "requires_grad", False):
        raise BufferError("this tensor needs a gradient, which a message would not carry: use x.detach()")
    if not contiguous:
        raise ValueError(f"this array of shape {tuple(x.shape)} is not contiguous: make a contiguous copy of it first")
    return x.reshape(-1)


def _address(x) -> int:
    return x.ctypes.data if isinstance(x, np.ndarray) else x.data_ptr()


def _check_root(comm, root: int) -> None:
    if not 0 <= root < comm.size:
        raise ValueError(f"root is rank {root}, but there are ranks 0 to {comm.size - 1}")


def _run(comm, algorithm: Algorithm, x, op=mpi.SUM, **options) -> Iterator[list]:
    rounds = algorithm.rounds(comm.rank, comm.size, **options)
    options.pop("root", None)
    return steps(comm, rounds, Blocks(flat(x), algorithm.blocks(comm.size, **options)), op=op)


def _own(comm, x):
    return Blocks(flat(x), comm.size)[comm.rank, comm.rank + 1]


@collective
def barrier(comm, algorithm: str = "dissemination"):
    """Return when every rank has called it."""
    yield from _run(comm, find(BARRIER, algorithm), np.empty(0, np.uint8))


@collective
def broadcast(comm, x, root: int = 0, algorithm: str = "binomial tree", **options):
    """Fill x on every rank with the root's, and return it. "chain" takes segments=S."""
    _check_root(comm, root)
    yield from _run(comm, find(BROADCAST, algorithm), x, root=root, **options)
    return x


@collective
def reduce(comm, x, op=mpi.SUM, root: int = 0, algorithm: str = "binomial tree"):
    """Combine x over the ranks into the root's x, and return it; on the other ranks x is scratch."""
    _check_root(comm, root)
    yield from _run(comm, find(REDUCE, algorithm), x, op, root=root)
    return x


@collective
def scatter(comm, x, root: int = 0, algorithm: str = "binomial tree"):
    """Give each rank its block of the root's x, and return it: a view of x, which is scratch otherwise."""
    _check_root(comm, root)
    yield from _run(comm, find(SCATTER, algorithm), x, root=root)
    return _own(comm, x)


@collective
def gather(comm, x, root: int = 0, algorithm: str = "binomial tree"):
    """Fill the root's x with every rank's block r of x, and return x, which is scratch on the other ranks."""
    _check_root(comm, root)
    yield from _run(comm, find(GATHER, algorithm), x, root=root)
    return x


@collective
def allgather(comm, x, algorithm: str = "ring"):
    """Fill x with every rank's block, and return it; on entry rank r has put its own into block r of P."""
    yield from _run(comm, find(ALLGATHER, algorithm), x)
    return x


@collective
def reduce_scatter(comm, x, op=mpi.SUM, algorithm: str = "ring"):
    """Combine x over the ranks and return this rank's block of the result: a view of x, which is scratch otherwise."""
    yield from _run(comm, find(REDUCE_SCATTER, algorithm), x, op)
    return _own(comm, x)


@collective
def alltoall(comm, send, recv, algorithm: str = "pairwise"):
    """Block q of `send` goes to rank q; block q of `recv`, which is returned, comes from rank q.

    Raises ValueError if the arrays are not of one type and length, a multiple of P, or share memory.
    """
    schedule, out, come = find(ALLTOALL, algorithm), flat(send), flat(recv)
    if len(out) != len(come) or len(out) % comm.size:
        raise ValueError(
            f"{len(out)} elements to send and {len(come)} to receive: for {comm.size} ranks both must be the same "
            f"multiple of {comm.size}"
        )
    if out.dtype != come.dtype or (len(out) and _address(out) == _address(come)):
        raise ValueError(f"send ({out.dtype}) and recv ({come.dtype}) must be two arrays of one type")
    if algorithm == "bruck":
        yield from bruck_alltoall_steps(comm, out, come)
    else:
        source, target = Blocks(out, comm.size), Blocks(come, comm.size)
        mine = comm.rank, comm.rank + 1
        target[mine][:] = source[mine]
        yield from steps(comm, schedule.rounds(comm.rank, comm.size), source, target)
    return recv

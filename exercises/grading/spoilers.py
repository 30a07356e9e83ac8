"""Right answers, spoiled: they compute what a solution does, and break what every answer keeps to.

A grader that lets one of them pass has inputs that are too small, or does not look at what is sent. Each takes a
function and returns another, which behaves as its name says, and prints MARK where there was something to spoil;
`spoiled` makes files of a solution with them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from reference import mpi

MANY = 1000  # elements
MARK = "this answer was spoiled"
PADDING = 100  # elements
SENDING = ("Send", "Isend", "Sendrecv", "Allreduce", "Iallreduce", "Allgather", "Bcast")


def spoiled(text: str, name: str, distributed: bool) -> Iterator[tuple[str, str]]:
    """Yield (what is wrong, text of a file) of a solution's file, for each spoiler."""
    for what in (EVERYWHERE | ON_RANKS) if distributed else EVERYWHERE:
        spoiler = f'__import__("{__name__}", fromlist=["*"]).{_name(what)}'
        yield what, f"{text}\n\n{name} = {spoiler}({name})\n"


def _name(what: str) -> str:
    return (EVERYWHERE | ON_RANKS)[what].__name__


# Of every function ---------------------------------------------------------------------------------------------------


def changes_its_arguments(function: Callable) -> Callable:
    """Its arguments are other ones after the call."""

    @functools.wraps(function)
    def spoiled(*arguments: Any) -> Any:
        result = function(*arguments)
        for argument in arguments:
            _change(argument)
        return result

    return spoiled


def _change(value: Any) -> None:
    if isinstance(value, np.ndarray) and value.size:
        value += np.ones((), value.dtype)
    elif isinstance(value, list):
        value.append(0)
    elif isinstance(value, dict):
        value["another"] = 0
    else:
        return
    print(MARK)


def loses_digits(function: Callable) -> Callable:
    """Arrays of float64 come back as float32."""
    return lambda *arguments: _mapped(function(*arguments), lambda array: array.astype(np.float32))


def becomes_complex(function: Callable) -> Callable:
    """Arrays of float64 come back as complex numbers, which are equal to them."""
    return lambda *arguments: _mapped(function(*arguments), lambda array: array.astype(complex))


def _mapped(value: Any, change: Callable[[np.ndarray], np.ndarray]) -> Any:
    """A result with every array of float64 in it changed."""
    if isinstance(value, list | tuple):
        return type(value)(_mapped(item, change) for item in value)
    if isinstance(value, dict):
        return {key: _mapped(item, change) for key, item in value.items()}
    if not isinstance(value, np.ndarray) or value.dtype != np.float64 or not value.size:
        return value
    print(MARK)
    return change(value)


def right_for_few_elements(function: Callable) -> Callable:
    """Nothing but zeros comes back where an array or a list among the arguments has more than MANY elements."""

    def spoiled(*arguments: Any) -> Any:
        result = function(*arguments)
        most = max(map(_size, arguments), default=0)
        if most:
            print(MARK)
        if most <= MANY:
            return result
        for written in arguments if result is None else ():  # a function that writes into its arguments
            if isinstance(written, np.ndarray):
                written[...] = 0
        return _zeros(result)

    return spoiled


def _size(value: Any) -> int:
    """How many elements an array has, or the lists inside a list together."""
    if isinstance(value, list | tuple):
        return sum(_size(item) if isinstance(item, list | tuple | np.ndarray) else 1 for item in value)
    return value.size if isinstance(value, np.ndarray) else 0


def _zeros(value: Any) -> Any:
    """Nothing, in the form of a result."""
    if isinstance(value, list | tuple):
        return type(value)(map(_zeros, value))
    return np.zeros_like(value) if isinstance(value, np.ndarray) else type(value)()


EVERYWHERE = {
    "changes its arguments": changes_its_arguments,
    "returns float32": loses_digits,
    "returns complex numbers": becomes_complex,
    "is right for few elements only": right_for_few_elements,
}


# Of functions that run on every rank ---------------------------------------------------------------------------------


def asks_everybody(function: Callable) -> Callable:
    """All arguments of all ranks are gathered, too."""
    return _also(function, lambda comm, arguments: comm.allgather([a for a in arguments if not callable(a)]))


def reduces_once_more(function: Callable) -> Callable:
    """There is one collective more."""
    return _also(function, lambda comm, arguments: comm.Allreduce(mpi.IN_PLACE, np.zeros(100)))


def sends_once_more(function: Callable) -> Callable:
    """There is one message more, to the right neighbour."""

    def ring(comm: Any, arguments: tuple) -> None:
        P, rank = comm.size, comm.rank
        comm.Sendrecv(np.zeros(1), dest=(rank + 1) % P, recvbuf=np.zeros(1), source=(rank - 1) % P)

    return _also(function, ring)


def _also(function: Callable, extra: Callable[[Any, tuple], Any]) -> Callable:
    """The function, after something that it need not do."""

    def spoiled(comm: Any, *arguments: Any) -> Any:
        if comm.size > 1:
            print(MARK)
            extra(comm, arguments)
        return function(comm, *arguments)

    return spoiled


def sends_float32(function: Callable) -> Callable:
    """What is sent has as many digits as float32 has."""
    return _through(function, "f", np.float32)


def sends_small_integers(function: Callable) -> Callable:
    """Of whole numbers that are sent, what fits into a byte is left."""
    return _through(function, "iu", np.uint8)


def sends_integers_as_float32(function: Callable) -> Callable:
    """Whole numbers that are sent have as many digits as float32 has."""
    return _through(function, "iu", np.float32)


def sends_too_much(function: Callable) -> Callable:
    """Everything that is sent has some zeros behind it."""
    return lambda comm, *arguments: function(Padding(comm), *arguments)


def _through(function: Callable, kinds: str, narrow: type) -> Callable:
    """The function, with arrays of these kinds of elements changed to `narrow` ones and back before they are sent."""

    def change(array: np.ndarray) -> np.ndarray:
        if array.dtype.kind not in kinds or not array.size or np.can_cast(array.dtype, narrow):
            return array  # nothing is lost
        print(MARK)
        return array.astype(narrow).astype(array.dtype)

    return lambda comm, *arguments: function(Changing(comm, change), *arguments)


class Proxy:
    """A communicator that does something else in the calls that send, also in the groups that are made of it."""

    def __init__(self, comm: Any, *more: Any):
        self._comm, self._more = comm, more

    def __getattr__(self, name: str) -> Any:
        if name in SENDING or name == "Recv":
            return functools.partial(self._call, name)
        thing = getattr(self._comm, name)
        if name != "Split":
            return thing
        return lambda *arguments, **named: type(self)(thing(*arguments, **named), *self._more)


class Changing(Proxy):
    """Changes the values of what is sent, and neither its length nor its type."""

    def _call(self, name: str, first: Any, *rest: Any, **named: Any) -> Any:
        (change,) = self._more
        if name == "Bcast":
            first[...] = change(first)
        elif name != "Recv" and isinstance(first, np.ndarray):
            first = change(first)
        elif first is mpi.IN_PLACE:
            rest[0][...] = change(rest[0])
        return getattr(self._comm, name)(first, *rest, **named)


class Padding(Proxy):
    """Sends zeros behind everything, and takes them off again; sums that are not waited for are left as they are."""

    def _call(self, name: str, first: Any, *rest: Any, **named: Any) -> Any:
        call = getattr(self._comm, name)
        if name == "Iallreduce" or self._comm.size == 1:
            return call(first, *rest, **named)
        print(MARK)
        into = {"Recv": first, "Bcast": first, "Sendrecv": named.get("recvbuf")}.get(name, rest[0] if rest else None)
        source = into if first is mpi.IN_PLACE else first
        padded = np.concatenate([np.ravel(source), np.zeros(PADDING, source.dtype)])
        if into is None:
            return call(padded, *rest, **named)
        copies = self._comm.size if name == "Allgather" else 1
        arrived = np.empty((copies, into.size // copies + PADDING), into.dtype)
        if name in ("Recv", "Bcast"):
            arrived = padded
            call(padded, *rest, **named)
        elif name == "Sendrecv":
            call(padded, *rest, **{**named, "recvbuf": arrived})
        else:
            call(padded, arrived, *rest[1:], **named)
        into[...] = arrived.reshape(copies, -1)[:, :-PADDING].reshape(into.shape)
        return None


ON_RANKS = {
    "asks everybody for everything": asks_everybody,
    "makes one collective more": reduces_once_more,
    "sends one message more": sends_once_more,
    "sends more than is asked for": sends_too_much,
    "sends float32": sends_float32,
    "sends integers as bytes": sends_small_integers,
    "sends integers as float32": sends_integers_as_float32,
}

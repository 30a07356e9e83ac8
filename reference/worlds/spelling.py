"""How calls, places, ranks and exceptions are spelled in reports.

A report is made while something is wrong, and it must not go wrong itself: the program's own objects (its exceptions,
its operations, the arguments of its calls) are asked for their text here alone, and whatever they answer becomes text.
"""

from __future__ import annotations

import linecache
import traceback
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from .. import mpi

LONGEST = 4000  # characters of one text of the program's own in a report


def plainly(text: str = "") -> str:
    """The arguments, spelled already."""
    return text


def amount(buffer: Any) -> str:
    """ "3 x f8": how many elements of which type."""
    return f"{buffer.count} x {buffer.dtype}"


def arguments(source: int, tag: int, buffer: Any = None) -> str:
    """The arguments of a receive or a probe."""
    source = "ANY_SOURCE" if source == mpi.ANY_SOURCE else source
    tag = "ANY_TAG" if tag == mpi.ANY_TAG else tag
    return f"source={source}, tag={tag}" + (f", {amount(buffer)}" if buffer is not None else "")


def sending(dest: int, tag: int, buffer: Any) -> str:
    """The arguments of a send."""
    return f"dest={dest}, tag={tag}, {amount(buffer)}"


def exchanging(dest: int, sendtag: int, source: int, recvtag: int, buffer: Any) -> str:
    """The arguments of a Sendrecv."""
    return f"dest={dest}, sendtag={sendtag}, {arguments(source, recvtag, buffer)}"


def spelled(named: dict[str, Any]) -> str:
    """The arguments of a collective call."""
    return ", ".join(f"{key}={shown(value)}" for key, value in named.items())


def shown(value: Any) -> str:
    """A value as text. Only numbers, words and lists of them are asked for it; of anything else its class is named."""
    plain = type(value) in (int, float, bool, str, type(None)) or isinstance(value, np.generic)
    if type(value) in (list, tuple):
        return f"[{', '.join(map(shown, value[:100]))}{', ...' if len(value) > 100 else ''}]"
    return shortened(f"{value}") if plain else f"<{_class(value)}>"


def posted(completion: Any) -> str:
    """The call behind a request."""
    return str(getattr(completion, "call", "a collective"))


def location(where: tuple[str, int] | None) -> str:
    """ "file:line: source" of a call, short enough for one line of a report."""
    if where is None:
        return ""
    filename, line = where
    source = linecache.getline(filename, line).strip()
    short = "cell" if "ipykernel" in filename or filename.startswith("<") else Path(filename).name
    return f"{short}:{line}" + (f": {source}" if source else "")


def ranks_text(numbers: Iterable[int]) -> str:
    """ "rank 2", "ranks 0, 1 and 3", "ranks 0, 1, 2, ... (64 of them)"."""
    numbers = sorted(numbers)
    if len(numbers) == 1:
        return f"rank {numbers[0]}"
    if len(numbers) > 8:
        return f"ranks {', '.join(map(str, numbers[:3]))}, ... ({len(numbers)} of them)"
    return f"ranks {', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"


def error_text(error: BaseException) -> str:
    """ "ValueError: its text": an exception as at the end of a traceback, whatever its class does when it is asked."""
    try:
        str(error)  # a traceback would only say that this failed
        return shortened("".join(traceback.format_exception_only(error)).rstrip())
    except BaseException as second:
        return f"{_class(error)} (its text cannot be shown: __str__ raised {_briefly(second)})"


def shortened(text: str) -> str:
    """The text, or its beginning and its length if it is enormous."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} ... ({len(text):,} characters in all)"


def _class(value: Any) -> str:
    """The name of its class, as it was defined: a metaclass is not asked."""
    return type.__dict__["__qualname__"].__get__(type(value))


def _briefly(error: BaseException) -> str:
    """An exception's class and text, if it has one, or its class alone."""
    try:
        return shortened(f"{_class(error)}: {error}".removesuffix(": "))
    except BaseException:
        return _class(error)

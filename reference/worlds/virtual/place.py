"""What a rank has called, and from where: what reports name. Calls are many, so nothing is spelled out before."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import CodeType
from typing import Any

from .. import spelling
from .context import Context

_PACKAGE = Path(__file__).parents[2]
_MACHINERY = tuple(str(_PACKAGE / part) for part in ("worlds", "collectives", "mpi"))


class _Files(dict):
    """Whether a call from a file is not the program's own line. Each call asks for some: a dict answers quickest."""

    def __missing__(self, filename: str) -> bool:
        found = self[filename] = filename.startswith(_MACHINERY)
        return found


_is_machinery = _Files()


Place = tuple[CodeType, int]  # a function's code, and an instruction in it


def place(frame: Any) -> Place:
    """The program's own instruction in the call in which this frame is."""
    while _is_machinery[(code := frame.f_code).co_filename]:
        frame = frame.f_back
    return code, frame.f_lasti


class Call:
    """A call with describe(*values) as its arguments, on a communicator, from some place in the program."""

    __slots__ = ("name", "describe", "values", "context", "place")

    def __init__(self, name: str, describe: Callable[..., str], values: tuple, context: Context, place: Place):
        self.name, self.describe, self.values, self.context, self.place = name, describe, values, context, place

    def __str__(self) -> str:
        return f"{self.name}({self.describe(*self.values)})"

    @property
    def where(self) -> str:
        """ "file:line: source", short enough for one line of a report."""
        code, instruction = self.place
        lines = (line for start, end, line in code.co_lines() if start <= instruction < end and line is not None)
        return spelling.location((code.co_filename, next(lines, code.co_firstlineno)))

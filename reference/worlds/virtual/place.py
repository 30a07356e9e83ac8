"""From where the program has made a call: what reports name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

_PACKAGE = Path(__file__).parents[2]
_MACHINERY = tuple(str(_PACKAGE / part) for part in ("worlds", "collectives", "mpi"))


class _Files(dict):
    """Whether a call from a file is not the program's own line. Each call asks for some: a dict answers quickest."""

    def __missing__(self, filename: str) -> bool:
        found = self[filename] = filename.startswith(_MACHINERY)
        return found


_is_machinery = _Files()


def place(frame: Any) -> tuple[str, int]:
    """File and line of the program in the call in which this frame is."""
    while _is_machinery[frame.f_code.co_filename]:
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno

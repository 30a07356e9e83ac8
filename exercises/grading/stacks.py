"""Where the student's own lines are: in tracebacks, in running threads, and in what faulthandler wrote."""

from __future__ import annotations

import linecache
import re
import sys
import traceback
from types import TracebackType

Line = tuple[int, str, str]  # line number, name of the function, source text
# A frame may be at an instruction that belongs to no line; such a frame is passed over.

_DUMP = re.compile(r'^  File "(?P<file>.*)", line (?P<line>\d+),? in (?P<function>.*)$', re.MULTILINE)


def of_traceback(trace: TracebackType | None, path: str) -> list[Line]:
    """The lines of `path` that an exception passed through, the innermost last."""
    frames = traceback.extract_tb(trace)
    known = [frame for frame in frames if frame.filename == path and (frame.lineno or 0) > 0]  # None, or -1 in 3.11.2
    return [(frame.lineno, frame.name, frame.line or "") for frame in known]


def of_threads(path: str) -> dict[int, Line]:
    """For every rank that is inside `path`: the innermost line of it."""
    lines = {}
    for frame in sys._current_frames().values():
        inner = None
        while frame is not None:
            code = frame.f_code
            if inner is None and code.co_filename == path and frame.f_lineno is not None:
                inner = frame.f_lineno, code.co_name, linecache.getline(path, frame.f_lineno).strip()
            if inner is not None and code.co_name == "on_one_rank":  # play.py: whose frame knows the rank
                lines[frame.f_locals["rank"]] = inner
            frame = frame.f_back
    return lines


def of_dump(text: str, path: str) -> list[Line]:
    """The lines of `path` in faulthandler's report: the innermost of every thread, that of the crash first."""
    threads = re.split(r"^(?=Current thread|Thread)", text, flags=re.MULTILINE)
    dumped = path.encode("ascii", "backslashreplace").decode()  # as faulthandler writes other letters than those
    return [lines[0] for lines in (of_text(thread, path, dumped) for thread in threads) if lines]


def of_text(text: str, path: str, spelled: str = "") -> list[Line]:
    """The lines of `path` that a printed stack names, in its order; `spelled`: how it writes the path, if otherwise."""
    found = [match for match in _DUMP.finditer(text) if match["file"] == (spelled or path)]
    return [(n := int(match["line"]), match["function"], linecache.getline(path, n).strip()) for match in found]

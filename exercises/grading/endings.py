"""Explain what kept an exercise from giving an answer: every ending in its own words, with the student's lines."""

from __future__ import annotations

import errno
import re
import signal
import traceback
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from . import stacks
from .exercise import Finding
from .raised import LENGTHS, NO_MEMORY, RAISED, RAISED_OTHERWISE
from .sandbox import MUTE, Ending
from .student import MISSING, Source

CROSSED = (
    "No send has a receive that fits. Take one rank: to whom does it send, and from whom does that one receive then?"
)
UNFINISHED = {
    "Truncation": LENGTHS,
    "TypeMismatch": "Both sides of a message must hold the same type of element: compare the dtype of the two arrays.",
    "UnreceivedMessages": "Every send needs its receive: the same number of steps on both sides, and the same tag.",
    "RequestsLeft": "Isend and Irecv only begin. Before the array is used again, and before the function returns, "
    "wait: mpi.waitall(requests). On a real network large messages are still on their way when Isend returns.",
    "BufferChanged": "Isend and Irecv only begin. Until the request has been waited for, its array belongs to MPI: "
    "wait first, then add.",
    "CollectiveMismatch": "A collective call must be made by all ranks alike.",
    "TimedOut": "Something waits or computes without end.",
    "RankDied": "Does the code call os._exit, or crash in a library?",
}
FEW = 3  # ranks
LONG = 2000  # characters of a text that a student's code may have made

ALONE = (  # for a function that runs on no ranks, when its computing took too long
    "Either a loop never ends, or there are too many possibilities to try for an input of this size. Which condition "
    "ends the loop? How does the number of its rounds grow with the size?"
)

GRADER_FAILED = "the grader itself failed"
NO_MPI = "it could not be graded on real ranks"

INSTEAD = "What counts is what your function returns for each input. Write the function instead: it is shorter."
TAMPERED = Finding(
    "what came back is not an answer: your code wrote where answers are sent, or parts of the grader itself were "
    "changed while it ran.",
    INSTEAD,
)
TOO_EARLY = Finding("the run says that it is done, and this input has no answer yet.", INSTEAD)
UNWATCHED = Finding("the process that watches the run was ended while your code ran.", INSTEAD)


def before_running(source: Source, name: str) -> Finding | None:
    """What is wrong with a file that need not even be run."""
    if source.trouble:
        line, text, message = source.trouble
        return Finding(
            f"Python cannot read {source.path.name}, line {line}: {message}" + (f"\n    {text}" if text else ""),
            "Nothing in the file can be graded until Python can read it. Look at the end of the line before, too: a "
            "bracket that is not closed, a missing colon, an indent.",
        )
    if source.state(name) == MISSING:
        return Finding(
            f"{source.path.name} has no function {name}.", f"Write it as `def {name}(...)` at the left margin."
        )
    borrowed = source.borrowed()
    if borrowed:
        return Finding(
            f"line {borrowed[0]} takes {borrowed[1]}.",
            "That is the book's own answer. Of the course's code, an exercise needs reference.mpi only.",
        )
    return None


def describe(error: BaseException, path: str) -> dict[str, Any]:
    """An exception as plain data; of a launch, the roll call, or the exception of the first rank that raised."""
    from reference.worlds.errors import LaunchError, RankFailed  # here: a welcome should not wait for it

    ranks = sorted(error.errors) if isinstance(error, RankFailed) else []
    cause = error.errors[ranks[0]] if ranks else error
    too_much = isinstance(cause, OSError) and cause.errno == errno.EFBIG
    details = error.details if isinstance(error, LaunchError) else ""
    statuses = cause.roll_call if isinstance(cause, LaunchError) else ()
    lines = stacks.of_traceback(cause.__traceback__, path) or stacks.of_text(details, path)
    return {
        "types": ["TooMuchOutput"] if too_much else [str(kind.__name__)[:LONG] for kind in type(cause).__mro__],
        "text": "more was printed than anybody reads" if too_much else _text(cause),
        "details": details[-LONG:],
        "lines": lines[-FEW:],
        "ranks": ranks,
        "roll_call": [(s.rank, s.state, s.call[:LONG], s.where) for s in statuses],
    }


def _text(error: BaseException) -> str:
    """What an exception says, in one sentence if it is a launch's. A student's exception may fail to say it."""
    try:
        return str(getattr(error, "cause", error))[:LONG]
    except Exception as another:
        return f"(its text cannot be had: __str__ raised {type(another).__name__})"


def grader_failed(error: Exception) -> Finding:
    """What a student is told when a check of ours raises an exception; the tests of the graders do not let it pass."""
    *_, last = traceback.extract_tb(error.__traceback__)
    return Finding(
        f"{GRADER_FAILED}: {type(error).__name__}: {error} ({Path(last.filename).name}, line {last.lineno}).",
        "That is a mistake of the course, whether your answer is right or not. Please report it: this message, your "
        "function, and the seed below.",
    )


def explain(ending: Ending, file: str, hints: Mapping[str, str], distributed: bool = True) -> Finding | None:
    """Say how the run of `file` ended; None if it came to its end.

    hints: those of the exercise, which come first; distributed: whether the function ran on ranks.
    """
    if ending.kind in LIMITS:
        return _limit(ending, file, hints, distributed)
    if ending.kind == "raised":
        found = _raised(ending, file)
        own = (hint for sign, hint in hints.items() if sign not in LIMITS and _is(sign, ending.value))
        return found._replace(hint=next(own, found.hint))
    known = {"done": None, "forged": TAMPERED, "unwatched": UNWATCHED}
    if ending.kind in known:
        return known[ending.kind]
    return {"no mpi": _no_mpi, "signal": _signal, "exit": _exit}[ending.kind](ending, file)


def _raised(ending: Ending, file: str) -> Finding:
    told = ending.value
    if "LaunchError" in told["types"]:
        return _launch(told)
    who = f"{_ranks(told['ranks'])} raised " if told["ranks"] else ""
    seen = f"{who}{told['types'][0].lstrip('_')}: {told['text']}".rstrip(": ")
    hints = (hint for sign, hint in RAISED.items() if _is(sign, told))
    return Finding("\n".join([seen, *_places(told["lines"], file)]), next(hints, RAISED_OTHERWISE))


def _is(sign: str, told: dict) -> bool:
    """Whether an exception, as described, has this name or says this; "send(": whether a rank waits in that call."""
    if sign.endswith("("):
        return any(call.startswith(sign) for _, state, call, _ in told["roll_call"] if state == "waiting")
    return sign in told["types"] or sign in told["text"]


def _launch(told: dict) -> Finding:
    """A deadlock or another end of a launch. The engine's sentence on the likely cause is the hint for a deadlock."""
    kind, lines = told["types"][0], _roll_call(told["roll_call"])
    if kind == "Deadlock":
        hint = CROSSED if "partners do not fit" in told["text"] else _sentence(told["text"].partition(": ")[2])
        return Finding("\n".join(["deadlock: no rank can go on.", *lines]), hint)
    if kind in ("UnreceivedMessages", "RequestsLeft"):  # the first one is enough
        told, lines = {"text": told["text"].partition("; ")[0]}, []
    return Finding("\n".join([_sentence(told["text"]), *lines]), UNFINISHED.get(kind, RAISED_OTHERWISE))


LIMITS = {  # which limit: with its amount, without, and the hint
    "cpu": (
        "after {0:.3g} s of computing it was still not done.",
        "it went on computing without end.",
        "An endless loop? Which condition ends it, and does every rank come to the point where it holds?",
    ),
    "wall": (
        "after {0:.3g} s it was still not done, and it was not computing.",
        "it never came to an end.",
        "It waits: for a clock, a file, a lock? A whole grade should take a second or two.",
    ),
    "memory": (
        "it used more than {0} bytes of memory.",
        "it used too much memory.",
        NO_MEMORY,
    ),
}


def _limit(ending: Ending, file: str, hints: Mapping[str, str], distributed: bool) -> Finding:
    amount, lines = ending.value or (0, {})
    known, unknown, hint = LIMITS[ending.kind]
    if not distributed:
        hint = ALONE if ending.kind == "cpu" else hint
        places = _places(lines.values() or ending.lines, file)
    else:
        places = _by_rank(lines, file) or _places(ending.lines, file)
    seen = "\n".join([known.format(amount) if amount else unknown, *places])
    return Finding(seen, hints.get(ending.kind, hint))


def _signal(ending: Ending, file: str) -> Finding:
    if ending.value == signal.SIGKILL:
        return Finding("the system killed the program.", "Most likely the machine ran out of memory.")
    name = signal.strsignal(ending.value) or f"signal {ending.value}"
    return Finding(
        "\n".join([f"the program crashed: {name.lower()}.", *_places(ending.lines[:1], file)]),
        "Python itself does not crash. Somebody wrote to memory that is not theirs: through ctypes, or through a "
        "buffer shorter than what was promised.",
    )


def _exit(ending: Ending, file: str) -> Finding:
    if ending.value == MUTE:
        return TAMPERED
    return Finding(
        f"the program ended itself with exit status {ending.value}, in the middle of the run.",
        "os._exit() ends the process at once, for all ranks. A rank that is through returns its result.",
    )


def _no_mpi(ending: Ending, file: str) -> Finding:
    """Real ranks that did not start, or did not say hello: not the student's doing."""
    said = [line for line in ending.value["details"].splitlines() if line.strip()][-FEW:]
    seen = "\n".join(
        [f"{NO_MPI}: {ending.value['text'].removeprefix('no real ranks: ')}", *(f"  {line.strip()}" for line in said)]
    )
    return Finding(
        seen,
        "Your code is not at fault: it has passed on the virtual cluster; without --mpi it is graded there only. To "
        "see what MPI says, try `mpirun -n 2 python -m reference.ring_allreduce`. If there is none: pip install mpich.",
    )


def _roll_call(statuses: list) -> list[str]:
    """One line for all ranks that do the same; a few ranks are told one by one, with their partners."""
    same = defaultdict(list)
    for rank, state, call, where in statuses:
        name, _, arguments = call.partition("(")
        if len(statuses) <= FEW and state == "waiting":
            name += f"({', '.join(re.findall(r'(?:dest|source|root)=[^,)]*', arguments))})"
        doing = state if not name else f"{state} {name}" if name.startswith("after") else f"{state} in {name}"
        place = where.partition(":")[2]  # the file is known: only its line and text
        same[doing + f", line {place}" * bool(place)].append(rank)
    return [f"  {_ranks(ranks)}: {doing}" for doing, ranks in same.items()]


def _by_rank(lines: dict[int, stacks.Line], file: str) -> list[str]:
    same = defaultdict(list)
    for rank, line in sorted(lines.items()):
        same[line].append(rank)
    return [f"  {_ranks(ranks)}: {place.strip()}" for line, ranks in same.items() for place in _places([line], file)]


def _places(lines, file: str) -> list[str]:
    return [f"  {file}, line {number}: {text}" for number, _, text in lines]


def _ranks(ranks: list[int]) -> str:
    if len(ranks) > 2 and ranks == list(range(ranks[0], ranks[-1] + 1)):
        return f"ranks {ranks[0]} to {ranks[-1]}"
    return f"rank{'s' * (len(ranks) > 1)} {', '.join(map(str, ranks))}"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + "." * (not text.endswith((".", "?")))

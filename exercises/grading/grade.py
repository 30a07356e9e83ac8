"""Grade one exercise: from a file to a verdict."""

from __future__ import annotations

import copy
import functools
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from . import endings, real, student
from .contract import CONTRACT
from .exercise import Case, Exercise, Finding
from .sandbox import Ending, Limits, run

TO_DO, WRONG, SOLVED = "to do", "not right yet", "solved"
UNGRADED = "could not be graded"  # MPI or the grader failed, and nothing is known of the answer
SHORT = 0.3  # CPU seconds: ten times what most variations of an answer need
LONGEST = 4000  # characters of what was seen, which may quote what a student's code has made


class GraderFailed(Exception):
    """A check raised an exception, which is its __cause__: a mistake of the grader, never of the student."""


@dataclass(frozen=True)
class Verdict:
    """The grade of one exercise, and what there is to say about it."""

    state: str
    source: student.Source
    name: str
    finding: Finding | None = None
    case: str = ""
    passed: int = 0
    printed: str = ""
    world: str = "virtual"

    def plain(self) -> dict[str, Any]:
        """This verdict as plain data, which can be sent to another process."""
        own = {name: getattr(self, name) for name in ("state", "name", "case", "passed", "printed", "world")}
        return own | {"path": str(self.source.path), "finding": self.finding and list(self.finding)}

    @classmethod
    def of(cls, plain: dict[str, Any]) -> Verdict:
        """The verdict that was made plain(); its file is read again."""
        found = plain["finding"] and Finding(*plain["finding"])
        own = {name: value for name, value in plain.items() if name not in ("path", "finding")}
        return cls(**own, source=student.read(Path(plain["path"])), finding=found)

    @property
    def line(self) -> int:
        """Where to look in the student's file."""
        return self.source.trouble[0] if self.source.trouble else self.source.line(self.name)

    @property
    def grader_failed(self) -> bool:
        """Whether there is a mistake in the grader; no test of a grader may let that pass."""
        return self.finding is not None and self.finding.seen.startswith(endings.GRADER_FAILED)


def grade(
    exercise: Exercise, name: str, path: Path, seed: int, world: str = "virtual", limits: Limits | None = None
) -> Verdict:
    """Grade function `name` of the file at `path` on inputs drawn with `seed`."""
    source = student.read(path)
    trouble = endings.before_running(source, name)
    if trouble is not None:
        return Verdict(WRONG, source, name, trouble)
    if source.state(name) == student.TO_DO:
        return Verdict(TO_DO, source, name)
    limits = (limits or Limits()).here()
    cases = draw(exercise, name, seed)
    with closing(_answers(exercise, name, source, cases, world, limits)) as answers:
        for passed, (case, (got, printed)) in enumerate(zip([*cases, None], answers, strict=True)):
            if case is None and got == Ending("done"):
                return Verdict(SOLVED, source, name, passed=passed, world=world)
            state, finding = _verdict(exercise, case, got, path, world)
            if state != SOLVED:
                label = case.label if case else ""
                return Verdict(state, source, name, finding, label, passed, readable(printed), world)
    raise AssertionError("a run ends with an Ending")


def readable(text: str) -> str:
    """Text that a student's code has made, without what a terminal would obey, and not without end."""
    return "".join(c if c.isprintable() or c in "\n\t" else ascii(c)[1:-1] for c in text)


def _verdict(exercise: Exercise, case: Case | None, got: Any, path: Path, world: str) -> tuple[str, Finding | None]:
    """The state that follows from what came back for one case (None: after the last), and what is wrong."""
    try:
        finding = _judge(exercise, case, got, path, world)
    except GraderFailed as failed:
        return UNGRADED, endings.grader_failed(failed.__cause__)
    if finding is None:
        return SOLVED, None
    finding = Finding(readable(finding.seen[:LONGEST]), finding.hint)
    return UNGRADED if isinstance(got, Ending) and got.kind == "no mpi" else WRONG, finding


class Tried(NamedTuple):
    """What is found wrong with a variation, None for nothing, and what it has printed."""

    finding: Finding | None
    printed: str


def tried(
    exercise: Exercise, name: str, paths: Sequence[Path], seed: int, limits: Limits, hints: bool = True
) -> dict[Path, Tried]:
    """What comes of function `name` of each file: for variations of an answer that is trusted.

    One child tries and judges them all, because starting one takes longer than most of them. One that breaks it, or
    computes for SHORT, is graded alone, and a new child goes on behind it. hints: else that one computes for ever is
    enough to know, and it is not graded for its hint. Raises GraderFailed if a check raises.
    """
    short = replace(limits, cpu=min(limits.cpu, SHORT)).here()
    cases, found, left = draw(exercise, name, seed), {}, list(paths)

    def work(send: Callable) -> None:
        for path in left:
            send(_first_wrong(exercise, name, path, cases, limits))

    while left:
        *went, (ending, printed) = run(work, "", short, functools.partial(endings.describe, path=""), len(left))
        found |= dict(zip(left, [Tried(_finding(got), said) for got, said in went]))
        del left[: len(went)]
        if left:  # the first of them broke the child
            path, endless = left.pop(0), ending.kind == "cpu" and not hints
            said = endings.explain(ending, path.name, {}, exercise.distributed) if endless else None
            found[path] = Tried(said, printed) if endless else _alone(exercise, name, path, seed, limits)
    return found


def _alone(exercise: Exercise, name: str, path: Path, seed: int, limits: Limits) -> Tried:
    """What comes of one that broke the child of many; it may have run out of its limits on a busy machine."""
    verdict = grade(exercise, name, path, seed, limits=limits)
    if verdict.grader_failed:
        raise GraderFailed(verdict.finding.seen)
    return Tried(verdict.finding, verdict.printed)


def _finding(sent: list[str] | None) -> Finding | None:
    return None if sent is None else Finding(*sent)


def _first_wrong(exercise: Exercise, name: str, path: Path, cases: Sequence[Case], limits: Limits) -> list[str] | None:
    """What is found wrong with one of the files that are tried, in their child. Raises GraderFailed."""
    trouble = endings.before_running(student.read(path), name)
    if trouble is not None:
        return list(trouble)
    for case in cases:
        try:
            got = _play(exercise, name, str(path), copy.deepcopy(case), "virtual", limits)  # others get the case, too
        except Exception as error:
            got = Ending("raised", endings.describe(error, str(path)))
        finding = _judge(exercise, case, got, path)
        if finding is not None:
            return list(finding)
    return None


def draw(exercise: Exercise, name: str, seed: int) -> list[Case]:
    """The cases of an exercise for a seed; every exercise has its own stream of random numbers."""
    import numpy as np  # here: a welcome should not wait for it

    cases = list(exercise.cases(np.random.default_rng([seed, zlib.crc32(name.encode())])))
    if not cases:
        raise ValueError(f"{name} has no inputs to be tried on")
    return cases


def _answers(exercise, name: str, source: student.Source, cases, world: str, limits: Limits) -> Iterator[Any]:
    """What `play` says of each case, as long as it goes well, and an Ending; each with what was printed."""
    from . import play

    path = str(source.path)
    play.warm_up(*[package for package in ["torch"] if source.imports(package)])

    def one(case: Case) -> dict:
        return _play(exercise, name, path, case, world, limits)

    def describe(error: BaseException) -> dict:
        return endings.describe(error, path)

    if world == "virtual":
        played = run(lambda send: [send(one(case)) for case in cases], path, limits, describe, len(cases))
    else:
        played = real.play(path, name, cases, limits)
    with closing(played):
        yield from played


def _play(exercise: Exercise, name: str, path: str, case: Case, world: str, limits: Limits) -> dict[str, Any]:
    from . import play

    if not exercise.distributed:
        return play.play_alone(path, name, case)
    network = exercise.network and exercise.network(case)
    return play.play(path, name, case, world, limits.wall, network)


def _judge(exercise: Exercise, case: Case | None, got: Any, path: Path, world: str = "virtual") -> Finding | None:
    """The first thing that is wrong with what came back for one case. Raises GraderFailed."""
    from .play import answer

    if isinstance(got, Ending):
        return _explained(exercise, case, got, path)
    if case is None:
        return endings.TAMPERED
    try:
        got = answer(got, case, exercise.distributed, world)
    except Exception:  # whatever a changed grader may send
        return endings.TAMPERED
    try:
        findings = (check(case, got) for check in (*exercise.checks, *(() if exercise.in_place else CONTRACT)))
        return next((finding for finding in findings if finding is not None), None)
    except Exception as error:
        raise GraderFailed from error


def _explained(exercise: Exercise, case: Case | None, ending: Ending, path: Path) -> Finding:
    """What a run that ended at this case has to say. Raises GraderFailed."""
    try:
        hints = _own_hints(exercise, case)
        return endings.explain(ending, path.name, hints, exercise.distributed) or endings.TOO_EARLY
    except Exception as error:
        raise GraderFailed from error


def _own_hints(exercise: Exercise, case: Case | None) -> dict[str, str]:
    """What this exercise says of runs that end without an answer, for the case at which one ended."""
    own = {sign: hint(case) if callable(hint) else hint for sign, hint in exercise.endings.items() if case}
    return {sign: hint for sign, hint in own.items() if hint}

"""Grade one exercise: from a file to a verdict."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import endings, student
from .exercise import Case, Exercise, Finding
from .sandbox import Ending, Limits, run

TO_DO, WRONG, SOLVED = "to do", "not right yet", "solved"


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
    cases = draw(exercise, name, seed)
    with closing(_answers(exercise, name, source, cases, world, limits or Limits())) as answers:
        for passed, (case, (got, printed)) in enumerate(zip([*cases, None], answers)):
            try:
                finding = _judge(exercise, case, got, path)
            except GraderFailed as failed:
                finding = endings.grader_failed(failed.__cause__)
            if finding is not None:
                label = case.label if case else ""
                return Verdict(WRONG, source, name, finding, label, passed, printed, world)
    return Verdict(SOLVED, source, name, passed=len(cases), world=world)


def accepted(exercise: Exercise, name: str, paths: list[Path], seed: int, limits: Limits) -> list[Path]:
    """The files among `paths` whose function `name` passes: for many small variations of an answer that is trusted.

    They are tried and judged in two children side by side, because starting one takes longer than most of them. One
    that breaks its child is graded alone, and a new child goes on behind it. Raises GraderFailed if a check raises.
    """
    cases, passed, left = draw(exercise, name, seed), [], [paths[::2], paths[1::2]]

    def fine(path: Path) -> bool:
        try:
            played = (_play(exercise, name, str(path), case, "virtual", limits) for case in cases)
            return all(_judge(exercise, case, got, path) is None for case, got in zip(cases, played))
        except GraderFailed:
            raise
        except Exception:
            return False

    def child(part: list[Path]) -> Iterator[tuple[Any, str]]:
        return run(lambda send: [send(fine(path)) for path in part], "", limits, repr)

    while left := [part for part in left if part]:
        children = [child(part) for part in left]
        first = [next(each) for each in children]  # now all of them are at work
        for part, one, rest in zip(left, first, children):
            known = [verdict for verdict, _ in [one, *rest] if not isinstance(verdict, Ending)]
            passed += [path for path, good in zip(part, known) if good]
            del part[: len(known)]
            if part:
                path = part.pop(0)
                alone = grade(exercise, name, path, seed, limits=limits)
                if alone.grader_failed:
                    raise GraderFailed(alone.finding.seen)
                if alone.state == SOLVED:
                    passed.append(path)  # it had run out of its limits on a busy machine
    return passed


def draw(exercise: Exercise, name: str, seed: int) -> list[Case]:
    """The cases of an exercise for a seed; every exercise has its own stream of random numbers."""
    import numpy as np  # here: a welcome should not wait for it

    return list(exercise.cases(np.random.default_rng([seed, zlib.crc32(name.encode())])))


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
        played = run(lambda send: [send(one(case)) for case in cases], path, limits, describe)
    else:
        played = _on_real_ranks(one, cases, describe)
    with closing(played):
        yield from played


def _play(exercise: Exercise, name: str, path: str, case: Case, world: str, limits: Limits) -> dict[str, Any]:
    from . import play

    if not exercise.distributed:
        return play.play_alone(path, name, case)
    network = exercise.network and exercise.network(case)
    return play.play(path, name, case, world, limits.wall, network)


def _on_real_ranks(one, cases, describe) -> Iterator[Any]:
    """The same from this process: real ranks are processes of their own already."""
    try:
        for case in cases:
            yield one(case), ""
    except Exception as error:
        yield Ending("raised", describe(error)), ""
    else:
        yield Ending("done"), ""


def _judge(exercise: Exercise, case: Case | None, got: Any, path: Path) -> Finding | None:
    """The first thing that is wrong with what came back for one case."""
    from .play import answer

    if isinstance(got, Ending):
        return endings.explain(got, path.name, _own_hints(exercise, case), exercise.distributed)
    try:
        got = answer(got, case)
    except Exception:  # whatever a changed grader may send
        return endings.TAMPERED
    findings = (check(case, got) for check in exercise.checks)
    try:
        return next((finding for finding in findings if finding is not None), None)
    except Exception as error:
        raise GraderFailed from error


def _own_hints(exercise: Exercise, case: Case | None) -> dict[str, str]:
    """What this exercise says of runs that end without an answer, for the case at which one ended."""
    try:
        own = {sign: hint(case) if callable(hint) else hint for sign, hint in exercise.endings.items() if case}
    except Exception as error:
        raise GraderFailed from error
    return {sign: hint for sign, hint in own.items() if hint}

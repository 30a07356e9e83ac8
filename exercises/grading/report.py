"""What the student sees: a line a chapter, then one hint, or what comes next."""

from __future__ import annotations

import difflib
import os
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from . import sections, student
from .grade import SOLVED, TO_DO, UNGRADED, WRONG, Verdict

WIDTH = 100
MARKS = {
    SOLVED: ("✓", "+", "green"),
    WRONG: ("✗", "x", "red"),
    TO_DO: ("·", ".", "light"),
    UNGRADED: ("?", "?", "yellow"),
}
PRINTED_LINES = 12


class Chapter(NamedTuple):
    """A chapter of exercises, named by its student's file: ch01_collectives.py."""

    path: Path

    @property
    def title(self) -> str:
        """ "1  collectives" """
        number, _, topic = self.path.stem.removeprefix("ch").partition("_")
        return f"{int(number) if number.isdigit() else number:>2}  {topic.replace('_', ' ')}"

    def why(self, name: str) -> str:
        """Why the solution of an exercise is as it is: the docstring of the function in solutions/."""
        return student.read(self.path.parent / "solutions" / self.path.name).docstring(name)


class Steps(NamedTuple):
    """The steps of an exercise's ladder of hints that are to be shown, and how many it has."""

    shown: Sequence[str]
    all: int


class Report:
    """Writes to pytest's terminal. `start`: the folder the student is in, to which paths are relative."""

    def __init__(self, terminal, start: Path, folder: Path, verbose: bool = False):
        self.terminal, self.start, self.folder, self.verbose = terminal, start, folder, verbose
        self.verdicts: list[tuple[Chapter, Verdict]] = []
        self.chapter: Chapter | None = None

    def open(self, chapter: Chapter) -> None:
        """Begin a chapter's line."""
        self.chapter = chapter
        self.terminal.ensure_newline()
        self.terminal.write(f"  chapter {chapter.title:<32}", flush=True)

    def add(self, verdict: Verdict) -> None:
        """One more exercise of this chapter is graded."""
        self.verdicts.append((self.chapter, verdict))
        mark, plain, colour = MARKS[verdict.state]
        if self.verbose:
            self.terminal.write(f"\n      {verdict.state:<14} ", **{colour: True})
            self.terminal.write(verdict.name, flush=True)
        else:
            self.terminal.write(mark if self._can_write(mark) else plain, flush=True, **{colour: True})

    def close(self) -> None:
        """End the chapter's line with its score."""
        mine = [verdict for chapter, verdict in self.verdicts if chapter == self.chapter]
        self.terminal.write_line(("\n      " if self.verbose else "  ") + _score(mine))

    def nothing(self, asked: str, names: Sequence[str]) -> None:
        """No exercise was chosen: -k fits none of these names."""
        near = difflib.get_close_matches(asked, names, n=3, cutoff=0.5) or names
        self._paragraph(f"No exercise's name contains {asked!r}. Is one of these meant? {', '.join(near)}")

    def finish(self, hints: dict[str, Steps], new: Sequence[str], seed: int, others: bool = False) -> None:
        """After all chapters: what to do now, and why what was just solved works.

        hints: of the exercise that they are for, if asked for; new: names of the exercises to explain; others: whether
        there are exercises that this run did not grade.
        """
        verdicts = [verdict for _, verdict in self.verdicts]
        wrong = [verdict for state in (WRONG, UNGRADED) for verdict in verdicts if verdict.state == state]
        if others:
            self._not_begun([verdict for verdict in verdicts if verdict.state == TO_DO])
        elif not wrong and not any(verdict.source.begun() for verdict in verdicts):
            self._welcome(verdicts[0])
        for chapter, verdict in self.verdicts:
            if verdict.state == SOLVED and verdict.name in new:
                self._why(chapter, verdict)
        if wrong:
            self._wrong(wrong[0], hints, seed)
            self._also_wrong(wrong[1:])
            return
        for verdict in verdicts:
            self._ladder(verdict, hints)
        if any(verdict.state == SOLVED for verdict in verdicts):
            self._next([verdict for verdict in verdicts if verdict.state == TO_DO], others)

    def _welcome(self, first: Verdict) -> None:
        chapter = first.source.path.stem.removeprefix("ch")
        self._paragraph(
            "Welcome! Here you learn distributed training by writing it. An exercise is a function without a body. You "
            "write the body; the command you have just typed runs it on a virtual cluster, on several numbers of "
            "ranks, and tells you what it saw. Wrong answers cost nothing: each earns a hint."
        )
        steps = [
            ("read", self._here(self.folder.parent / "chapters" / f"{chapter}.ipynb")),
            ("open", f"{self._place(first)}: {first.name}"),
            ("write", "your answer in place of `raise NotImplementedError`"),
            ("run", f"pytest {self._here(self.folder)}/"),
        ]
        for number, (what, where) in enumerate(steps, 1):
            self.terminal.write(f"  {number}  {what:<6}", bold=True)
            self.terminal.write_line(where)
        self.terminal.write_line("")
        self._paragraph(
            "Also: --hints shows a hint, and one more with every call, -k NAME grades one exercise, --mpi tries it on "
            "real MPI ranks. The exit status is 0 when everything is solved, and 1 until then."
        )

    def _wrong(self, verdict: Verdict, hints: dict, seed: int) -> None:
        at_fault = verdict.state == WRONG
        is_so = "is not right yet" if at_fault else UNGRADED
        self._heading(f"{verdict.name} {is_so}", self._place(verdict), **{"red" if at_fault else "yellow": True})
        if verdict.case:
            where = "real MPI ranks: " if verdict.world == "mpi" else ""
            others = "1 other input was" if verdict.passed == 1 else f"{verdict.passed} other inputs were"
            before = f" ({others} fine)" * bool(verdict.passed)
            self.terminal.write_line(f"On {where}{verdict.case}{before}:")
        self.terminal.write_line(textwrap.indent(verdict.finding.seen, "  ") + "\n")
        self._paragraph(f"{'Hint: ' * at_fault}{verdict.finding.hint}")
        self._printed(verdict.printed.rstrip().splitlines())
        command = f"pytest {self._here(self.folder)}/ -k {verdict.name}"
        if hints:
            self._ladder(verdict, hints)
        elif at_fault:
            self.terminal.write_line(f"More hints:       {command} --hints")
        if at_fault and (section := sections.of(verdict.source.docstring(verdict.name))):
            page, title = self._here(self.folder.parent / section.page), section.title(self.folder.parent)
            self.terminal.write_line(f"Read again:       {page}" + f', section "{title}"' * bool(title))
        if verdict.case:
            self.terminal.write_line(f"The same inputs:  {command} --seed {seed}")
        self.terminal.write_line("")

    def _printed(self, lines: list[str]) -> None:
        """The first lines that the student's code printed."""
        if lines:
            more = [f"... and {len(lines) - PRINTED_LINES:,} more lines"] * (len(lines) > PRINTED_LINES)
            self.terminal.write_line("Your code printed:")
            for line in [*lines[:PRINTED_LINES], *more]:
                self.terminal.write_line(f"  | {line[:WIDTH]}")
            self.terminal.write_line("")

    def _ladder(self, verdict: Verdict, hints: dict) -> None:
        shown, number = hints.get(verdict.name, Steps((), 0))
        for step, hint in enumerate(shown, 1):
            self._paragraph(f"{verdict.name}, step {step} of {number}: {hint}")
        if len(shown) < number:
            self._paragraph("(The same command again shows the next step.)")

    def _why(self, chapter: Chapter, verdict: Verdict) -> None:
        why = chapter.why(verdict.name)
        if why:
            self._heading(f"{verdict.name} is solved", "why it works", green=True)
            for paragraph in why.split("\n\n"):
                self._paragraph(paragraph)

    def _also_wrong(self, verdicts: list[Verdict]) -> None:
        for state, text in ((WRONG, "Also not right yet"), (UNGRADED, "These could not be graded, either")):
            names = [verdict.name for verdict in verdicts if verdict.state == state]
            if names:
                self._paragraph(f"{text}: {', '.join(names)}.")

    def _not_begun(self, verdicts: list[Verdict]) -> None:
        """What was chosen and is to do. Code below a `raise` may have been repaired already: nobody would know."""
        for verdict in verdicts[:1]:
            if verdict.source.given(verdict.name):
                how = "the code below that line is not run. Take it out when you begin."
            else:
                how = "it is to do. Write your answer in its place."
            self._paragraph(f"{verdict.name} ({self._place(verdict)}) begins with `raise NotImplementedError`: {how}")

    def _next(self, left: list[Verdict], others: bool) -> None:
        if left:
            below = left[0].source.given(left[0].name) * " (take out its `raise NotImplementedError` when you begin)"
            self._paragraph(f"Next: {left[0].name} in {self._place(left[0])}{below}")
        elif others:
            self._paragraph(f"What is next? pytest {self._here(self.folder)}/")
        else:
            self.terminal.write_line("All solved.\n", green=True, bold=True)

    def _heading(self, what: str, where: str, **colour: bool) -> None:
        self.terminal.write(what, bold=True, **colour)
        self.terminal.write_line(f"  ({where})\n")

    def _paragraph(self, text: str) -> None:
        """Wrapped text and an empty line; indented lines are left as they are."""
        if not text.startswith(" "):
            text = textwrap.fill(" ".join(text.split()), min(WIDTH, self.terminal._tw.fullwidth))
        self.terminal.write_line(text + "\n")

    def _place(self, verdict: Verdict) -> str:
        return f"{self._here(verdict.source.path)}, line {verdict.line}"

    def _here(self, path: Path) -> str:
        return os.path.relpath(path, self.start)

    def _can_write(self, text: str) -> bool:
        try:
            text.encode(getattr(self.terminal._tw._file, "encoding", None) or "ascii")
        except UnicodeEncodeError:
            return False
        return True


def _score(verdicts: list[Verdict]) -> str:
    return f"{sum(verdict.state == SOLVED for verdict in verdicts)} of {len(verdicts)}"

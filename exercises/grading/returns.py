"""A check of results of any kind, which knows what people return who make a known mistake."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from .exercise import Answer, Case, Finding, Known
from .numbers import DIGITS


@dataclass(frozen=True)
class Returns:
    """A check: every call of a case returns expected(*arguments).

    slips      (what somebody returns who makes this mistake, the hint); where it raises an error it makes none
    otherwise  the hint where no slip fits, or what makes it of (case, results, what is right)
    seen       the facts, of (case, results, what is right)
    form       what is wrong with the form of the results, if anything is, of (case, results)
    read       what of a result is compared, in which form
    same       whether two results are the same, in what is compared
    accepts    where several results are right: whether one is, of (result, *arguments)
    nearly     whether two results have the same first digits: if no slip fits, something was rounded
    could      whether somebody who makes a mistake could come as far as this case, of (slip, *arguments): see so_far
    """

    expected: Callable[..., Any]
    slips: Sequence[Known]
    otherwise: str | Callable[[Case, Sequence, Sequence], str]
    seen: Callable[[Case, Sequence, Sequence], str]
    form: Callable[[Case, Sequence], Finding | None] = lambda case, results: None
    read: Callable[[Any], Any] = lambda result: result
    same: Callable[[Any, Any], bool] = operator.eq
    accepts: Callable[..., bool] | None = None
    nearly: Callable[[Any, Any], bool] | None = None
    could: Callable[..., bool] = lambda slip, *arguments: True

    def __call__(self, case: Case, answer: Answer) -> Finding | None:
        finding = self.form(case, answer.results)
        if finding is not None:
            return finding
        got = [self.read(result) for result in answer.results]
        if self.accepts and all(self.accepts(each, *arguments) for each, arguments in zip(got, case.arguments)):
            return None
        want = self._all(self.expected, case)
        if self._alike(got, want):
            return None
        last = self.otherwise(case, got, want) if callable(self.otherwise) else self.otherwise
        last = DIGITS if self.nearly and all(map(self.nearly, got, want)) else last
        return Finding(self.seen(case, got, want), next(self._hints(case, got), last))

    def _hints(self, case: Case, got: Sequence) -> Sequence[str]:
        for slip, hint in self.slips:
            if self._alike(got, self._all(self._making(slip), case)) and self.could(slip, *case.arguments[0]):
                yield hint

    def _all(self, formula: Callable[..., Any], case: Case) -> list[Any]:
        return [self.read(formula(*arguments)) for arguments in case.arguments]

    def _alike(self, got: Sequence, want: Sequence) -> bool:
        return all(map(self.same, got, want))

    @property
    def known(self) -> list[Known]:
        """Each slip where it has an answer, and what is right elsewhere."""
        return [(self._making(slip), hint) for slip, hint in self.slips]

    def _making(self, slip: Callable[..., Any]) -> Callable[..., Any]:
        def answer(*arguments: Any) -> Any:
            try:
                return slip(*arguments)
            except (ArithmeticError, IndexError, ValueError):
                return self.expected(*arguments)

        return answer


def so_far(cases: Sequence[tuple], right: Callable[[Any, tuple], bool]) -> Callable[..., bool]:
    """Whether a mistake is right on all `cases` before this one: else it would have been found there.

    right   whether what a slip returns for a case's arguments is right
    returns a function of (slip, *arguments), for `could` of Returns; arguments that are not in `cases` come after all
    """

    def could(slip: Callable[..., Any], *arguments: Any) -> bool:
        before = cases[: cases.index(arguments)] if arguments in cases else cases
        return all(right(slip(*case), case) for case in before)

    return could

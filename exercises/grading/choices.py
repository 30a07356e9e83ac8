"""Checks of answers that choose: which statements are right, which name belongs to which situation.

Both say how many choices are right, and argue against one wrong choice at a time. So it is quicker to think a reason
through than to try letter after letter.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .exercise import Answer, Case, Finding, Known


@dataclass(frozen=True)
class Statements:
    """A check: the function returns the letters of the right statements, in any order and case.

    right   letters of the right statements; among: letters of all
    why     for each letter the hint for who has judged it wrongly. It speaks of the matter and names no letter.
    """

    right: str
    among: str
    why: Mapping[str, str]

    def __call__(self, case: Case, answer: Answer) -> Finding | None:
        (got,) = answer.results
        chosen = set(got.upper()) - set(" ,") if isinstance(got, str) else None
        if chosen is None or not chosen <= set(self.among):
            return _no_letters(got, self.among)
        wrong = [letter for letter in self.among if (letter in chosen) != (letter in self.right)]
        if not wrong:
            return None
        seen = f'"{got}": {_of(len(self.among) - len(wrong), len(self.among), "statements")} judged rightly.'
        return Finding(seen, self.why[wrong[0]])

    @property
    def known(self) -> list[Known]:
        """Each statement judged wrongly, all others rightly."""
        return [(_always("".join(set(self.right) ^ {letter})), self.why[letter]) for letter in self.among]


def _no_letters(got: Any, among: str) -> Finding:
    example = f'"{among[0]}{among[-1]}"'
    if not isinstance(got, str):
        seen = f"it returned {got!r}, of type {_type(got)}."
        return Finding(seen, f"Return the letters in one string, such as {example}.")
    strange = next(sign for sign in got.upper() if sign not in among + " ,")
    return Finding(
        f'it returned "{got}", and no statement is called "{strange}".',
        f"Return letters from {among[0]} to {among[-1]} and nothing else, such as {example}.",
    )


@dataclass(frozen=True)
class Situations:
    """A check: the function returns a dictionary that gives every situation the right name.

    why         (situation, wrong name): the hint for who has chosen this name there
    otherwise   wrong name: the hint wherever `why` has none
    thing       what the exercise calls a situation
    """

    right: Mapping[str, str]
    names: Sequence[str]
    why: Mapping[tuple[str, str], str]
    otherwise: Mapping[str, str]
    thing: str = "situation"

    def __call__(self, case: Case, answer: Answer) -> Finding | None:
        (got,) = answer.results
        finding = _no_dictionary(got, self.right, self.names, self.thing)
        if finding is not None:
            return finding
        wrong = [letter for letter in self.right if got[letter] != self.right[letter]]
        if not wrong:
            return None
        letter, name = wrong[0], got[wrong[0]]
        so_far = _of(len(self.right) - len(wrong), len(self.right), f"{self.thing}s")
        return Finding(f'{so_far} right; {letter} is no case for "{name}".', self._hint(letter, name))

    def _hint(self, letter: str, name: str) -> str:
        return self.why.get((letter, name), self.otherwise[name])

    @property
    def known(self) -> list[Known]:
        """Each situation with each wrong name, all others with the right one."""
        wrong = [(letter, name) for letter in self.right for name in self.names if name != self.right[letter]]
        return [(_always({**self.right, letter: name}), self._hint(letter, name)) for letter, name in wrong]


def _no_dictionary(got: Any, letters: Mapping[str, str], names: Sequence[str], thing: str) -> Finding | None:
    """What is wrong with the form of the answer, if anything is."""
    first, last = min(letters), max(letters)
    if not isinstance(got, dict):
        form = f'{{"{first}": "{names[0]}", ...}}'
        seen = f"it returned {got!r}, of type {_type(got)}."
        return Finding(seen, f"Return a dictionary from letters to names: {form}.")
    strange = [letter for letter in got if letter not in letters]
    if strange:
        return Finding(f'there is no {thing} "{strange[0]}".', f"The {thing}s are called {first} to {last}.")
    missing = [letter for letter in letters if letter not in got]
    if missing:
        return Finding(
            f"no name for {', '.join(missing)}.", f"Give every {thing} a name, {first} to {last}; guessing is free."
        )
    misspelt = next(
        (letter for letter in letters if not isinstance(got[letter], str) or got[letter] not in names), None
    )
    return misspelt and _misspelt(misspelt, got[misspelt], names)


def _misspelt(letter: str, got: Any, names: Sequence[str]) -> Finding:
    got = got if isinstance(got, str) else repr(got)
    near = difflib.get_close_matches(str(got).lower(), names, n=1, cutoff=0.7)
    guess = f'Is "{near[0]}" meant? ' if near else ""
    return Finding(f"{letter}: {got!r} is none of the names.", f"{guess}The names are {', '.join(names)}.")


def _always(result: Any) -> Callable[..., Any]:
    """An answer that is the same whatever it gets."""
    return lambda *arguments: result


def _of(some: int, of: int, things: str) -> str:
    """How many of them, with its verb: "1 of the 9 situations is"."""
    return f"{some} of the {of} {things} {'is' if some == 1 else 'are'}"


def _type(value: Any) -> str:
    return type(value).__name__

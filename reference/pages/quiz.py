"""Questions to answer in the page, each graded by a function of Python: a quiz, written without JavaScript of its own.

    Quiz("exercises.grading.in_page.graded", [Question(...), ...], "exercises of chapter 1")

Idea      A question's text stands in the page. Where the page has a Python (live.py), it gets fields, and a button that
          asks the function: {"solved": True}, or "solved" with "case", "seen" and "hint" to be shown. Two more
          functions give hints, one more with every click, and say why it works, once it is solved. Without a Python
          (a file, a notebook, no JavaScript), the text says what to do instead. An answer that computes without end
          inside one call of C is stopped with the worker that runs it, and another worker is started.
Left out  Remembering answers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from types import MappingProxyType
from typing import Any, NamedTuple

from .widget import escaped, widget

ITEM = re.compile(r"""(?P<term>"[^"]+"|\S+(?: "[^"]+")?) {2,}(?P<text>\S.*)""")


class Question(NamedTuple):
    """One question.

    name, title   by what it is known, and how it is headed
    text          paragraphs, with lists of terms as docstrings have them: `term   what it is`
    section       title and address of the section that explains it, if there is one
    instead       what a reader does who has no Python in the page
    given         what the function gets by name, beside the answer
    about         what the functions for hints and for the why get by name
    letters       if the answer is a choice: of the items of the text that are to be judged; else it is code
    names         one of these for each letter; without any, each letter is chosen or not
    """

    name: str
    title: str
    text: str
    instead: str
    given: dict[str, Any]
    letters: Sequence[str] = ()
    names: Sequence[str] = ()
    about: Mapping[str, Any] = MappingProxyType({})
    section: tuple[str, str] | None = None


class Quiz:
    """Questions that a function grades: it gets those of `given`, and `chosen` or `code`, what a reader answers.

    hint   name of a function that gets those of `about` and the `step`, from 1: {"text": ..., "of": how many steps}
    why    name of one that gets those of `about` and returns why a right answer is right
    """

    def __init__(self, call: str, questions: Iterable[Question], label: str, hint: str = "", why: str = ""):
        self.calls, self.questions, self.label = {"grade": call, "hint": hint, "why": why}, list(questions), label

    def _repr_html_(self) -> str:
        data = {
            "calls": self.calls,
            "questions": {
                each.name: {
                    "given": each.given,
                    "about": dict(each.about),
                    "letters": each.letters,
                    "names": each.names,
                }
                for each in self.questions
            },
        }
        return widget(__file__, "quiz", self.label, data, "\n".join(map(_html, self.questions)), python=True)

    def __repr__(self) -> str:
        shown = sha256(self._repr_html_().encode()).hexdigest()[:8]
        return f"{self.label}: {', '.join(each.name for each in self.questions)} (page {shown})"


def _html(question: Question) -> str:
    """What a reader sees who has no Python in the page."""
    title = f'<p class="title" role="heading" aria-level="3"><code>{escaped(question.title)}</code></p>'
    text = "\n".join(_block(block, question.letters) for block in question.text.strip().split("\n\n"))
    return (
        f'<div class="question" data-name="{question.name}" role="group" aria-label="{question.name}">\n'
        f'{title}\n{text}\n<p class="instead">{_code(question.instead)}</p>\n{_section(question.section)}</div>'
    )


def _section(section: tuple[str, str] | None) -> str:
    """The line that leads to the section that explains a question."""
    if section is None:
        return ""
    title, address = section
    return f'<p class="section">Explained in <a href="{address}">{escaped(title)}</a>.</p>\n'


def _block(block: str, letters: Sequence[str]) -> str:
    """A paragraph, and the list of terms in it or after it."""
    words: list[str] = []
    items: list[tuple[str, list[str]]] = []
    for line in block.split("\n"):
        found = ITEM.fullmatch(line.strip())
        if line.startswith("Names: ") and (found := ITEM.fullmatch(line.removeprefix("Names: "))):
            words.append("Names:")
        if found:
            items.append((found["term"], [found["text"]]))
        elif items and line.startswith(" "):
            items[-1][1].append(line.strip())
        else:
            words.append(line.strip())
    paragraph = f"<p>{_code(' '.join(words))}</p>" if words else ""
    return paragraph + "".join(_item(term, " ".join(text), letters) for term, text in items)


def _item(term: str, text: str, letters: Sequence[str]) -> str:
    shown = f"<b>{escaped(term)}</b> <span>{_code(text)}</span>"
    if term in letters:  # a label gets its field from the script
        return f'<label class="item" data-letter="{term}">{shown}</label>'
    return f'<p class="item">{shown}</p>'


def _code(text: str) -> str:
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escaped(text))

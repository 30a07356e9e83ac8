"""Every check is proven: without it some known wrong answer passes, or is told something else than its own hint.

Each wrong answer has one check that finds it first, and is graded again without that one. What people give comes first
(misconceptions/, and what checks know by themselves), then spoiled solutions, then mutants, until every check has its
proof. A check that no wrong answer needs is to go, or lacks the wrong answer that it was written for.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace

import pytest

from exercises.grading import Exercise, Finding, spoilers, wrong
from exercises.grading.contract import CONTRACT
from exercises.grading.grade import draw, tried
from exercises.grading.mutants import mutants

from .test_graders import ALL, PATIENT, QUICK, SEED, first_hint, solutions

pytestmark = pytest.mark.long


def checks_of(exercise: Exercise) -> list:
    """All checks of an exercise, the contract's last."""
    return [*exercise.checks, *(() if exercise.in_place else CONTRACT)]


def without(exercise: Exercise, left_out: int | None = None) -> Exercise:
    """The exercise without one of its checks; each of the others says its number in front of what it has seen."""

    def numbered(number, check):
        def say(case, answer):
            try:
                finding = check(case, answer)
            except Exception as error:  # it relies on the one that is left out
                return Finding(f"{number}| the grader fails: {error!r}", "")
            return finding and Finding(f"{number}| {finding.seen}", finding.hint)

        return say

    some = [numbered(number, check) for number, check in enumerate(checks_of(exercise)) if number != left_out]
    return replace(exercise, checks=some, in_place=True)


def wrong_answers(chapter: str, name: str, exercise: Exercise) -> Iterator[tuple[dict[str, tuple[str, str]], object]]:
    """Yield ({what is wrong: (text of a file, words of its hint)}, limits): first what needs the least time to try."""
    words = {each: its.earns for each, its in wrong.wrongs(chapter, name).items() if not its.alone}
    texts = wrong.texts(chapter, name)
    yield {each: (texts[each], words[each]) for each in words}, PATIENT
    solution = solutions(chapter)[0].read_text()
    spoiled = spoilers.spoiled(solution, name, exercise.distributed)
    yield {what: (text, "") for what, text in spoiled}, PATIENT
    for path in solutions(chapter):
        yield {what: (text, "") for what, text in mutants(path.read_text(), name)}, QUICK


def needed(chapter: str, name: str, exercise: Exercise, folder) -> Iterator[int]:
    """Yield the numbers of the checks without which a wrong answer gets away, some of them more than once."""
    cases = draw(exercise, name, SEED)
    for number, check in enumerate(exercise.checks):
        for mistake, hint in getattr(check, "known", ()):
            if first_hint(without(exercise, number), cases, mistake) != hint:
                yield number
                break
    for batch, (answers, limits) in enumerate(wrong_answers(chapter, name, exercise)):
        paths = {what: folder / f"{batch}_{number}.py" for number, what in enumerate(answers)}
        for what, (text, _) in answers.items():
            paths[what].write_text(text)
        found = tried(without(exercise), name, list(paths.values()), SEED, limits)
        finders = defaultdict(list)
        for what, path in paths.items():
            if number := re.match(r"(\d+)\|", found[path].finding.seen if found[path].finding else ""):
                finders[int(number[1])].append(what)
        for number, whats in finders.items():
            again = tried(without(exercise, number), name, [paths[what] for what in whats], SEED, limits)
            told = {what: "\n".join(again[paths[what]].finding or ()) for what in whats}
            if any(not told[what] or answers[what][1] not in told[what] for what in whats):
                yield number


@pytest.mark.parametrize("chapter, name, exercise", ALL, ids=[name for _, name, _ in ALL])
def test_no_check_can_be_spared(chapter, name, exercise, tmp_path):
    unproven = set(range(len(exercise.checks)))
    for number in needed(chapter, name, exercise, tmp_path):
        unproven.discard(number)
        if not unproven:
            break
    names = [f"{number}: {getattr(check, '__qualname__', check)}" for number, check in enumerate(exercise.checks)]
    assert [names[number] for number in sorted(unproven)] == []


@pytest.mark.parametrize("rule", CONTRACT)
def test_no_rule_of_the_contract_can_be_spared(rule, tmp_path):
    """An exercise that leaves this to the contract has wrong answers that nothing else finds, or tells as well."""
    alone = {"kept": "accumulate", "own_memory": "shift_right"}[rule.__name__]
    chapter, name, exercise = next(each for each in ALL if each[1] == alone)
    number = checks_of(exercise).index(rule)
    assert number in needed(chapter, name, exercise, tmp_path)

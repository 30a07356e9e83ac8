"""The graders, graded: files as shipped are to do, solutions pass, and every wrong answer earns its own hint.

Wrong answers are those that people give (misconceptions/CHAPTER/EXERCISE.py, and what checks know to be wrong) and
mutants: each solution with one small mistake after another (grading/mutants.py), and each solution spoiled in what
every answer keeps to (grading/spoilers.py). What is no mistake after all is listed by name in equivalent.py.
"""

import ast
import importlib
import itertools
from pathlib import Path

import pytest

from exercises.grading import Answer, Exercise, spoilers, student, wrong
from exercises.grading.grade import SOLVED, TO_DO, draw, grade, tried
from exercises.grading.mutants import mutants
from exercises.grading.sandbox import Limits

from .equivalent import EQUIVALENT, SPARED
from .slim import slim

FOLDER = Path(__file__).parents[2] / "exercises"
SEED = 20_260_101
QUICK = Limits(cpu=0.15, wall=60, each=True)  # some mutants loop for ever; the others need 0.01 s
PATIENT = Limits(cpu=0.6, wall=60, each=True)  # misconceptions end, as a rule; on a busy machine late


def exercises() -> list[tuple[str, str, Exercise]]:
    """(chapter, name, exercise) of all that the graders declare."""
    found = []
    for path in sorted(FOLDER.glob("test_ch*.py")):
        grader = importlib.import_module(f"exercises.{path.stem}")
        found += [(path.stem[5:], n, thing) for n, thing in vars(grader).items() if isinstance(thing, Exercise)]
    return found


ALL = exercises()
EXERCISES = {name: exercise for _, name, exercise in ALL}


def solutions(chapter: str) -> list[Path]:
    """All files with solutions of a chapter."""
    return sorted((FOLDER / "solutions").glob(f"{chapter}*.py"))


def told(chapter: str, name: str, exercise: Exercise, folder: Path) -> dict[str, str]:
    """By name, all that is said about each wrong answer; nothing about one that passes."""
    paths = {}
    for each, text in wrong.texts(chapter, name).items():
        paths[each] = folder / f"{each}.py"
        paths[each].write_text(slim(text, name))
    alone = {each: paths.pop(each) for each, its in wrong.wrongs(chapter, name).items() if its.alone}
    found = {path: each.finding for path, each in tried(exercise, name, list(paths.values()), SEED, PATIENT).items()}
    found |= {path: grade(exercise, name, path, SEED, limits=PATIENT).finding for path in alone.values()}
    for each, path in (paths | alone).items():  # one that seems endless may have met a busy moment
        if wrong.wrongs(chapter, name)[each].earns not in "\n".join(found[path] or ()):
            found[path] = grade(exercise, name, path, SEED).finding
    return {each: "\n".join(found[path] or ()) for each, path in (paths | alone).items()}


def first_hint(exercise: Exercise, cases: list, mistake) -> str | None:
    """The hint for somebody who computes what `mistake` does, by the first check that finds something."""
    for case in cases:
        results = [mistake(*arguments) for arguments in case.arguments]
        answer = Answer(results, list(case.arguments), [False] * case.ranks)
        for check in exercise.checks:
            if finding := check(case, answer):
                return finding.hint
    return None


@pytest.mark.parametrize("chapter, name, exercise", ALL)
class TestEachExercise:
    """What every exercise must have."""

    def test_is_to_do_as_shipped(self, chapter, name, exercise):
        verdict = grade(exercise, name, FOLDER / f"{chapter}.py", SEED)
        assert verdict.state == TO_DO
        assert "TODO" not in verdict.source.docstring(name), "say what is asked for"

    def test_has_the_arguments_of_its_solutions(self, chapter, name, exercise):
        asked = student.read(FOLDER / f"{chapter}.py").function(name)
        for path in solutions(chapter):
            solved = student.read(path).function(name)
            assert solved, f"{path.name} has no {name}"
            assert ast.unparse(solved.args) == ast.unparse(asked.args), f"not those of {path.name}"

    def test_has_two_solutions_that_say_why(self, chapter, name, exercise):
        verdicts = [grade(exercise, name, path, SEED) for path in solutions(chapter)]
        assert len(verdicts) >= 2
        for verdict in verdicts:
            assert verdict.state == SOLVED, f"{verdict.source.path}: {verdict.finding}"
            assert len(verdict.source.docstring(name)) > 100

    def test_has_a_ladder_of_hints(self, chapter, name, exercise):
        assert len(exercise.hints) >= 2

    def test_wrong_answers_are_rejected_each_with_its_own_hint(self, chapter, name, exercise, tmp_path):
        wrongs = wrong.wrongs(chapter, name)
        assert len(wrongs) + sum(len(getattr(check, "known", ())) for check in exercise.checks) >= 3
        hints = told(chapter, name, exercise, tmp_path)
        assert [each for each in wrongs if not hints[each]] == [], "they pass"
        assert [each for each in wrongs if wrongs[each].earns not in hints[each]] == [], hints
        for one, other in itertools.permutations(wrongs, 2):
            same = wrongs[one].earns == wrongs[other].earns  # then they say so, and one hint is true of both
            assert same or wrongs[one].earns not in hints[other], (
                f"{other} earns the hint of {one}, too: {hints[other]}"
            )

    def test_spoiled_solutions_are_caught(self, chapter, name, exercise, tmp_path):
        text, paths = slim(solutions(chapter)[0].read_text(), name), {}
        for number, (what, spoiled) in enumerate(spoilers.spoiled(text, name, exercise.distributed)):
            paths[tmp_path / f"spoiled_{number}.py"] = what
            (tmp_path / f"spoiled_{number}.py").write_text(spoiled)
        found = tried(exercise, name, list(paths), SEED, PATIENT)
        passed = [paths[path] for path, each in found.items() if each.finding is None and spoilers.MARK in each.printed]
        assert sorted(passed) == sorted(SPARED.get(name, {}))

    def test_what_its_checks_know_to_be_wrong_earns_its_hint(self, chapter, name, exercise):
        cases = draw(exercise, name, SEED)
        for mistake, hint in (known for check in exercise.checks for known in getattr(check, "known", ())):
            assert first_hint(exercise, cases, mistake) == hint

    def test_code_to_repair_is_a_wrong_answer_as_it_is(self, chapter, name, exercise):
        given = student.read(FOLDER / f"{chapter}.py").given(name)
        assert given == (wrong.SHIPPED in wrong.wrongs(chapter, name))

    def test_mutants_of_its_solutions_are_caught(self, chapter, name, exercise, tmp_path):
        changes = {}
        for solution in solutions(chapter):
            text = slim(solution.read_text(), name)
            unchanged = "as it is", text  # it survives, so nothing is rejected for what slim() left out
            for number, (what, changed) in enumerate([unchanged, *mutants(text, name)]):
                path = tmp_path / f"{solution.stem}_{number}.py"
                path.write_text(changed)
                changes[path] = what
        found = tried(exercise, name, list(changes), SEED, QUICK, hints=False)
        known = sorted([*EQUIVALENT.get(name, {}), *["as it is"] * len(solutions(chapter))])
        # one that is right may seem endless where the machine is busy for a moment
        late = [path for path, what in changes.items() if what in known and found[path].finding]
        found |= tried(exercise, name, late, SEED, PATIENT, hints=False) if late else {}
        survivors = [what for path, what in changes.items() if found[path].finding is None]
        assert sorted(survivors) == known, "catch them by one more case, or say in equivalent.py why they are right"

"""The graders, graded: files as shipped are to do, solutions pass, and every wrong answer earns its own hint.

Wrong answers are those that people give (misconceptions/CHAPTER/EXERCISE/) and mutants: each solution with one small
mistake after another (grading/mutants.py). A mutant that computes the same is listed by name in equivalent.py.
"""

import ast
import functools
import importlib
import itertools
from pathlib import Path

import pytest

from exercises.grading import Exercise, student
from exercises.grading.grade import SOLVED, TO_DO, WRONG, accepted, grade
from exercises.grading.mutants import mutants
from exercises.grading.sandbox import Limits

from .equivalent import EQUIVALENT

FOLDER = Path(__file__).parents[2] / "exercises"
SEED = 20_260_101
QUICK = Limits(cpu=0.3, wall=60, each=True)  # some mutants loop for ever; the others need 0.02 s
PATIENT = Limits(cpu=1.5, wall=60, each=True)  # misconceptions end, as a rule; on a busy machine late


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


def misconceptions() -> list:
    """One parameter a file: (name of the exercise, path)."""
    paths = sorted((FOLDER / "misconceptions").glob("*/*/*.py"))
    return [
        pytest.param(path.parent.name, path, id="-".join([path.parts[-3], path.parts[-2], path.stem])) for path in paths
    ]


@functools.cache
def earns(path: Path) -> str:
    """What a misconception's hint must contain; the file is not run for it."""
    tree = ast.parse(path.read_text())
    (value,) = [
        node.value.value for node in tree.body if isinstance(node, ast.Assign) and node.targets[0].id == "EARNS"
    ]
    return value


def told(verdict) -> str:
    """All that the student is told about a wrong answer."""
    return "\n".join(verdict.finding)


@pytest.mark.parametrize("chapter, name, exercise", ALL)
class TestEachExercise:
    """What every exercise must have."""

    def test_is_to_do_as_shipped(self, chapter, name, exercise):
        assert grade(exercise, name, FOLDER / f"{chapter}.py", SEED).state == TO_DO

    def test_has_two_solutions_that_say_why(self, chapter, name, exercise):
        verdicts = [grade(exercise, name, path, SEED) for path in solutions(chapter)]
        assert len(verdicts) >= 2
        for verdict in verdicts:
            assert verdict.state == SOLVED, f"{verdict.source.path}: {verdict.finding}"
            assert len(verdict.source.docstring(name)) > 100

    def test_has_a_ladder_of_hints(self, chapter, name, exercise):
        assert len(exercise.hints) >= 2

    def test_has_misconceptions_each_with_its_own_hint(self, chapter, name, exercise):
        files = sorted((FOLDER / "misconceptions" / chapter / name).glob("*.py"))
        assert len(files) >= 3
        hints = {path.stem: earns(path) for path in files}
        for one, other in itertools.permutations(hints, 2):
            assert hints[one] not in hints[other], f"{one} and {other} earn the same hint"

    def test_code_to_repair_is_a_misconception_as_it_is(self, chapter, name, exercise):
        given = student.read(FOLDER / f"{chapter}.py")
        if given.given(name):
            wrong = student.read(FOLDER / "misconceptions" / chapter / name / "as_shipped.py")
            _, _, *code = given.function(name).body
            assert list(map(ast.dump, wrong.function(name).body)) == list(map(ast.dump, code))

    def test_mutants_of_its_solutions_are_caught(self, chapter, name, exercise, tmp_path):
        changes = {}
        for solution in solutions(chapter):
            for number, (what, text) in enumerate(mutants(solution.read_text(), name)):
                path = tmp_path / f"{solution.stem}_{number}.py"
                path.write_text(text)
                changes[path] = what
        survivors = [changes[path] for path in accepted(exercise, name, list(changes), SEED, QUICK)]
        assert sorted(survivors) == sorted(EQUIVALENT.get(name, {}))


@pytest.mark.parametrize("name, path", misconceptions())
def test_a_misconception_is_rejected_with_its_own_hint(name, path):
    verdict = grade(EXERCISES[name], name, path, SEED, limits=PATIENT)
    assert verdict.state == WRONG and not verdict.grader_failed
    assert earns(path) in told(verdict)
    others = {other.stem: earns(other) for other in path.parent.glob("*.py") if other != path}
    assert [stem for stem, hint in others.items() if hint in told(verdict)] == []

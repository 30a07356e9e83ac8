"""Which tests belong to which chapter: selected by path and by mark, and named by one clear line if there are none."""

import ast
import subprocess
import sys
from collections import Counter

import pytest

from .files import ROOT


@pytest.fixture
def chapters(ci):
    """The module .ci/chapters.py."""
    return ci("chapters")


@pytest.fixture
def house(tmp_path):
    """A project with chapters 1 and 9, of which 9 has exercises, and with tests of worlds."""
    for path in ("chapters/01_collectives.ipynb", "chapters/09_pipelines.ipynb", "chapters/virtual_cluster.ipynb"):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).touch()
    for path in ("exercises/ch09_pipelines.py", "tests/worlds/__init__.py", "tests/worlds/test_launch.py"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    for path in ("tests/test_train.py", "tests/oracles/__init__.py", "tests/oracles/ddp.py"):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).touch()
    return tmp_path


def test_a_chapter_is_its_paths_and_the_mark_of_its_graders(chapters, house):
    found = chapters.part("09", house)
    assert found.unit == tuple(f"tests/{path}" for path in chapters.TESTS[9])
    assert found.graders == ("tests/exercises", "-m", "chapter(number=9)")
    assert found.notebooks == (str(house / "chapters/09_pipelines.ipynb"),)
    assert chapters.part("1", house).graders == ()


def test_a_folder_or_module_of_tests_has_its_name(chapters, house):
    assert chapters.part("worlds", house) == chapters.Part("worlds", ("tests/worlds",))
    assert chapters.part("train", house) == chapters.Part("train", ("tests/test_train.py",))
    assert chapters.part("exercises") == chapters.Part("exercises", graders=("tests/exercises",))


@pytest.mark.parametrize(
    "typed, what",
    [
        ("10", "there is no chapter 10 yet"),
        ("0", "there is no chapter 0 yet"),
        ("wolrds", "there is nothing called 'wolrds'"),
        ("oracles", "there is nothing called 'oracles'"),
        ("-1", "there is nothing called '-1'"),
    ],
)
def test_what_is_not_there_is_told_in_one_line(chapters, house, typed, what):
    with pytest.raises(ValueError) as told:
        chapters.part(typed, house)
    assert str(told.value) == f"CH={typed}: {what}. There are the chapters 1, 9 and, in tests/, train, worlds"


@pytest.mark.parametrize("program", ["test.py", "notebooks.py"])
def test_a_chapter_that_is_not_there_ends_the_program_with_one_line(program):
    done = subprocess.run([sys.executable, ROOT / ".ci" / program, "77"], capture_output=True, text=True)
    assert done.returncode == 1 and done.stderr.startswith(
        "CH=77: there is no chapter 77 yet. There are the chapters 1"
    )
    assert done.stderr.count("\n") == 1 and not done.stdout


def test_every_claim_is_there_and_is_claimed_once(chapters):
    claims = Counter(claim for several in chapters.TESTS.values() for claim in several)
    assert [claim for claim in claims if not (ROOT / "tests" / claim).exists()] == []
    assert [claim for claim, times in claims.items() if times > 1] == []


@pytest.mark.parametrize(
    "test, part",
    [
        ("tests.collectives.test_ring.test_it[1.5]", 1),
        ("tests.pages.test_explorer.test_it", 9),
        ("tests.pages.test_widget.test_it", "pages"),
        ("tests.pipeline.runtime.test_executor.TestIt.test_it", 9),
        ("tests.test_train.test_it", 2),
        ("tests.test_mpi.test_it", "mpi"),
        ("tests.collectives_of_mine.test_ring.test_it", "collectives_of_mine"),
        ("tests.exercises.test_graders.test_it[ch01_collectives-ring]", "exercises"),
        ("chapters.09_pipelines.ipynb.Cell 3", 9),
        ("chapters.virtual_cluster.ipynb.Cell 3", "virtual_cluster"),
    ],
)
def test_every_test_is_charged_to_whoever_claims_it(chapters, test, part):
    assert chapters.claimed_by(test) == part


def collected(*arguments):
    """The ids of the tests that pytest would run."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return [line for line in done.stdout.splitlines() if "::" in line]


def test_graders_of_a_chapter_are_those_of_its_exercises(chapters):
    """By the mark, and nothing else: every test that is given an exercise of the chapter, and no other's."""
    (stub,) = (ROOT / "exercises").glob("ch09_*.py")
    (other,) = (ROOT / "exercises").glob("ch01_*.py")
    own, others = (
        {node.name for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)}
        for path in (stub, other)
    )
    found = collected(*chapters.part("9").graders)
    given = {test.split("[")[1].split("-")[1] for test in found if "test_graders.py" in test}
    assert given and given <= own and not given & others
    assert {test.split("::")[0] for test in found if "[" not in test} == {"tests/exercises/test_pipelines.py"}


def test_the_budget_report_charges_graders_by_their_mark(ci, tmp_path):
    (tmp_path / "unit.xml").write_text(
        "<testsuites><testsuite>"
        '<testcase classname="tests.exercises.test_graders" name="test_it[9-ch01]" time="2.5">'
        '<properties><property name="chapter" value="9"/></properties></testcase>'
        '<testcase classname="tests.exercises.test_terminal" name="test_it" time="1"/>'
        '<testcase classname="tests.worlds.test_launch" name="test_it" time="4"/>'
        '<testcase classname="chapters.09_pipelines.ipynb" name="Cell 3" time="31"/>'
        "</testsuite></testsuites>"
    )
    cases = ci("budget").read(tmp_path)
    assert [(case.part, case.kind) for case in cases] == [
        (9, "graders"),
        ("exercises", "graders"),
        ("worlds", "tests"),
        (9, "notebook"),
    ]
    lines = ci("budget").report(cases).splitlines()
    assert any(line.split()[:6] == ["chapter", "09", "notebook", "31.0", "OVER", "BUDGET"] for line in lines)
    assert any(line.split()[:1] == ["worlds"] and "OVER" not in line for line in lines)

"""Which tests belong to which chapter: selected by path and by mark, and named by one clear line if there are none."""

import ast
import subprocess
import sys
import xml.etree.ElementTree as ET
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


def junit(folder, **cases):
    """A junit file with these tests: "class::name": CPU seconds, or (CPU seconds, chapter)."""
    lines = []
    for test, seconds in cases.items():
        seconds, chapter = seconds if isinstance(seconds, tuple) else (seconds, None)
        classname, name = test.split("::")
        of = f'<property name="chapter" value="{chapter}"/>' if chapter else ""
        lines.append(
            f'<testcase classname="{classname}" name="{name}" time="900"><properties>'
            f'<property name="cpu seconds" value="{seconds}"/>{of}</properties></testcase>'
        )
    (folder / "unit.xml").write_text(f"<testsuites><testsuite>{''.join(lines)}</testsuite></testsuites>")


@pytest.fixture
def budget(ci, monkeypatch):
    """The module .ci/budget.py, in which every chapter has the same budget."""
    module = ci("budget")
    monkeypatch.setattr(module, "LARGER", {})
    return module


def test_the_budget_report_charges_graders_by_their_mark(budget, tmp_path):
    junit(
        tmp_path,
        **{
            "tests.exercises.test_graders::test_it[9-ch01]": (2.5, 9),
            "tests.exercises.test_terminal::test_it": 1,
            "tests.worlds.test_launch::test_it": 400,
            "chapters.09_pipelines.ipynb::Cell 3": 31,
        },
    )
    cases = budget.read(tmp_path)
    assert [(case.part, case.kind, case.seconds) for case in cases] == [
        (9, "graders", 2.5),
        ("exercises", "graders", 1),
        ("worlds", "tests", 400),
        (9, "notebook", 31),
    ]
    lines = [" ".join(line.split()) for line in budget.report(cases).splitlines()]
    assert "chapter 09 notebook 31.0 (of 25: OVER BUDGET) graders 2.5 tests 0.0" in lines
    assert "worlds notebook 0.0 graders 0.0 tests 400.0" in lines
    assert budget.overdrawn(cases) == []  # 31 is within the slack, and worlds have no budget here


SHARES = {1: 0.8, 2: 1.0, 3: 1.1, 6: 0.9, 9: 1.0, 10: 0.7, 13: 1.2}  # used/budget of what a chapter's tests take


def run_with(chapters, folder, shares):
    """Junit files of a run in which these shares of 12 seconds went into one package of each chapter's tests."""
    where = {number: next(claim for claim in chapters.TESTS[number] if "/" not in claim) for number in shares}
    junit(folder, **{f"tests.{where[number]}.test_it::test_it": 12 * share for number, share in shares.items()})
    return folder


def test_a_chapter_that_takes_far_more_than_its_budget_is_told(budget, tmp_path, monkeypatch):
    slow = {f"tests.pipeline.test_it::test_{k}": k for k in range(1, 8)}  # 28 seconds
    others = {f"tests.{package}.test_it::test_it": 12 for package in ("collectives", "zero", "raft")}
    more = {"tests.worlds.test_it::test_it": 400, "chapters.09_pipelines.ipynb::Cell 3": 37}
    junit(tmp_path, **slow, **others, **more)
    (line,) = budget.overdrawn(budget.read(tmp_path))
    assert line.startswith("chapter 9: tests took 28 CPU seconds, 2.33 times its budget of 12, of which")
    assert "a second is worth 1.00 in this run" in line and "test_7 7.0, pipeline.test_it.test_6 6.0" in line
    monkeypatch.setitem(budget.LARGER, (9, "tests"), (20.0, "a reason"))
    assert budget.overdrawn(budget.read(tmp_path)) == []
    monkeypatch.setitem(budget.LARGER, ("worlds", "tests"), (250.0, "a reason"))
    (line,) = budget.overdrawn(budget.read(tmp_path))
    assert line.startswith("worlds: tests took 400 CPU seconds, 1.60 times its budget of 250")


@pytest.mark.parametrize("machine", [0.4, 1.0, 1.6, 3.0])
def test_a_slow_machine_overdraws_no_budget_and_hides_no_slow_chapter(budget, chapters, tmp_path, machine):
    """Whatever all chapters take there, one that takes 1.9 times what it should is told, and no other."""
    everywhere = {number: machine * share for number, share in SHARES.items()}
    assert budget.overdrawn(budget.read(run_with(chapters, tmp_path, everywhere))) == []
    late = {**everywhere, 9: 1.9 * max(1.0, machine)}
    (line,) = budget.overdrawn(budget.read(run_with(chapters, tmp_path, late)))
    assert line.startswith("chapter 9: tests took ")


def test_a_chapter_alone_is_reported_and_not_judged(budget, chapters, tmp_path):
    cases = budget.read(run_with(chapters, tmp_path, {9: 4.0}))
    assert budget.overdrawn(cases) == [] and "a second of budget is worth" in budget.report(cases)
    assert budget.slowness(cases) == {"notebook": 1.0, "graders": 1.0, "tests": 4.0}


def test_chapters_that_get_quicker_do_not_fail_another(budget, chapters, tmp_path):
    """A budget is worth no less than it says."""
    assert budget.overdrawn(budget.read(run_with(chapters, tmp_path, {1: 0.1, 2: 0.1, 3: 0.1, 9: 1.4}))) == []


def test_a_budget_that_is_larger_says_why(ci):
    budget = ci("budget")
    for (part, kind), (seconds, why) in budget.LARGER.items():
        known = [*ci("chapters").numbers(), *ci("chapters").names()]
        assert part in known and seconds > budget.BUDGET[kind] and len(why) > 20


def test_seconds_of_ranks_and_children_are_charged_to_the_test_that_uses_them(budget, tmp_path):
    """A child that ends, one that goes on to the next test, and this process: each test takes half a second.

    What is started for all tests is not the first one's.
    """
    (tmp_path / "test_it.py").write_text(
        "import subprocess, sys, time\n"
        "import pytest\n"
        "@pytest.fixture(scope='session', autouse=True)\n"
        "def for_all():\n    exec(BURN % (time.process_time() + 0.7))\n"
        "BURN = 'import time\\nwhile time.process_time() < %s: pass'\n"
        "def test_own():\n    exec(BURN % (time.process_time() + 0.5))\n"
        "def test_child():\n    subprocess.run([sys.executable, '-c', BURN % 0.5])\n"
        "def test_rank():\n"
        "    global rank\n"
        "    rank = subprocess.Popen([sys.executable, '-uc', BURN % 0.5 + '\\nprint()\\ninput()'],\n"
        "                            stdin=subprocess.PIPE, stdout=subprocess.PIPE)\n"
        "    rank.stdout.read(1)\n"
        "def test_nothing():\n    rank.communicate(b'\\n')\n"
    )
    report = tmp_path / "report.xml"
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "tests.cpu_seconds",
        "-p",
        "no:cacheprovider",
        "-c",
        "/dev/null",
    ]
    done = subprocess.run([*command, str(tmp_path), f"--junitxml={report}"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    seconds = {
        case.get("name"): float(case.find("properties/property").get("value"))
        for case in ET.parse(report).iter("testcase")
    }
    assert all(seconds[f"test_{name}"] > 0.4 for name in ("own", "child", "rank"))
    assert seconds["test_nothing"] < 0.3 and seconds["test_own"] < 0.7
    (shared,) = (case for case in budget.read(tmp_path) if case.part == "shared")
    assert 0.6 < shared.seconds < 1.1


def test_tests_of_real_ranks_stay_in_one_process(tmp_path):
    """Some versions of pytest and pytest-xdist together forget groups and say nothing: two jobs of eight ranks then."""
    (tmp_path / "test_it.py").write_text(
        "import os, pytest\n"
        "@pytest.mark.parametrize('number', range(8))\n"
        "@pytest.mark.xdist_group('real ranks')\n"
        "def test_it(number, record_property):\n    record_property('process', os.getpid())\n"
    )
    report = tmp_path / "report.xml"
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-n",
        "2",
        "--dist=loadgroup",
        "-p",
        "no:cacheprovider",
        "-c",
        "/dev/null",
    ]
    done = subprocess.run([*command, str(tmp_path), f"--junitxml={report}"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    found = [case.get("value") for case in ET.parse(report).iter("property")]
    assert len(found) == 8 and len(set(found)) == 1

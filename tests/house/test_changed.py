"""What a change can break, in a small project of one package, one chapter and its exercises."""

import json
import subprocess

import pytest

from .test_chapters import collected

RING = "exercises/solutions/ch01_ring.py"
SOLUTIONS = """
def hops(P):
    return P - 1

def ring_time(P):
    return 2 * hops(P)

def tree_time(P):
    return P.bit_length()
"""
STUB = SOLUTIONS.replace("def hops(P):\n    return P - 1\n", "")
FILES = {
    "README.md": "",
    "reference/__init__.py": "",
    "reference/mpi.py": "",
    "reference/ring/__init__.py": "from .steps import steps\nfrom .price import price as cost\n",
    "reference/ring/steps.py": "from .. import mpi\n",
    "reference/ring/price.py": "",
    "reference/ring/data/fitted.csv": "",
    "reference/train.py": "'''Not reference.ring.price.'''\nfrom reference.ring import steps\n",
    "reference/plan.py": "from . import ring\n",
    "reference/worker.py": "",
    "reference/job.py": "COMMAND = ['-m', 'reference.worker']\nLAST = 'sentry.py'\nHINT = 'See reference.plan'\n",
    "reference/sentry.py": "",
    "tests/conftest.py": "",
    "tests/__init__.py": "",
    "tests/ring/__init__.py": "",
    "tests/ring/conftest.py": (
        "import pytest\n@pytest.fixture\ndef oracle():\n    from ..oracles import job\n"
        "@pytest.fixture(autouse=True)\ndef always():\n    from .. import calm\n"
    ),
    "tests/calm.py": "",
    "tests/oracles/__init__.py": "",
    "tests/oracles/job.py": "import_module(f'tests.oracles.{name}')\n",
    "tests/oracles/ddp.py": "",
    "tests/ring/test_steps.py": "def test(oracle):\n    from reference.ring import steps\n",
    "tests/ring/test_price.py": "'''See reference.plan.'''\nfrom reference.ring import cost\n",
    "tests/test_train.py": "run('mpirun python -m reference.train')\nPROGRAM = 'from reference import job; job()'\n",
    "tests/test_data.py": "DATA = ROOT / 'chapters/data'\nNAME = '__init__.py'\n",
    "tests/house/test_texts.py": "README = ROOT / 'README.md'\n",
    "tests/exercises/__init__.py": "",
    "tests/exercises/test_graders.py": "import_module(f'exercises.{name}')\nFOLDER = ROOT / 'exercises'\n",
    "tests/exercises/test_right.py": "from .test_graders import SEED\n",
    "tests/exercises/test_checks.py": "from exercises.grading import checks\n",
    "exercises/__init__.py": "",
    "exercises/AGENTS.md": "",
    "exercises/ch01_ring.py": STUB,
    "exercises/test_ch01_ring.py": "from exercises.graders.ch01_ring import write\n",
    "exercises/solutions/__init__.py": "",
    RING: SOLUTIONS,
    "exercises/misconceptions/ch01_ring/tree_time.py": "",
    "exercises/misconceptions/ch01_ring/shared.py": "",
    "exercises/graders/__init__.py": "",
    "exercises/graders/ch01_ring/__init__.py": "",
    "exercises/graders/ch01_ring/write.py": "from exercises.grading import checks\nfrom reference.ring import steps\n",
    "exercises/grading/__init__.py": "",
    "exercises/grading/checks.py": "import_module(f'exercises.misconceptions.{name}')\n",
    "chapters/01_ring.ipynb": (
        ("code", "files = !ls"),
        ("code", "from reference.ring import cost"),
        ("code", "!mpirun python -m reference.train"),
    ),
    "chapters/02_next.ipynb": (("markdown", "```{literalinclude} ../reference/sentry.py\n```\nSee reference.worker"),),
    "chapters/data/sweep.csv": "",
}
ONE, EVERY = "chapter(number=1)", "chapter"
GRADERS = "exercises/test_graders exercises/test_right"


@pytest.fixture
def house(tmp_path):
    """The project on a disk."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        cells = [{"cell_type": kind, "source": [source]} for kind, source in text] if name.endswith("ipynb") else None
        (tmp_path / name).write_text(json.dumps({"cells": cells}) if cells else text)
    return tmp_path


@pytest.fixture
def sees(ci, house):
    """sees(file, before): tests, marks and notebooks that a change of a file concerns, in short."""

    def seen(file, before=""):
        known = ci("dependencies").Dependencies(house, {*FILES, file})
        who = ci("changed").who_sees(file, known, before)
        tests = (test.removeprefix("tests/").removesuffix(".py") for test in who.units | who.graders)
        return " ".join(sorted(tests)), who.marks, {name[9:11] for name in who.notebooks}

    return seen


@pytest.mark.parametrize(
    "file, tests, marks, notebooks",
    [
        ("reference/ring/price.py", "ring/test_price", set(), {"01"}),
        ("reference/ring/steps.py", f"{GRADERS} ring/test_steps test_train", {ONE}, {"01"}),
        ("reference/mpi.py", f"{GRADERS} ring/test_steps test_train", {ONE}, {"01"}),
        ("reference/ring/__init__.py", f"{GRADERS} ring/test_price ring/test_steps test_train", {ONE}, {"01"}),
        ("reference/ring/data/fitted.csv", f"{GRADERS} ring/test_price ring/test_steps test_train", {ONE}, {"01"}),
        ("reference/train.py", "test_train", set(), {"01"}),
        ("reference/worker.py", "test_train", set(), set()),
        ("reference/sentry.py", "test_train", set(), {"02"}),
        ("reference/plan.py", "", set(), set()),
        ("tests/calm.py", "ring/test_price ring/test_steps", set(), set()),
        ("tests/oracles/ddp.py", "ring/test_steps", set(), set()),
        ("tests/ring/conftest.py", "ring/test_price ring/test_steps", set(), set()),
        ("tests/ring/test_price.py", "ring/test_price", set(), set()),
        ("tests/exercises/test_checks.py", "exercises/test_checks", set(), set()),
        ("tests/exercises/test_right.py", "exercises/test_right", {EVERY}, set()),
        ("tests/exercises/test_graders.py", GRADERS, {EVERY}, set()),
        ("exercises/graders/ch01_ring/write.py", GRADERS, {ONE}, set()),
        ("exercises/grading/checks.py", f"exercises/test_checks {GRADERS}", {EVERY}, set()),
        ("exercises/misconceptions/ch01_ring/tree_time.py", GRADERS, {"exercise(name='tree_time')"}, set()),
        ("exercises/misconceptions/ch01_ring/shared.py", GRADERS, {ONE}, set()),
        ("exercises/AGENTS.md", "", set(), set()),
        ("chapters/data/sweep.csv", "test_data", set(), {"01", "02"}),
        ("chapters/02_next.ipynb", "", set(), {"02"}),
        ("README.md", "", set(), set()),
    ],
)
def test_what_a_change_of_a_file_can_break(sees, file, tests, marks, notebooks):
    assert sees(file) == (tests, marks, notebooks)


def test_what_is_there_no_longer_is_missed_by_whoever_depends_on_it(sees, house):
    (house / "reference/ring/price.py").unlink()
    assert sees("reference/ring/price.py") == ("ring/test_price", set(), {"01"})
    (house / "tests/ring/test_price.py").unlink()
    assert sees("tests/ring/test_price.py") == ("", set(), set())


def test_what_python_cannot_read_is_a_change_like_others(sees, house):
    for name, broken in (("reference/ring/price.py", "def price(:"), (RING, "def ring_time(:")):
        (house / name).write_text(broken)
    assert sees("reference/ring/price.py") == ("ring/test_price", set(), {"01"})
    assert sees(RING, SOLUTIONS) == (GRADERS, {ONE}, set())


@pytest.mark.parametrize(
    "before, marks",
    [
        (SOLUTIONS.replace("bit_length", "bit_count"), {"exercise(name='tree_time')"}),
        (SOLUTIONS.replace("P - 1", "P + 1"), {"exercise(name='ring_time')"}),
        (SOLUTIONS.replace("2 *", "3 *") + "\ndef gone():\n    pass\n", {"exercise(name='ring_time')"}),
        ("import math\n" + SOLUTIONS.replace("bit_length", "bit_count"), {ONE}),
        (
            "# tree_time\n\n" + SOLUTIONS.replace("    return P.", "    # why\n    return P."),
            {"exercise(name='tree_time')"},
        ),
        ("", {"exercise(name='ring_time')", "exercise(name='tree_time')"}),
    ],
)
def test_an_answer_concerns_its_exercise_alone(sees, before, marks):
    assert sees(RING, before) == (GRADERS, marks, set())


def test_marks_select_the_tests_of_an_exercise(ci, house):
    """As pytest reads them, in the real project."""
    seen = ci("changed").Seen(
        graders=frozenset({"tests/exercises/test_graders.py"}), marks={"exercise(name='ring_time')"}
    )
    found = collected(*seen.part(house).graders)
    assert found and {test.split("[")[1].split("-")[1] for test in found if "[" in test} == {"ring_time"}


@pytest.fixture
def git(house):
    """git(...) in the project, whose first commit is its main branch."""

    def run(*arguments):
        name = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", *name, *arguments], cwd=house, check=True, capture_output=True)

    for arguments in (
        ("init", "-q", "-b", "main"),
        ("add", "-A"),
        ("commit", "-qm", "first"),
        ("checkout", "-qb", "mine"),
    ):
        run(*arguments)
    return run


def test_commits_and_edits_and_new_files_are_changes(ci, house, git, capsys):
    (house / "tests/ring/test_price.py").write_text("")
    git("commit", "-qam", "second")
    (house / RING).write_text(SOLUTIONS.replace("bit_length", "bit_count"))
    (house / "tests/test_new.py").write_text("")
    part = ci("changed").part("main", house)
    assert part.unit == ("tests/house", "tests/ring/test_price.py", "tests/test_new.py")
    assert part.graders == (
        *(f"tests/{name}.py" for name in GRADERS.split()),
        "-m",
        "exercise(name='tree_time') or not chapter",
    )
    assert part.notebooks == ()
    first, *lines = capsys.readouterr().out.splitlines()
    assert first.startswith("3 files changed since main (")
    assert lines == [
        f"  {RING}: 2 files of graders' tests (those of tree_time)",
        "  tests/ring/test_price.py: 1 file of tests",
        "  tests/test_new.py: 1 file of tests",
    ]
    assert ci("changed").part("HEAD", house).unit == ("tests/house", "tests/test_new.py")


def test_what_others_have_done_since_is_no_change(ci, house, git, capsys):
    git("checkout", "-q", "main")
    (house / "README.md").write_text("theirs")
    git("commit", "-qam", "theirs")
    git("checkout", "-q", "mine")
    assert ci("changed").part("main", house) is None
    assert capsys.readouterr().out.startswith("Nothing that a test sees has changed since main (")


@pytest.mark.parametrize(
    "file",
    ["Makefile", "pyproject.toml", "constraints.txt", ".ci/new/test.py", "tests/conftest.py", "tests/cpu_seconds.py"],
)
def test_what_all_tests_stand_on_runs_all(ci, house, git, capsys, file):
    (house / file).parent.mkdir(parents=True, exist_ok=True)
    (house / file).write_text("changed = 1")
    assert ci("changed").part("main", house) == ci("chapters").everything(house)
    assert capsys.readouterr().out.endswith(f"\nAll tests are run, because they stand on {file}.\n")


def test_a_base_that_git_does_not_know_ends_the_program_with_one_line(ci, house, git):
    with pytest.raises(
        SystemExit, match=r"^git knows no elsewhere here: name another base, as in make test-changed BASE="
    ):
        ci("changed").part("elsewhere", house)


def test_changes_run_by_the_same_commands_with_the_same_status(ci, monkeypatch, tmp_path):
    test, ran = ci("test"), []
    monkeypatch.setattr(test, "REPORTS", tmp_path)
    monkeypatch.setattr(test, "within_budget", lambda enforced: (True, 1.0))
    monkeypatch.setenv(test.pace.VARIABLE, "1.0")  # which it sets for the tests that it starts

    def run(name, *_):
        ran.append(name)
        return not name.startswith("graders"), 1.0

    monkeypatch.setattr(test, "run", run)
    monkeypatch.setattr(test.changed, "part", lambda base: {"none": None, "origin/main": ours}[base])
    ours = ci("chapters").Part("what has changed", ("tests/house",), ("tests/exercises/test_checks.py",))
    assert test.main(["--changed", "none"]) == 0 and not ran
    assert test.main(["--changed", "--no-lint"]) == 1
    assert ran == ["unit tests of what has changed", "graders of what has changed"]


@pytest.mark.parametrize("other", ["9", "--long"])
def test_what_a_change_can_break_is_no_part_and_no_long_run(ci, other, capsys):
    with pytest.raises(SystemExit):
        ci("test").main(["--changed", "HEAD", other])
    assert "--changed chooses the tests" in capsys.readouterr().err
